//! The path: the fate of each segment, and counts of faults.

use super::chance::Chance;
use farlink_tcp::{Body, Ecn, Flags, Interval, Segment};

/// Fate of a segment on the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// Delivered after the delay of the path.
    Fine,
    /// Lost.
    Drop,
    /// Bits change, so that the receiver's checksum fails and the segment is dropped.
    Corrupt,
    /// Delivered twice.
    Duplicate,
    /// Delivered late, after later segments.
    Reorder,
    /// The end of the data is cut off by a middlebox that corrects the checksum.
    Truncate,
}

/// Rates of the fates in thousandths, and the delay of the path.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) drop: u64,
    pub(crate) corrupt: u64,
    pub(crate) duplicate: u64,
    pub(crate) reorder: u64,
    pub(crate) truncate: u64,
    pub(crate) delay_ms: u64,
}

impl Path {
    /// Draws a path between clean and hardly usable.
    pub(crate) fn random(chance: &mut Chance) -> Self {
        Self {
            drop: chance.pick(&[0, 10, 50, 150]),
            corrupt: chance.pick(&[0, 10, 50]),
            duplicate: chance.pick(&[0, 20, 200]),
            reorder: chance.pick(&[0, 20, 200]),
            truncate: chance.pick(&[0, 20, 100]),
            delay_ms: chance.pick(&[1, 20, 280]),
        }
    }

    pub(crate) fn fate(&self, chance: &mut Chance) -> Fate {
        let mut draw = chance.within(0, 1000);
        for (share, fate) in [
            (self.drop, Fate::Drop),
            (self.corrupt, Fate::Corrupt),
            (self.duplicate, Fate::Duplicate),
            (self.reorder, Fate::Reorder),
            (self.truncate, Fate::Truncate),
        ] {
            if draw < share {
                return fate;
            }
            draw -= share;
        }
        Fate::Fine
    }

    /// Returns the delays after which copies of a segment arrive.
    pub(crate) fn arrivals(
        &self,
        chance: &mut Chance,
        fate: Fate,
        mut segment: Segment,
    ) -> Vec<(Interval, Segment)> {
        let usual = Interval::from_millis(self.delay_ms);
        let late = usual + Interval::from_micros(chance.within(1, 2_000 * self.delay_ms + 20_000));
        if segment.ecn.markable() && chance.per_mille(50) {
            segment.ecn = Ecn::Ce;
        }
        match fate {
            Fate::Fine => vec![(usual, segment)],
            Fate::Drop | Fate::Corrupt => vec![],
            Fate::Duplicate => vec![(usual, segment.clone()), (late, segment)],
            Fate::Reorder => vec![(late, segment)],
            Fate::Truncate => vec![(usual, cut(chance, segment))],
        }
    }
}

/// Cuts data from the end of a segment; one without data stays.
fn cut(chance: &mut Chance, mut segment: Segment) -> Segment {
    let len = segment.body.len();
    if len > 0 {
        let keep = chance.within(0, u64::from(len)) as u32;
        segment.body = match segment.body.bytes() {
            Some(bytes) => Body::of_bytes(&bytes[..keep as usize]),
            None => Body::of_len(keep),
        };
        segment.flags = Flags(segment.flags.0 & !Flags::FIN.0);
    }
    segment
}
