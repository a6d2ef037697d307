//! Runs an emulation, from its setup to its report.

use crate::control::Control;
use crate::interrupt::Watch;
use crate::namespace::sweep;
use crate::options::{self, Options};
use crate::report::{Report, Samples};
use crate::session::session;
use crate::sockets::Sampler;
use crate::{EmuError, Emulation, Endpoint, Host};
use serde_json::Value;
use std::path::Path;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// Sampling interval of the kernels' TCP state.
const SAMPLED: Duration = Duration::from_millis(50);

/// Carries packets between the hosts of a resolved scenario while the main program runs. Without a
/// program, the emulation takes `options.seconds`.
///
/// `signals` is called every few milliseconds. Its arguments are whether the network runs (so that
/// a report will be returned), and new status lines of a unit. If `signals` returns `Ok(false)` or
/// an error, the emulation stops, and an error is returned to the caller.
///
/// # Errors
/// Fails if the scenario or the options are wrong, or a system call fails.
pub fn emulate<E>(
    scenario: &str,
    options: &Options,
    mut signals: impl FnMut(bool, &[String]) -> Result<bool, E>,
) -> Result<Result<Report, E>, EmuError> {
    let expanded = options::expand(scenario)?;
    let endpoints = options.endpoints()?;
    let _watch = options.interrupt.then(Watch::start).transpose()?;
    let swept = sweep();
    let (host, attached) = (options.host(), options.attached());
    let mut emulation = Emulation::new(
        &expanded,
        options.run,
        &host,
        &endpoints,
        &attached,
        options.force,
        options.unit.as_ref(),
    )?;
    if let Err(error) = signals(false, &[]) {
        return Ok(Err(error));
    }
    emulation.set_mode(options.mode());
    if let Some(directory) = &options.pcap {
        let comment = format!("farlink {}, emulated", env!("CARGO_PKG_VERSION"));
        emulation.capture(directory, &comment, options.snaplen)?;
    }
    let control = Control::open(&emulation, &name_of(scenario), scenario)?;
    let sampler = options
        .sample
        .then(|| Sampler::start(&emulation, SAMPLED))
        .transpose()?;
    let mut interrupted = false;
    let notices = emulation.notices();
    let (began, limit) = (Instant::now(), options.limit());
    let ended = session(
        &mut emulation,
        &options.servers,
        options.main.as_ref(),
        || {
            let lines = notices.as_ref().map(|notices| {
                std::mem::take(&mut *notices.lock().unwrap_or_else(PoisonError::into_inner))
            });
            interrupted = !signals(true, &lines.unwrap_or_default())?;
            Ok(!interrupted && limit.is_none_or(|limit| began.elapsed() < limit))
        },
    );
    drop(control);
    let samples = sampler.map(Sampler::finish);
    let mut report = match ended? {
        Ok(report) => report,
        Err(error) => return Ok(Err(error)),
    };
    if let Some(directory) = &options.pcap {
        write_secrets(&emulation, directory)?;
    }
    report.sockets = samples.transpose()?.map(Samples);
    report.interrupted = interrupted;
    report.swept = swept;
    Ok(Ok(report))
}

fn name_of(scenario: &str) -> String {
    let tree: Value = serde_json::from_str(scenario).unwrap_or_default();
    tree["name"].as_str().unwrap_or("scenario").to_owned()
}

/// Writes the key log of QUIC hosts next to the captures, if there are any.
fn write_secrets(emulation: &Emulation, directory: &Path) -> Result<(), EmuError> {
    let endpoints = emulation.hosts().iter().filter_map(Host::endpoint);
    let secrets: String = endpoints.map(Endpoint::secrets).collect();
    if secrets.is_empty() {
        return Ok(());
    }
    let path = directory.join("keys.log");
    std::fs::write(&path, secrets)
        .map_err(|e| EmuError::system(format!("write {}", path.display()), e))
}
