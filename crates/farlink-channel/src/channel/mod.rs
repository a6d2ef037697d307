//! Channel processes between transmitter and receiver: one stage each, in the order of the
//! scenario.
//!
//! A stage gets only the packets that earlier stages let through. The closed form of each stage
//! therefore holds in any combination. Every stage owns its random stream.

#[cfg(test)]
mod agreement;
mod bit_errors;
mod byte_errors;
mod closed_form;
mod congestion;
mod contacts;
mod corrupt;
mod duplicate;
mod error;
mod gilbert;
mod gilbert_time;
mod internet_delay;
mod jitter;
mod loss;
mod markov;
mod mobile;
mod on_off;
mod orbit;
mod outage;
mod passage;
mod process;
mod radio;
mod rayleigh;
mod reorder;
mod satellite;
mod scripted;
mod state_loss;
mod theory;
mod trace;

pub use bit_errors::{BitErrors, damage_probability};
pub use byte_errors::ByteErrors;
pub use closed_form::{DelayDistribution, Derived, LAGS, LEVELS, Sampling, Theory};
pub use congestion::Congestion;
pub use contacts::Contacts;
pub use corrupt::Corrupt;
pub use duplicate::Duplicate;
pub use error::ChannelError;
pub use gilbert::Gilbert;
pub use gilbert_time::GilbertTime;
pub use internet_delay::{InternetDelay, Raised};
pub use jitter::{Distribution, Jitter};
pub use loss::Loss;
pub use mobile::{FadeRule, Fading, Forwarding, Handoffs, Mobile, MobileStreams};
pub use orbit::{Gap, Interruption, Orbit, Reconfiguration};
pub use outage::Outage;
pub use passage::{DropCause, Passage, Verdict};
pub use process::Process;
pub use radio::{BitFading, Radio};
pub use rayleigh::{Advance, JakesFading, RayleighChain, RayleighField};
pub use reorder::Reorder;
pub use satellite::Satellite;
pub use scripted::Scripted;
pub use state_loss::StateLoss;
pub use trace::{DelayTrace, LossTrace};

use farlink_tcp::Instant;

/// Stage of a channel.
#[derive(Clone, Debug)]
pub enum Stage {
    /// Bursty loss of packets.
    Gilbert(Gilbert),
    /// Independent loss of packets.
    Loss(Loss),
    /// Independent bit errors.
    BitErrors(BitErrors),
    /// Packets delivered with changed bits.
    Corrupt(Corrupt),
    /// Packets delivered twice.
    Duplicate(Duplicate),
    /// Packets held while others overtake them.
    Reorder(Reorder),
    /// Random extra delay.
    Jitter(Jitter),
    /// Any other process.
    Process(Box<dyn Process>),
}

impl Stage {
    /// Returns whether the process can never change a packet.
    fn is_inert(&self) -> bool {
        match self {
            Self::Gilbert(stage) => stage.is_inert(),
            Self::Loss(stage) => stage.is_inert(),
            Self::BitErrors(stage) => stage.is_inert(),
            Self::Corrupt(stage) => stage.is_inert(),
            Self::Duplicate(stage) => stage.is_inert(),
            Self::Reorder(stage) => stage.is_inert(),
            Self::Jitter(stage) => stage.is_inert(),
            Self::Process(stage) => stage.is_inert(),
        }
    }

    fn keeps_order(&self) -> bool {
        match self {
            Self::Reorder(_) => false,
            Self::Jitter(stage) => stage.keeps_order(),
            Self::Process(stage) => stage.keeps_order(),
            _ => true,
        }
    }

    #[inline]
    fn pass(&mut self, now: Instant, bytes: u32, passage: &mut Passage) {
        match self {
            Self::Gilbert(stage) => stage.pass(passage),
            Self::Loss(stage) => stage.pass(passage),
            Self::BitErrors(stage) => stage.pass(bytes, passage),
            Self::Corrupt(stage) => stage.pass(passage),
            Self::Duplicate(stage) => stage.pass(passage),
            Self::Reorder(stage) => stage.pass(passage),
            Self::Jitter(stage) => stage.pass(now, passage),
            Self::Process(stage) => stage.pass(now, bytes, passage),
        }
    }
}

impl From<Scripted> for Stage {
    fn from(scripted: Scripted) -> Self {
        Self::Process(Box::new(scripted))
    }
}

