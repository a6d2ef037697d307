//! Numbers of many runs of a scenario. Each run is a row; the names are stored once for all rows.

use crate::columns::{Columns, Values};
use crate::errors;
use farlink_sim::scenario::Expanded;
use farlink_sim::{Column, Group, Outcome};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::iter::repeat_n;

/// Numbers of one run.
pub(crate) struct Row {
    run: u64,
    numbers: Box<[f64]>,
    events: u64,
    simulated_s: f64,
}

impl Row {
    pub(crate) fn of(run: u64, outcome: &Outcome) -> Self {
        Self {
            run,
            numbers: outcome.numbers().into(),
            events: outcome.events,
            simulated_s: outcome.simulated.as_secs_f64(),
        }
    }
}

/// Meaning of the numbers, and derived values of channels. Both are equal for all runs of a
/// scenario.
pub(crate) struct Known {
    groups: Vec<Group>,
    derived: String,
}

impl Known {
    pub(crate) fn of(scenario: &Expanded, outcome: &Outcome) -> Self {
        Self {
            groups: outcome.groups(scenario),
            derived: outcome.derived().to_string(),
        }
    }
}

/// Measures of the runs of one scenario.
#[pyclass(frozen)]
pub(crate) struct Measures {
    known: Known,
    rows: Vec<Row>,
}

/// Scope, identity of each item, names of measures.
type Described<'a> = (&'static str, &'a [Vec<String>], &'a [String]);

#[pymethods]
impl Measures {
    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// Returns the meaning of a row's numbers. Each group lists its items and measures. Its numbers
    /// are all measures of the first item, then of the second, and so on.
    #[getter]
    fn groups(&self) -> Vec<Described<'_>> {
        let groups = self.known.groups.iter();
        groups
            .map(|g| (g.scope, &g.items[..], &g.measures[..]))
            .collect()
    }

    /// Returns the derived values of each link direction's channel, as JSON.
    #[getter]
    fn derived(&self) -> &str {
        &self.known.derived
    }

    /// Returns the number of events of all runs.
    #[getter]
    fn events(&self) -> u64 {
        self.rows.iter().map(|row| row.events).sum()
    }

    /// Returns the simulated seconds of the first run.
    #[getter]
    fn simulated_s(&self) -> f64 {
        self.rows.first().map_or(f64::NAN, |row| row.simulated_s)
    }

    /// Returns the numbers at one index of the rows, run by run; None if there was nothing to
    /// measure.
    fn column(&self, place: usize) -> Vec<Option<f64>> {
        let rows = self.rows.iter();
        rows.map(|row| row.numbers.get(place).copied().and_then(there))
            .collect()
    }

    /// Returns the numbers from index `start` up to `stop` of the row with index `number`.
    fn row(&self, number: usize, start: usize, stop: usize) -> Vec<Option<f64>> {
        let row = self.rows.get(number).map_or(&[][..], |row| &row.numbers);
        let part = row.get(start..stop).unwrap_or_default();
        part.iter().copied().map(there).collect()
    }

    /// Returns the numbers of all runs, row after row, as one column `value`; NaN if there was
    /// nothing to measure.
    fn numbers(&self) -> PyResult<Columns> {
        let rows = self.rows.iter();
        let values = rows.flat_map(|row| row.numbers.iter().copied()).collect();
        Columns::raw([("value", Column::F64(values))])
    }

    /// Returns the table of a scope. Its columns are the run number, the identity of the item, and
    /// one column per measure. Rows are sorted by item, then by run.
    fn table(&self, scope: &str) -> PyResult<Columns> {
        let mut at = 0;
        for group in &self.known.groups {
            if group.scope == scope {
                return self.table_of(group, at);
            }
            at += group.len();
        }
        Err(errors::internal(&format!("no measures of {scope}")))
    }
}

impl Measures {
    /// Builds the numbers of at least one run.
    pub(crate) fn new(known: Known, rows: Vec<Row>) -> Self {
        Self { known, rows }
    }

    fn table_of(&self, group: &Group, at: usize) -> PyResult<Columns> {
        let items = group.items.len();
        let runs = (0..items).flat_map(|_| self.rows.iter().map(|row| row.run));
        let mut columns = vec![("run".to_owned(), Values::U64(runs.collect()))];
        let labels: &[&str] = match group.scope {
            "flow" => &["flow"],
            "link" => &["link", "direction"],
            "agent" => &["agent", "at", "wireless"],
            "handoff" => &["host"],
            _ => &[],
        };
        for (i, label) in labels.iter().enumerate() {
            let (mut list, mut known) = (Vec::new(), HashMap::new());
            let mut places = Vec::with_capacity(items * self.rows.len());
            for item in &group.items {
                let place = *known.entry(item[i].as_str()).or_insert_with(|| {
                    list.push(item[i].clone());
                    list.len() as i32 - 1
                });
                places.extend(repeat_n(place, self.rows.len()));
            }
            columns.push(((*label).to_owned(), Values::Text(places, list)));
        }
        let width = group.measures.len();
        for (measure, name) in group.measures.iter().enumerate() {
            let places = (0..items).map(|item| at + item * width + measure);
            let values = places.flat_map(|place| self.rows.iter().map(move |r| r.numbers[place]));
            let finite = values.map(|x| if x.is_finite() { x } else { f64::NAN });
            columns.push((name.clone(), Values::F64(finite.collect())));
        }
        Columns::new(columns)
    }
}

/// Returns None for NaN, which stands for a missing value.
fn there(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}
