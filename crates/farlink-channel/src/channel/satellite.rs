//! A satellite link in clear sky and rain, per packet (Leung 1998, section 3.1).

use super::closed_form::{Derived, Sampling, Theory};
use super::error::ChannelError;
use super::markov;
use super::passage::{DropCause, Passage, Verdict};
use super::process::Process;
use super::state_loss::KnownLoss;
use super::state_loss::StateLoss;
use crate::fec::BlockCode;
use crate::rng::{Probability, Stream};
use farlink_tcp::Instant;

/// Two states, clear sky and rain, with one possible change after each packet: to rain with
/// probability `b`, to clear sky with probability `g`. Bits fail independently in each state, and a
/// packet with any bit in error is lost.
///
/// The chain counts packets, not time: the mean stay is 1/b packets in clear sky and 1/g packets in
/// rain.
#[derive(Clone, Debug)]
pub struct Satellite {
    b: Probability,
    g: Probability,
    /// Loss in clear sky and in rain.
    loss: [KnownLoss; 2],
    rain: bool,
    stream: Stream,
}

impl Satellite {
    /// Creates the process from the bit error rates of the two states, in its stationary
    /// distribution.
    ///
    /// # Errors
    /// Fails if `b` and `g` are both 0.
    pub fn new(
        b: Probability,
        g: Probability,
        ber_clear: Probability,
        ber_rain: Probability,
        mut stream: Stream,
    ) -> Result<Self, ChannelError> {
        if b.is_zero() && g.is_zero() {
            return Err(ChannelError::Cannot(
                "b and g cannot both be 0: the sky would stay for ever as it starts; write at \
                 least one above 0",
            ));
        }
        let rain = stream.chance(Probability::clamped(b.get() / (b.get() + g.get())));
        let loss = [ber_clear, ber_rain].map(|ber| KnownLoss::new(StateLoss::Bits(ber)));
        Ok(Self {
            b,
            g,
            loss,
            rain,
            stream,
        })
    }

    /// Adds a block code. A packet is lost if any of its blocks cannot be decoded. From then on,
    /// packet lengths exclude check symbols.
    pub fn with_code(mut self, code: BlockCode) -> Self {
        self.loss = self.loss.map(|known| match known.loss() {
            StateLoss::Bits(ber) => KnownLoss::new(StateLoss::Coded(ber, code)),
            _ => known,
        });
        self
    }

    /// Returns the bit error rate in rain at which packets of `bytes` have the mean loss `loss`
    /// (equation 1 solved for this rate). Returns `None` if clear sky alone loses more, or if no
    /// bit error rate is high enough.
    pub fn ber_for_loss(
        b: Probability,
        g: Probability,
        ber_clear: Probability,
        loss: Probability,
        bytes: u32,
    ) -> Option<Probability> {
        let [clear, rain] = markov::shares([b.get(), g.get()]);
        let in_clear = StateLoss::Bits(ber_clear).of(bytes);
        let in_rain = (loss.get() - clear * in_clear) / rain;
        if bytes == 0 || !(0.0..1.0).contains(&in_rain) {
            return None;
        }
        let ber = -libm::expm1(libm::log1p(-in_rain) / (8.0 * f64::from(bytes)));
        Some(Probability::clamped(ber))
    }

    fn leave(&self) -> [f64; 2] {
        [self.b.get(), self.g.get()]
    }

    /// Returns the mean loss of packets of `bytes` (equations 1 and 2).
    pub fn mean_loss(&self, bytes: u32) -> f64 {
        let shares = markov::shares(self.leave());
        (0..2)
            .map(|state| shares[state] * self.loss[state].loss().of(bytes))
            .sum()
    }
}

impl Process for Satellite {
    #[inline]
    fn pass(&mut self, _now: Instant, bytes: u32, passage: &mut Passage) {
        let state = usize::from(self.rain);
        if self.stream.chance(self.loss[state].of(bytes)) {
            let cause = [DropCause::BitError, DropCause::Fade][state];
            passage.verdict = Verdict::Drop(cause);
        }
        self.rain ^= self.stream.chance([self.b, self.g][state]);
    }

    fn is_inert(&self) -> bool {
        (self.b.is_zero() || self.loss[1].loss().is_zero()) && self.loss[0].loss().is_zero()
    }

    fn theory(&self, sampling: Sampling) -> Theory {
        let loss = [0, 1].map(|state| self.loss[state].loss().of(sampling.bytes));
        let leave = self.leave();
        markov::theory(&markov::shares(leave), &markov::steps(leave), &loss)
    }

