//! Keys of a TCP about samples and time-outs, windows and ACKs that follow one study
//! or one old stack.

use farlink_tcp::config::{Config, CwndLimit, RtoAlgorithm, RtoConfig, Sampling};
use farlink_tcp::rto::RttEstimator;
use farlink_tcp::time::Interval;

use super::decode::Problem;
use super::tcp::TcpSpec;
use super::tcp_choices::{CwndLimitName, DupAckName, GapFillName};
use super::units::Time;

impl TcpSpec {
    pub(super) fn lay_samples_over(&self, config: &mut Config) {
        if let Some(limit) = self.cwnd_limit {
            config.cwnd_limit = match limit {
                CwndLimitName::None => CwndLimit::None,
                CwndLimitName::ReceiveWindow => CwndLimit::ReceiveWindow,
            };
        }
        let receiver = &mut config.receiver;
        let delays = !receiver.delayed_ack.max_delay.is_zero();
        let kept = receiver.delay_gap_fill;
        let asked = self
            .ack_gap_fill
            .map_or(kept, |fill| fill == GapFillName::Delayed);
        receiver.delay_gap_fill = delays && asked;
        let kept = receiver.delay_dup_acks;
        let asked = self
            .dup_acks
            .map_or(kept, |acks| acks == DupAckName::Delayed);
        receiver.delay_dup_acks = delays && asked;
        let rto = &mut config.rto;
        rto.round = self.rto_round.map_or(rto.round, |time| time.0);
        rto.slop = self.rto_slop.map_or(rto.slop, |time| time.0);
        rto.karn = self.karn.unwrap_or(rto.karn);
        if matches!(rto.algorithm, RtoAlgorithm::Jacobson { .. }) {
            let kept = rto.start.unzip();
            let srtt = self.rto_srtt_initial.map(|time| time.0).or(kept.0);
            rto.start = srtt.zip(self.rto_dev_initial.map(|time| time.0).or(kept.1));
        } else {
            rto.start = None;
        }
        if let Some(first) = first_timeout(rto)
            && self.rto_initial.is_none()
        {
            rto.initial = first;
        }
    }

    pub(super) fn show_samples(&mut self, config: &Config) {
        self.cwnd_limit = Some(match config.cwnd_limit {
            CwndLimit::None => CwndLimitName::None,
            CwndLimit::ReceiveWindow => CwndLimitName::ReceiveWindow,
        });
        if !config.receiver.delayed_ack.max_delay.is_zero() {
            self.ack_gap_fill = Some(if config.receiver.delay_gap_fill {
                GapFillName::Delayed
            } else {
                GapFillName::Immediate
            });
            self.dup_acks = Some(if config.receiver.delay_dup_acks {
                DupAckName::Delayed
            } else {
                DupAckName::Immediate
            });
        }
        self.rto_slop = Some(Time(config.rto.slop));
        self.rto_round = Some(Time(config.rto.round));
        self.karn = Some(config.rto.karn);
        let (srtt, deviation) = config.rto.start.unzip();
        self.rto_srtt_initial = srtt.map(Time);
        self.rto_dev_initial = deviation.map(Time);
    }

    /// Ranges of these keys.
    pub(super) fn check_timer(&self) -> Result<(), Problem> {
        self.check_pacing()?;
        for (key, value, most) in [
            ("rto_round", self.rto_round, 60),
            ("rto_slop", self.rto_slop, 60),
            ("rto_srtt_initial", self.rto_srtt_initial, 3600),
            ("rto_dev_initial", self.rto_dev_initial, 3600),
        ] {
            let most = Interval::from_secs(most);
            if let Some(time) = value.filter(|time| time.0 > most) {
                let says = format!(
                    "= \"{time}\" is out of range; write at most \"{}\"",
                    Time(most)
                );
                return Err(fault(key, says));
            }
        }
        Ok(())
    }

    /// Values of these keys that do not go together.
    pub(super) fn check_samples(&self, config: &Config) -> Result<(), Problem> {
        let rto = &config.rto;
        if !rto.round.is_zero() && !rto.tick.is_zero() {
            let (round, tick) = (Time(rto.round), Time(rto.tick));
            let says = format!(
                "= \"{round}\" rounds time-outs alone, and rto_tick = \"{tick}\" counts samples in \
                 ticks too; write rto_tick = \"0 s\", or leave rto_round out"
            );
            return Err(fault("rto_round", says));
        }
        if !rto.karn {
            if config.timestamps {
                let says = "= false would be ignored: with timestamps = true each ACK tells which \
                            transmission it is of; write timestamps = false";
                return Err(fault("karn", says.into()));
            }
            if rto.sampling == Sampling::EverySegment {
                let says = "= false times one segment from when it first left; write sampling = \
                            \"one-per-rtt\"";
                return Err(fault("karn", says.into()));
            }
        }
        for (key, has, other) in [
            (
                "rto_srtt_initial",
                self.rto_srtt_initial.is_some(),
                "rto_dev_initial",
            ),
            (
                "rto_dev_initial",
                self.rto_dev_initial.is_some(),
                "rto_srtt_initial",
            ),
        ] {
            let jacobson = matches!(rto.algorithm, RtoAlgorithm::Jacobson { .. });
            if has && jacobson && rto.start.is_none() {
                return Err(fault(
                    key,
                    format!("says nothing without {other}; write both"),
                ));
            }
        }
        if let Some(first) = first_timeout(rto).filter(|&first| first != rto.initial) {
            let says = format!(
                "= \"{}\" differs from rto_srtt_initial and rto_k times rto_dev_initial, \"{}\"; \
                 leave it out",
                Time(rto.initial),
                Time(first)
            );
            return Err(fault("rto_initial", says));
        }
        Ok(())
    }
}

