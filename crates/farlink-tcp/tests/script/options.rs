//! Option lines: from `key=value` words to a [`Config`].

use super::Script;
use farlink_tcp::config::{
    AssumeLoss, Backoff, ByteCounting, Careful, Config, CwndLimit, DummyReply, Eln, FastOpen,
    InitialWindow, Nagle, NewRenoExit, Pacing, PartialAck, PrrBound, RackConfig, Ratio, Recovery,
    ReduceFrom, RtoAlgorithm, Sampling, SnackForm, TlpConfig, Undo, WindowScale,
};
use farlink_tcp::congestion::{Range, Setting};
use farlink_tcp::{Interval, profile};
use std::str::FromStr;

/// Reads an option line: `--tcp NAME` and `key=value` words, in order.
pub(crate) fn apply(script: &mut Script, line: &str) -> Result<(), String> {
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "--tcp" => {
                let name = words.next().ok_or("--tcp needs a name")?;
                let (profile, tcp) = profile::split(name).unwrap_or((&profile::RFC, name));
                let config = profile.config(tcp);
                script.config = config.ok_or_else(|| format!("unknown TCP {name:?}"))?;
            }
            "--isn" => script.isn = number(words.next().ok_or("--isn needs a number")?)?,
            "--peer-isn" => {
                script.peer_isn = number(words.next().ok_or("--peer-isn needs a number")?)?;
            }
            "--cookie" => {
                script.cookie = Some(number(words.next().ok_or("--cookie needs a number")?)?);
            }
            "--cookie-mss" => {
                script.cookie_mss = number(words.next().ok_or("--cookie-mss needs a number")?)?;
            }
            "--tolerance" => {
                script.tolerance = interval(words.next().ok_or("--tolerance needs a time")?)?;
            }
            _ => {
                let (key, value) = word
                    .split_once('=')
                    .ok_or_else(|| format!("{word:?} is not key=value"))?;
                set(&mut script.config, key, value).map_err(|e| format!("{key}: {e}"))?;
            }
        }
    }
    Ok(())
}

