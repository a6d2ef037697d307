//! Coupled congestion control of a connection over several paths: how much window a subflow gains
//! for each acknowledged byte.

use crate::scenario::CouplingName;

/// State of a subflow that coupled growth reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Congestion window in bytes.
    pub(crate) window: f64,
    /// Smoothed RTT in seconds.
    pub(crate) rtt: f64,
    pub(crate) mss: f64,
    /// Larger one of the bytes acknowledged between the last two losses and since the last loss.
    pub(crate) spacing: f64,
}

impl Share {
    /// Returns the spacing of losses over the square of the RTT, which grows with the rate of a TCP
    /// on this path.
    fn quality(&self) -> f64 {
        self.spacing / (self.rtt * self.rtt)
    }
}

/// Returns the bytes of window that subflow `own` gains per acknowledged byte in congestion
/// avoidance. `shares` has the subflows in use.
pub(crate) fn gain(coupling: CouplingName, shares: &[Share], own: usize) -> f64 {
    let share = &shares[own];
    let rate: f64 = shares.iter().map(|s| s.window / s.rtt).sum();
    let reno = share.mss / share.window;
    match coupling {
        CouplingName::Off => reno,
        CouplingName::Lia => {
            // Equations 1 and 2 of RFC 6356: alpha over the sum of the windows.
            let best = greatest(shares, |s| s.window / (s.rtt * s.rtt));
            (share.mss * best / (rate * rate)).min(reno)
        }
        CouplingName::Olia => {
            let kelly = share.mss * share.window / (share.rtt * share.rtt) / (rate * rate);
            kelly + shift(shares, share) * reno
        }
    }
}

/// Returns the term of OLIA that moves window from the subflows with the largest windows to those
/// with the best paths whose windows are smaller (α of Khalili et al. 2012).
fn shift(shares: &[Share], share: &Share) -> f64 {
    let (window, quality) = (
        greatest(shares, |s| s.window),
        greatest(shares, Share::quality),
    );
    let is_largest = |s: &Share| s.window >= window;
    let is_collected = |s: &Share| s.quality() >= quality && !is_largest(s);
    let collected = shares.iter().filter(|s| is_collected(s)).count();
    let paths = shares.len() as f64;
    if collected == 0 {
        0.0
    } else if is_collected(share) {
        1.0 / (paths * collected as f64)
    } else if is_largest(share) {
        let largest = shares.iter().filter(|s| is_largest(s)).count();
        -1.0 / (paths * largest as f64)
    } else {
        0.0
    }
}

