//! Rows of a table by the names of their columns.

use crate::probe::Table;
use farlink_small::{Map, Set};

/// Value of a column without a value.
pub(super) const NONE: u64 = u64::MAX;

/// Rows of a table, as whole numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    columns: Map<&'static str, Vec<u64>>,
    len: usize,
}

impl Rows {
    /// Reads the table with this name; a missing table has no rows.
    pub(super) fn of(tables: &[Table], name: &str) -> Self {
        let Some(table) = tables.iter().find(|table| table.name == name) else {
            return Self::default();
        };
        let columns = table.columns.iter();
        let columns: Map<_, _> = columns
            .map(|(name, column)| (*name, column.numbers()))
            .collect();
        let len = columns.get("time").map_or(0, Vec::len);
        Self { columns, len }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the value of a row; [`NONE`] for an unknown column.
    pub(super) fn at(&self, row: usize, column: &str) -> u64 {
        let values = self.columns.get(column);
        values
            .and_then(|values| values.get(row))
            .copied()
            .unwrap_or(NONE)
    }

    pub(super) fn time(&self, row: usize) -> u64 {
        self.at(row, "time")
    }

    /// Returns the rows that have these values.
    pub(super) fn only(&self, values: &[(&str, u64)]) -> Self {
        self.pick(|row| {
            values
                .iter()
                .all(|&(column, value)| self.at(row, column) == value)
        })
    }

    /// Returns the first row of each packet.
    pub(super) fn first_of_each(&self) -> Self {
        let mut seen = Set::new();
        self.pick(|row| seen.insert(self.at(row, "number")))
    }

    fn pick(&self, mut keep: impl FnMut(usize) -> bool) -> Self {
        let kept: Vec<usize> = (0..self.len).filter(|&row| keep(row)).collect();
        let of = |values: &Vec<u64>| kept.iter().map(|&row| values[row]).collect();
        Self {
            columns: (self
                .columns
                .iter()
                .map(|(&name, values)| (name, of(values))))
            .collect(),
            len: kept.len(),
        }
    }

    /// Returns the number of rows before `time`; with `or_at` also those at `time`.
    pub(super) fn until(&self, time: u64, or_at: bool) -> usize {
        let times = self.columns.get("time").map_or(&[][..], Vec::as_slice);
        times.partition_point(|&at| at < time || or_at && at == time)
    }
}
