//! Real packets in real time, for Linux.

use crate::errors;
use crate::job::Jobs;
use farlink_emu::{
    Control, EmuError, Emulation, EndpointConfig, EndpointReport, Fetch, HostConfig, Lateness,
    Mode, Outcome, Ran, Sample, Sampler, Server, Service, Task, session, sweep,
};
use farlink_sim::scenario::Expanded;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Time between two looks at the kernel's TCP.
const SAMPLED: Duration = Duration::from_millis(50);

/// Carries packets between hosts of a scenario while a program runs in one.
///
/// `servers` and `main` are (host, [program, argument, ...]). Without `main` it
/// lasts for `seconds`. `endpoints` are (host, scenario with its TCP) of hosts in
/// user space; `checked` is (sender, receiver, port, bytes) of a transfer whose ends
/// they are, if they are. `realtime` is None for real-time priority where it can be
/// had. With `pcap`, captures go to that directory; with `sample`
/// the kernel's TCP is looked at. Returns what happened as JSON.
#[pyfunction]
#[pyo3(signature = (scenario, run, servers, main, congestion=None, seconds=None, endpoints=vec![],
    checked=None, plain=false, realtime=None, pcap=None, snaplen=0, sample=false))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // by keyword, from Python
pub(crate) fn emulate(
    py: Python<'_>,
    scenario: String,
    run: u64,
    servers: Vec<(String, Vec<String>)>,
    main: Option<(String, Vec<String>)>,
    congestion: Option<String>,
    seconds: Option<f64>,
    endpoints: Vec<(String, String)>,
    checked: Option<(String, String, u16, u64)>,
    plain: bool,
    realtime: Option<bool>,
    pcap: Option<PathBuf>,
    snaplen: u32,
    sample: bool,
) -> PyResult<String> {
    let (names, texts): (Vec<_>, Vec<_>) = endpoints.into_iter().unzip();
    let texts = std::iter::once(scenario.clone()).chain(texts);
    let jobs: Vec<_> = texts.map(|text| (text, run)).collect();
    let jobs = Jobs::new(py, &jobs)?;
    let scenarios = jobs.list();
    let (expanded, _) = scenarios[0];
    let endpoints: Vec<_> = names
        .iter()
        .zip(&scenarios[1..])
        .map(|(host, (scenario, _))| endpoint(py, host, scenario, checked.as_ref()))
        .collect::<Result<_, _>>()?;
    let config = HostConfig {
        congestion,
        plain,
        ..HostConfig::default()
    };
    let task = |(host, argv)| Task { host, argv };
    let servers: Vec<_> = servers.into_iter().map(task).collect();
    let main = main.map(task);
    let limit = seconds.map(Duration::from_secs_f64);
    let swept = sweep();
    let made = py.detach(|| Emulation::new(expanded, run, &config, &endpoints));
    let mut emulation = made.map_err(|e| failure(py, &e))?;
    py.check_signals()?;
    emulation.set_mode(match realtime {
        None => Mode::Best,
        Some(true) => Mode::Realtime,
        Some(false) => Mode::Normal,
    });
    if let Some(directory) = &pcap {
        let comment = format!("farlink {}, emulated", env!("CARGO_PKG_VERSION"));
        let captured = emulation.capture(directory, &comment, snaplen);
        captured.map_err(|e| failure(py, &e))?;
    }
    let control = Control::open(&emulation, &name_of(&scenario), &scenario);
    let control = control.map_err(|e| failure(py, &e))?;
    let sampler = sample.then(|| Sampler::start(&emulation, SAMPLED));
    let sampler = sampler.transpose().map_err(|e| failure(py, &e))?;
    let mut interrupted = false;
    let outcome = py.detach(|| {
        let began = Instant::now();
        session(&mut emulation, &servers, main.as_ref(), || {
            interrupted = Python::attach(|py| match py.check_signals() {
                // The end of a run that the user ends so, and its results are there.
                Err(e) if e.is_instance_of::<PyKeyboardInterrupt>(py) => Ok(true),
                other => other.map(|()| false),
            })?;
            let on = limit.is_none_or(|limit| began.elapsed() < limit);
            Ok::<bool, PyErr>(on && !interrupted)
        })
    });
    drop(control);
    let samples = py.detach(|| sampler.map(Sampler::finish));
    let outcome = outcome.map_err(|e| failure(py, &e))??;
    let mut document = described(&outcome, &swept);
    document["interrupted"] = interrupted.into();
    if let Some(samples) = samples {
        document["sockets"] = columns(&samples.map_err(|e| failure(py, &e))?);
    }
    Ok(document.to_string())
}

fn name_of(scenario: &str) -> String {
    let tree: Value = serde_json::from_str(scenario).unwrap_or_default();
    tree["name"].as_str().unwrap_or("scenario").to_owned()
}

