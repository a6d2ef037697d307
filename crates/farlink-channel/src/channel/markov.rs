//! Closed forms of a Markov chain whose state decides the loss of each packet.

use super::closed_form::{LAGS, Theory};

/// Returns the closed form of loss by a chain of `N` states. `stationary` is the share of packets
/// in each state, `step` the probability of a step from one state (first index) to another between
/// two packets, and `loss` the probability of loss in each state.
///
/// With pi the shares, l the losses and P the steps: loss m = pi l. The autocorrelation at lag k is
/// a(k) = pi diag(l - m) P^k (l - m) / (m (1 - m)). The mean burst is 1 / ((1 - m) (1 - a(1))), and
/// the mean gap 1 / (m (1 - a(1))).
pub(super) fn theory<const N: usize>(
    stationary: &[f64; N],
    step: &[[f64; N]; N],
    loss: &[f64; N],
) -> Theory {
    let mean: f64 = (0..N).map(|i| stationary[i] * loss[i]).sum();
    if mean <= 0.0 || mean >= 1.0 {
        return Theory::independent(mean.clamp(0.0, 1.0));
    }
    let next = |values: &[f64; N]| -> [f64; N] {
        std::array::from_fn(|i| (0..N).map(|j| step[i][j] * values[j]).sum())
    };
    let about = loss.map(|l| l - mean);
    let mut ahead = about;
    let autocorrelation = (0..LAGS)
        .map(|_| {
            ahead = next(&ahead);
            let covariance: f64 = (0..N).map(|i| stationary[i] * about[i] * ahead[i]).sum();
            covariance / (mean * (1.0 - mean))
        })
        .collect();
    Theory::of_loss(mean, autocorrelation)
}

/// Returns the stationary shares of two states with these probabilities of leaving them per step.
pub(super) fn shares(leave: [f64; 2]) -> [f64; 2] {
    let sum = leave[0] + leave[1];
    [leave[1] / sum, leave[0] / sum]
}

/// Returns the step matrix of two states with these probabilities of leaving them.
pub(super) fn steps(leave: [f64; 2]) -> [[f64; 2]; 2] {
    [[1.0 - leave[0], leave[0]], [leave[1], 1.0 - leave[1]]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_states_give_gilberts_formulas() {
        // Loss 5 % in bursts of 4: r = 1/4, p = r 0.05 / 0.95.
        let leave = [0.25 * 0.05 / 0.95, 0.25];
        let measured = theory(&shares(leave), &steps(leave), &[0.0, 1.0]);
        let near = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-12, "{a:?} {b}");
        near(measured.loss, 0.05);
        near(measured.burst, 4.0);
        near(measured.gap, 76.0);
        let memory = 1.0 - leave[0] - leave[1];
        for (lag, rho) in (1..).zip(measured.autocorrelation.unwrap()) {
            near(Some(rho), memory.powi(lag));
        }
    }

    #[test]
    fn without_loss_there_are_no_bursts() {
        let leave = [0.1, 0.1];
        let measured = theory(&shares(leave), &steps(leave), &[0.0, 0.0]);
        assert_eq!(measured.loss, Some(0.0));
        assert_eq!((measured.burst, measured.autocorrelation), (None, None));
    }

    #[test]
    fn total_loss_has_no_memory() {
        let leave = [0.1, 0.1];
        let measured = theory(&shares(leave), &steps(leave), &[1.0, 1.0]);
        assert_eq!(measured, Theory::independent(1.0));
    }
}
