//! A link that loses its other end and finds it again: a host that moves from one to another.
//!
//! What waits for the transmitter then is given back, which asks that the queue hold packets and not
//! times ([`super::low`]); what is on the way arrives nowhere.

use super::Simplex;
use farlink_tcp::Instant;
use farlink_wire::id::PacketId;

impl Simplex {
    /// Prepares the direction to lose its other end.
    pub(in crate::link) fn keep(&mut self) {
        self.keeps = true;
        self.note();
    }

    /// Removes the other end. Returns the waiting packets in the order in which they would have
    /// left.
    pub(in crate::link) fn close(&mut self) -> Vec<PacketId> {
        self.is_closed = true;
        self.keep_order();
        if !self.in_flight.is_empty() {
            self.cut_until = Some(self.last_arrival);
        }
        self.give_back()
    }

    /// Restores the other end. Later packets arrive behind those that were cut off.
    pub(in crate::link) fn reopen(&mut self) {
        self.is_closed = false;
        if let Some(cut) = self.cut_until {
            self.last_arrival = self
                .last_arrival
                .max(Instant::from_nanos(cut.as_nanos() + 1));
        }
    }

    /// Returns whether a packet that arrives at `now` was in flight when the other end was removed.
    pub(in crate::link) fn is_cut(&self, now: Instant) -> bool {
        self.is_closed || self.cut_until.is_some_and(|until| now <= until)
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
        link.keep();
        link
    }

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    /// Packets in flight are cut off to the nanosecond, and later packets arrive behind them.
    #[test]
    fn what_was_on_the_way_arrives_nowhere() {
        let mut link = link();
        link.flies(PacketId(0), at(11_000_000));
        assert!(link.close().is_empty(), "it has left the queue");
        assert!(link.is_cut(at(11_000_000)) && link.is_cut(at(12_000_000)));
        link.reopen();
        assert!(link.is_cut(at(11_000_000)) && !link.is_cut(at(11_000_001)));
        assert_eq!(link.last_arrival, at(11_000_001));
    }

    /// With nothing on the way nothing is cut off once it is open again.
    #[test]
    fn an_empty_link_cuts_nothing() {
        let mut link = link();
        link.close();
        assert!(link.is_cut(at(0)) && link.is_cut(at(1)));
        link.reopen();
        assert!(!link.is_cut(at(0)));
    }
}
