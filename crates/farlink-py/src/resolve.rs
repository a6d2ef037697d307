//! Resolves scenarios: one, or all points of a sweep with several threads.

use crate::errors;
use crate::job;
use farlink_sim::scenario::{self, Expanded, ScenarioError, Template};
use pyo3::prelude::*;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::ScopedJoinHandle;

/// Reads a scenario and returns it as JSON with all defaults filled in. Calls `read` with the name
/// of each file that the scenario names; `read` returns the text of the file.
#[pyfunction]
#[pyo3(signature = (text, origin, overrides, read=None))]
#[allow(clippy::needless_pass_by_value)] // what PyO3 extracts is owned
pub(crate) fn resolve(
    py: Python<'_>,
    text: &str,
    origin: &str,
    overrides: Vec<(String, String)>,
    read: Option<Py<PyAny>>,
) -> PyResult<String> {
    let mut reader = move |name: &str| match &read {
        None => Err("nothing here reads files".to_owned()),
        Some(read) => Python::attach(|py| {
            read.call1(py, (name,))
                .and_then(|text| text.extract::<String>(py))
                .map_err(|e| e.value(py).to_string())
        }),
    };
    let (text, origin) = (text.to_owned(), origin.to_owned());
    job::aside(py, move || {
        let loaded = scenario::load_with(&text, &origin, &overrides, &mut reader)?;
        loaded.expand()?;
        Ok(loaded.to_json())
    })?
    .map_err(|e: ScenarioError| errors::scenario(py, &e.to_string()))
}

/// Least number of points of a thread.
const LEAST: usize = 8;

/// Overrides of a point: paths with values.
type Overrides = Vec<(String, String)>;

/// Resolved text of a point, and the message of its error. Both are `None` if the point names a
/// file, or no thread could resolve it.
type Resolved = (Option<String>, Option<String>);

/// Reads a scenario once, and resolves it with each list of overrides. `name` is that of scenarios
/// without a name.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what PyO3 extracts is owned
pub(crate) fn resolve_many(
    py: Python<'_>,
    text: &str,
    origin: &str,
    name: String,
    points: Vec<Overrides>,
    threads: usize,
) -> PyResult<Vec<Resolved>> {
    let (text, origin) = (text.to_owned(), origin.to_owned());
    job::aside(py, move || {
        let template = match Template::parse(&text, &origin) {
            Ok(template) => template,
            Err(error) => return vec![(None, Some(error.to_string())); points.len()],
        };
        let share = points.len().div_ceil(threads.max(1)).max(LEAST);
        let each = |part: &[Overrides]| -> Vec<Resolved> {
            part.iter()
                .map(|sets| resolve_one(&template, &name, sets))
                .collect()
        };
        std::thread::scope(|scope| {
            let threads = points.chunks(share).map(|part| {
                let thread = std::thread::Builder::new().stack_size(job::STACK);
                (part, thread.spawn_scoped(scope, move || each(part)).ok())
            });
            let threads: Vec<_> = threads.collect();
            let join = |(part, thread): (&[Overrides], Option<ScopedJoinHandle<'_, _>>)| {
                let resolved = thread.and_then(|thread| thread.join().ok());
                resolved.unwrap_or_else(|| vec![(None, None); part.len()])
            };
            threads.into_iter().flat_map(join).collect()
        })
    })
}

fn resolve_one(template: &Template, name: &str, overrides: &[(String, String)]) -> Resolved {
    let mut reads = false;
    let mut reader = |_: &str| {
        reads = true;
        Err("files are read elsewhere".to_owned())
    };
    match template.load(overrides, &mut reader) {
        _ if reads => (None, None),
        Ok(mut loaded) => {
            loaded.name.get_or_insert_with(|| name.to_owned());
            let text = loaded.to_json();
            remember(&text);
            (Some(text), None)
        }
        Err(error) => (None, Some(error.to_string())),
    }
}

/// Most texts whose hashes are kept: 8 MB.
const MOST: usize = 1 << 20;

/// Hashes of texts that [`resolve_many`] returned.
#[derive(Default)]
struct Checked {
    hasher: RandomState,
    hashes: Mutex<HashSet<u64>>,
}

fn checked() -> &'static Checked {
    static CHECKED: OnceLock<Checked> = OnceLock::new();
    CHECKED.get_or_init(Checked::default)
}

fn remember(text: &str) {
    let Checked { hasher, hashes } = checked();
    let hash = hasher.hash_one(text);
    let mut hashes = hashes.lock().unwrap_or_else(PoisonError::into_inner);
    if hashes.len() < MOST {
        hashes.insert(hash);
    }
}

/// Reads a resolved scenario. A text of [`resolve_many`] was checked before.
pub(crate) fn load(text: &str) -> Result<Expanded, ScenarioError> {
    let Checked { hasher, hashes } = checked();
    let hash = hasher.hash_one(text);
    let is_known = {
        let hashes = hashes.lock().unwrap_or_else(PoisonError::into_inner);
        !hashes.is_empty() && hashes.contains(&hash)
    };
    if is_known {
        return scenario::expand_resolved(text);
    }
    scenario::load(text, "resolved scenario", &[]).and_then(|s| s.expand())
}
