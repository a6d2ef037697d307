//! Abilities that only some algorithms have beside their window: a small trait for each, named in
//! the algorithm's description.

use super::{Ack, CongestionControl, Context, DummySegments, InForce, RateSample, Undone};
use crate::time::Interval;
use std::fmt;

/// Abilities of an algorithm beside its window. An absent ability costs no call.
#[derive(Debug)]
pub struct Extras {
    /// Undo of a reduction of the window.
    pub undo: Access<dyn UndoReduction>,
    /// Model of the path from delivery-rate samples.
    pub rate: Access<dyn RateSampled>,
    /// Use of the window that the peer offers.
    pub peer_window: Access<dyn PeerWindow>,
    /// Own rules for retransmissions.
    pub repair: Access<dyn Repair>,
    /// Dummy segments.
    pub dummies: Access<dyn DummySegments>,
}

impl Extras {
    /// Nothing beside its window.
    pub const NONE: Self = Self {
        undo: Access::NONE,
        rate: Access::NONE,
        peer_window: Access::NONE,
        repair: Access::NONE,
        dummies: Access::NONE,
    };
}

/// Reductions of the window that can be taken back.
pub trait UndoReduction {
    /// The window is about to be reduced, which may be taken back later: what is
    /// needed for that beside cwnd and ssthresh is to be kept.
    fn remember(&mut self) {}

    /// The reduction before which [`Self::remember`] was called, and those after
    /// it, were not called for: there was no loss.
    fn on_spurious(&mut self, cx: &Context<'_>, undone: &Undone);
}

/// A model of the path made of delivery-rate samples.
pub trait RateSampled {
    /// An ACK delivered something, cumulatively or selectively, in recovery or
    /// not: called last, after the hooks of the window that the ACK may cause.
    fn on_rate_sample(&mut self, cx: &Context<'_>, sample: &RateSample);

    /// Returns whether the window is kept small on purpose, so that the sending rate says nothing
    /// about the path. Asked after each rate sample.
    fn limits_itself(&self) -> bool;

    /// New data is about to leave with nothing in flight, after the application
    /// had nothing to send.
    fn on_transmit_start(&mut self, cx: &Context<'_>);
}

/// Effect of the peer's window on the algorithm.
pub trait PeerWindow {
    /// The peer advertised a window.
    fn on_peer_window(&mut self, advertised: u64, mss: u64);

    /// Window that the peer is taken to have when it advertised this one.
    fn peer_window(&self, advertised: u64, _mss: u64) -> u64 {
        advertised
    }
}

/// Rules for sending lost data again.
pub trait Repair {
    /// The window in force until the next ACK of part of what is repaired;
    /// `None` leaves it to recovery (RFC 6582, 3.2 step 3; RFC 6675).
    fn partial_ack_window(&self, cx: &Context<'_>, ack: &Ack, now: InForce) -> Option<u64>;

    /// Put on top of the time-out that a time-out starts.
    fn timeout_delay(&self) -> Interval;

    /// Most segments that one ACK may let out again after a time-out, at least 1.
    fn retransmit_limit(&self) -> u32;
}

/// The way from a controller to one of its extras.
pub struct Access<T: ?Sized + 'static>(Option<Ways<T>>);

struct Ways<T: ?Sized + 'static> {
    shared: fn(&dyn CongestionControl) -> Option<&T>,
    exclusive: fn(&mut dyn CongestionControl) -> Option<&mut T>,
}

impl<T: ?Sized> Access<T> {
    /// Absent ability.
    pub const NONE: Self = Self(None);

    pub(super) const fn new(
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

/// The extra that a type of controller implements.
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

    /// Each extra that an algorithm names is found in a controller that it builds, and
    /// in none of another algorithm.
    #[test]
    fn extras_are_those_of_their_algorithm() {
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
                check!(undo rate peer_window repair dummies);
            }
        }
    }
}
