//! Mobile that fades and changes cells (Leung 1998, section 3.2.1).

use std::collections::VecDeque;

use super::closed_form::{Derived, Sampling, Theory};
use super::error::ChannelError;
use super::markov;
use super::on_off::OnOff;
use super::passage::{DropCause, Passage, Verdict};
use super::process::Process;
use super::state_loss::KnownLoss;
use super::state_loss::StateLoss;
use crate::fec::BlockCode;
use crate::rng::{Probability, Stream};
use farlink_tcp::{Instant, Interval};

/// Fate of packets during a handoff.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forwarding {
    /// Packets are lost ([`DropCause::Handoff`]).
    Drop,
    /// Packets are kept and sent in order, at the rate of the link, after the handoff. Bytes beyond
    /// `limit` are lost.
    Forward {
        /// Maximum bytes on the wire that are kept; `None` for no limit.
        limit: Option<u64>,
    },
}

/// Handoffs: their frequency, their duration, and the fate of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handoffs {
    /// Mean time from the end of a handoff to the next (1/a).
    pub interval: Interval,
    /// Mean duration of a handoff (1/b).
    pub duration: Interval,
    /// Fate of packets during a handoff.
    pub forwarding: Forwarding,
}

/// Rule that decides which state of the fading a packet meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FadeRule {
    /// Chain that moves once per packet. A state ends within the packet's transmission time T with
    /// probability 1 - exp(-c T) or 1 - exp(-d T). The loss then grows with speed, as in the study.
    PerPacket,
    /// State of the fading at the end of the packet's transmission.
    Instant,
    /// Bad if any part of the packet's transmission falls into a fade.
    Overlap,
}

/// Fades: their frequency, their duration, and the packets that they lose.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fading {
    /// Mean time between fades (1/c).
    pub interval: Interval,
    /// Mean duration of a fade (1/d).
    pub duration: Interval,
    /// Loss outside of fades.
    pub good: StateLoss,
    /// Loss in fades.
    pub bad: StateLoss,
    /// Rule that decides which packets are in a fade.
    pub rule: FadeRule,
}

impl Handoffs {
    /// Returns the mean times of a mobile at `speed` m/s that crosses cells of `radius` metres and
    /// changes cells in a region of `region` metres. The times are 1/a = R / (v ln 2) and 1/b = d /
    /// (2 v ln 2) (equations 7 and 8, with the absolute value of ln 0.5).
    pub fn from_motion(radius: f64, region: f64, speed: f64) -> [Interval; 2] {
        let ln2 = std::f64::consts::LN_2;
        [radius / (ln2 * speed), 0.5 * region / (ln2 * speed)].map(seconds)
    }
}

impl Fading {
    /// Returns the normalised level-crossing rate and fade duration of a Rayleigh envelope at a
    /// threshold of `rho` times its rms: n_R = rho exp(-rho^2) and t_R = (exp(rho^2) - 1) / rho.
    pub fn rayleigh(rho: f64) -> [f64; 2] {
        let square = rho * rho;
        [rho * libm::exp(-square), libm::expm1(square) / rho]
    }

    /// Returns the normalised rate and duration for a threshold in decibels below the rms.
    pub fn at_margin(decibels: f64) -> [f64; 2] {
        Self::rayleigh(libm::pow(10.0, -decibels / 20.0))
    }

    /// Returns the mean time between fades and the mean fade (1/c and 1/d) of a mobile at `speed`
    /// m/s on a carrier of `carrier` Hz. The Doppler frequency is f = v / wavelength, and the rate
    /// of fades is sqrt(2 pi) f n_R. Then 1/d = t_R / (sqrt(2 pi) f) and 1/c = 1 / rate - 1/d
    /// (equations 9 to 11). n_R and t_R are the normalised rate and duration.
    ///
    /// # Errors
    /// Fails if n_R t_R >= 1, because no time is left between fades.
    pub fn from_motion(
        speed: f64,
        carrier: f64,
        rate: f64,
        duration: f64,
    ) -> Result<[Interval; 2], ChannelError> {
        if !(rate > 0.0 && duration > 0.0 && rate * duration < 1.0) {
            return Err(ChannelError::Cannot(
                "fades of this normalised rate and duration would touch: write a product of the \
                 two below 1",
            ));
        }
        // beta v / sqrt(2 pi) with beta = 2 pi / wavelength.
        let crossings = libm::sqrt(std::f64::consts::TAU) * speed * carrier / LIGHT;
        let (rate, fade) = (crossings * rate, duration / crossings);
        Ok([1.0 / rate - fade, fade].map(seconds))
    }
}

