//! Abilities that only some algorithms have: one small trait per ability. An algorithm's
//! description lists its abilities in [`Extras`].

use super::{
    Ack, CongestionControl, Context, DummySegments, Feedback, InForce, LostSegment, MarkReport,
    RateSample, Undone,
};
use crate::time::Interval;
use std::fmt;

/// Abilities of an algorithm beyond the window hooks. An absent ability costs no call.
#[derive(Debug)]
pub struct Extras {
    /// Undo of a spurious reduction of the window.
    pub undo: Access<dyn UndoReduction>,
    /// Path model fed by delivery-rate samples.
    pub rate: Access<dyn RateSampled>,
    /// Response to each lost segment; needs `rate`.
    pub losses: Access<dyn LossSampled>,
    /// Response to the share of marked data.
    pub marks: Access<dyn MarkCounting>,
    /// Use of the window that the peer advertises.
    pub peer_window: Access<dyn PeerWindow>,
    /// Own rules for retransmissions.
    pub repair: Access<dyn Repair>,
    /// Dummy segments.
    pub dummies: Access<dyn DummySegments>,
    /// End of slow start by a rule outside of the controller.
    pub slow_start: Access<dyn EndSlowStart>,
    /// Careful Resume, for a controller without `slow_start`.
    pub resume: Access<dyn Resumable>,
}

impl Extras {
    /// No optional ability.
    pub const NONE: Self = Self {
        undo: Access::NONE,
        rate: Access::NONE,
        losses: Access::NONE,
        marks: Access::NONE,
        peer_window: Access::NONE,
        repair: Access::NONE,
        dummies: Access::NONE,
        slow_start: Access::NONE,
        resume: Access::NONE,
    };
}

/// Undo of spurious reductions of the window.
pub trait UndoReduction {
    /// Saves the state (except cwnd and ssthresh) that an undo restores. The connection calls
    /// `save` just before a reduction that may later be undone.
    fn save(&mut self) {}