/// The time-out that a mean and a deviation from before the first sample give.
fn first_timeout(rto: &RtoConfig) -> Option<Interval> {
    rto.start?;
    let unbounded = RtoConfig {
        min: Interval::ZERO,
        max: Interval::MAX,
        ..*rto
    };
    Some(RttEstimator::new(unbounded).rto())
}

fn fault(key: &str, says: String) -> Problem {
    Problem::new([key.into()], says)
}

#[cfg(test)]
mod tests {
    use super::super::load;

    fn says(tcp: &str) -> String {
        let link = "[[links]]\nbetween = [\"a\", \"b\"]\ndown = { rate = \"1 Mbit/s\", delay = \"1 \
                    ms\" }\n[[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n";
        let text = format!("[tcp]\n{tcp}\n{link}");
        let expanded = load(&text, "x.toml", &[]).and_then(|scenario| scenario.expand());
        let message = expanded.map_or_else(|e| e.to_string(), |_| String::new());
        let text = message.split_once(": ").map_or("", |parts| parts.1);
        text.to_owned()
    }

    const STUDY: &str = "variant = \"reno\"\ntimer = \"jacobson\"\nrto_tick = \"0 s\"\nrto_round = \
                         \"500 ms\"\nrto_srtt_initial = \"1 s\"\nrto_dev_initial = \"1 s\"\nrto_min \
                         = \"2 s\"\nrto_max = \"240 s\"\nkarn = false\nack_gap_fill = \
                         \"delayed\"\ncwnd_limit = \"receive-window\"";

    #[test]
    fn the_timer_of_the_study_is_what_it_prints() {
        assert_eq!(says(STUDY), "");
        let text = STUDY.to_owned() + "\nrto_initial = \"5 s\"";
        assert_eq!(says(&text), "");
    }

    #[test]
    fn bad_input_has_an_exact_message() {
        for (tcp, message) in [
            (
                "rto_round = \"61 s\"",
                "tcp.rto_round = \"61 s\" is out of range; write at most \"1 min\"",
            ),
            (
                "rto_round = \"500 ms\"\nrto_tick = \"500 ms\"",
                "tcp.rto_round = \"500 ms\" rounds time-outs alone, and rto_tick = \"500 ms\" \
                 counts samples in ticks too; write rto_tick = \"0 s\", or leave rto_round out",
            ),
            (
                "karn = false\ntimestamps = true",
                "tcp.karn = false would be ignored: with timestamps = true each ACK tells which \
                 transmission it is of; write timestamps = false",
            ),
            (
                "karn = false\nsampling = \"every-segment\"",
                "tcp.karn = false times one segment from when it first left; write sampling = \
                 \"one-per-rtt\"",
            ),
            (
                "rto_srtt_initial = \"1 s\"",
                "tcp.rto_srtt_initial would be ignored; it needs timer = \"jacobson\"",
            ),
            (
                "timer = \"jacobson\"\nrto_dev_initial = \"1 s\"",
                "tcp.rto_dev_initial says nothing without rto_srtt_initial; write both",
            ),
            (
                "timer = \"jacobson\"\nrto_srtt_initial = \"1 s\"\nrto_dev_initial = \"1 \
                 s\"\nrto_initial = \"3 s\"",
                "tcp.rto_initial = \"3 s\" differs from rto_srtt_initial and rto_k times \
                 rto_dev_initial, \"5 s\"; leave it out",
            ),
            (
                "delayed_ack = \"off\"\nack_gap_fill = \"delayed\"",
                "tcp.ack_gap_fill would be ignored; it needs delayed_ack",
            ),
            (
                "cwnd_limit = \"rwnd\"",
                "tcp.cwnd_limit = \"rwnd\" is unknown; the choices are \"none\", \
                 \"receive-window\"",
            ),
        ] {
            assert_eq!(says(tcp), message, "{tcp}");
        }
    }
}