fn set(config: &mut Config, key: &str, value: &str) -> Result<(), String> {
    match key {
        "mss" => config.mss = number(value)?,
        "send_buffer" => config.send_buffer = number(value)?,
        "nagle" => {
            config.nagle = match value {
                "off" => Nagle::Off,
                "rfc896" => Nagle::Rfc896,
                "minshall" => Nagle::Minshall,
                _ => return Err("off, rfc896 or minshall".into()),
            }
        }
        "cwnd_validation" => config.cwnd_validation = switch(value)?,
        "timestamps" => config.timestamps = switch(value)?,
        "dupack_threshold" => config.dupack_threshold = number(value)?,
        "reduce_from" => {
            config.reduce_from = match value {
                "flight" => ReduceFrom::FlightSize,
                "flight_unbounded" => ReduceFrom::FlightSizeUnbounded,
                "pipe" => ReduceFrom::Pipe,
                "cwnd" => ReduceFrom::Cwnd,
                _ => return Err("flight, pipe or cwnd".into()),
            }
        }
        "prr" => {
            config.prr = match value {
                "off" => None,
                "safe_ack" => Some(PrrBound::SafeAck),
                "conservative" => Some(PrrBound::Conservative),
                "slow_start" => Some(PrrBound::SlowStart),
                _ => return Err("off, safe_ack, conservative or slow_start".into()),
            }
        }
        "ecn" => config.ecn = switch(value)?,
        "undo" => {
            config.undo = Undo::OFF;
            for word in value.split('+').filter(|&word| word != "off") {
                config.undo = config.undo.and(match word {
                    "dsack" => Undo::DSACK,
                    "eifel" => Undo::EIFEL,
                    "frto" => Undo::FRTO,
                    _ => return Err("off, or dsack, eifel, frto joined by +".into()),
                });
            }
        }
        "assume_loss" | "eln" | "ebsn" | "ackp" | "ackp_karn" | "snack" => {
            set_wireless(config, key, value)?;
        }
        "rack" => config.rack = switch(value)?.then(RackConfig::default),
        "tlp" | "reo_divisor" | "reo_persist" | "min_rtt_window" | "tlp_srtts" | "tlp_initial"
        | "tlp_max_ack_delay" => set_rack(config, key, value)?,
        "limited_transmit" => config.limited_transmit = switch(value)?,
        "restart_on_retransmit" => config.restart_on_retransmit = switch(value)?,
        "restart_on_sack" => config.restart_on_sack = switch(value)?,
        "byte_counting" => {
            config.byte_counting = match value {
                "off" => ByteCounting::Off,
                "unlimited" => ByteCounting::Unlimited,
                limit => ByteCounting::Limit(number(limit)?),
            }
        }
        "initial_window" if value == "rfc3390" => config.initial_window = InitialWindow::Rfc3390,
        "initial_window" => config.initial_window = InitialWindow::Segments(number(value)?),
        "initial_ssthresh" => config.initial_ssthresh = Some(number(value)?),
        "idle_restart" => config.idle_restart = switch(value)?,
        "max_retransmits" => config.max_retransmits = number(value)?,
        "max_syn_retransmits" => config.max_syn_retransmits = number(value)?,
        "msl" => config.msl = interval(value)?,
        "fast_open" => {
            config.fast_open = match value {
                "off" => FastOpen::Off,
                "request" => FastOpen::Request,
                "cookie" => FastOpen::Cookie,
                _ => return Err("off, request or cookie".into()),
            }
        }
        "keepalive" => config.keepalive.get_or_insert_default().idle = interval(value)?,
        "keepalive_interval" => {
            config.keepalive.get_or_insert_default().interval = interval(value)?;
        }
        "keepalive_probes" => config.keepalive.get_or_insert_default().probes = number(value)?,
        "user_timeout" => config.user_timeout = Some(interval(value)?),
        "fin_wait_2_timeout" => config.fin_wait_2 = Some(interval(value)?),
        "impatient" | "careful" | "newreno_exit" | "rescue" | "fine_k" | "fine_granularity"
        | "coarse_timeout" => {
            set_recovery(config, key, value)?;
        }
        _ if config
            .congestion
            .algorithm()
            .parameters
            .iter()
            .any(|p| p.name == key) =>
        {
            set_control(config, key, value)?;
        }
        "receive_window" => config.receiver.buffer = number(value)?,
        "receive_window_max" => config.receiver.buffer_max = Some(number(value)?),
        "gradual_window" => config.receiver.gradual_window = switch(value)?,
        "window_scale" => {
            config.receiver.window_scale = match value {
                "off" => WindowScale::Off,
                "auto" => WindowScale::Auto,
                shift => WindowScale::Shift(number(shift)?),
            }
        }
        "reassembly" => config.receiver.reassembly = switch(value)?,
        "sack" => config.receiver.sack = switch(value)?,
        "dummies" => {
            config.receiver.dummies = match value {
                "echo" => DummyReply::Echo,
                "ignore" => DummyReply::Ignore,
                "plain" => DummyReply::Plain,
                _ => return Err("echo, ignore or plain".into()),
            }
        }
        "dsack" => config.receiver.dsack = switch(value)?,
        "ack_delay" => config.receiver.delayed_ack.max_delay = interval(value)?,
        "ack_quick" => config.receiver.delayed_ack.quick = number(value)?,
        "ack_every" => config.receiver.delayed_ack.every = number(value)?,
        "dup_acks" => {
            config.receiver.delay_dup_acks = match value {
                "immediate" => false,
                "delayed" => true,
                _ => return Err("immediate or delayed".into()),
            }
        }
        "ack_gap_fill" => {
            config.receiver.delay_gap_fill = match value {
                "immediate" => false,
                "delayed" => true,
                _ => return Err("immediate or delayed".into()),
            }
        }
        "pacing" => config.pacing = switch(value)?.then(Pacing::default),
        "pacing_ss_ratio" | "pacing_ca_ratio" => {
            let pacing = config.pacing.as_mut().ok_or("needs pacing=on before it")?;
            let of = if key == "pacing_ss_ratio" {
                &mut pacing.slow_start
            } else {
                &mut pacing.avoidance
            };
            *of = ratio(value)?;
        }
        "cwnd_limit" => {
            config.cwnd_limit = match value {
                "none" => CwndLimit::None,
                "receive_window" => CwndLimit::ReceiveWindow,
                _ => return Err("none or receive_window".into()),
            }
        }
        "ack_heartbeat" => config.receiver.delayed_ack.heartbeat = switch(value)?,
        _ => set_timer(config, key, value)?,
    }
    Ok(())
}

