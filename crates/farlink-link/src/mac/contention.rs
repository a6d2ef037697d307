//! Contention of one station with stations that are not nodes: unslotted CSMA/CA of IEEE 802.15.4,
//! and slotted ALOHA. The other stations are modelled by probabilities.

use farlink_channel::rng::{Probability, Stream};
use farlink_tcp::{Instant, Interval};

/// Load of the other stations together, in frames per frame time (CSMA/CA) or per slot (ALOHA),
/// retransmissions included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Others {
    /// Offered load G.
    pub load: f64,
    /// Number of stations that share the load evenly; `None` for infinitely many.
    pub stations: Option<u32>,
}

impl Others {
    /// Returns the probability that no other station sends in one frame time or slot: e^-G for
    /// infinitely many stations, (1 - G / n)^n for n stations (Abramson 1970; Roberts 1975).
    pub fn silent(self) -> Probability {
        Probability::clamped(match self.stations {
            None => libm::exp(-self.load),
            Some(n) => libm::pow(1.0 - self.load / f64::from(n), f64::from(n)),
        })
    }
}

/// Unslotted CSMA/CA in a network without beacons (IEEE 802.15.4-2006, 7.5.1.4).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CsmaCa {
    /// Duration of a symbol: 16 us at 2450 MHz.
    pub symbol: Interval,
    /// macMinBE: the first backoff is 0 to 2^BE - 1 periods with BE = macMinBE.
    pub min_be: u8,
    /// macMaxBE: BE grows by 1 after each busy channel, up to this value.
    pub max_be: u8,
    /// macMaxCSMABackoffs: after this many busy channels, the next busy channel makes the MAC give
    /// up the frame.
    pub max_backoffs: u8,
    /// Probability that the channel is sensed busy, independent at each assessment.
    pub busy: Probability,
}

impl CsmaCa {
    /// Symbols of aUnitBackoffPeriod (6.4.1).
    pub const BACKOFF_PERIOD: u64 = 20;
    /// Symbols of a clear channel assessment (6.9.9).
    pub const CCA: u64 = 8;
    /// Symbols of aTurnaroundTime (6.4.1).
    pub const TURNAROUND: u64 = 12;

    /// Draws the time until the station may send or gives up. The flag is true if it may send.
    pub(super) fn turn(&self, stream: &mut Stream) -> (Interval, bool) {
        let mut be = self.min_be;
        let mut symbols = 0;
        for _ in 0..=self.max_backoffs {
            symbols += Self::BACKOFF_PERIOD * below(1 << be, stream) + Self::CCA;
            if !stream.chance(self.busy) {
                symbols += Self::TURNAROUND;
                return (self.time(symbols), true);
            }
            be = self.max_be.min(be + 1);
        }
        (self.time(symbols), false)
    }

    fn time(&self, symbols: u64) -> Interval {
        Interval::from_nanos(self.symbol.as_nanos() * symbols)
    }
}

/// Slotted ALOHA (Roberts 1975). A frame occupies whole slots from the next slot boundary on. It
/// collides if another station sends in any of these slots, and is resent after a random number of
/// slots. The sender detects a collision at the end of the last slot.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Aloha {
    /// Duration of a slot; slots begin at multiples of it.
    pub slot: Interval,
    /// Probability that no other station sends in a slot, independent for each slot.
    pub silent: Probability,
    /// K: after a collision the station skips 0 to K - 1 slots, uniformly distributed.
    pub backoff: u32,
    /// Maximum number of transmissions of a frame.
    pub attempts: u32,
}

/// Result of the transmissions of one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AlohaTurn {
    /// Time at which the last bit left, or the end of the last slot if the MAC gave up the frame.
    pub(super) ends: Instant,
    /// Number of transmissions.
    pub(super) attempts: u32,
    /// Set if the last transmission did not collide.
    pub(super) succeeded: bool,
}

impl Aloha {
    pub(super) fn turn(&self, now: Instant, air: Interval, stream: &mut Stream) -> AlohaTurn {
        let slot = self.slot.as_nanos();
        let slots = air.as_nanos().div_ceil(slot).max(1);
        let alone = Probability::clamped(libm::pow(self.silent.get(), slots as f64));
        let mut starts = now.as_nanos().div_ceil(slot);
        for attempt in 1..=self.attempts {
            if stream.chance(alone) {
                return AlohaTurn {
                    ends: Instant::from_nanos(starts * slot) + air,
                    attempts: attempt,
                    succeeded: true,
                };
            }
            starts += slots;
            if attempt < self.attempts {
                starts += below(self.backoff.into(), stream);
            }
        }
        AlohaTurn {
            ends: Instant::from_nanos(starts * slot),
            attempts: self.attempts,
            succeeded: false,
        }
    }
}

