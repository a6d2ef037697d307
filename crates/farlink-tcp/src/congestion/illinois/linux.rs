//! Illinois in the integers of Linux (`tcp_illinois.c`): alpha in 1/128 segments, beta in 1/64,
//! delays in microseconds. Results are returned as fractions, which f64 holds exactly.

use crate::time::Interval;

/// `ALPHA_SCALE`, `ALPHA_MIN`, `ALPHA_MAX`.
const ALPHA_SCALE: u64 = 128;
const ALPHA_MIN: u64 = 3 * ALPHA_SCALE / 10;
const ALPHA_MAX: u64 = 10 * ALPHA_SCALE;

/// `BETA_SCALE`, `BETA_MIN`, `BETA_MAX`.
const BETA_SCALE: u64 = 64;
const BETA_MIN: u64 = BETA_SCALE / 8;
const BETA_MAX: u64 = BETA_SCALE / 2;

/// Largest RTT that counts: `U32_MAX / ALPHA_MAX` microseconds.
pub(super) const RTT_MAX: Interval = Interval::from_micros(u32::MAX as u64 / ALPHA_MAX);

/// Returns alpha for delays in microseconds, `da` above `dm / 100` (`alpha`).
pub(super) fn alpha(da: u64, dm: u64) -> f64 {
    let d1 = dm / 100;
    let (dm, da) = (dm - d1, da - d1);
    let alpha = dm * ALPHA_MAX / (dm + da * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN);
    alpha as f64 / ALPHA_SCALE as f64
}

/// Returns beta for delays in microseconds (`beta`).
pub(super) fn beta(da: u64, dm: u64) -> f64 {
    let (d2, d3) = (dm / 10, 8 * dm / 10);
    let beta = if da <= d2 {
        BETA_MIN
    } else if da >= d3 || d3 <= d2 {
        BETA_MAX
    } else {
        (BETA_MIN * d3 + (BETA_MAX - BETA_MIN) * da - BETA_MAX * d2) / (d3 - d2)
    };
    beta as f64 / BETA_SCALE as f64
}

/// Returns the segments by which `credit` acknowledged segments increase cwnd, and resets the
/// credit if there are any (`tcp_illinois_cong_avoid`).
pub(super) fn steps(credit: &mut u64, alpha: f64, cwnd: u64) -> u64 {
    let delta = *credit * (alpha * ALPHA_SCALE as f64) as u64 / ALPHA_SCALE;
    if delta < cwnd {
        return 0;
    }
    *credit = 0;
    delta / cwnd
}

/// Returns the window in segments after a loss (`tcp_illinois_ssthresh`).
pub(super) fn ssthresh(cwnd: u64, beta: f64) -> u64 {
    cwnd - cwnd * (beta * BETA_SCALE as f64) as u64 / BETA_SCALE
}