/// Speed of light, m/s.
const LIGHT: f64 = 299_792_458.0;

fn seconds(seconds: f64) -> Interval {
    Interval::from_nanos(libm::round(seconds * 1e9) as u64)
}

/// State of the handoffs.
#[derive(Clone, Debug)]
struct Changing {
    chain: OnOff,
    forwarding: Forwarding,
    /// Time at which the last kept packet has been sent.
    free_at: Instant,
    /// End of transmission and size in bytes of each kept packet.
    kept: VecDeque<(Instant, u32)>,
    kept_bytes: u64,
}

impl Changing {
    /// Returns the end of transmission of a packet that leaves the transmitter at `now` after
    /// `sending`. Returns `None` if the packet is lost.
    fn sent_at(&mut self, now: Instant, sending: Interval, bytes: u32) -> Option<Instant> {
        let Forwarding::Forward { limit } = self.forwarding else {
            return (!self.chain.at(now)).then_some(now);
        };
        while let Some(&(sent, len)) = self.kept.front() {
            if sent > now {
                break;
            }
            self.kept.pop_front();
            self.kept_bytes -= u64::from(len);
        }
        let behind = self.free_at + sending > now;
        if !behind && !self.chain.at(now) {
            return Some(now);
        }
        if limit.is_some_and(|limit| self.kept_bytes + u64::from(bytes) > limit) {
            return None;
        }
        // A packet that a handoff interrupts is sent again as a whole after the handoff.
        let mut sent = now.max(self.free_at + sending);
        while self.chain.at(sent) {
            sent = self.chain.until() + sending;
        }
        self.free_at = sent;
        self.kept.push_back((sent, bytes));
        self.kept_bytes += u64::from(bytes);
        Some(sent)
    }

    /// Figures of the handoffs.
    fn derived(&self) -> [Derived; 3] {
        let [normal, handoff] = self.chain.means();
        let share = self.chain.shares()[1];
        [
            (
                "mean_time_between_handoffs",
                "s",
                normal,
                "1/a, Leung 1998, equation 7",
            ),
            ("mean_handoff", "s", handoff, "1/b, Leung 1998, equation 8"),
            ("handoff_share", "probability", share, "(1/b) / (1/a + 1/b)"),
        ]
        .map(Derived::from)
    }
}

/// State of the fading.
#[derive(Clone, Debug)]
struct Fades {
    rule: FadeRule,
    /// Fading in time; the chain per packet uses only its rates.
    chain: OnOff,
    /// State of the chain per packet; `None` before the first packet.
    bad: Option<bool>,
    /// Loss outside of fades and in fades.
    loss: [KnownLoss; 2],
}

/// Three states in continuous time: handoff and, in normal operation, good and bad (a fade). Every
/// dwell time is exponential; handoffs and fades are independent.
#[derive(Clone, Debug)]
pub struct Mobile {
    rate: u64,
    code: Option<BlockCode>,
    changing: Option<Changing>,
    fades: Option<Fades>,
    stream: Stream,
}

/// Streams of a [`Mobile`].
#[derive(Clone, Debug)]
pub struct MobileStreams {
    /// Times of handoffs.
    pub handoffs: Stream,
    /// Times of fades.
    pub fades: Stream,
    /// Random stream for the fate of each packet.
    pub packets: Stream,
}

impl Mobile {
    /// Creates the process on a link of `rate` bit/s, from which transmission times are computed.
    ///
    /// # Errors
    /// Fails if a mean time is 0.
    pub fn new(
        rate: u64,
        handoffs: Option<Handoffs>,
        fading: Option<Fading>,
        streams: MobileStreams,
    ) -> Result<Self, ChannelError> {
        let changing = handoffs
            .map(|h| -> Result<_, ChannelError> {
                Ok(Changing {
                    chain: OnOff::new(h.interval, h.duration, streams.handoffs)?,
                    forwarding: h.forwarding,
                    free_at: Instant::ZERO,
                    kept: VecDeque::new(),
                    kept_bytes: 0,
                })
            })
            .transpose()?;
        let fades = fading
            .map(|f| -> Result<_, ChannelError> {
                Ok(Fades {
                    rule: f.rule,
                    chain: OnOff::new(f.interval, f.duration, streams.fades)?,
                    bad: None,
                    loss: [f.good, f.bad].map(KnownLoss::new),
                })
            })
            .transpose()?;
        Ok(Self {
            rate,
            code: None,
            changing,
            fades,
            stream: streams.packets,
        })
    }