fn greatest(shares: &[Share], of: impl Fn(&Share) -> f64) -> f64 {
    shares.iter().map(of).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use CouplingName::{Lia, Off, Olia};

    fn share(segments: f64, rtt: f64, spacing: f64) -> Share {
        Share {
            window: 1000.0 * segments,
            rtt,
            mss: 1000.0,
            spacing,
        }
    }

    fn near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-9, "{value} {expected}");
    }

    /// A lone subflow grows as Reno: MSS / cwnd.
    #[test]
    fn a_single_subflow_grows_as_reno() {
        for coupling in [Off, Lia, Olia] {
            near(gain(coupling, &[share(20.0, 0.1, 7e4)], 0), 0.05);
        }
    }

    /// Two equal subflows have alpha = 2 w (w / rtt²) / (2 w / rtt)² = 1/2 (RFC 6356), so that each
    /// gains 1/2 MSS / (2 w). OLIA gains w / rtt² / (2 w / rtt)² = 1 / (4 w), the same.
    #[test]
    fn equal_subflows_gain_a_quarter_of_reno() {
        let both = [share(20.0, 0.1, 7e4); 2];
        for own in [0, 1] {
            near(gain(Lia, &both, own), 0.05 / 4.0);
            near(gain(Olia, &both, own), 0.05 / 4.0);
        }
    }

    /// Windows of 10 and 40 segments at 50 ms and 200 ms: alpha = 50 (10/.05²) / (200 + 200)² =
    /// 50 · 4000 / 160,000 = 1.25. Each gains 1.25 / 50 = 0.025 a segment, but at most Reno's 1/10
    /// and 1/40 = 0.025. With 60 segments alpha = 70 · 4000 / 500² = 1.12, and 1.12 / 70 = 0.016
    /// is below Reno's 1/60.
    #[test]
    fn lia_follows_equations_1_and_2_of_rfc_6356() {
        let paths = [share(10.0, 0.05, 0.0), share(40.0, 0.2, 0.0)];
        near(gain(Lia, &paths, 0), 0.025);
        near(gain(Lia, &paths, 1), 0.025);
        let paths = [share(10.0, 0.05, 0.0), share(60.0, 0.2, 0.0)];
        near(gain(Lia, &paths, 0), 0.016);
        near(gain(Lia, &paths, 1), 0.016);
        // Reno's growth bounds the larger window: 2/.01² / (100/.1 + 2/.01)² = 0.0139 > 1/100.
        let paths = [share(100.0, 0.1, 0.0), share(2.0, 0.01, 0.0)];
        near(gain(Lia, &paths, 0), 0.01);
        near(gain(Lia, &paths, 1), 20_000.0 / 1_440_000.0);
    }

    /// Windows of 30 and 10 segments at 100 ms: the first term is 30 / 40² and 10 / 40². The
    /// second path has the wider spacing of losses, so that it gains 1/2 of Reno's 1/10, and the
    /// first loses 1/2 of 1/30. Without that spacing both terms are 0.
    #[test]
    fn olia_moves_window_to_the_best_path_with_a_smaller_window() {
        let paths = [share(30.0, 0.1, 1e5), share(10.0, 0.1, 2e5)];
        near(gain(Olia, &paths, 0), 30.0 / 1600.0 - 0.5 / 30.0);
        near(gain(Olia, &paths, 1), 10.0 / 1600.0 + 0.5 / 10.0);
        let paths = [share(30.0, 0.1, 2e5), share(10.0, 0.1, 1e5)];
        near(gain(Olia, &paths, 0), 30.0 / 1600.0);
        near(gain(Olia, &paths, 1), 10.0 / 1600.0);
        // The quality of a path is its spacing over rtt²: 3e5 / .01 below 1e5 / .0025.
        let paths = [share(10.0, 0.05, 1e5), share(30.0, 0.1, 3e5)];
        near(gain(Olia, &paths, 0), 4000.0 / 250_000.0 + 0.5 / 10.0);
        near(gain(Olia, &paths, 1), 3000.0 / 250_000.0 - 0.5 / 30.0);
    }

    /// Three subflows, of which one is neither best nor largest. Two equally best ones share the gain,
    /// and two largest ones the loss.
    #[test]
    fn olia_shares_its_shift_among_equal_subflows() {
        let paths = [
            share(30.0, 0.1, 1e5),
            share(10.0, 0.1, 2e5),
            share(20.0, 0.1, 1e5),
        ];
        near(gain(Olia, &paths, 2), 20.0 / 3600.0);
        near(gain(Olia, &paths, 1), 10.0 / 3600.0 + 0.1 / 3.0);
        let paths = [
            share(30.0, 0.1, 1e5),
            share(30.0, 0.1, 1e5),
            share(10.0, 0.1, 2e5),
            share(20.0, 0.1, 2e5),
        ];
        near(gain(Olia, &paths, 0), 30.0 / 8100.0 - 1.0 / 8.0 / 30.0);
        near(gain(Olia, &paths, 2), 10.0 / 8100.0 + 1.0 / 8.0 / 10.0);
        near(gain(Olia, &paths, 3), 20.0 / 8100.0 + 1.0 / 8.0 / 20.0);
    }

    /// LIA's growth is positive, and at most Reno's, on each subflow.
    #[test]
    fn lia_grows_at_most_as_reno() {
        for rtt in [0.005, 0.05, 0.6] {
            for window in [1.0, 10.0, 1000.0] {
                let paths = [share(12.0, 0.1, 1.0), share(window, rtt, 1.0)];
                for own in [0, 1] {
                    let reno = 1000.0 / paths[own].window;
                    assert!(gain(Lia, &paths, own) <= reno);
                    assert!(gain(Lia, &paths, own) > 0.0);
                }
            }
        }
    }
}
