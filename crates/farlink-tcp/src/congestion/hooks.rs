//! Hooks of a congestion controller, and their inputs.

use crate::seq::Offset;
use crate::time::{Instant, Interval};
use std::any::Any;
use std::fmt::Debug;

/// Bytes of headers that a paced segment is reckoned with.
pub(crate) const PACED_HEADERS: u32 = 40;

/// Estimate of the round-trip time.
pub trait RoundTrip: Debug {
    /// Smoothed round-trip time.
    fn srtt(&self) -> Option<Interval>;

    /// Last sample.
    fn latest(&self) -> Option<Interval>;

    /// Least sample.
    fn min(&self) -> Option<Interval>;

    /// Retransmission time-out in force.
    fn rto(&self) -> Interval;
}

/// A window controller: what every algorithm has. All windows are in bytes. What only
/// some have is in their
/// [`Extras`](super::Extras).
pub trait CongestionControl: Any + Debug + Send {
    /// Congestion window.
    fn cwnd(&self) -> u64;

    /// Slow-start threshold; `u64::MAX` while unlimited.
    fn ssthresh(&self) -> u64;

    /// Returns whether the window grows exponentially, to find the capacity of the path.
    fn in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }

    /// The handshake is over; nothing was sent yet but the SYN.
    fn on_established(&mut self, _cx: &Context<'_>) {}

    /// New data was acknowledged, while a loss is repaired or not. Called
    /// before the hook that says which: for whoever counts what is delivered.
    fn on_delivered(&mut self, _cx: &Context<'_>, _ack: &Ack) {}

    /// New data was acknowledged outside of loss recovery.
    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack);

    /// A duplicate ACK arrived (in recovery or not).
    fn on_dup_ack(&mut self, _cx: &Context<'_>) {}

    /// Recovery found a loss by duplicate ACKs or SACK and begins to repair it:
    /// the window is to be reduced, once per window of data.
    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss);

    /// An ACK says that a queue marked data instead of dropping it: the window is
    /// to be reduced as for a loss (RFC 3168, 5), once per window of data.
    fn on_congestion_mark(&mut self, cx: &Context<'_>, loss: &Loss) {
        self.on_loss(cx, loss);
    }

    /// New data was acknowledged while a loss is repaired.
    fn on_recovery_ack(&mut self, _cx: &Context<'_>, _ack: &Ack) {}

    /// The loss is repaired. `window` is what recovery allows to be in flight
    /// at once (RFC 6582, 3.2 step 3), never more than `cwnd()` needs to be.
    fn on_recovered(&mut self, _cx: &Context<'_>, _window: u64) {}

    /// The retransmission timer went off. `first` is false for a further
    /// time-out of the same segment (RFC 5681, 3.1: ssthresh is kept then).
    fn on_timeout(&mut self, cx: &Context<'_>, first: bool);

    /// Sets the window to `window` bytes, leaving ssthresh.
    fn collapse(&mut self, window: u64);

    /// The slow-start threshold is `least` bytes at least.
    fn raise_ssthresh(&mut self, _least: u64) {}

    /// Nothing was sent for a retransmission time-out (RFC 5681, 4.1): the window is
    /// `initial_window` at most.
    fn on_idle(&mut self, cx: &Context<'_>, initial_window: u64);

    /// Rate in bit/s at which segments are to leave; `None` for as fast as the
    /// window allows.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// Segments of new data at the start of a connection that leave without regard to
    /// [`Self::pacing_rate`].
    fn unpaced_segments(&self) -> u64 {
        0
    }

    /// New data is about to leave with nothing in flight, so long after the last
    /// segment: the pause is none of the window's making.
    fn on_pause(&mut self, _cx: &Context<'_>, _since_last: Interval) {}
}

/// Context of a hook.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Now.
    pub now: Instant,
    /// Sender maximum segment size in bytes.
    pub mss: u64,
    /// Bytes sent and not yet acknowledged, before the event that is reported.
    pub flight: u64,
    /// First unacknowledged position, after the event that is reported.
    pub snd_una: Offset,
    /// Position after the last byte ever sent.
    pub snd_max: Offset,
    /// The round-trip estimate.
    pub rtt: &'a dyn RoundTrip,
}

/// An acknowledgment of new data.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Bytes it acknowledges for the first time.
    pub bytes: u64,
    /// Round-trip sample that the retransmission timer took from it, if any:
    /// in ticks of the timer's clock, and perhaps one a round trip only.
    pub rtt_sample: Option<Interval>,
    /// Exact round-trip time of the last segment it covers, unless that or
    /// another that it covers was sent twice.
    pub fine_rtt: Option<Interval>,
    /// Set if the window is in use, so that it may grow
    /// ([`WindowConfig::cwnd_validation`](crate::config::WindowConfig::cwnd_validation)).
    pub cwnd_limited: bool,
}

/// A loss that recovery found.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Time of the lost segment's last transmission.
    pub sent_at: Instant,
}

/// The window while a loss is repaired, at an ACK of part of it.
#[derive(Clone, Copy, Debug)]
pub struct InForce {
    /// `cwnd()` with recovery's inflation, before the ACK.
    pub window: u64,
    /// Bytes in the network after the ACK, where a scoreboard tells (RFC 6675).
    pub pipe: Option<u64>,
}

/// Values that replace those of an unneeded reduction of the window.
#[derive(Clone, Copy, Debug)]
pub struct Undone {
    /// Congestion window to go on with.
    pub window: u64,
    /// Slow-start threshold to go on with; `u64::MAX` for unlimited.
    pub ssthresh: u64,
}

/// max(flight / 2, 2 MSS), equation (4) of RFC 5681.
pub(crate) fn half_flight(cx: &Context<'_>) -> u64 {
    (cx.flight / 2).max(2 * cx.mss)
}
