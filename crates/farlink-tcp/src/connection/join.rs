//! Segments that are held back to be joined with the ones after them ([`crate::join`]).

use super::{Connection, State};
use crate::join::may_wait;
use crate::segment::Segment;
use crate::seq::Seq;
use crate::time::{Instant, Interval};
use crate::timers::Timer;

impl Connection {
    /// Keeps a segment for the one after it. Returns false if the caller processes the segment.
    ///
    /// A segment that does not continue the held ones is processed after them, and after their ACK.
    #[cold]
    #[inline(never)]
    pub(super) fn holds_back(&mut self, now: Instant, segment: &Segment) -> bool {
        let Some(joining) = &mut self.clocks.joining else {
            return false;
        };
        if matches!(self.state, State::Closed | State::Listen | State::SynSent) {
            joining.held.clear();
            joining.bytes = 0;
            return false;
        }
        if joining.continues(segment) {
            joining.push(segment);
            if joining.is_last(segment) {
                self.release_joined(now);
            }
            return true;
        }
        let waited = !joining.held.is_empty();
        self.release_joined(now);
        if matches!(self.state, State::Closed | State::Listen) {
            return false; // a held segment ended the connection
        }
        let Some(joining) = &mut self.clocks.joining else {
            return false;
        };
        let hold = if may_wait(segment) {
            joining.hold
        } else if waited {
            Interval::ZERO
        } else {
            return false;
        };
        joining.push(segment);
        self.tx.flight.timers.set(Timer::Join, now + hold);
        true
    }

    /// Processes the held segments.
    pub(super) fn release_joined(&mut self, now: Instant) {
        self.tx.flight.timers.stop(Timer::Join);
        let Some(joining) = &mut self.clocks.joining else {
            return;
        };
        joining.bytes = 0;
        let mut held = std::mem::take(&mut joining.held);
        let quick = self.rx.quick();
        for segment in &held {
            let before = self.recorder.segments_fresh();
            self.process_single(now, segment);
            if let Some(joining) = &mut self.clocks.joining
                && self.recorder.segments_fresh() != before
            {
                let place = (segment.data_seq(), segment.body.len());
                joining.fresh.push(place);
            }
        }
        self.rx.count_joined(quick);
        held.clear();
        if let Some(joining) = &mut self.clocks.joining {
            joining.held = held;
        }
    }

    /// Returns whether this end joins arriving segments. New data is then in
    /// [`Self::drain_joined`], possibly at a later time than its arrival.
    pub fn joins_segments(&self) -> bool {
        self.clocks.joining.is_some()
    }

    /// Removes and returns the sequence numbers and lengths of new data, for an end that joins
    /// arriving segments.
    pub fn drain_joined(&mut self) -> Vec<(Seq, u32)> {
        let joining = self.clocks.joining.as_deref_mut();
        joining.map_or_else(Vec::new, |joining| std::mem::take(&mut joining.fresh))
    }
}
