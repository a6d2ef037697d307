//! Checks of values of a TCP that depend on each other.

use farlink_tcp::Interval;
use farlink_tcp::config::{
    Careful, Config, PartialAck, Recovery, RtoAlgorithm, RtoConfig, Sampling, SnackForm,
    WindowScale,
};
use farlink_tcp::congestion::{self, Control};
use farlink_tcp::key;
use farlink_tcp::rto::RttEstimator;

use super::decode::Problem;
use super::tcp::TcpSpec;
use super::units::{Size, Time};

fn fault(key: &str, message: impl Into<String>) -> Result<(), Problem> {
    Err(Problem::new([key.into()], message))
}

/// Removes defaults whose input another key has removed, and computes the first time-out from the
/// initial state of the estimator. Keys in the scenario stay, so that a later check can refuse
/// them.
pub(super) fn remove_unusable_defaults(written: &TcpSpec, config: &mut Config) {
    if written.has("receive_window") && !written.has("receive_window_max") {
        // As with SO_RCVBUF, a fixed buffer disables autotuning.
        config.receiver.buffer_max = None;
    }
    if config.receiver.buffer_max.is_none() && !written.has("gradual_window") {
        config.receiver.gradual_window = false;
    }
    if !written.has("undo") {
        config.undo = key::able_to_undo(config);
    }
    if !written.has("prr") {
        let prr = key::prr_in_use(config);
        if let Some(place) = config.recovery.prr_mut() {
            *place = prr;
        }
    }
    if let Some(first) = first_timeout(&config.rto)
        && !written.has("rto_initial")
    {
        config.rto.initial = first;
    }
}

/// Returns the time-out that follows from an initial mean and deviation, before the first sample.
fn first_timeout(rto: &RtoConfig) -> Option<Interval> {
    rto.start?;
    let unbounded = RtoConfig {
        min: Interval::ZERO,
        max: Interval::MAX,
        ..*rto
    };
    Some(RttEstimator::new(unbounded).rto())
}

/// Refuses values that exclude each other. If only one of the two is in the scenario, the error
/// names its key. `base` is the variant.
pub(super) fn consistent(written: &TcpSpec, base: &Config, config: &Config) -> Result<(), Problem> {
    start(written, base, config)?;
    timeouts(written, &config.rto)?;
    window(config)?;
    resume(config)?;
    options(written, config)?;
    samples(config)?;
    if let Recovery::NewReno { careful, .. } = config.recovery
        && careful == Careful::TimestampHeuristic
        && !config.timestamps
    {
        return fault("careful", "= \"timestamp\" needs timestamps = true");
    }
    undo(config)
}

/// Checks that an estimator has an initial mean and deviation, or neither.
fn start(written: &TcpSpec, base: &Config, config: &Config) -> Result<(), Problem> {
    let jacobson = matches!(config.rto.algorithm, RtoAlgorithm::Jacobson { .. });
    let (srtt, deviation) = ("rto_srtt_initial", "rto_dev_initial");
    for (key, other) in [(srtt, deviation), (deviation, srtt)] {
        if written.has(key) && !written.has(other) && jacobson && base.rto.start.is_none() {
            return fault(key, format!("says nothing without {other}; write both"));
        }
    }
    Ok(())
}

fn timeouts(written: &TcpSpec, rto: &RtoConfig) -> Result<(), Problem> {
    for (key, value) in [("rto_initial", rto.initial), ("rto_max", rto.max)] {
        if value.is_zero() {
            let message = "= \"0 s\" leaves no time-out; write for example \"60 s\"";
            return fault(key, message);
        }
    }
    for (key, value) in [("rto_min", rto.min), ("rto_initial", rto.initial)] {
        if value > rto.max {
            let (value, max) = (Time(value), Time(rto.max));
            return if written.has(key) {
                fault(key, format!("= \"{value}\" is above rto_max, \"{max}\""))
            } else {
                let message = format!("= \"{max}\" is below {key}, \"{value}\"");
                fault("rto_max", message)
            };
        }
    }
    Ok(())
}

fn window(config: &Config) -> Result<(), Problem> {
    let receiver = &config.receiver;
    if let Some(max) = receiver.buffer_max
        && max < receiver.buffer
    {
        let (max, buffer) = (Size(max), Size(receiver.buffer));
        let message = format!("= \"{max}\" is below receive_window, \"{buffer}\"");
        return fault("receive_window_max", message);
    }
    let (shift, scale) = match receiver.window_scale {
        WindowScale::Auto => return Ok(()),
        WindowScale::Off => (0, "\"off\"".to_owned()),
        WindowScale::Shift(n) => (n, n.to_string()),
    };
    let most = 65_535 << shift;
    if receiver.largest_window() <= most {
        return Ok(());
    }
    let window = Size(receiver.largest_window());
    let message = format!(
        "= {scale} cannot offer a receive_window of {window}; write \"auto\", or a window of at \
         most {most} B"
    );
    fault("window_scale", message)
}

