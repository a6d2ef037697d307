//! Periods of congestion on the path, in time: Fritchman's two-state model, with which Wong (1998,
//! section 3.2.4) describes the Internet.

use super::closed_form::{Derived, Sampling, Theory};
use super::error::ChannelError;
use super::markov;
use super::on_off::OnOff;
use super::passage::{DropCause, Passage, Verdict};
use super::process::Process;
use crate::rng::{Probability, Stream};
use farlink_tcp::{Instant, Interval};

/// Clear and congested periods of exponential length. Each kind of period has its own probability,
/// with which packets are lost independently.
///
/// Wong's model loses every packet of a congested period and none of a clear one. Other loss
/// probabilities approximate a bottleneck router whose queue overflows at times.
#[derive(Clone, Debug)]
pub struct Congestion {
    periods: OnOff,
    loss: [Probability; 2],
    stream: Stream,
}

impl Congestion {
    /// Creates the process. `clear` (1 / alpha) and `congested` (1 / beta) are the mean lengths of
    /// the periods, `loss_*` the probabilities of loss in them. The periods depend on
    /// `period_stream` only.
    ///
    /// # Errors
    /// Fails if a mean length is 0.
    pub fn new(
        clear: Interval,
        congested: Interval,
        loss_clear: Probability,
        loss_congested: Probability,
        period_stream: Stream,
        stream: Stream,
    ) -> Result<Self, ChannelError> {
        Ok(Self {
            periods: OnOff::new(clear, congested, period_stream)?,
            loss: [loss_clear, loss_congested],
            stream,
        })
    }
}

impl Process for Congestion {
    #[inline]
    fn pass(&mut self, now: Instant, _bytes: u32, passage: &mut Passage) {
        let state = usize::from(self.periods.at(now));
        if self.stream.chance(self.loss[state]) {
            passage.verdict = Verdict::Drop(DropCause::Congestion);
        }
    }

    fn is_inert(&self) -> bool {
        self.loss.iter().all(|loss| loss.is_zero())
    }

    fn theory(&self, sampling: Sampling) -> Theory {
        let leave = self.periods.leave(sampling.spacing);
        let loss = self.loss.map(Probability::get);
        markov::theory(&self.periods.shares(), &markov::steps(leave), &loss)
    }

    fn derived(&self) -> Vec<Derived> {
        let [clear, congested] = self.periods.means();
        let shares = self.periods.shares();
        let loss = shares[0] * self.loss[0].get() + shares[1] * self.loss[1].get();
        let derived = |name, unit, value, source| Derived {
            name,
            unit,
            value,
            source,
        };
        vec![
            derived("mean_clear", "s", clear, "1 / alpha"),
            derived("mean_congested", "s", congested, "1 / beta"),
            derived(
                "congestion_periods",
                "Hz",
                1.0 / (clear + congested),
                "alpha beta / (alpha + beta)",
            ),
            derived(
                "congested_share",
                "probability",
                shares[1],
                "Wong 1998, equation 3.1: alpha / (alpha + beta)",
            ),
            derived(
                "mean_loss",
                "probability",
                loss,
                "Wong 1998, equation 3.2; weighted by the losses of the two states",
            ),
        ]
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::agreement::{agrees, sampling};
    use super::super::testing::{p, stream};
    use super::*;

    fn congestion(clear: f64, congested: f64, loss: [f64; 2]) -> Congestion {
        let seconds = |s: f64| Interval::from_nanos((s * 1e9) as u64);
        Congestion::new(
            seconds(clear),
            seconds(congested),
            p(loss[0]),
            p(loss[1]),
            stream("periods"),
            stream("packets"),
        )
        .unwrap()
    }

    #[test]
    fn the_three_settings_of_the_study_have_their_losses() {
        // Wong 1998, figures 5.8, 5.10 and 5.11: duration, periods per second, loss.
        for (duration, periods, loss) in
            [(25.0, 0.002, 0.05), (25.0, 0.0008, 0.02), (5.0, 0.01, 0.05)]
        {
            let channel = congestion(1.0 / periods - duration, duration, [0.0, 1.0]);
            let derived = channel.derived();
            assert!((derived[2].value / periods - 1.0).abs() < 1e-9);
            assert!((derived[3].value / loss - 1.0).abs() < 1e-9);
            assert!((derived[4].value / loss - 1.0).abs() < 1e-9);
            // Packets a second apart.
            agrees(channel, sampling(552, 1_000_000_000)).near_loss(loss);
        }
    }

    #[test]
    fn partial_losses_agree_with_the_closed_form() {
        for (clear, congested, loss) in [
            (1.0, 0.05, [0.0, 0.3]),
            (0.2, 0.1, [0.01, 0.5]),
            (0.01, 0.002, [0.0, 1.0]),
        ] {
            agrees(
                congestion(clear, congested, loss),
                sampling(1500, 10_000_000),
            );
        }
    }

    #[test]
    fn bursts_have_a_length_in_time() {
        // Packets twice as far apart have half as long bursts (in packets) and the same loss.
        let theory = |spacing| congestion(4.75, 0.25, [0.0, 1.0]).theory(sampling(552, spacing));
        let (near, far) = (theory(1_000_000), theory(2_000_000));
        assert_eq!(near.loss, far.loss);
        assert!((near.burst.unwrap() / far.burst.unwrap() - 2.0).abs() < 0.01);
    }
}
