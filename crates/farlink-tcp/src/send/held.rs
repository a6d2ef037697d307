//! Reasons that hold the sender back.

use super::Sender;
use crate::limit::Limit;
use crate::time::Instant;

/// Why nothing more may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Held {
    /// Nothing is there to send, or Nagle's rule holds it.
    Idle,
    /// The peer's window is too small, and what is in flight will open it.
    Peer,
    /// The congestion window is full.
    Cwnd,
    /// Pacing.
    Pace,
    /// The peer's window is too small and nothing is in flight that would open it.
    Window,
}

impl Sender {
    /// Returns what stopped the sender when it last sent all that it may. Pacing counts only where
    /// both windows have room for a segment.
    #[inline(always)] // looked at after each packet
    pub(crate) fn limit(&self) -> Limit {
        match self.held {
            Held::Cwnd => Limit::CongestionWindow,
            Held::Peer | Held::Window => Limit::ReceiveWindow,
            Held::Pace if self.buffer.end() > self.board.max() => {
                let unsent = self.buffer.end() - self.board.max();
                let next = u64::from(self.mss).min(unsent);
                if self.believed_edge() < self.board.max() + next {
                    Limit::ReceiveWindow
                } else if self.used() + next > self.cwnd() {
                    Limit::CongestionWindow
                } else {
                    Limit::Pacing
                }
            }
            Held::Pace | Held::Idle if self.cut_short && self.buffer.fin().is_none() => {
                Limit::SendBuffer
            }
            Held::Pace | Held::Idle => Limit::Application,
        }
    }

    /// Since when nothing was sent and the retransmission timer was left alone.
    pub(crate) fn quiet_since(&self) -> Instant {
        self.last_sent.max(self.timer_restarted)
    }

    /// Largest window the peer ever offered.
    pub(crate) fn largest_window(&self) -> u64 {
        self.max_wnd
    }
}
