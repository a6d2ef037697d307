//! Requests of the page and their answers, all JSON.

use crate::edit;
use crate::failure::Failure;
use crate::job::{self, Job};
use farlink_sim::scenario;
use farlink_tcp::profile::PROFILES;
use farlink_tcp::variant::{self, VARIANTS};
use serde::Deserialize;
use serde_json::{Value, json};

/// State of a job after a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Events are left.
    Running = 0,
    /// The run is over, or the request has its answer.
    Done = 1,
    /// The answer is an error.
    Failed = 2,
}

/// Runs in progress, and the answer to the last request.
#[derive(Default, Debug)]
pub struct Engine {
    answer: String,
    jobs: Vec<Option<Job>>,
}

/// Request that is answered at once.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct Request {
    ask: String,
    toml: String,
    overrides: Vec<(String, String)>,
    edits: Vec<(String, Option<String>)>,
    path: String,
}

impl Engine {
    /// Returns the answer to the last request, as JSON.
    pub fn answer(&self) -> &str {
        &self.answer
    }

    /// Answers a request that takes no run.
    pub fn ask(&mut self, text: &str) -> Status {
        let answer = serde_json::from_str(text)
            .map_err(|e| Failure::internal(&e.to_string()))
            .and_then(|request| reply(&request));
        self.put(answer)
    }

    /// Starts a run. The answer is the number of the job.
    pub fn start(&mut self, text: &str) -> Status {
        let job = serde_json::from_str::<job::Request>(text)
            .map_err(|e| Failure::internal(&e.to_string()))
            .and_then(|request| Job::new(&request));
        let started = job.map(|job| {
            let free = self.jobs.iter().position(Option::is_none);
            let number = free.unwrap_or(self.jobs.len());
            if free.is_none() {
                self.jobs.push(None);
            }
            self.jobs[number] = Some(job);
            number.to_string()
        });
        self.put(started)
    }

    /// Handles about `events` further events of a job. After [`Status::Done`] the run is over.
    pub fn step(&mut self, job: usize, events: u64) -> Status {
        match self.job(job).and_then(|job| job.step(events)) {
            Ok(false) => Status::Running,
            Ok(true) => Status::Done,
            Err(failure) => self.put(Err(failure)),
        }
    }

    /// Returns the finished share of a job, 0 to 1.
    pub fn share(&mut self, job: usize) -> f64 {
        self.job(job).map_or(1.0, |job| job.share)
    }

    /// Ends a job. The answer has its results and the addresses of their columns, which are valid
    /// until [`Self::discard`].
    pub fn finish(&mut self, job: usize) -> Status {
        let answer = self.job(job).and_then(Job::answer);
        self.put(answer)
    }

    /// Drops a job with its columns.
    pub fn discard(&mut self, job: usize) {
        if let Some(place) = self.jobs.get_mut(job) {
            *place = None;
        }
    }

    fn job(&mut self, number: usize) -> Result<&mut Job, Failure> {
        let job = self.jobs.get_mut(number).and_then(Option::as_mut);
        job.ok_or_else(|| Failure::internal("no such job"))
    }

    fn put(&mut self, answer: Result<String, Failure>) -> Status {
        let (answer, status) = match answer {
            Ok(text) => (text, Status::Done),
            Err(failure) => (
                serde_json::to_string(&failure).unwrap_or_default(),
                Status::Failed,
            ),
        };
        self.answer = answer;
        status
    }
}

fn reply(request: &Request) -> Result<String, Failure> {
    Ok(match request.ask.as_str() {
        "resolve" => {
            let loaded = scenario::load(&request.toml, "scenario", &request.overrides)?;
            loaded.expand()?;
            loaded.to_json()
        }
        "edit" => Value::from(edit::edit(&request.toml, &request.edits)?).to_string(),
        "value" => match edit::value(&request.toml, &request.path)? {
            Some(text) => Value::from(text).to_string(),
            None => Value::Null.to_string(),
        },
        "scenarios" => scenarios().to_string(),
        "tcps" => tcps().to_string(),
        "version" => Value::from(env!("CARGO_PKG_VERSION")).to_string(),
        _ => return Err(Failure::internal("no such request")),
    })
}

/// Returns the scenarios of the library with their texts.
fn scenarios() -> Value {
    let all = scenario::library().iter();
    all.map(|&(name, toml)| {
        let title = edit::value(toml, "description").ok().flatten();
        json!({ "name": name, "title": title.unwrap_or_default(), "toml": toml })
    })
    .collect()
}

/// Returns the TCPs: first the rows, and then those of each profile.
fn tcps() -> Value {
    let rows = VARIANTS
        .iter()
        .map(|row| json!({ "name": row.name, "summary": row.summary, "status": row.status() }));
    let families = PROFILES.iter().filter(|family| family.members.is_some());
    let of_families = families.flat_map(|family| {
        family.names().into_iter().map(|row| {
            let name = format!("{}-{row}", family.name);
            let summary = format!("{row} as {}", family.source);
            json!({ "name": name, "summary": summary, "status": variant::status(&name) })
        })
    });
    rows.chain(of_families).collect()
}