    fn derived(&self) -> Vec<Derived> {
        let derived = |name, unit, value, source| Derived {
            name,
            unit,
            value,
            source,
        };
        let (data, ack) = (self.mean_loss(1500), self.mean_loss(40));
        let rain = markov::shares(self.leave())[1];
        let mut out = vec![
            derived("rain_share", "probability", rain, "pi_R = b / (b + g)"),
            derived("mean_clear_packets", "", 1.0 / self.b.get(), "1 / b"),
            derived("mean_rain_packets", "", 1.0 / self.g.get(), "1 / g"),
            derived(
                "loss_1500_bytes",
                "probability",
                data,
                "Leung 1998, equation 1, packets of 1500 B",
            ),
            derived(
                "loss_40_bytes",
                "probability",
                ack,
                "Leung 1998, equation 2, ACKs of 40 B",
            ),
            derived(
                "unacknowledged_1500_40",
                "probability",
                data + (1.0 - data) * ack,
                "Leung 1998, equation 3, with the same channel both ways",
            ),
        ];
        if let StateLoss::Coded(_, code) = self.loss[1].loss() {
            out.push(code.derived());
        }
        out
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::agreement::{PacketFates, agrees, sampling};
    use super::super::testing::{p, stream};
    use super::*;

    fn satellite(b: f64, g: f64, clear: f64, rain: f64) -> Satellite {
        Satellite::new(p(b), p(g), p(clear), p(rain), stream("satellite")).unwrap()
    }

    #[test]
    fn equations_1_to_3_are_those_of_the_study() {
        // Values of the study: BER_R 5e-6, MSS 512 plus 42 bytes of headers, b 0.01, g 0.05.
        let channel = satellite(0.01, 0.05, 0.0, 5e-6);
        let near = |measured: f64, expected: f64| {
            assert!(
                (measured / expected - 1.0).abs() < 2e-5,
                "{measured} {expected}"
            );
        };
        near(StateLoss::Bits(p(5e-6)).of(554), 0.021_916);
        near(StateLoss::Bits(p(5e-6)).of(42), 0.001_678_6);
        near(channel.mean_loss(554), 0.003_652_7);
        let ack = channel.mean_loss(42);
        near(ack, 0.001_678_6 / 6.0);
        let unacknowledged = channel.derived()[5].value;
        let (data, ack) = (channel.mean_loss(1500), channel.mean_loss(40));
        near(unacknowledged, 1.0 - (1.0 - data) * (1.0 - ack));
    }

    #[test]
    fn loss_bursts_and_memory_are_those_of_the_closed_form() {
        for (b, g, clear, rain) in [
            (0.01, 0.05, 0.0, 5e-5),
            (0.05, 0.01, 0.0, 2e-5),
            (0.02, 0.2, 1e-6, 1e-3),
        ] {
            for bytes in [554, 40] {
                let measured = agrees(satellite(b, g, clear, rain), sampling(bytes, 1_000_000));
                assert!(measured.loss > 1e-4);
            }
        }
    }

    #[test]
    fn the_rain_that_gives_a_mean_loss_gives_it() {
        for (loss, clear) in [(0.001, 0.0), (0.03, 0.0), (0.15, 1e-7)] {
            let ber = Satellite::ber_for_loss(p(0.01), p(0.05), p(clear), p(loss), 554).unwrap();
            let channel = satellite(0.01, 0.05, clear, ber.get());
            assert!((channel.mean_loss(554) / loss - 1.0).abs() < 1e-9, "{loss}");
            let measured = agrees(channel, sampling(554, 1_000_000));
            measured.near_loss(loss);
        }
        // Only a sixth of the packets meets rain, so rain cannot lose more than a sixth.
        let max = Satellite::ber_for_loss(p(0.01), p(0.05), p(0.0), p(0.17), 554);
        assert_eq!(max, None);
        let less = Satellite::ber_for_loss(p(0.01), p(0.05), p(1e-4), p(1e-3), 554);
        assert_eq!(less, None, "clear sky alone loses more");
    }

    #[test]
    fn data_and_acks_that_alternate_have_their_own_losses() {
        let mut channel = satellite(0.01, 0.05, 0.0, 2e-5);
        let expected = [554, 42].map(|bytes| channel.mean_loss(bytes));
        let measured = PacketFates::of(&mut channel, |i| ([554, 42][i % 2], i as u64 * 1_000_000));
        for (kind, expected) in expected.into_iter().enumerate() {
            measured.every(2, kind).near_loss(expected);
        }
    }

    #[test]
    fn rain_is_a_fade_and_clear_sky_has_bit_errors() {
        let mut channel = satellite(0.01, 0.05, 1e-5, 1e-4);
        let mut causes = [0, 0];
        for _ in 0..100_000 {
            let mut passage = Passage::CLEAN;
            channel.pass(Instant::ZERO, 1500, &mut passage);
            match passage.verdict {
                Verdict::Drop(DropCause::BitError) => causes[0] += 1,
                Verdict::Drop(DropCause::Fade) => causes[1] += 1,
                _ => {}
            }
        }
        // 5/6 of the packets have loss 0.113, and 1/6 have 0.699.
        assert!(causes[0] > 8000 && causes[1] > 10_000, "{causes:?}");
    }

    #[test]
    fn stages_without_effect_are_inert() {
        assert!(satellite(0.0, 0.1, 0.0, 1.0).is_inert());
        assert!(satellite(0.1, 0.1, 0.0, 0.0).is_inert());
        assert!(!satellite(0.1, 0.1, 1e-9, 0.0).is_inert());
        let frozen = Satellite::new(p(0.0), p(0.0), p(0.0), p(1.0), stream("s"));
        assert!(
            frozen
                .unwrap_err()
                .to_string()
                .starts_with("b and g cannot")
        );
    }
}