fn set_recovery(config: &mut Config, key: &str, value: &str) -> Result<(), String> {
    match (&mut config.recovery, key) {
        (Recovery::NewReno { impatient, .. }, "impatient") => *impatient = switch(value)?,
        (Recovery::NewReno { exit, .. }, "newreno_exit") => {
            *exit = match value {
                "flight" => NewRenoExit::FlightSize,
                "flight_rfc3782" => NewRenoExit::FlightSizeRfc3782,
                "ssthresh" => NewRenoExit::Ssthresh,
                _ => return Err("flight, flight_rfc3782 or ssthresh".into()),
            }
        }
        (Recovery::NewReno { careful, .. }, "careful") => {
            *careful = match value {
                "less" => Careful::Less,
                "plain" => Careful::Plain,
                "ack" => Careful::AckHeuristic,
                "timestamp" => Careful::TimestampHeuristic,
                _ => return Err("less, plain, ack or timestamp".into()),
            }
        }
        (Recovery::Vegas { fine_k, .. } | Recovery::Snack { fine_k, .. }, "fine_k") => {
            *fine_k = number(value)?;
        }
        (
            Recovery::Vegas {
                fine_granularity, ..
            }
            | Recovery::Snack {
                fine_granularity, ..
            },
            "fine_granularity",
        ) => *fine_granularity = interval(value)?,
        (Recovery::Vegas { coarse_timeout, .. }, "coarse_timeout") => {
            *coarse_timeout = switch(value)?;
        }
        (Recovery::Sack { rescue }, "rescue") => *rescue = switch(value)?,
        (recovery, _) => return Err(format!("not a key of {recovery:?}")),
    }
    Ok(())
}

fn set_wireless(config: &mut Config, key: &str, value: &str) -> Result<(), String> {
    match key {
        "assume_loss" => {
            config.assume_loss = match value {
                "congestion" => AssumeLoss::Congestion,
                "corruption" => AssumeLoss::Corruption,
                _ => return Err("congestion or corruption".into()),
            }
        }
        "eln" => {
            config.eln = match value {
                "off" => Eln::Off,
                "oracle" => Eln::Oracle,
                "checksum" => Eln::Checksum,
                _ => return Err("off, oracle or checksum".into()),
            }
        }
        "ebsn" => config.ebsn = switch(value)?,
        "ackp" => {
            config.ackp = match value {
                "off" => None,
                "restart" => Some(PartialAck::Restart),
                "backoff" => Some(PartialAck::BackOff),
                time => Some(PartialAck::Constant(interval(time)?)),
            }
        }
        "ackp_karn" => config.ackp_karn = switch(value)?,
        _ => {
            config.receiver.snack = match value {
                "off" => SnackForm::Off,
                "short" => SnackForm::Short,
                "long" => SnackForm::Long,
                _ => return Err("off, short or long".into()),
            }
        }
    }
    Ok(())
}

fn set_rack(config: &mut Config, key: &str, value: &str) -> Result<(), String> {
    let rack = config.rack.as_mut().ok_or("needs rack=on before it")?;
    match (key, &mut rack.tlp) {
        ("tlp", tlp) => *tlp = switch(value)?.then(TlpConfig::default),
        ("reo_divisor", _) => rack.reo_divisor = number(value)?,
        ("reo_persist", _) => rack.reo_persist = number(value)?,
        ("min_rtt_window", _) => rack.min_rtt_window = interval(value)?,
        ("tlp_srtts", Some(tlp)) => tlp.srtts = number(value)?,
        ("tlp_initial", Some(tlp)) => tlp.initial = interval(value)?,
        (_, Some(tlp)) => tlp.max_ack_delay = interval(value)?,
        (_, None) => return Err("needs tlp=on".into()),
    }
    Ok(())
}

fn set_control(config: &mut Config, key: &str, value: &str) -> Result<(), String> {
    let parameters = config.congestion.algorithm().parameters;
    let Some(parameter) = parameters.iter().find(|p| p.name == key) else {
        return Err(format!("not a key of {:?}", config.congestion));
    };
    let setting = match parameter.range {
        Range::Flag => Setting::Flag(switch(value)?),
        Range::Count(..) => Setting::Count(number(value)?),
        Range::Number(..) => Setting::Number(number(value)?),
        Range::Time(..) => Setting::Time(interval(value)?),
        Range::Choice(words) => {
            let word = words.iter().find(|w| **w == value);
            Setting::Choice(word.ok_or_else(|| words.join(" or "))?)
        }
    };
    let set = config.congestion.set(key, setting);
    set.map_err(|error| format!("{error:?}"))
}

