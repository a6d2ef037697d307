//! Table of named TCPs.
//!
//! A row is a point on the axes of [`Config`]. A new TCP needs a file for its algorithm and a row
//! in this table.

use crate::config::{
    ByteCounting, Careful, Config, EcnConfig, EcnEcho, EcnMode, Eln, InitialWindow, LifetimeConfig,
    Nagle, NewRenoExit, NoticeConfig, RackConfig, Ratio, ReceiverConfig, Recovery, ReduceFrom,
    RtoAlgorithm, RtoConfig, SnackForm, WindowConfig,
};
use crate::congestion::{
    Adalr, Bbr, Bbr3, Control, Copa, Cubic, Dctcp, Htcp, Hybla, Illinois, LEDBAT, LEDBAT_PLUS_PLUS,
    Peach, Prague, Reno, Setting, Unlimited, Vegas, WESTWOOD, WESTWOOD_PLUS,
};
use crate::status::WORDS;
use crate::time::Interval;

/// A named TCP.
#[derive(Debug)]
pub struct Variant {
    /// Name in scenarios.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Specification.
    pub source: &'static str,
    /// Returns the parameters.
    pub config: fn() -> Config,
}

impl Variant {
    /// Returns the row's status in the matrix of docs/validation.md: "validated", "checked against
    /// closed form", "unvalidated", or "differs at" with the number of its judged cells that
    /// differ.
    #[must_use]
    pub fn status(&self) -> &'static str {
        status(self.name)
    }
}

/// Returns the status of a row, or of a profile and a row: `status("linux-cubic")`.
#[must_use]
pub fn status(name: &str) -> &'static str {
    let mut words = WORDS.iter();
    words
        .find(|(row, _)| *row == name)
        .map_or("unvalidated", |(_, word)| word)
}