/// Checks that Careful Resume has the RTT of the earlier connection.
fn resume(config: &Config) -> Result<(), Problem> {
    match config.window.resume {
        Some(saved) if saved.rtt.is_zero() => fault(
            "resume_cwnd",
            "says nothing without resume_rtt, the RTT of the earlier connection; write both",
        ),
        _ => Ok(()),
    }
}

fn options(written: &TcpSpec, config: &Config) -> Result<(), Problem> {
    if matches!(config.recovery, Recovery::Sack { .. }) && !config.receiver.sack {
        return if written.has("sack") {
            let message = "= false leaves recovery = \"sack\" without its input; write sack = true, \
                        or another recovery";
            fault("sack", message)
        } else {
            fault("recovery", "= \"sack\" needs sack = true")
        };
    }
    let snack = config.receiver.snack != SnackForm::Off;
    if matches!(config.recovery, Recovery::Snack { .. }) && !snack {
        return if written.has("snack") {
            let message = "= \"off\" leaves recovery = \"snack\" without its input; write \"short\" or \
                        \"long\", or another recovery";
            fault("snack", message)
        } else {
            let message = "= \"snack\" needs snack = \"short\" or \"long\"";
            fault("recovery", message)
        };
    }
    if snack && config.receiver.sack {
        let (key, other) = if written.has("snack") {
            ("snack", "SACK")
        } else {
            ("sack", "SNACK")
        };
        let message =
            format!("is not offered beside {other}; write sack = false, or snack = \"off\"");
        return fault(key, message);
    }
    if matches!(config.notices.ackp, Some(PartialAck::Constant(timer)) if timer.is_zero()) {
        let message = "= \"0 s\" leaves no time-out; write for example \"2 s\"";
        return fault("ackp_timer", message);
    }
    Ok(())
}

fn samples(config: &Config) -> Result<(), Problem> {
    let rto = &config.rto;
    if !rto.round.is_zero() && !rto.tick.is_zero() {
        let (round, tick) = (Time(rto.round), Time(rto.tick));
        let message = format!(
            "= \"{round}\" rounds time-outs alone, and rto_tick = \"{tick}\" counts samples in \
             ticks too; write rto_tick = \"0 s\", or leave rto_round out"
        );
        return fault("rto_round", message);
    }
    if !rto.karn && config.timestamps {
        let message = "= false would be ignored: with timestamps = true each ACK tells which \
                    transmission it is of; write timestamps = false";
        return fault("karn", message);
    }
    let go_back_n = matches!(config.recovery, Recovery::GoBackN { .. });
    if !rto.karn && rto.sampling == Sampling::EverySegment && !go_back_n {
        let message = "= false times one segment from when it first left; write sampling = \
                    \"one-per-rtt\", or recovery = \"go-back-n\"";
        return fault("karn", message);
    }
    if let Some(first) = first_timeout(rto).filter(|&first| first != rto.initial) {
        let message = format!(
            "= \"{}\" differs from rto_srtt_initial and rto_k times rto_dev_initial, \"{}\"; leave \
             it out",
            Time(rto.initial),
            Time(first)
        );
        return fault("rto_initial", message);
    }
    Ok(())
}

/// Checks that the methods of `undo` have what they need, and that the controller can undo.
fn undo(config: &Config) -> Result<(), Problem> {
    if config.undo.dsack && !config.receiver.dsack {
        return fault("undo", "= \"dsack\" needs dsack = true");
    }
    if config.undo.eifel && !config.timestamps {
        return fault("undo", "= \"eifel\" needs timestamps = true");
    }
    if config.undo.frto && !key::able_to_undo(config).frto && can_undo(config) {
        return fault("undo", "= \"frto\" needs coarse_timeout = true");
    }
    if !config.undo.any() || can_undo(config) {
        return Ok(());
    }
    let able: Vec<_> = congestion::ALGORITHMS
        .iter()
        .filter(|a| congestion::can_undo(&Control::new(a)))
        .map(|a| format!("\"{}\"", a.name))
        .collect();
    let message = format!(
        "is not for congestion = \"{}\", which cannot take a reduction back; write \"off\", or one \
         of {}",
        config.congestion.algorithm().name,
        able.join(", ")
    );
    fault("undo", message)
}

fn can_undo(config: &Config) -> bool {
    congestion::can_undo(&config.congestion)
}
