//! Hooks of a congestion controller and their inputs.

use crate::seq::Offset;
use crate::time::{Instant, Interval};
use farlink_small::{Printable, printable};
use std::any::Any;

printable!(CongestionControl, RoundTrip);

/// Bytes of headers per segment in the computation of the pacing rate.
pub(crate) const PACED_HEADERS: u32 = 40;

/// RTT estimate that a controller reads.
pub trait RoundTrip: Printable {
    /// Returns the smoothed RTT.
    fn srtt(&self) -> Option<Interval>;

    /// Returns the last RTT sample.
    fn latest(&self) -> Option<Interval>;

    /// Returns the least RTT sample.
    fn min(&self) -> Option<Interval>;

    /// Returns the retransmission time-out in force.
    fn rto(&self) -> Interval;
}

/// A congestion controller: hooks that every algorithm implements. Windows are in bytes. Abilities
/// of only some algorithms are in their [`Extras`](super::Extras).
pub trait CongestionControl: Any + Printable + Send {
    /// Returns the congestion window in bytes.
    fn cwnd(&self) -> u64;

    /// Returns the slow-start threshold; `u64::MAX` is unlimited.
    fn ssthresh(&self) -> u64;

    /// Returns whether the window grows exponentially.
    fn in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }

    /// Handles the end of the handshake, before any data is sent.
    fn on_established(&mut self, _cx: &Context<'_>) {}

    /// Handles an ACK of new data, in recovery or not. Called before [`Self::on_ack`] or
    /// [`Self::on_recovery_ack`], for estimators that count all delivered bytes.
    fn on_delivered(&mut self, _cx: &Context<'_>, _ack: &Ack) {}

    /// Handles an ACK of new data outside of loss recovery.
    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack);

    /// Handles a duplicate ACK, in recovery or not.
    fn on_dup_ack(&mut self, _cx: &Context<'_>) {}

    /// Sets ssthresh to `threshold` bytes at a duplicate ACK that counts as a loss. cwnd does not
    /// change.
    fn lower_ssthresh(&mut self, _threshold: u64) {}

    /// Reduces the window when recovery detects a loss by duplicate ACKs or SACK; once per window
    /// of data.
    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss);

    /// Reduces the window, as for a loss, when an ACK echoes an ECN mark (RFC 3168, 5); once per
    /// window of data.
    fn on_congestion_mark(&mut self, cx: &Context<'_>, loss: &Loss) {
        self.on_loss(cx, loss);
    }

    /// Handles an ACK of new data in loss recovery.
    fn on_recovery_ack(&mut self, _cx: &Context<'_>, _ack: &Ack) {}

    /// Handles the end of loss recovery. `window` is the exit window of RFC 6582, 3.2, step 3, at
    /// most `cwnd()`.
    fn on_recovered(&mut self, _cx: &Context<'_>, _window: u64) {}

    /// Handles a retransmission time-out. `first` is false if the same segment timed out before;
    /// ssthresh then stays (RFC 5681, 3.1).
    fn on_timeout(&mut self, cx: &Context<'_>, first: bool);

    /// Sets cwnd to `window` bytes; ssthresh stays.
    fn collapse(&mut self, window: u64);

    /// Raises ssthresh to at least `least` bytes.
    fn raise_ssthresh(&mut self, _least: u64) {}

    /// Restarts after an idle time of one RTO (RFC 5681, 4.1), with cwnd at most `initial_window`.
    fn on_idle(&mut self, cx: &Context<'_>, initial_window: u64);

    /// Returns the pacing rate in bit/s; `None` sends as fast as the window allows.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// Returns the number of segments at the start of a connection that ignore
    /// [`Self::pacing_rate`].
    fn unpaced_segments(&self) -> u64 {
        0
    }

    /// Handles an idle time: new data is about to be sent with nothing in flight, `since_last`
    /// after the last segment. The controller must not count this time as growth.
    fn on_pause(&mut self, _cx: &Context<'_>, _since_last: Interval) {}
}

/// Context of a hook.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Time of the event.
    pub now: Instant,
    /// Sender maximum segment size in bytes.
    pub mss: u64,
    /// Bytes sent and not acknowledged (FlightSize), before the event.
    pub flight: u64,
    /// First unacknowledged position (SND.UNA), after the event.
    pub snd_una: Offset,
    /// Position after the last byte ever sent (SND.MAX).
    pub snd_max: Offset,
    /// RTT estimate.
    pub rtt: &'a dyn RoundTrip,
}

/// An acknowledgment of new data.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Bytes acknowledged for the first time.
    pub bytes: u64,
    /// RTT sample of the retransmission timer, if any. The sample is in ticks of the timer's clock.
    /// Some settings allow only one sample per RTT.
    pub rtt_sample: Option<Interval>,
    /// Exact RTT of the last segment that the ACK covers; `None` if any covered segment was
    /// retransmitted.
    pub fine_rtt: Option<Interval>,
    /// Set if cwnd limited the sender, so that cwnd may grow
    /// ([`WindowConfig::cwnd_validation`](crate::config::WindowConfig::cwnd_validation)).
    pub cwnd_limited: bool,
}

/// Form of the feedback of congestion marks that both ends agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Feedback {
    /// No ECN.
    #[default]
    None,
    /// Flag ECE of each ACK (RFC 3168).
    Classic,
    /// Counters of marked packets and bytes (RFC 9768).
    Accurate,
}

/// Data that an ACK delivers, and the congestion marks that it reports. Bytes are of sequence space.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MarkReport {
    /// Bytes that the ACK delivers, cumulatively or selectively, marked or not.
    pub delivered: u64,
    /// Bytes newly reported as marked. With classic feedback, all bytes that an ACK with ECE
    /// delivers (RFC 8257, 3.3).
    pub marked: u64,
    /// Packets newly reported as marked, counted or estimated as [`Self::marked`] is.
    pub marked_packets: u64,
    /// Set if cwnd limited the sender, as in [`Ack::cwnd_limited`].
    pub cwnd_limited: bool,
}

/// A loss that recovery detected.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Time of the lost segment's last transmission.
    pub sent_at: Instant,
}

/// Window in force at a partial ACK.
#[derive(Clone, Copy, Debug)]
pub struct InForce {
    /// `cwnd()` plus recovery's inflation, before the ACK.
    pub window: u64,
    /// Bytes in the network (pipe) after the ACK, with a scoreboard (RFC 6675).
    pub pipe: Option<u64>,
}

/// Windows that an undo restores.
#[derive(Clone, Copy, Debug)]
pub struct Undone {
    /// Restored cwnd in bytes.
    pub window: u64,
    /// Restored ssthresh in bytes; `u64::MAX` is unlimited.
    pub ssthresh: u64,
}

/// max(FlightSize / 2, 2 MSS), equation (4) of RFC 5681.
pub(crate) fn half_flight(cx: &Context<'_>) -> u64 {
    (cx.flight / 2).max(2 * cx.mss)
}
