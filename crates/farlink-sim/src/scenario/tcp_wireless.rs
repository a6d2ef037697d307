//! Keys of TCPs for links that lose packets without being full: SNACK, explicit
//! notifications, partial acknowledgments.

use farlink_tcp::Interval;
use farlink_tcp::config::{AssumeLoss, Config, Eln, PartialAck, Recovery, SnackForm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decode::Problem;
use super::tcp::TcpSpec;
use super::tcp_choices::names;
use super::units::Time;

/// Twice the settled time-out of the testbed (west1997, 4.2).
const PARTIAL_ACK_TIMER: Interval = Interval::from_secs(2);

names!(
    /// Choices of `assume_loss`.
    AssumeLossName {
        /// A full queue: the window is reduced.
        "congestion" Congestion,
        /// The medium: the window stays.
        "corruption" Corruption,
    }
);
names!(
    /// Choices of `snack`.
    SnackName {
        /// Not offered.
        "off" Off,
        /// A hole an ACK.
        "short" Short,
        /// A hole and a bit vector of what is behind it.
        "long" Long,
    }
);
names!(
    /// Choices of `eln`.
    ElnName {
        /// None.
        "off" Off,
        /// The network tells the receiver why a packet was lost.
        "oracle" Oracle,
        /// The receiver looks at packets that fail the TCP checksum.
        "checksum" Checksum,
    }
);
names!(
    /// Choices of `ackp`.
    PartialAckName {
        /// Not understood, and not offered.
        "off" Off,
        /// The timer starts anew, without backoff.
        "restart" Restart,
        /// The timer goes off `ackp_timer` later.
        "constant" Constant,
        /// The timer backs off and starts anew.
        "backoff" BackOff,
    }
);

impl TcpSpec {
    /// These keys laid over `config`.
    pub(super) fn lay_wireless_over(&self, config: &mut Config) {
        if let Some(name) = self.assume_loss {
            config.assume_loss = match name {
                AssumeLossName::Congestion => AssumeLoss::Congestion,
                AssumeLossName::Corruption => AssumeLoss::Corruption,
            };
        }
        if let Some(name) = self.eln {
            config.eln = match name {
                ElnName::Off => Eln::Off,
                ElnName::Oracle => Eln::Oracle,
                ElnName::Checksum => Eln::Checksum,
            };
        }
        config.ebsn = self.ebsn.unwrap_or(config.ebsn);
        let kept = match config.ackp {
            Some(PartialAck::Constant(timer)) => timer,
            _ => PARTIAL_ACK_TIMER,
        };
        let timer = self.ackp_timer.map_or(kept, |t| t.0);
        config.ackp = match self.ackp.unwrap_or(PartialAckName::of(config.ackp)) {
            PartialAckName::Off => None,
            PartialAckName::Restart => Some(PartialAck::Restart),
            PartialAckName::Constant => Some(PartialAck::Constant(timer)),
            PartialAckName::BackOff => Some(PartialAck::BackOff),
        };
        let karn = self.ackp_karn.unwrap_or(config.ackp_karn);
        config.ackp_karn = karn && config.ackp.is_some();
        if let Some(name) = self.snack {
            config.receiver.snack = match name {
                SnackName::Off => SnackForm::Off,
                SnackName::Short => SnackForm::Short,
                SnackName::Long => SnackForm::Long,
            };
        }
    }

    /// Coefficient and granularity of the fine time-out.
    pub(super) fn fine(&self, base: Recovery) -> (u32, Interval) {
        let (k, granularity) = match base {
            Recovery::Vegas {
                fine_k,
                fine_granularity,
                ..
            }
            | Recovery::Snack {
                fine_k,
                fine_granularity,
            } => (fine_k, fine_granularity),
            _ => (4, Interval::ZERO),
        };
        let granularity = self.fine_granularity.map_or(granularity, |t| t.0);
        (self.fine_k.unwrap_or(k), granularity)
    }

    pub(super) fn show_wireless(&mut self, config: &Config) {
        self.assume_loss = Some(match config.assume_loss {
            AssumeLoss::Congestion => AssumeLossName::Congestion,
            AssumeLoss::Corruption => AssumeLossName::Corruption,
        });
        self.eln = Some(match config.eln {
            Eln::Off => ElnName::Off,
            Eln::Oracle => ElnName::Oracle,
            Eln::Checksum => ElnName::Checksum,
        });
        self.ebsn = Some(config.ebsn);
        self.ackp = Some(PartialAckName::of(config.ackp));
        self.ackp_karn = config.ackp.map(|_| config.ackp_karn);
        if let Some(PartialAck::Constant(timer)) = config.ackp {
            self.ackp_timer = Some(Time(timer));
        }
        self.snack = Some(match config.receiver.snack {
            SnackForm::Off => SnackName::Off,
            SnackForm::Short => SnackName::Short,
            SnackForm::Long => SnackName::Long,
        });
    }

    /// Values that only make sense together.
    pub(super) fn check_wireless(&self, config: &Config) -> Result<(), Problem> {
        let fault = |key: &str, says: &str| Err(Problem::new([key.into()], says.to_owned()));
        let snack = config.receiver.snack != SnackForm::Off;
        if matches!(config.recovery, Recovery::Snack { .. }) && !snack {
            return if self.has("snack") {
                let says = "= \"off\" leaves recovery = \"snack\" without its input; write \
                            \"short\" or \"long\", or another recovery";
                fault("snack", says)
            } else {
                let says = "= \"snack\" needs snack = \"short\" or \"long\"";
                fault("recovery", says)
            };
        }
        if snack && config.receiver.sack {
            let (key, says) = if self.has("snack") {
                (
                    "snack",
                    "is not offered beside SACK; write sack = false, or snack = \"off\"",
                )
            } else {
                (
                    "sack",
                    "is not offered beside SNACK; write sack = false, or snack = \"off\"",
                )
            };
            return fault(key, says);
        }
        if matches!(config.ackp, Some(PartialAck::Constant(timer)) if timer.is_zero()) {
            let says = "= \"0 s\" leaves no time-out; write for example \"2 s\"";
            return fault("ackp_timer", says);
        }
        Ok(())
    }
}

impl PartialAckName {
    fn of(value: Option<PartialAck>) -> Self {
        match value {
            None => Self::Off,
            Some(PartialAck::Restart) => Self::Restart,
            Some(PartialAck::Constant(_)) => Self::Constant,
            Some(PartialAck::BackOff) => Self::BackOff,
        }
    }
}