/// Stages of one direction of a link.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    stages: Vec<Stage>,
}

impl Channel {
    /// Creates a channel from stages in the order in which packets meet them. Stages without any
    /// effect (probability 0) are left out.
    pub fn new(mut stages: Vec<Stage>) -> Self {
        stages.retain(|stage| !stage.is_inert());
        Self { stages }
    }

    /// Returns whether every packet passes unchanged.
    #[inline]
    pub fn is_clean(&self) -> bool {
        self.stages.is_empty()
    }

    /// Returns whether no packet can overtake another.
    pub fn keeps_order(&self) -> bool {
        self.stages.iter().all(Stage::keeps_order)
    }

    /// Returns whether every delivered packet leaves without delay.
    pub fn is_without_delay(&self) -> bool {
        let at_once = |stage: &Stage| match stage {
            Stage::Gilbert(_)
            | Stage::Loss(_)
            | Stage::BitErrors(_)
            | Stage::Corrupt(_)
            | Stage::Duplicate(_) => true,
            Stage::Reorder(_) | Stage::Jitter(_) | Stage::Process(_) => false,
        };
        self.stages.iter().all(at_once)
    }

    /// Sets the distance of the nodes at the channel's ends in metres, which replaces the distance
    /// configured for its radios.
    pub fn set_distance(&mut self, metres: f64) {
        for stage in &mut self.stages {
            if let Stage::Process(stage) = stage {
                stage.set_distance(metres);
            }
        }
    }