    /// Undoes the reduction that followed the last [`Self::save`], and all later ones, because
    /// no segment was lost.
    fn on_spurious(&mut self, cx: &Context<'_>, undone: &Undone);
}

/// A path model fed by delivery-rate samples.
pub trait RateSampled {
    /// Processes the sample of an ACK that delivered data, cumulatively or by SACK, also in
    /// recovery. Runs after all window hooks that the same ACK causes.
    fn on_rate_sample(&mut self, cx: &Context<'_>, sample: &RateSample);

    /// Returns whether the controller keeps the window small on purpose (as BBR in `ProbeRTT`). The
    /// delivery rate then does not show the capacity of the path. Called after each rate sample.
    fn limits_itself(&self) -> bool;

    /// Handles the restart of an application-limited flow: new data is about to be sent and nothing
    /// is in flight.
    fn on_transmit_start(&mut self, cx: &Context<'_>);
}

/// A path model fed by each lost segment.
pub trait LossSampled {
    /// Processes the segments marked lost since the last call, in order. Called just before
    /// [`RateSampled::on_rate_sample`]. `delivered` is the bytes delivered since the connection
    /// began.
    fn on_segments_lost(&mut self, cx: &Context<'_>, segments: &[LostSegment], delivered: u64);
}

/// Response to the share of marked data, in place of one response per window of data (RFC 8257, RFC
/// 9331). A loss in a window that a mark has reduced is still a loss for such a controller.
pub trait MarkCounting {
    /// Handles the end of the handshake, which decides the form of the feedback. Called just before
    /// [`CongestionControl::on_established`].
    fn on_agreed(&mut self, feedback: Feedback);

    /// Handles an ACK that delivers data or reports marks, in recovery or not, if both ends use
    /// ECN. Called before the hooks of the window, so that
    /// [`CongestionControl::on_congestion_mark`] finds the new share.
    fn on_marks(&mut self, cx: &Context<'_>, report: &MarkReport);
}

/// Influence of the peer's receive window on the algorithm.
pub trait PeerWindow {
    /// Processes a window of `advertised` bytes from the peer.
    fn on_peer_window(&mut self, advertised: u64, mss: u64);

    /// Returns the receive window that the sender uses when the peer advertises `advertised` bytes.
    fn peer_window(&self, advertised: u64, _mss: u64) -> u64 {
        advertised
    }
}

/// Rules for the retransmission of lost data.
pub trait Repair {
    /// Returns the window in force after a partial ACK, until the next one. `None` leaves the
    /// choice to recovery (RFC 6582, 3.2, step 3; RFC 6675).
    fn partial_ack_window(&self, cx: &Context<'_>, ack: &Ack, now: InForce) -> Option<u64>;

    /// Returns the time added to the RTO that a time-out starts.
    fn timeout_delay(&self) -> Interval;

    /// Returns the maximum number of segments that one ACK may retransmit after a time-out, at
    /// least 1.
    fn retransmit_limit(&self) -> u32;
}

/// End of slow start that a controller carries out on request.
pub trait EndSlowStart {
    /// Sets cwnd and ssthresh to `window` bytes; congestion avoidance follows.
    fn end_slow_start(&mut self, window: u64);
}

/// Careful Resume (RFC 9959) of a controller whose slow start no rule can end.
pub trait Resumable {
    /// Returns whether the controller's own signal (a delay or a rate) shows no congestion so far.
    fn may_jump(&self) -> bool;

    /// Sets ssthresh, and bounds windows that the controller would restore. cwnd stays. `grows` is
    /// set if slow start up to ssthresh follows.
    fn limit(&mut self, ssthresh: u64, grows: bool);
}

/// Access to one ability: downcasts a controller to the trait of the ability.
pub struct Access<T: ?Sized + 'static>(Option<Ways<T>>);

struct Ways<T: ?Sized + 'static> {
    shared: fn(&dyn CongestionControl) -> Option<&T>,
    exclusive: fn(&mut dyn CongestionControl) -> Option<&mut T>,
}

impl<T: ?Sized> Access<T> {
    /// The ability is absent.
    pub const NONE: Self = Self(None);

    /// Ability that these two functions downcast a controller to.
    pub const fn new(
        shared: fn(&dyn CongestionControl) -> Option<&T>,
        exclusive: fn(&mut dyn CongestionControl) -> Option<&mut T>,
    ) -> Self {
        Self(Some(Ways { shared, exclusive }))
    }

    /// Returns whether the ability is present.
    #[inline]
    pub const fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the ability of a controller of this algorithm.
    #[inline]
    pub fn of<'a>(&self, control: &'a dyn CongestionControl) -> Option<&'a T> {
        (self.0.as_ref()?.shared)(control)
    }

    /// Returns the ability of a controller of this algorithm, mutable.
    #[inline]
    pub fn of_mut<'a>(&self, control: &'a mut dyn CongestionControl) -> Option<&'a mut T> {
        (self.0.as_ref()?.exclusive)(control)
    }
}

impl<T: ?Sized> fmt::Debug for Access<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_some() { "some" } else { "none" })
    }
}

/// Access to an ability that the controller type `$controller` implements.
macro_rules! access {
    ($controller:ty) => {
        $crate::congestion::Access::new(
            |control| {
                let control: &dyn std::any::Any = control;
                match control.downcast_ref::<$controller>() {
                    Some(control) => Some(control),
                    None => None,
                }
            },
            |control| {
                let control: &mut dyn std::any::Any = control;
                match control.downcast_mut::<$controller>() {
                    Some(control) => Some(control),
                    None => None,
                }
            },
        )
    };
}
pub(super) use access;

#[cfg(test)]
mod tests {
    use super::super::{ALGORITHMS, Control, Start};

    /// Each ability that an algorithm lists is reachable in its own controllers, and not in those
    /// of another algorithm.
    #[test]
    fn extras_are_reachable_only_in_controllers_of_their_algorithm() {
        for algorithm in ALGORITHMS {
            for builder in ALGORITHMS {
                let mut cc = Control::new(builder).build(Start::default());
                let same = std::ptr::eq(*algorithm, *builder);
                macro_rules! check {
                    ($($extra:ident)*) => {$(
                        let extra = &algorithm.extras.$extra;
                        let measured = (extra.of(&*cc).is_some(), extra.of_mut(&mut *cc).is_some());
                        let there = same && extra.is_some();
                        assert_eq!(measured, (there, there), "{} {}", algorithm.name, builder.name);
                    )*};
                }
                check!(undo rate losses marks peer_window repair dummies slow_start resume);
            }
        }
    }
}