/// Rows, oldest first.
pub static VARIANTS: &[Variant] = &[
    Variant {
        name: "rfc793",
        summary: "time-outs and go-back-N only, no congestion control, no out-of-order buffer",
        source: "RFC 793 (1981)",
        config: || Config {
            recovery: Recovery::GO_BACK_N,
            congestion: Control::new(&Unlimited::ALGORITHM),
            rto: RtoConfig {
                algorithm: RtoAlgorithm::Rfc793 {
                    alpha: Ratio::new(9, 10),
                    beta: Ratio::new(2, 1),
                },
                ..RtoConfig::default()
            },
            receiver: ReceiverConfig {
                reassembly: false,
                ..no_sack()
            },
            nagle: Nagle::Rfc896,
            ..Config::default()
        },
    },
    Variant {
        name: "tcp-rfc",
        summary: "RFC 793's timer and go-back-N, with slow start and congestion avoidance after \
                  each time-out",
        source: "Leung 1998, 2.2.1: her \"TCP RFC\"",
        config: || Config {
            recovery: Recovery::GO_BACK_N,
            congestion: reno().with("mss_over_8", Setting::Flag(true)),
            window: WindowConfig {
                initial: InitialWindow::Segments(1),
                initial_ssthresh: Some(65_536),
                cwnd_validation: false,
                ..WindowConfig::default()
            },
            reduce_from: ReduceFrom::Cwnd,
            rto: RtoConfig {
                algorithm: RtoAlgorithm::Rfc793 {
                    alpha: Ratio::new(7, 8),
                    beta: Ratio::new(2, 1),
                },
                initial: Interval::from_secs(3),
                ..RtoConfig::default()
            },
            receiver: ReceiverConfig {
                reassembly: false,
                ..no_sack()
            },
            nagle: Nagle::Rfc896,
            ..Config::default()
        },
    },
    Variant {
        name: "tahoe",
        summary: "slow start, congestion avoidance, fast retransmit",
        source: "Jacobson 1988; 4.3BSD-Tahoe",
        config: || Config {
            recovery: Recovery::Tahoe,
            congestion: reno(),
            receiver: no_sack(),
            nagle: Nagle::Rfc896,
            ..Config::default()
        },
    },
    Variant {
        name: "reno",
        summary: "Tahoe with fast recovery, ended by the first new ACK",
        source: "RFC 2581 (1999); 4.3BSD-Reno",
        config: || Config {
            recovery: Recovery::Reno,
            congestion: reno(),
            receiver: no_sack(),
            nagle: Nagle::Rfc896,
            ..Config::default()
        },
    },
    Variant {
        name: "vegas",
        summary: "window from the number of queued segments, losses found by a clock for each segment",
        source: "Brakmo and Peterson 1995, IEEE JSAC 13(8)",
        config: || Config {
            recovery: Recovery::Vegas {
                fine_k: 4,
                fine_granularity: Interval::ZERO,
                coarse_timeout: true,
            },
            congestion: Control::new(&Vegas::ALGORITHM),
            restart_on_retransmit: true,
            receiver: no_sack(),
            nagle: Nagle::Rfc896,
            ..Config::default()
        },
    },
    Variant {
        name: "p-tcp",
        summary: "Vegas that takes every loss for corruption: no coarse time-out, no backoff",
        source: "Leung 1998, 6.2",
        config: || Config {
            recovery: Recovery::Vegas {
                fine_k: 4,
                fine_granularity: Interval::from_millis(2),
                coarse_timeout: false,
            },
            congestion: Control::new(&Vegas::ALGORITHM)
                .with("loss_cut", Setting::Choice("segment")),
            restart_on_retransmit: true,
            receiver: no_sack(),
            lifetime: LifetimeConfig {
                max_retransmits: 10_000, // without backoff time-outs follow each other fast
                ..LifetimeConfig::default()
            },
            nagle: Nagle::Rfc896,
            ..Config::default()
        },
    },
    Variant {
        name: "scps",
        summary: "SCPS-TP: Vegas' window, and immediate retransmission of holes that the receiver names \
         (SNACK)",
        source: "CCSDS 714.0-B (1999), its reference implementation; Durst, Miller, Travis 1997",
        config: || Config {
            recovery: Recovery::Snack {
                fine_k: 4,
                // Value of the reference implementation. With a smaller one, a growing queue on a
                // path without RTT variation looks like losses.
                fine_granularity: Interval::from_millis(500),
            },
            congestion: Control::new(&Vegas::ALGORITHM).with("loss_cut", Setting::Choice("half")),
            restart_on_retransmit: true,
            receiver: ReceiverConfig {
                snack: SnackForm::Short,
                ..no_sack()
            },
            nagle: Nagle::Rfc896,
            ..Config::default()
        },
    },
    Variant {
        name: "newreno",
        summary: "Reno with partial ACKs, slow but steady",
        source: "RFC 6582 (2012)",
        config: || Config {
            recovery: Recovery::NewReno {
                impatient: false,
                careful: Careful::Plain,
                exit: NewRenoExit::FlightSize,
            },
            congestion: reno(),
            window: WindowConfig {
                byte_counting: ByteCounting::Acks,
                ..WindowConfig::default()
            },
            receiver: no_sack(),
            ..Config::default()
        },
    },
    Variant {
        name: "eln",
        summary: "NewReno with notification of losses by the medium, for which it keeps its window",
        source: "West and Vaidya 1997, 2.3.3 and 7.0; Balakrishnan et al. 1996",
        config: || Config {
            recovery: Recovery::NewReno {
                impatient: false,
                careful: Careful::Plain,
                exit: NewRenoExit::FlightSize,
            },
            notices: NoticeConfig {
                eln: Eln::Oracle,
                ..NoticeConfig::default()
            },
            congestion: reno(),
            receiver: no_sack(),
            nagle: Nagle::Rfc896,
            ..Config::default()
        },
    },
    Variant {
        name: "sack",
        summary: "Reno's window with selective acknowledgment and the pipe algorithm",
        source: "RFC 6675 (2012), RFC 2018 (1996)",
        config: || Config {
            recovery: Recovery::SACK,
            congestion: reno(),
            window: WindowConfig {
                byte_counting: ByteCounting::Acks,
                ..WindowConfig::default()
            },
            ..Config::default()
        },
    },
    Variant {
        name: "cubic",
        summary: "CUBIC's window with SACK recovery, limited transmit and a 10-segment start",
        source: "RFC 9438 (2023), RFC 6675, RFC 6928",
        config: || Config {
            recovery: Recovery::SACK,
            congestion: Control::new(&Cubic::ALGORITHM),
            limited_transmit: true,
            ..Config::default()
        },
    },
    Variant {
        name: "westwood",
        summary: "after a loss, ssthresh from the rate of ACKs, filtered ACK by ACK",
        source: "Mascolo, Casetti, Gerla, Sanadidi, Wang 2001",
        config: || Config {
            congestion: Control::new(&WESTWOOD),
            nagle: Nagle::Rfc896,
            ..Config::default()
        },
    },
    Variant {
        name: "westwood+",
        summary: "Westwood with one sample of the rate for each round-trip time",
        source: "Grieco, Mascolo 2004",
        config: || Config {
            congestion: Control::new(&WESTWOOD_PLUS),
            ..Config::default()
        },
    },
    Variant {
        name: "hybla",
        summary: "window growth of a connection with a round-trip time of 25 ms, at any round-trip time",
        source: "Caini, Firrincieli 2004",
        config: || Config {
            congestion: Control::new(&Hybla::ALGORITHM),
            ..Config::default()
        },
    },
    Variant {
        name: "adalr-sack",
        summary: "TCP-ADaLR: growth and receive window stretched by the round-trip time, SACK",
        source: "Omueti and Trajkovic 2007",
        config: || Config {
            recovery: Recovery::SACK,
            congestion: Control::new(&Adalr::ALGORITHM),
            nagle: Nagle::Rfc896,
            ..Config::default()
        },
    },
    Variant {
        name: "adalr-newreno",
        summary: "TCP-ADaLR with NewReno's recovery, two segments for a partial ACK",
        source: "Omueti and Trajkovic 2007",
        config: || Config {
            recovery: Recovery::NewReno {
                impatient: false,
                careful: Careful::Plain,
                exit: NewRenoExit::FlightSize,
            },
            congestion: Control::new(&Adalr::ALGORITHM),
            receiver: no_sack(),
            nagle: Nagle::Rfc896,
            ..Config::default()
        },
    },
    Variant {
        name: "peach",
        summary: "probes the path with dummy segments of low priority: a window at once at the \
                  start, and back after a loss that was none of congestion",
        source: "Akyildiz, Morabito, Palazzo 2001, IEEE/ACM ToN 9(3)",
        config: || Config {
            recovery: Recovery::NewReno {
                impatient: false,
                careful: Careful::Plain,
                exit: NewRenoExit::FlightSize,
            },
            congestion: Control::new(&Peach::ALGORITHM),
            window: WindowConfig {
                initial: InitialWindow::Segments(1),
                ..WindowConfig::default()
            },
            receiver: no_sack(),
            nagle: Nagle::Rfc896,
            ..Config::default()
        },
    },
    Variant {
        name: "peach-sack",
        summary: "Peach's window with selective acknowledgment and the pipe algorithm",
        source: "Akyildiz, Morabito, Palazzo 2001; with SACK as Morabito et al. 2002 proposed; \
                 RFC 6675",
        config: || Config {
            recovery: Recovery::SACK,
            congestion: Control::new(&Peach::ALGORITHM),
            window: WindowConfig {
                initial: InitialWindow::Segments(1),
                ..WindowConfig::default()
            },
            nagle: Nagle::Rfc896,
            ..Config::default()
        },
    },
    Variant {
        name: "bbr",
        summary: "BBR version 1: paced by a model of the path, with SACK recovery",
        source: "draft-cardwell-iccrg-bbr-congestion-control-00 (2017), Cardwell et al. 2016, \
                 draft-cheng-iccrg-delivery-rate-estimation-00, RFC 6675, RFC 8985",
        config: || without_slowdown(Control::new(&Bbr::ALGORITHM)),
    },
    Variant {
        name: "bbr3",
        summary: "BBR version 3: the path model of BBR, bounded by losses",
        source: "draft-ietf-ccwg-bbr-06 (2026), RFC 6675, RFC 8985",
        config: || without_slowdown(Control::new(&Bbr3::ALGORITHM)),
    },
    Variant {
        name: "dctcp",
        summary: "a mark reduces the window by half the share of marked data, for data centres",
        source: "RFC 8257 (2017), RFC 3168, RFC 6675",
        config: || Config {
            recovery: Recovery::SACK,
            congestion: Control::new(&Dctcp::ALGORITHM),
            limited_transmit: true,
            window: WindowConfig {
                byte_counting: ByteCounting::Acks,
                ..WindowConfig::default()
            },
            ecn: EcnConfig {
                mode: EcnMode::Classic,
                echo: EcnEcho::Dctcp,
                ..EcnConfig::default()
            },
            ..Config::default()
        },
    },
    Variant {
        name: "prague",
        summary: "paced DCTCP for the Internet: ECT(1), Accurate ECN, and less dependence on the \
                  round-trip time",
        source: "draft-briscoe-iccrg-prague-congestion-control-04 (2024), RFC 9331, RFC 9768, \
                 RFC 8985",
        config: || Config {
            // Losses are found by time (RFC 9331, 4.3), and duplicates are reported (RFC 9768, 3.1.1).
            recovery: Recovery::Sack {
                rescue: true,
                prr: None,
                rack: Some(RackConfig::default()),
            },
            congestion: Control::new(&Prague::ALGORITHM),
            limited_transmit: true,
            restart_on_retransmit: true,
            ecn: EcnConfig {
                mode: EcnMode::Accurate,
                ect1: true,
                ..EcnConfig::default()
            },
            receiver: ReceiverConfig {
                dsack: true,
                ..ReceiverConfig::default()
            },
            ..Config::default()
        },
    },
    Variant {
        name: "illinois",
        summary: "increase and decrease of the window from the mean queueing delay of a round trip",
        source: "Liu, Basar and Srikant 2006, VALUETOOLS; 2008, Performance Evaluation 65",
        config: || Config {
            congestion: Control::new(&Illinois::ALGORITHM),
            ..Config::default()
        },
    },
    Variant {
        name: "htcp",
        summary: "growth by the time since the last loss, and a reduction that empties the queue",
        source: "Leith and Shorten 2004, PFLDnet; draft-leith-tcp-htcp-06 (2008)",
        config: || Config {
            congestion: Control::new(&Htcp::ALGORITHM),
            ..Config::default()
        },
    },
    Variant {
        name: "ledbat",
        summary: "background transport: a queueing delay of 100 ms, no slow start",
        source: "RFC 6817 (2012)",
        config: || Config {
            congestion: Control::new(&LEDBAT),
            window: WindowConfig {
                initial: InitialWindow::Segments(2), // RFC 6817, 2.4.2: INIT_CWND
                ..WindowConfig::default()
            },
            ..Config::default()
        },
    },
    Variant {
        name: "ledbat++",
        summary: "background transport: a queueing delay below 60 ms, with periodic slowdowns",
        source: "draft-irtf-iccrg-ledbat-plus-plus-06 (2026), RFC 6817",
        config: || Config {
            congestion: Control::new(&LEDBAT_PLUS_PLUS),
            window: WindowConfig {
                initial: InitialWindow::Segments(2), // 4.1
                byte_counting: ByteCounting::Unlimited,
                ..WindowConfig::default()
            },
            ..Config::default()
        },
    },
    Variant {
        name: "copa",
        summary: "rate of 1 / (delta queueing delay), with a mode against flows that fill the queue",
        source: "Arun and Balakrishnan 2018, NSDI; RFC 6675, RFC 8985",
        config: || without_slowdown(Control::new(&Copa::ALGORITHM)),
    },
];

/// Returns the row with this name.
pub fn lookup(name: &str) -> Option<&'static Variant> {
    VARIANTS.iter().find(|v| v.name == name)
}

fn reno() -> Control {
    Control::new(&Reno::ALGORITHM)
}

/// Returns the parameters of a TCP that losses do not slow down. Such a sender often loses
/// retransmissions. Only RACK detects these before a time-out, which RFC 6675 cannot.
fn without_slowdown(congestion: Control) -> Config {
    Config {
        recovery: Recovery::Sack {
            rescue: true,
            prr: None,
            rack: Some(RackConfig::default()),
        },
        congestion,
        limited_transmit: true,
        restart_on_retransmit: true,
        window: WindowConfig {
            idle_restart: false,
            ..WindowConfig::default()
        },
        ..Config::default()
    }
}

fn no_sack() -> ReceiverConfig {
    ReceiverConfig {
        sack: false,
        ..ReceiverConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for (i, v) in VARIANTS.iter().enumerate() {
            assert_eq!(VARIANTS.iter().position(|w| w.name == v.name), Some(i));
            assert!(lookup(v.name).is_some());
        }
        assert!(lookup("renno").is_none());
    }
}
