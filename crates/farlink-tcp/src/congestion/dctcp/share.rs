//! Estimate alpha of the share of marked data, as printed or in the integers of Linux.

use crate::seq::Offset;

/// Value of alpha = 1 in the integers of Linux (`DCTCP_MAX_ALPHA`).
const ONE: u64 = 1024;
/// Bits of [`ONE`].
const ONE_BITS: u32 = 10;

/// Estimate of the share of marked data.
#[derive(Clone, Copy, Debug)]
pub(super) enum Share {
    /// As printed in RFC 8257, 3.3.
    Exact { alpha: f64, g: f64 },
    /// Integer form of Linux (`tcp_dctcp.c`): alpha in parts of 1,024, g = 1 / 2^shift.
    Linux { alpha: u64, shift: u32 },
}

impl Share {
    pub(super) fn new(linux: bool, g: f64, alpha: f64) -> Self {
        if !linux {
            return Self::Exact { alpha, g };
        }
        // The largest power of two that is at most g.
        let shift = (0..ONE_BITS).find(|&shift| g * f64::from(1 << shift) >= 1.0);
        Self::Linux {
            alpha: (alpha * ONE as f64) as u64,
            shift: shift.unwrap_or(ONE_BITS),
        }
    }

    /// Returns the estimate, between 0 and 1.
    pub(super) fn alpha(&self) -> f64 {
        match *self {
            Self::Exact { alpha, .. } => alpha,
            Self::Linux { alpha, .. } => alpha as f64 / ONE as f64,
        }
    }

    /// Returns whether an ACK of all data before `una` ends the observation window before `end`. In
    /// RFC 8257, 3.3, step 3, an ACK of exactly that window does not.
    pub(super) fn window_is_over(&self, una: Offset, end: Offset) -> bool {
        match self {
            Self::Exact { .. } => una > end,
            Self::Linux { .. } => una >= end,
        }
    }

    /// Adds the share of marked bytes in an observation window, `marked` of `acked` (RFC 8257, 3.3,
    /// steps 4 and 5; Linux: `dctcp_update_alpha`).
    pub(super) fn update(&mut self, acked: u64, marked: u64, mss: u64) {
        match self {
            Self::Exact { alpha, g } => {
                let share = (marked as f64 / acked.max(1) as f64).min(1.0);
                *alpha = *alpha * (1.0 - *g) + *g * share;
            }
            Self::Linux { alpha, shift } => {
                let less = *alpha >> *shift;
                *alpha -= if less == 0 { *alpha } else { less };
                let (acked, marked) = (acked.div_ceil(mss), marked.div_ceil(mss));
                let share = (marked << (ONE_BITS - *shift)) / acked.max(1);
                *alpha = (*alpha + share).min(ONE);
            }
        }
    }

    /// Returns the window after the reduction of `cwnd` for marks (RFC 8257, 3.3; Linux:
    /// `dctcp_ssthresh`).
    pub(super) fn reduced(&self, cwnd: u64, mss: u64) -> u64 {
        match *self {
            Self::Exact { alpha, .. } => cwnd - (cwnd as f64 * alpha / 2.0) as u64,
            Self::Linux { alpha, .. } => {
                let segments = cwnd / mss;
                (segments - ((segments * alpha) >> (ONE_BITS + 1))) * mss
            }
        }
    }
}