/// What was seen of the kernel's TCP, a list a column.
fn columns(samples: &[Sample]) -> Value {
    let of = |field: fn(&Sample) -> Value| samples.iter().map(field).collect::<Vec<_>>();
    json!({
        "time_ns": of(|s| s.time.into()),
        "host": of(|s| s.host.into()),
        "local": of(|s| s.local.to_string().into()),
        "peer": of(|s| s.peer.to_string().into()),
        "ca_state": of(|s| s.ca_state.into()),
        "backoff": of(|s| s.backoff.into()),
        "mss": of(|s| s.mss.into()),
        "cwnd": of(|s| s.cwnd.into()),
        "ssthresh": of(|s| s.ssthresh.into()),
        "flight": of(|s| s.flight.into()),
        "srtt_us": of(|s| s.srtt.into()),
        "rttvar_us": of(|s| s.rttvar.into()),
        "min_rtt_us": of(|s| s.min_rtt.into()),
        "rto_us": of(|s| s.rto.into()),
        "retransmissions": of(|s| s.retransmissions.into()),
        "acked": of(|s| s.acked.into()),
        "received": of(|s| s.received.into()),
        "delivery_rate": of(|s| s.delivery_rate.into()),
    })
}

fn failure(py: Python<'_>, error: &EmuError) -> PyErr {
    match error {
        EmuError::Scenario(message) => errors::scenario(py, message),
        _ => errors::run_error(error),
    }
}

/// The user-space host `host`, with the TCP that the scenario gives it.
fn endpoint(
    py: Python<'_>,
    host: &str,
    scenario: &Expanded,
    checked: Option<&(String, String, u16, u64)>,
) -> PyResult<EndpointConfig> {
    let node = scenario.nodes.iter().position(|name| name == host);
    let tcp = scenario.flows.iter().find_map(|flow| match node {
        Some(node) if flow.from == node => Some(flow.sender.clone()),
        Some(node) if flow.to == node => Some(flow.receiver.clone()),
        _ => None,
    });
    let tcp = tcp.ok_or_else(|| {
        let message = format!("endpoint {host:?}: no flow of the scenario begins or ends there");
        errors::scenario(py, &message)
    })?;
    let mut config = EndpointConfig {
        host: host.to_owned(),
        tcp,
        services: vec![
            (7, Service::Echo),
            (9, Service::Discard),
            (19, Service::Data(u64::MAX)),
        ],
        fetch: None,
    };
    if let Some((sender, receiver, port, size)) = checked {
        if sender == host {
            config.services.push((*port, Service::Data(*size)));
        }
        if receiver == host {
            config.fetch = Some(Fetch {
                host: sender.clone(),
                port: *port,
                size: *size,
            });
        }
    }
    Ok(config)
}

fn did(report: &EndpointReport) -> Value {
    let stats = &report.stats;
    let fetched = report.fetched.map(|f| {
        json!({
            "bytes": f.bytes,
            "seconds": f.duration.as_secs_f64(),
            "goodput_bit_s": 8.0 * f.bytes as f64 / f.duration.as_secs_f64().max(1e-9),
            "correct": f.correct,
            "failure": f.failure.map(|reason| format!("{reason:?}")),
        })
    });
    let dropped: serde_json::Map<_, _> = report
        .dropped
        .by_reason()
        .map(|(reason, count)| (reason.to_owned(), count.into()))
        .into_iter()
        .collect();
    json!({
        "fetched": fetched,
        "dropped": dropped,
        "accepted": report.accepted,
        "segments_sent": stats.segments_sent,
        "segments_retransmitted": stats.segments_retransmitted,
        "acks_sent": stats.acks_sent,
        "timeouts": stats.timeouts,
        "fast_retransmits": stats.fast_retransmits,
    })
}

fn described(outcome: &Outcome, swept: &[String]) -> Value {
    let report = &outcome.report;
    let endpoints: serde_json::Map<_, _> = outcome
        .endpoints
        .iter()
        .map(|(name, report)| (name.clone(), did(report)))
        .collect();
    let server =
        |s: &Server| json!({ "host": s.task.host, "argv": s.task.argv, "exit_code": s.code });
    let mut document = report.to_json();
    document["exit_code"] = outcome.code.into();
    document["endpoints"] = endpoints.into();
    document["servers"] = outcome.servers.iter().map(server).collect();
    document["lateness"] = late(&report.lateness);
    document["uncaptured"] = report.uncaptured.into();
    document["capture_failure"] = json!(report.capture_failure);
    document["realtime"] = (report.priority == Ran::Realtime).into();
    document["realtime_refused"] = match &report.priority {
        Ran::Refused(reason) => reason.as_str().into(),
        Ran::Realtime | Ran::Normal => Value::Null,
    };
    document["swept"] = json!(swept);
    document
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
