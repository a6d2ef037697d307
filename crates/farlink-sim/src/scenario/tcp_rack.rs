//! Keys of RACK-TLP and of what SACK is to the timer, and what `undo` needs.

use farlink_tcp::Interval;
use farlink_tcp::config::{Config, RackConfig, Recovery, TlpConfig};
use farlink_tcp::congestion::{self, Control};

use super::decode::Problem;
use super::tcp::TcpSpec;
use super::units::Time;

impl TcpSpec {
    pub(super) fn rack(&self, base: Option<RackConfig>, recovery: Recovery) -> Option<RackConfig> {
        let sack = matches!(recovery, Recovery::Sack { .. });
        if !(sack && self.rack.unwrap_or(base.is_some())) {
            return None;
        }
        let kept = base.unwrap_or_default();
        let tlp = kept.tlp.unwrap_or_default();
        Some(RackConfig {
            reo_divisor: self.rack_reo_divisor.unwrap_or(kept.reo_divisor),
            reo_persist: self.rack_reo_persist.unwrap_or(kept.reo_persist),
            min_rtt_window: self
                .rack_min_rtt_window
                .map_or(kept.min_rtt_window, |t| t.0),
            tlp: self.tlp.unwrap_or(kept.tlp.is_some()).then(|| TlpConfig {
                srtts: self.tlp_srtts.unwrap_or(tlp.srtts),
                initial: self.tlp_initial.map_or(tlp.initial, |t| t.0),
                max_ack_delay: self.tlp_max_ack_delay.map_or(tlp.max_ack_delay, |t| t.0),
            }),
        })
    }

    pub(super) fn show_rack(&mut self, config: &Config) {
        if matches!(config.recovery, Recovery::Sack { .. }) {
            self.rack = Some(config.rack.is_some());
        }
        let Some(rack) = config.rack else {
            return;
        };
        self.rack_reo_divisor = Some(rack.reo_divisor);
        self.rack_reo_persist = Some(rack.reo_persist);
        self.rack_min_rtt_window = Some(Time(rack.min_rtt_window));
        self.tlp = Some(rack.tlp.is_some());
        if let Some(tlp) = rack.tlp {
            self.tlp_srtts = Some(tlp.srtts);
            self.tlp_initial = Some(Time(tlp.initial));
            self.tlp_max_ack_delay = Some(Time(tlp.max_ack_delay));
        }
    }

    /// What SACKed data does to the retransmission timer and its estimator.
    pub(super) fn lay_sack_timer_over(&self, config: &mut Config) {
        let sack = matches!(config.recovery, Recovery::Sack { .. });
        config.restart_on_sack = sack && self.restart_on_sack.unwrap_or(config.restart_on_sack);
        config.rto.from_sack = sack && self.rtt_from_sack.unwrap_or(config.rto.from_sack);
    }

    pub(super) fn show_sack_timer(&mut self, config: &Config) {
        if matches!(config.recovery, Recovery::Sack { .. }) {
            self.restart_on_sack = Some(config.restart_on_sack);
            self.rtt_from_sack = Some(config.rto.from_sack);
        }
    }

    /// Ranges of these keys.
    pub(super) fn check_rack(&self) -> Result<(), Problem> {
        for (key, value, most) in [
            ("rack_reo_divisor", self.rack_reo_divisor, 1_000),
            ("rack_reo_persist", self.rack_reo_persist, 1_000_000),
            ("tlp_srtts", self.tlp_srtts, 1_000),
        ] {
            if let Some(n) = value.filter(|n| !(1..=most).contains(n)) {
                let says = format!("= {n} is out of range; write 1 to {most}");
                return Err(Problem::new([key.into()], says));
            }
        }
        for (key, value, least, most) in [
            (
                "rack_min_rtt_window",
                self.rack_min_rtt_window,
                Interval::from_millis(1),
                86_400,
            ),
            (
                "tlp_initial",
                self.tlp_initial,
                Interval::from_millis(1),
                3600,
            ),
            (
                "tlp_max_ack_delay",
                self.tlp_max_ack_delay,
                Interval::ZERO,
                60,
            ),
        ] {
            let (least, most) = (Time(least), Time(Interval::from_secs(most)));
            if let Some(time) = value.filter(|t| !(least..=most).contains(t)) {
                let says = format!("= \"{time}\" is out of range; write \"{least}\" to \"{most}\"");
                return Err(Problem::new([key.into()], says));
            }
        }
        Ok(())
    }

    /// What the ways of `undo` go by is there, and the controller can.
    pub(super) fn check_undo(config: &Config) -> Result<(), Problem> {
        let fault = |says: String| Err(Problem::new(["undo".into()], says));
        if config.undo.dsack && !config.receiver.dsack {
            return fault("= \"dsack\" needs dsack = true".into());
        }
        if config.undo.eifel && !config.timestamps {
            return fault("= \"eifel\" needs timestamps = true".into());
        }
        let coarse = !matches!(
            config.recovery,
            Recovery::Vegas {
                coarse_timeout: false,
                ..
            }
        );
        if config.undo.frto && !coarse {
            return fault("= \"frto\" needs coarse_timeout = true".into());
        }
        if config.undo.any() && !congestion::can_undo(&config.congestion) {
            let able: Vec<_> = congestion::ALGORITHMS
                .iter()
                .filter(|a| congestion::can_undo(&Control::new(a)))
                .map(|a| format!("\"{}\"", a.name))
                .collect();
            return fault(format!(
                "is not for congestion = \"{}\", which cannot take a reduction back; write \
                 \"off\", or one of {}",
                config.congestion.algorithm().name,
                able.join(", ")
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(spec: &TcpSpec) -> String {
        let checked = spec.check_rack().map_err(|problem| problem.within("tcp"));
        let problem = checked.expect_err("refused");
        super::super::ScenarioError::bare(&problem).to_string()
    }

    #[test]
    fn rack_brings_probes_unless_they_are_off() {
        let spec = TcpSpec {
            rack: Some(true),
            ..TcpSpec::default()
        };
        let config = spec.to_config().unwrap();
        assert_eq!(config.rack, Some(RackConfig::default()));
        let spec = TcpSpec {
            tlp: Some(false),
            ..spec
        };
        let without = Some(RackConfig {
            tlp: None,
            ..RackConfig::default()
        });
        assert_eq!(spec.to_config().unwrap().rack, without);
    }

    #[test]
    fn ranges_are_told() {
        let spec = TcpSpec {
            rack_reo_divisor: Some(0),
            ..TcpSpec::default()
        };
        assert_eq!(
            says(&spec),
            "tcp.rack_reo_divisor = 0 is out of range; write 1 to 1000"
        );
        let spec = TcpSpec {
            tlp_initial: Some(Time(Interval::ZERO)),
            ..TcpSpec::default()
        };
        assert_eq!(
            says(&spec),
            "tcp.tlp_initial = \"0 s\" is out of range; write \"1 ms\" to \"1 h\""
        );
    }

    #[test]
    fn keys_without_what_they_need_would_be_ignored() {
        let spec = TcpSpec {
            variant: Some("reno".into()),
            rack: Some(true),
            tlp: Some(true),
            tlp_srtts: Some(2),
            ..TcpSpec::default()
        };
        let config = spec.to_config().unwrap();
        assert_eq!(
            spec.ignored(&config),
            [
                ("rack", "recovery = \"sack\""),
                ("tlp", "rack = true"),
                ("tlp_srtts", "tlp = true")
            ]
        );
    }
}
