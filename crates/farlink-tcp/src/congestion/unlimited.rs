//! No congestion control (RFC 793): only the receiver's window limits the sender.

use super::{Ack, Algorithm, CongestionControl, Context, Extras, Loss, RecoveryWindow};

/// Controller that never limits the sender.
#[derive(Debug)]
pub struct Unlimited;

impl Unlimited {
    /// Description of the absent congestion control for the table of algorithms.
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "none",
        summary: "no window but the receiver's (RFC 793)",
        parameters: &[],
        metrics: &[],
        inputs: &[],
        // There is no ssthresh to which recovery could reduce cwnd.
        recovery_window: |_| RecoveryWindow::Controller,
        extras: Extras::NONE,
        build: |_, _| Box::new(Self),
    };
}

impl CongestionControl for Unlimited {
    fn cwnd(&self) -> u64 {
        u64::MAX
    }

    fn ssthresh(&self) -> u64 {
        u64::MAX
    }

    fn on_ack(&mut self, _cx: &Context<'_>, _ack: &Ack) {}

    fn on_loss(&mut self, _cx: &Context<'_>, _loss: &Loss) {}

    fn on_timeout(&mut self, _cx: &Context<'_>, _first: bool) {}

    fn collapse(&mut self, _window: u64) {}

    fn on_idle(&mut self, _cx: &Context<'_>, _initial_window: u64) {}
}