    /// Adds a block code: bit errors are corrected block by block, and check symbols take
    /// transmission time. From then on, packet lengths exclude check symbols.
    pub fn with_code(mut self, code: BlockCode) -> Self {
        self.code = Some(code);
        if let Some(fades) = &mut self.fades {
            for loss in &mut fades.loss {
                if let StateLoss::Bits(ber) = loss.loss() {
                    *loss = KnownLoss::new(StateLoss::Coded(ber, code));
                }
            }
        }
        self
    }

    fn sending(&self, bytes: u32) -> Interval {
        let bytes = self.code.map_or(bytes, |code| code.wire(bytes));
        Interval::of_bits(8 * u64::from(bytes), self.rate)
    }
}

impl Fades {
    /// Returns the probabilities of leaving the good and the bad state during a packet.
    fn leave(&self, sending: Interval) -> [f64; 2] {
        let time = sending.as_secs_f64();
        self.chain.means().map(|mean| -libm::expm1(-time / mean))
    }

    /// Returns whether a fade loses a packet whose transmission ends at `at`.
    fn is_bad(&mut self, at: Instant, sending: Interval, stream: &mut Stream) -> bool {
        match self.rule {
            FadeRule::PerPacket => {
                let leave = self.leave(sending);
                let chance = match self.bad {
                    None => leave[0] / (leave[0] + leave[1]),
                    Some(bad) => leave[usize::from(bad)],
                };
                let moved = stream.chance(Probability::clamped(chance));
                *self.bad.insert(self.bad.unwrap_or(false) ^ moved)
            }
            FadeRule::Instant => self.chain.at(at),
            FadeRule::Overlap => {
                let starts = Instant::ZERO + at.since(Instant::ZERO).saturating_sub(sending);
                self.chain.touched(starts, at)
            }
        }
    }

    /// Returns the chain of packets: shares, steps and losses. The three states are: good
    /// throughout; good at the end after a fade; bad at the end. The rules `PerPacket` and
    /// `Instant` use only the first and the last state.
    fn chain_of_packets(&self, sampling: Sampling, sending: Interval) -> Chain<3> {
        let loss = [0, 1].map(|s: usize| self.loss[s].loss().of(sampling.bytes));
        let two = |leave: [f64; 2], shares: [f64; 2]| Chain {
            shares: [shares[0], 0.0, shares[1]],
            steps: [
                [1.0 - leave[0], 0.0, leave[0]],
                [1.0, 0.0, 0.0],
                [leave[1], 0.0, 1.0 - leave[1]],
            ],
            loss: [loss[0], loss[1], loss[1]],
        };
        match self.rule {
            FadeRule::PerPacket => {
                let leave = self.leave(sending);
                two(leave, markov::shares(leave))
            }
            FadeRule::Instant => two(self.chain.leave(sampling.spacing), self.chain.shares()),
            FadeRule::Overlap => {
                let idle = self.chain.leave(sampling.spacing.saturating_sub(sending));
                let during = self.chain.leave(sending);
                let whole = 1.0 - self.leave(sending)[0];
                // Transitions from the state at the start of a packet, good or bad.
                let from_good = [whole, 1.0 - during[0] - whole, during[0]];
                let from_bad = [0.0, during[1], 1.0 - during[1]];
                let mixed = |bad: f64| -> [f64; 3] {
                    std::array::from_fn(|j| (1.0 - bad) * from_good[j] + bad * from_bad[j])
                };
                let after_good = mixed(idle[0]);
                Chain {
                    shares: mixed(self.chain.shares()[1]),
                    steps: [after_good, after_good, mixed(1.0 - idle[1])],
                    loss: [loss[0], loss[1], loss[1]],
                }
            }
        }
    }

