//! A link that loses its other end and finds it again: a host that moves from one to another.
//!
//! What waits for the transmitter then is given back, which asks that the queue hold packets and not
//! times ([`super::low`]); what is on the way arrives nowhere.

use super::Simplex;
use crate::id::PacketId;
use farlink_tcp::Instant;

impl Simplex {
    /// It may lose its other end from now on.
    pub(in crate::link) fn keep(&mut self) {
        self.keeps = true;
        self.note();
    }

    /// Its other end goes. Returns what waits, in the order in which it would have gone.
    pub(in crate::link) fn close(&mut self) -> Vec<PacketId> {
        self.is_closed = true;
        self.keep_order();
        if !self.in_flight.is_empty() {
            self.cut_until = Some(self.last_arrival);
        }
        self.give_back()
    }

    /// Its other end is there again. What goes over it arrives behind what was cut off.
    pub(in crate::link) fn reopen(&mut self) {
        self.is_closed = false;
        if let Some(cut) = self.cut_until {
            self.last_arrival = self
                .last_arrival
                .max(Instant::from_nanos(cut.as_nanos() + 1));
        }
    }

    /// Whether what arrives at `now` was on the way when the other end went.
    pub(in crate::link) fn is_cut(&self, now: Instant) -> bool {
        self.is_closed || self.cut_until.is_some_and(|until| now <= until)
    }
}

#[cfg(test)]
mod tests {
    use crate::channel::Channel;
    use crate::id::PacketId;
    use crate::link::LinkConfig;
    use crate::link::simplex::Simplex;
    use farlink_tcp::{Instant, Interval};

    fn link() -> Simplex {
        let config = LinkConfig::plain(8_000_000, Interval::from_millis(10));
        let mut link = Simplex::new(config, Channel::default());
        link.keep();
        link
    }

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    /// What was on the way is cut off, to the nanosecond, and what goes later comes behind it.
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
