//! Super-packets: several segments of a sender with segmentation offload that the channel treats as
//! one packet.
//!
//! A sender with TSO or GSO gives its link several segments at once. A device that forwards them
//! without splitting them, such as a veth with netem, loses all of them or none.

use super::Simplex;
use farlink_channel::Passage;
use farlink_tcp::Instant;

impl Simplex {
    /// Returns the direction with super-packets: the channel processes up to `most` data packets as
    /// one.
    #[must_use]
    pub fn with_super_packets(mut self, most: u32) -> Self {
        self.super_packets = (most > 1).then(|| Box::new(SuperPackets::new(most)));
        self
    }
}

/// Passage that the data packets of a super-packet share.
///
/// A super-packet is a series of packets with data that arrive at the queue at the same time, up to
/// a number of packets. The channel processes its first packet only.
#[derive(Debug)]
pub(super) struct SuperPackets {
    /// Largest number of packets.
    most: u32,
    /// Arrival of the current super-packet, and its number of packets so far.
    arrived: Instant,
    count: u32,
    passage: Passage,
}

impl SuperPackets {
    pub(super) fn new(most: u32) -> Self {
        Self {
            most,
            arrived: Instant::ZERO,
            count: 0,
            passage: Passage::CLEAN,
        }
    }

    /// Returns the passage of a packet that arrived at `now`. `fresh` passes the channel, and is
    /// called for packets without data and for the first packet of a super-packet.
    pub(super) fn pass(
        &mut self,
        now: Instant,
        data: bool,
        fresh: impl FnOnce() -> Passage,
    ) -> Passage {
        let continues = data && self.count > 0 && self.count < self.most && now == self.arrived;
        if continues {
            self.count += 1;
            return self.passage;
        }
        self.passage = fresh();
        (self.arrived, self.count) = (now, u32::from(data));
        self.passage
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_channel::{DropCause, Verdict};

    const LOST: Passage = Passage {
        verdict: Verdict::Drop(DropCause::Loss),
        ..Passage::CLEAN
    };

    /// Returns the fates of packets with these times (in ns) and data flags, and the number of
    /// packets that the channel processed. The channel loses every other packet.
    fn fates(most: u32, packets: &[(u64, bool)]) -> (String, u32) {
        let (mut joined, mut calls) = (SuperPackets::new(most), 0);
        let mut text = String::new();
        for &(at, data) in packets {
            let passage = joined.pass(Instant::from_nanos(at), data, || {
                calls += 1;
                if calls % 2 == 1 { LOST } else { Passage::CLEAN }
            });
            text.push(if passage == LOST { 'x' } else { '.' });
        }
        (text, calls)
    }

    #[test]
    fn packets_of_a_super_packet_share_its_fate() {
        let at_once = [(5, true); 6];
        assert_eq!(fates(2, &at_once), ("xx..xx".into(), 3));
        assert_eq!(fates(3, &at_once), ("xxx...".into(), 2));
        assert_eq!(fates(64, &at_once), ("xxxxxx".into(), 1));
    }

    #[test]
    fn another_time_or_a_packet_without_data_begins_another() {
        assert_eq!(
            fates(2, &[(5, true), (6, true), (6, true)]),
            ("x..".into(), 2)
        );
        let acks = [(5, false), (5, false), (5, true), (5, true), (5, false)];
        assert_eq!(fates(9, &acks), ("x.xx.".into(), 4));
        assert_eq!(fates(2, &[(0, true), (0, true)]), ("xx".into(), 1));
    }
}