    /// Returns figures of the fades, and of packets of 1500 bytes in a row, each of duration
    /// `sending`.
    fn derived(&self, sending: Interval, code: Option<BlockCode>) -> Vec<Derived> {
        let [good, bad] = self.chain.means();
        let (rate, share) = (1.0 / (good + bad), self.chain.shares()[1]);
        let sampling = Sampling {
            bytes: 1500,
            spacing: sending,
        };
        let chain = self.chain_of_packets(sampling, sending);
        let touched = chain.shares[1] + chain.shares[2];
        let mut rows = Vec::from(
            [
                ("fade_rate", "Hz", rate, "Leung 1998, equation 10"),
                ("mean_fade", "s", bad, "1/d, Leung 1998, equation 9"),
                (
                    "mean_time_between_fades",
                    "s",
                    good,
                    "1/c, Leung 1998, equation 11",
                ),
                (
                    "fade_share",
                    "probability",
                    share,
                    "(1/d) / (1/c + 1/d), of time",
                ),
                (
                    "bad_share_1500_bytes",
                    "probability",
                    touched,
                    "of packets of 1500 B, by the rule for fades",
                ),
            ]
            .map(Derived::from),
        );
        if let Some(code) = code {
            let loss = (0..3).map(|state| chain.shares[state] * chain.loss[state]);
            rows.push(Derived::from((
                "fade_loss_1500_bytes",
                "probability",
                loss.sum(),
                "of packets of 1500 B, by bit errors that the code does not correct",
            )));
            rows.push(code.derived());
        }
        rows
    }
}

/// Chain of packets with the loss in each state.
struct Chain<const N: usize> {
    shares: [f64; N],
    steps: [[f64; N]; N],
    loss: [f64; N],
}

impl Process for Mobile {
    fn pass(&mut self, now: Instant, bytes: u32, passage: &mut Passage) {
        let sending = self.sending(bytes);
        let mut at = now;
        if let Some(changing) = &mut self.changing {
            match changing.sent_at(now, sending, bytes) {
                Some(sent) => at = sent,
                None => passage.verdict = Verdict::Drop(DropCause::Handoff),
            }
        }
        // Lost packets also take a draw, so that fades do not depend on handoffs.
        if let Some(fades) = &mut self.fades {
            let bad = fades.is_bad(at, sending, &mut self.stream);
            let loss = fades.loss[usize::from(bad)].of(bytes);
            if self.stream.chance(loss) && !matches!(passage.verdict, Verdict::Drop(_)) {
                let cause = if bad {
                    DropCause::Fade
                } else {
                    DropCause::BitError
                };
                passage.verdict = Verdict::Drop(cause);
            }
        }
        passage.hold = passage.hold + at.since(now);
    }

    fn is_inert(&self) -> bool {
        let fades = self.fades.as_ref();
        let lossless = fades.is_none_or(|f| f.loss.iter().all(|loss| loss.loss().is_zero()));
        self.changing.is_none() && lossless
    }

    /// Returns the product of the closed forms of handoffs and fades. Forwarded packets are not
    /// evenly spaced: only the loss by fades is then known, and nothing if the buffer is limited.
    fn theory(&self, sampling: Sampling) -> Theory {
        let sending = self.sending(sampling.bytes);
        let fading = match &self.fades {
            Some(fades) => fades.chain_of_packets(sampling, sending),
            None => Chain {
                shares: [1.0, 0.0, 0.0],
                steps: [[1.0, 0.0, 0.0]; 3],
                loss: [0.0; 3],
            },
        };
        let alone = || markov::theory(&fading.shares, &fading.steps, &fading.loss);
        let Some(changing) = &self.changing else {
            return alone();
        };
        if let Forwarding::Forward { limit } = changing.forwarding {
            let fading = alone();
            return Theory {
                loss: fading.loss.filter(|_| limit.is_none()),
                ..Theory::default()
            };
        }
        let shares = changing.chain.shares();
        let steps = markov::steps(changing.chain.leave(sampling.spacing));
        // The index of a state is 3 h + f, for handoff h and fading f.
        markov::theory::<6>(
            &std::array::from_fn(|i| shares[i / 3] * fading.shares[i % 3]),
            &std::array::from_fn(|i| {
                std::array::from_fn(|j| steps[i / 3][j / 3] * fading.steps[i % 3][j % 3])
            }),
            &std::array::from_fn(|i| if i < 3 { fading.loss[i] } else { 1.0 }),
        )
    }

    fn derived(&self) -> Vec<Derived> {
        let mut rows = Vec::new();
        if let Some(changing) = &self.changing {
            rows.extend(changing.derived());
        }
        if let Some(fades) = &self.fades {
            rows.extend(fades.derived(self.sending(1500), self.code));
        }
        rows
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
