//! A run of a request: from the text of the scenario to the answer.

use crate::columns::{self, Named};
use crate::failure::Failure;
use farlink_sim::scenario::{self, Scenario};
use farlink_sim::{STORY_TABLES, Stepper, StoryLine, digest, story};
use farlink_tcp::profile;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Request of a run.
#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Request {
    toml: String,
    /// TCP of the run; the scenario's own without it.
    tcp: Option<String>,
    run: u64,
    seed: Option<u64>,
    overrides: Vec<(String, String)>,
    tables: Vec<String>,
    /// Set if the answer has the story of the run.
    story: bool,
    /// Bound on the events of the run.
    most_events: Option<u64>,
}

/// A run in progress, or finished.
#[derive(Debug)]
pub(crate) struct Job {
    tcp: String,
    run: u64,
    resolved: String,
    most_events: u64,
    /// Names of the tables of the answer.
    tables: Vec<String>,
    /// Set if the answer has the story of the run.
    story: bool,
    pub(crate) share: f64,
    /// Absent once the answer was built.
    stepper: Option<Stepper>,
    /// Columns that the answer refers to by address.
    columns: Vec<Named>,
}

impl Job {
    pub(crate) fn new(request: &Request) -> Result<Self, Failure> {
        let scenario = load(request)?;
        let expanded = scenario.expand()?;
        let mut recorded = request.tables.clone();
        if request.story {
            recorded.extend(STORY_TABLES.map(str::to_owned));
        }
        let stepper = Stepper::new(expanded, request.run, &recorded)?;
        Ok(Self {
            tcp: name(&scenario),
            run: request.run,
            resolved: scenario.to_json(),
            most_events: request.most_events.unwrap_or(u64::MAX),
            tables: request.tables.clone(),
            story: request.story,
            share: 0.0,
            stepper: Some(stepper),
            columns: Vec::new(),
        })
    }

    /// Handles about `events` further events. Returns whether the run is over.
    pub(crate) fn step(&mut self, events: u64) -> Result<bool, Failure> {
        let Some(stepper) = &mut self.stepper else {
            return Ok(true);
        };
        let progress = stepper.step(events)?;
        self.share = progress.share;
        if progress.events > self.most_events && !progress.is_over {
            return Err(Failure::too_long(format!(
                "the run has more than {} events after {:.1} s of the scenario; shorten it with \
                 duration, or send less",
                self.most_events, progress.simulated
            )));
        }
        Ok(progress.is_over)
    }

    /// Ends the run and returns its answer as JSON. Columns stay where the answer says until the
    /// job is dropped.
    pub(crate) fn answer(&mut self) -> Result<String, Failure> {
        let stepper = self.stepper.take();
        let stepper = stepper.ok_or_else(|| Failure::internal("the answer was taken"))?;
        let (scenario, mut trace) = stepper.finish();
        let lines = if self.story {
            story(&scenario, &trace.tables)
        } else {
            Vec::new()
        };
        let wanted = |name| self.tables.iter().any(|table| table == name);
        trace.tables.retain(|table| wanted(table.name));
        let digest = digest(&trace.outcome, &trace.tables);
        let mut tables = Vec::new();
        for table in trace.tables {
            let name = table.name;
            let columns = columns::of(table, &scenario);
            let rows = columns.first().map_or(0, |column| column.values.place().2);
            let places: Vec<Value> = columns.iter().map(place).collect();
            tables.push(json!({ "name": name, "rows": rows, "columns": places }));
            self.columns.extend(columns);
        }
        let head = json!({
            "tcp": self.tcp, "run": self.run, "digest": digest, "events": trace.outcome.events,
            "simulated": trace.outcome.simulated.as_secs_f64(), "tables": tables,
            "story": lines.iter().map(sentence).collect::<Vec<_>>(),
        });
        let mut text = head.to_string();
        text.pop();
        let measures = trace.outcome.to_json(&scenario);
        let resolved = &self.resolved;
        let _ = write!(text, ",\"measures\":{measures},\"resolved\":{resolved}}}");
        Ok(text)
    }
}

/// Formats a sentence of the story; `packet` is absent for an event without a packet.
fn sentence(line: &StoryLine) -> Value {
    let mut row = json!({
        "time": line.time.as_secs_f64(), "flow": line.flow, "side": line.side, "text": line.text,
    });
    if let Some(packet) = line.packet {
        row["packet"] = packet.into();
    }
    row
}

fn place(column: &Named) -> Value {
    let (kind, at, _) = column.values.place();
    let mut place = json!({ "name": column.name, "type": kind, "at": at });
    if !column.names.is_empty() {
        place["names"] = json!(column.names);
    }
    place
}

/// Reads the scenario of a request as `farlink run --tcp` does: first the text, then profile and
/// variant, then the overrides, then the seed.
fn load(request: &Request) -> Result<Scenario, Failure> {
    let mut changes = Vec::new();
    if let Some(tcp) = &request.tcp {
        let (family, row) = match profile::split(tcp) {
            Some((profile, row)) => (Some(profile.name), row),
            None => (None, tcp.as_str()),
        };
        if let Some(family) = family {
            changes.push(("tcp.profile".to_owned(), family.to_owned()));
        }
        changes.push(("tcp.variant".to_owned(), row.to_owned()));
    }
    changes.extend(request.overrides.iter().cloned());
    if let Some(seed) = request.seed {
        changes.push(("seed".to_owned(), seed.to_string()));
    }
    Ok(scenario::load(&request.toml, "scenario", &changes)?)
}

/// Returns the name of a scenario's TCP, with the profile as its prefix.
fn name(scenario: &Scenario) -> String {
    let variant = scenario.tcp.variant_name();
    match scenario.tcp.profile {
        Some(profile) if profile != "rfc" => format!("{profile}-{variant}"),
        _ => variant.to_owned(),
    }
}
