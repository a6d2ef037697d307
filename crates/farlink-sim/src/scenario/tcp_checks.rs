//! Values of a TCP that only make sense together.

use farlink_tcp::config::{Careful, Config, Recovery, WindowScale};

use super::decode::Problem;
use super::tcp::{TcpSpec, fault};
use super::tcp_choices::Scale;
use super::units::{Size, Time};

impl TcpSpec {
    /// Values that only make sense together. The fault is told of the key that
    /// is written, if only one of the two is.
    pub(super) fn consistent(&self, config: &Config) -> Result<(), Problem> {
        let rto = &config.rto;
        for (key, value) in [("rto_initial", rto.initial), ("rto_max", rto.max)] {
            if value.is_zero() {
                let says = "= \"0 s\" leaves no time-out; write for example \"60 s\"";
                return Err(fault(key, says.into()));
            }
        }
        for (key, value) in [("rto_min", rto.min), ("rto_initial", rto.initial)] {
            if value > rto.max {
                let (value, max) = (Time(value), Time(rto.max));
                return Err(if self.has(key) {
                    fault(key, format!("= \"{value}\" is above rto_max, \"{max}\""))
                } else {
                    fault(
                        "rto_max",
                        format!("= \"{max}\" is below {key}, \"{value}\""),
                    )
                });
            }
        }
        if let Some(max) = config.receiver.buffer_max
            && max < config.receiver.buffer
        {
            let says = format!(
                "= \"{}\" is below receive_window, \"{}\"",
                Size(max),
                Size(config.receiver.buffer)
            );
            return Err(fault("receive_window_max", says));
        }
        let shift = match config.receiver.window_scale {
            WindowScale::Auto => None,
            WindowScale::Off => Some(0),
            WindowScale::Shift(n) => Some(n),
        };
        if let Some(most) = shift
            .map(|n| 65_535 << n)
            .filter(|&most| config.receiver.largest_window() > most)
        {
            let scale = serde_json::to_string(&Scale(config.receiver.window_scale));
            let (scale, window) = (
                scale.unwrap_or_default(),
                Size(config.receiver.largest_window()),
            );
            let says = format!(
                "= {scale} cannot offer a receive_window of {window}; write \"auto\", or a window \
                 of at most {most} B"
            );
            return Err(fault("window_scale", says));
        }
        if matches!(config.recovery, Recovery::Sack { .. }) && !config.receiver.sack {
            return Err(if self.has("sack") {
                let says = "= false leaves recovery = \"sack\" without its input; write sack = \
                            true, or another recovery";
                fault("sack", says.into())
            } else {
                fault("recovery", "= \"sack\" needs sack = true".into())
            });
        }
        self.check_wireless(config)?;
        self.check_samples(config)?;
        let careful = match config.recovery {
            Recovery::NewReno { careful, .. } => Some(careful),
            _ => None,
        };
        if careful == Some(Careful::TimestampHeuristic) && !config.timestamps {
            return Err(fault(
                "careful",
                "= \"timestamp\" needs timestamps = true".into(),
            ));
        }
        Self::check_undo(config)
    }
}