fn set_timer(config: &mut Config, key: &str, value: &str) -> Result<(), String> {
    let rto = &mut config.rto;
    match key {
        "rto" => {
            rto.algorithm = match value {
                "rfc793" => RtoAlgorithm::Rfc793 {
                    alpha: Ratio::new(9, 10),
                    beta: Ratio::new(2, 1),
                },
                "jacobson" => RtoAlgorithm::Jacobson {
                    gain: Ratio::new(1, 8),
                    dev_gain: Ratio::new(1, 4),
                    k: 4,
                },
                "rfc6298" => RtoAlgorithm::Rfc6298 {
                    granularity: Interval::from_millis(1),
                },
                "linux" => RtoAlgorithm::Linux,
                _ => return Err("rfc793, jacobson, rfc6298 or linux".into()),
            }
        }
        "rto_initial" => rto.initial = interval(value)?,
        "rto_min" => rto.min = interval(value)?,
        "rto_max" => rto.max = interval(value)?,
        "rto_tick" => rto.tick = interval(value)?,
        "rto_backoff" => {
            rto.backoff = if switch(value)? {
                Backoff::Exponential
            } else {
                Backoff::None
            };
        }
        "rtt_sampling" => {
            rto.sampling = match value {
                "one_per_rtt" => Sampling::OnePerRtt,
                "every_segment" => Sampling::EverySegment,
                _ => return Err("one_per_rtt or every_segment".into()),
            }
        }
        "rtt_from_sack" => rto.from_sack = switch(value)?,
        "rto_round" => rto.round = interval(value)?,
        "rto_slop" => rto.slop = interval(value)?,
        "karn" => rto.karn = switch(value)?,
        "rto_srtt_initial" => {
            let deviation = rto.start.unwrap_or_default().1;
            rto.start = Some((interval(value)?, deviation));
        }
        "rto_dev_initial" => {
            let srtt = rto.start.unwrap_or_default().0;
            rto.start = Some((srtt, interval(value)?));
        }
        _ => match (&mut rto.algorithm, key) {
            (RtoAlgorithm::Rfc793 { alpha, .. }, "rto_alpha") => *alpha = ratio(value)?,
            (RtoAlgorithm::Rfc793 { beta, .. }, "rto_beta") => *beta = ratio(value)?,
            (RtoAlgorithm::Jacobson { gain, .. }, "rto_gain") => *gain = ratio(value)?,
            (RtoAlgorithm::Jacobson { dev_gain, .. }, "rto_dev_gain") => *dev_gain = ratio(value)?,
            (RtoAlgorithm::Jacobson { k, .. }, "rto_k") => *k = number(value)?,
            (RtoAlgorithm::Rfc6298 { granularity }, "rto_granularity") => {
                *granularity = interval(value)?;
            }
            _ => return Err("unknown key, or not one of this --tcp and rto".into()),
        },
    }
    Ok(())
}

/// A decimal number that fits.
pub(crate) fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is not a number that fits here"))
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("{text:?} is neither on nor off")),
    }
}

/// `num/den`.
fn ratio(text: &str) -> Result<Ratio, String> {
    let (num, den) = text
        .split_once('/')
        .ok_or_else(|| format!("{text:?} is not num/den"))?;
    Ok(Ratio::new(number(num)?, number(den)?))
}

/// A time: decimal seconds, or with one of the units s, ms, us, ns.
pub(crate) fn interval(text: &str) -> Result<Interval, String> {
    let malformed = || format!("{text:?} is not a time, such as 0.25, 250ms or 3us");
    let digits = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (value, unit) = text.split_at(digits);
    let decimals = match unit {
        "" | "s" => 9,
        "ms" => 6,
        "us" => 3,
        "ns" => 0,
        _ => return Err(malformed()),
    };
    // Exact: the fraction is padded to whole nanoseconds.
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    if fraction.len() > decimals || (whole.is_empty() && fraction.is_empty()) {
        return Err(malformed());
    }
    let ns = format!("{whole}{fraction:0<decimals$}");
    Ok(Interval::from_nanos(ns.parse().map_err(|_| malformed())?))
}