    /// Returns the stages that have an effect.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Sends a packet through all stages. Calls must not go back in time. `bytes` is the length on
    /// the wire, with overhead and without check symbols of a block code.
    #[inline]
    pub fn pass(&mut self, now: Instant, bytes: u32) -> Passage {
        let mut passage = Passage::CLEAN;
        for stage in &mut self.stages {
            stage.pass(now, bytes, &mut passage);
            if let Verdict::Drop(_) = passage.verdict {
                break;
            }
        }
        passage
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! Helpers shared by the tests of all stages.

    use super::{Channel, DropCause, Stage, Verdict};
    use crate::rng::{Probability, Stream, Streams};
    use farlink_tcp::Instant;

    /// Number of packets in a test of a closed form.
    pub(crate) const N: usize = 1_000_000;

    pub(crate) fn stream(name: &str) -> Stream {
        Streams::new(1, 0).stream(name)
    }

    pub(crate) fn p(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    /// Returns which of `N` packets of 1500 bytes were dropped for `cause`.
    pub(crate) fn drops(stage: Stage, cause: DropCause) -> Vec<bool> {
        let mut channel = Channel::new(vec![stage]);
        (0..N)
            .map(|_| match channel.pass(Instant::ZERO, 1500).verdict {
                Verdict::Pass => false,
                Verdict::Drop(measured) if measured == cause => true,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    pub(crate) fn rate(events: &[bool]) -> f64 {
        events.iter().filter(|&&event| event).count() as f64 / events.len() as f64
    }

    /// Fails unless `measured` is within 4 standard errors of `expected`. One seed in 16,000 would
    /// fail by chance, and seeds are fixed.
    #[track_caller]
    pub(crate) fn assert_near(measured: f64, expected: f64, standard_error: f64) {
        assert!(
            (measured - expected).abs() <= 4.0 * standard_error,
            "{measured} is not {expected} +- 4 * {standard_error}"
        );
    }

    /// Returns the standard error of a rate among `n` independent trials.
    pub(crate) fn rate_error(rate: f64, n: usize) -> f64 {
        (rate * (1.0 - rate) / n as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{p, stream};
    use super::*;
    use farlink_tcp::Interval;

    fn loss(name: &str, value: f64) -> Stage {
        Stage::Loss(Loss::new(p(value), stream(name)))
    }

    fn reorder(probability: f64) -> Stage {
        Stage::Reorder(Reorder::new(
            p(probability),
            Interval::from_millis(5),
            stream("reorder"),
        ))
    }

    fn jitter(keep_order: bool) -> Stage {
        let distribution = Distribution::Exponential {
            mean: Interval::from_millis(3),
        };
        Stage::Jitter(Jitter::new(distribution, keep_order, stream("jitter")).unwrap())
    }

    #[test]
    fn causes_are_numbered_by_their_place_and_named_once() {
        let mut names: Vec<_> = DropCause::ALL.iter().map(|cause| cause.name()).collect();
        for (place, cause) in DropCause::ALL.iter().enumerate() {
            assert_eq!(*cause as usize, place);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), DropCause::ALL.len());
    }

    #[test]
    fn stages_that_do_nothing_leave_a_clean_channel() {
        let inert = vec![
            loss("a", 0.0),
            Stage::Gilbert(Gilbert::from_means(p(0.0), 4.0, stream("b")).unwrap()),
            Stage::BitErrors(BitErrors::new(p(0.0), 0, stream("c"))),
            Stage::Corrupt(Corrupt::new(p(0.0), stream("d"))),
            Stage::Duplicate(Duplicate::new(p(0.0), stream("e"))),
            reorder(0.0),
            Stage::Jitter(
                Jitter::new(
                    Distribution::Exponential {
                        mean: Interval::ZERO,
                    },
                    false,
                    stream("f"),
                )
                .unwrap(),
            ),
        ];
        let mut channel = Channel::new(inert);
        assert!(channel.is_clean() && channel.keeps_order());
        assert_eq!(channel.pass(Instant::ZERO, 1500), Passage::CLEAN);
        assert!(!Channel::new(vec![loss("a", 0.1)]).is_clean());
    }

    #[test]
    fn order_is_kept_unless_a_stage_reorders() {
        assert!(Channel::new(vec![loss("a", 0.1), jitter(true)]).keeps_order());
        assert!(!Channel::new(vec![jitter(false)]).keeps_order());
        assert!(!Channel::new(vec![reorder(0.1), jitter(true)]).keeps_order());
    }

    #[test]
    fn packets_that_may_not_overtake_leave_in_arrival_order() {
        let mut channel = Channel::new(vec![reorder(0.1), jitter(true), jitter(true)]);
        let (mut last, mut marked, mut overtaken) = (Instant::ZERO, 0, 0);
        for packet in 0..100_000 {
            let now = Instant::from_nanos(packet * 1_000_000);
            let passage = channel.pass(now, 1500);
            let out = now + passage.hold;
            if passage.may_overtake {
                marked += 1;
                assert!(passage.hold >= Interval::from_millis(5));
                overtaken += u32::from(out < last);
            } else {
                assert!(out >= last);
                last = out;
            }
        }
        assert!((9_000..11_000).contains(&marked), "{marked}");
        assert!(overtaken > 0);
    }

    #[test]
    fn draws_of_a_stage_do_not_depend_on_other_stages() {
        let alone = |stages: Vec<Stage>| -> Vec<bool> {
            let mut channel = Channel::new(stages);
            (0..10_000)
                .map(|_| {
                    channel.pass(Instant::ZERO, 1500).verdict == Verdict::Drop(DropCause::Loss)
                })
                .collect()
        };
        let first = alone(vec![loss("a", 0.1)]);
        let corrupt = Stage::Corrupt(Corrupt::new(p(0.5), stream("c")));
        assert_eq!(
            alone(vec![loss("a", 0.1), corrupt, reorder(0.5), jitter(true)]),
            first
        );
        assert_ne!(alone(vec![loss("b", 0.1)]), first);
        // Streams that were made in between do not change a later stream of the same name.
        assert_eq!(alone(vec![loss("a", 0.1)]), first);
    }

    #[test]
    fn later_stages_do_not_process_a_dropped_packet() {
        let duplicate = Stage::Duplicate(Duplicate::new(p(1.0), stream("d")));
        let mut channel = Channel::new(vec![loss("a", 1.0), duplicate]);
        let passage = channel.pass(Instant::ZERO, 1500);
        assert_eq!(passage.verdict, Verdict::Drop(DropCause::Loss));
        assert_eq!(passage.copies, 0);
    }

    #[test]
    fn a_corrupt_packet_can_still_be_lost() {
        let corrupt = Stage::Corrupt(Corrupt::new(p(1.0), stream("c")));
        let mut channel = Channel::new(vec![corrupt, loss("a", 0.5)]);
        let verdicts: Vec<_> = (0..100)
            .map(|_| channel.pass(Instant::ZERO, 40).verdict)
            .collect();
        assert!(verdicts.contains(&Verdict::Corrupt));
        assert!(verdicts.contains(&Verdict::Drop(DropCause::Loss)));
        assert!(!verdicts.contains(&Verdict::Pass));
    }
}
