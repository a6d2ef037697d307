//! Real packets in real time, for Linux.

use crate::errors;
use crate::job::Jobs;
use farlink_emu::{EmuError, Emulation, HostConfig, Lateness, Outcome, Task, session, sweep};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Carries packets between hosts of a scenario while a program runs in one.
///
/// `servers` and `main` are (host, [program, argument, ...]). Without `main` it
/// lasts for `seconds`. Returns what happened as JSON.
#[pyfunction]
#[pyo3(signature = (scenario, run, servers, main, congestion=None, seconds=None))]
pub(crate) fn emulate(
    py: Python<'_>,
    scenario: String,
    run: u64,
    servers: Vec<(String, Vec<String>)>,
    main: Option<(String, Vec<String>)>,
    congestion: Option<String>,
    seconds: Option<f64>,
) -> PyResult<String> {
    let jobs = Jobs::new(py, &[(scenario, run)])?;
    let (expanded, _) = jobs.list()[0];
    let config = HostConfig {
        congestion,
        ..HostConfig::default()
    };
    let task = |(host, argv)| Task { host, argv };
    let servers: Vec<_> = servers.into_iter().map(task).collect();
    let main = main.map(task);
    let limit = seconds.map(Duration::from_secs_f64);
    let swept = sweep();
    let mut emulation = Emulation::new(expanded, run, &config).map_err(|e| failure(py, &e))?;
    #[allow(clippy::redundant_closure_for_method_calls)] // the method is not general enough
    let outcome = py.detach(|| {
        let began = Instant::now();
        session(&mut emulation, &servers, main.as_ref(), || {
            Python::attach(|py| py.check_signals())?;
            Ok::<bool, PyErr>(limit.is_none_or(|limit| began.elapsed() < limit))
        })
    });
    let outcome = outcome.map_err(|e| failure(py, &e))??;
    Ok(described(&outcome, &swept).to_string())
}

fn failure(py: Python<'_>, error: &EmuError) -> PyErr {
    match error {
        EmuError::Scenario(message) => errors::scenario(py, message),
        _ => errors::run_error(error),
    }
}

fn described(outcome: &Outcome, swept: &[String]) -> Value {
    let report = &outcome.report;
    let hosts: Vec<_> = outcome
        .hosts
        .iter()
        .map(|(name, address, packets)| {
            json!({
                "host": name,
                "address": address.to_string(),
                "sent": packets.sent,
                "delivered": packets.delivered,
                "not_ipv4": packets.not_ipv4,
                "no_host": packets.no_host,
                "refused": packets.refused,
            })
        })
        .collect();
    let links: Vec<_> = report
        .links
        .iter()
        .map(|l| json!({ "link": l.link, "direction": l.direction, "metrics": l.metrics }))
        .collect();
    json!({
        "exit_code": outcome.code,
        "duration_s": report.duration.as_secs_f64(),
        "lateness": late(&report.lateness),
        "hosts": hosts,
        "links": links,
        "swept": swept,
    })
}

fn late(lateness: &Lateness) -> Value {
    json!({
        "packets": lateness.count(),
        "mean_s": lateness.mean().as_secs_f64(),
        "p50_s": lateness.quantile(0.5).as_secs_f64(),
        "p99_s": lateness.quantile(0.99).as_secs_f64(),
        "max_s": lateness.max().as_secs_f64(),
    })
}
