//! Directions whose far end may be disconnected and reconnected because a host moves between access
//! points.
//!
//! On disconnection, packets that wait for the transmitter are returned. The queue must therefore
//! hold packets and not only times ([`super::low`]). Packets in flight are lost.

use super::Simplex;
use farlink_tcp::Instant;
use farlink_wire::id::PacketId;

/// State of a direction whose other end may move.
#[derive(Debug, Default)]
pub(in crate::link) struct Handover {
    /// Set while the direction has no far end.
    pub(in crate::link) is_closed: bool,
    /// Packets that arrive before this time are lost, because they were in flight at the
    /// disconnection. Zero if no packet was in flight.
    cut_before: Instant,
}

impl Simplex {
    /// Prepares a direction whose far end may be disconnected later.
    pub(in crate::link) fn defer_dequeue(&mut self) {
        self.features.defers_dequeue = true;
        self.update_flags();
    }

    /// Disconnects the far end. Returns the waiting packets in the order in which they would have
    /// left.
    pub(in crate::link) fn close(&mut self) -> Vec<PacketId> {
        self.handover.is_closed = true;
        self.keep_order();
        if !self.in_flight.is_empty() {
            let last = self.propagation.last_arrival;
            self.handover.cut_before = Instant::from_nanos(last.as_nanos() + 1);
        }
        self.drain_waiting()
    }

    /// Reconnects the far end. Later packets arrive after those that were in flight at the
    /// disconnection.
    pub(in crate::link) fn reopen(&mut self) {
        self.handover.is_closed = false;
        let after = self.handover.cut_before;
        self.propagation.last_arrival = self.propagation.last_arrival.max(after);
    }

    /// Returns whether a packet that arrives at `now` was in flight at the disconnection.
    pub(in crate::link) fn is_cut(&self, now: Instant) -> bool {
        self.handover.is_closed || now < self.handover.cut_before
    }
}

#[cfg(test)]
mod tests {
    use crate::link::LinkConfig;
    use crate::link::simplex::Simplex;
    use farlink_channel::Channel;
    use farlink_tcp::{Instant, Interval};
    use farlink_wire::id::PacketId;

    fn link() -> Simplex {
        let config = LinkConfig::plain(8_000_000, Interval::from_millis(10));
        let mut link = Simplex::new(config, Channel::default());
        link.defer_dequeue();
        link
    }

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    /// Packets in flight at a disconnection are lost, to the nanosecond, and later packets arrive
    /// after them.
    #[test]
    fn packets_in_flight_are_lost_at_disconnection() {
        let mut link = link();
        link.push_in_flight(PacketId(0), at(11_000_000));
        assert!(link.close().is_empty(), "it has left the queue");
        assert!(link.is_cut(at(11_000_000)) && link.is_cut(at(12_000_000)));
        link.reopen();
        assert!(link.is_cut(at(11_000_000)) && !link.is_cut(at(11_000_001)));
        assert_eq!(link.propagation.last_arrival, at(11_000_001));
    }

    /// Without a packet in flight at the disconnection, no packet sent after the reconnection is
    /// lost.
    #[test]
    fn disconnection_of_empty_link_loses_no_packet() {
        let mut link = link();
        link.close();
        assert!(link.is_cut(at(0)) && link.is_cut(at(1)));
        link.reopen();
        assert!(!link.is_cut(at(0)));
    }
}