/// Draws a uniform integer from 0 to `n - 1`; its probabilities deviate by at most 2^-64.
fn below(n: u64, stream: &mut Stream) -> u64 {
    ((u128::from(stream.next_u64()) * u128::from(n)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arq::{Frame, FrameKind};
    use crate::mac::{Access, Confirmed, Mac};
    use farlink_channel::rng::Streams;

    const FRAMES: usize = 200_000;

    fn p(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    /// Sends frames of 24 bytes at 19.2 kbit/s (10 ms each), each as soon as the previous one is
    /// done. Returns the time taken and the time on the air of each in ms, and whether it was sent.
    fn frames(access: Access) -> Vec<(f64, f64, bool)> {
        let mut mac = Mac::new(access, 19_200, Streams::new(7, 0).stream("mac"));
        let frame = Frame::control(FrameKind::ReceiveReady, 0, false);
        let mut now = Instant::from_nanos(3);
        (0..FRAMES)
            .map(|_| {
                let air = mac.request(now, frame, 24);
                let done = mac.done_at();
                let Some(Confirmed { sent, .. }) = mac.confirm(done) else {
                    panic!("it is done");
                };
                let ms = |time: Interval| time.as_nanos() as f64 / 1e6;
                let took = ms(done.since(now));
                now = done;
                (took, ms(air), sent)
            })
            .collect()
    }

    /// Checks mean and variance of `times` within 4 standard errors. The error of the variance uses
    /// the measured fourth moment.
    fn assert_moments(times: &[f64], mean: f64, variance: f64) {
        let n = times.len() as f64;
        let measured = times.iter().sum::<f64>() / n;
        let error = 4.0 * (variance / n).sqrt() + 1e-9;
        assert!(
            (measured - mean).abs() < error,
            "mean {measured}, not {mean}"
        );
        let central = |power| times.iter().map(|t| (t - mean).powi(power)).sum::<f64>() / n;
        let error = 4.0 * ((central(4) - variance * variance) / n).sqrt() + 1e-9;
        let measured = central(2);
        assert!(
            (measured - variance).abs() < error,
            "variance {measured}, not {variance}"
        );
    }

    fn assert_share(measured: usize, of: usize, p: f64) {
        let share = measured as f64 / of as f64;
        let error = 4.0 * (p * (1.0 - p) / of as f64).sqrt() + 1e-12;
        assert!((share - p).abs() < error, "{share}, not {p}");
    }

    const USUAL: CsmaCa = CsmaCa {
        symbol: Interval::from_micros(16),
        min_be: 3,
        max_be: 5,
        max_backoffs: 4,
        busy: Probability::ZERO,
    };

    /// Returns mean and variance (ms) of the access time of frames that are sent. After k busy
    /// channels there were k + 1 backoffs, each uniform on 2^BE values.
    fn csma(access: &CsmaCa) -> (f64, f64) {
        let busy = access.busy.get();
        let (mut all, mut first, mut second) = (0.0, 0.0, 0.0);
        let (mut mean, mut variance) = (0.192, 0.0);
        for k in 0..=access.max_backoffs {
            let values = f64::from(1_u32 << access.max_be.min(access.min_be + k));
            mean += (values - 1.0) / 2.0 * 0.320 + 0.128;
            variance += (values * values - 1.0) / 12.0 * 0.320 * 0.320;
            let p = (1.0 - busy) * busy.powi(k.into());
            all += p;
            first += p * mean;
            second += p * (variance + mean * mean);
        }
        (first / all, second / all - (first / all).powi(2))
    }

    #[test]
    fn an_idle_channel_costs_one_backoff() {
        // Mean of an idle channel: 3.5 periods of 0.32 ms, 0.128 ms of sensing and 0.192 ms of
        // turnaround.
        let (mean, variance) = csma(&USUAL);
        assert!((mean - 1.44).abs() < 1e-12, "{mean}");
        let times: Vec<f64> = frames(Access::CsmaCa(USUAL))
            .iter()
            .map(|&(took, air, sent)| {
                assert!(sent && air == 10.0);
                took - air
            })
            .collect();
        assert_moments(&times, mean, variance);
        let min = times.iter().copied().fold(f64::MAX, f64::min);
        let max = times.iter().copied().fold(0.0, f64::max);
        assert!((min - 0.32).abs() < 1e-9 && (max - 2.56).abs() < 1e-9);
    }

    /// A frame is given up with probability `busy^(macMaxCSMABackoffs + 1)`.
    #[test]
    fn access_fails_if_the_channel_is_busy_at_every_attempt() {
        for (busy, max_backoffs, min_be) in [(0.5, 4, 3), (0.3, 1, 0), (0.8, 5, 2)] {
            let access = CsmaCa {
                busy: p(busy),
                max_backoffs,
                min_be,
                ..USUAL
            };
            let all = frames(Access::CsmaCa(access));
            let failed = all.iter().filter(|frame| !frame.2).count();
            let alpha = busy.powi(i32::from(max_backoffs) + 1);
            assert_share(failed, FRAMES, alpha);
            let sent = all.iter().filter(|frame| frame.2);
            let times: Vec<f64> = sent.map(|&(took, air, _)| took - air).collect();
            let (mean, variance) = csma(&access);
            assert_moments(&times, mean, variance);
            assert!(all.iter().all(|&(_, air, sent)| sent || air == 0.0));
        }
    }

    #[test]
    fn silence_probability_is_poisson_or_binomial() {
        let of = |load, stations| Others { load, stations }.silent().get();
        assert!((of(0.5, None) - (-0.5_f64).exp()).abs() < 1e-15);
        assert!((of(0.5, Some(10)) - 0.95_f64.powi(10)).abs() < 1e-12);
        assert!((of(0.5, Some(1_000_000)) - of(0.5, None)).abs() < 1e-6);
        assert_eq!((of(0.0, None), of(1.0, Some(1))), (1.0, 0.0));
    }

    /// A frame of m slots succeeds with p = e^(-m G). It needs a mean of 1 / p transmissions, and
    /// each collision costs m slots and a mean backoff of (K - 1) / 2 slots.
    #[test]
    fn aloha_collision_rate_matches_load_of_other_stations() {
        for (slot_ms, slots, load) in [(10, 1.0, 1.0), (5, 2.0, 0.4), (16, 1.0, 0.2)] {
            let silent = Others {
                load,
                stations: None,
            };
            let access = Aloha {
                slot: Interval::from_millis(slot_ms),
                silent: silent.silent(),
                backoff: 8,
                attempts: 1000,
            };
            let all = frames(Access::Aloha(access));
            let p = (-slots * load).exp();
            let once = all.iter().filter(|frame| frame.1 == 10.0).count();
            assert_share(once, FRAMES, p);
            let sent: Vec<f64> = all.iter().map(|frame| frame.1 / 10.0).collect();
            assert_moments(&sent, 1.0 / p, (1.0 - p) / (p * p));
            let slot = slot_ms as f64;
            // The first frame arrives just after a slot boundary. Each later frame waits for the
            // first boundary at or after the end of the previous frame.
            let rest = slot * slots - 10.0;
            let times: Vec<f64> = all[1..].iter().map(|frame| frame.0 - rest).collect();
            let (more, step) = ((1.0 - p) / p, slot * (slots + 3.5));
            let uniform = slot * slot * 63.0 / 12.0;
            let variance = more * uniform + more / p * step * step;
            assert_moments(&times, 10.0 + more * step, variance);
            assert!(all.iter().all(|frame| frame.2));
        }
    }

    #[test]
    fn aloha_gives_up_after_the_maximum_of_transmissions() {
        let access = Aloha {
            slot: Interval::from_millis(10),
            silent: p(0.6),
            backoff: 1,
            attempts: 3,
        };
        let all = frames(Access::Aloha(access));
        let failed = all.iter().filter(|frame| !frame.2);
        assert!(
            failed
                .clone()
                .skip(1)
                .all(|frame| (frame.0, frame.1) == (30.0, 30.0))
        );
        assert_share(failed.count(), FRAMES, 0.4_f64.powi(3));
    }
}
