//! Counters of a receiver with Accurate ECN (RFC 9768, 3.2): marked packets, and bytes by codepoint.

use crate::ecn::{AccEcnOption, Ecn, FieldOrder};

/// Initial count of marked packets (3.2.1).
pub(super) const FIRST_PACKETS: u64 = 5;
/// Initial counts of bytes with ECT(0), CE and ECT(1). The ECT counts start at one, so that a
/// middlebox that clears the option is detected (3.2.1).
pub(super) const FIRST_BYTES: [u64; 3] = [1, 0, 1];
/// Marked packets since the last ACK at which another is due while data waits for its ACK
/// (3.2.2.5.1).
const MARKS_WITH_DATA: u8 = 2;
/// Marked packets at which an ACK is due while no data waits.
const MARKS_WITHOUT_DATA: u8 = 3;

/// Counters of the packets that arrived.
#[derive(Debug)]
pub(crate) struct Counters {
    /// `r.cep` of RFC 9768.
    packets: u64,
    /// `r.e0b`, `r.ceb` and `r.e1b` of RFC 9768.
    bytes: [u64; 3],
    /// Bytes that the last option reported.
    reported: [u64; 3],
    /// Codepoint of the packet before.
    last: Ecn,
    /// Marked packets since the last ACK.
    unreported: u8,
    /// Number of coming segments that have the option even if no count has changed.
    demanded: u8,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            packets: FIRST_PACKETS,
            bytes: FIRST_BYTES,
            reported: FIRST_BYTES,
            last: Ecn::NotEct,
            unreported: 0,
            demanded: 0,
        }
    }
}

impl Counters {
    /// Counts a marked SYN-ACK, at most once (3.2.2.2).
    pub(super) fn on_marked_syn_ack(&mut self) {
        self.packets = FIRST_PACKETS + 1;
    }

    /// Counts an acceptable packet with `len` bytes of data. `waiting` is set if data waits for its
    /// ACK. Returns whether an ACK is due at once (3.2.2.5.1).
    pub(crate) fn on_packet(&mut self, ecn: Ecn, len: u32, waiting: bool) -> bool {
        let place = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(0),
            Ecn::Ce => Some(1),
            Ecn::Ect1 => Some(2),
        };
        if let Some(place) = place {
            self.bytes[place] += u64::from(len);
        }
        let before = std::mem::replace(&mut self.last, ecn);
        if ecn != Ecn::Ce {
            return false;
        }
        self.packets += 1;
        self.unreported = self.unreported.saturating_add(1);
        let limit = if waiting {
            MARKS_WITH_DATA
        } else {
            MARKS_WITHOUT_DATA
        };
        (len > 0 && before != Ecn::Ce) || self.unreported >= limit
    }

    /// Returns the ACE field: the low three bits of the count of marked packets.
    pub(crate) fn ace(&self) -> u8 {
        (self.packets & 7) as u8
    }

    /// Notes that an ACK left with the current count of marked packets.
    pub(crate) fn on_ack_sent(&mut self) {
        self.unreported = 0;
    }

    /// Has the next `segments` segments carry the option even if no count changes (3.2.3.2.1).
    pub(super) fn demand(&mut self, segments: u8) {
        self.demanded = segments;
    }

    /// Returns the option of the next ACK, if a count has changed since the last option and the
    /// option fits into `room` bytes. It has every count that ever changed, or if these do not fit,
    /// those that changed since the last option (3.2.3.3).
    pub(crate) fn option(&mut self, room: u32) -> Option<AccEcnOption> {
        let news = changed(self.bytes, self.reported);
        let demanded = self.demanded > 0;
        if news == [false; 3] && !demanded {
            return None;
        }
        let all = if demanded {
            [true; 3]
        } else {
            changed(self.bytes, FIRST_BYTES)
        };
        let fits = |&(_, fields): &(FieldOrder, u32)| AccEcnOption::padded_len(fields) <= room;
        let (order, fields) = [all, news].map(shortest).into_iter().find(fits)?;
        let [ect0, ce, ect1] = self.bytes.map(|count| count as u32);
        let ordered = match order {
            FieldOrder::Ect0First => [ect0, ce, ect1],
            FieldOrder::Ect1First => [ect1, ce, ect0],
        };
        self.reported = self.bytes;
        self.demanded = self.demanded.saturating_sub(1);
        Some(AccEcnOption::new(order, &ordered[..fields as usize]))
    }
}

/// Returns which counts differ.
fn changed(now: [u64; 3], before: [u64; 3]) -> [bool; 3] {
    std::array::from_fn(|i| now[i] != before[i])
}

/// Returns the order with which the needed fields are the first ones of the shorter option, and the
/// number of fields.
fn shortest([ect0, ce, ect1]: [bool; 3]) -> (FieldOrder, u32) {
    let fields = |last: bool, first: bool| match (last, ce, first) {
        (true, _, _) => 3,
        (false, true, _) => 2,
        (false, false, true) => 1,
        _ => 0,
    };
    let (ect0_first, ect1_first) = (fields(ect1, ect0), fields(ect0, ect1));
    if ect1_first < ect0_first {
        (FieldOrder::Ect1First, ect1_first)
    } else {
        (FieldOrder::Ect0First, ect0_first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3.2.1 and 3.2.2.2: the count begins at 5 and its low three bits wrap.
    #[test]
    fn marked_packets_are_counted_from_five_and_wrap_at_eight() {
        let mut counters = Counters::default();
        let mut fields = vec![counters.ace()];
        for _ in 0..9 {
            counters.on_packet(Ecn::Ce, 100, true);
            fields.push(counters.ace());
        }
        assert_eq!(fields, [5, 6, 7, 0, 1, 2, 3, 4, 5, 6]);
        counters.on_packet(Ecn::Ect1, 100, true);
        counters.on_packet(Ecn::NotEct, 100, true);
        assert_eq!(counters.ace(), 6);
    }

    /// 3.2.2.5.1: marked data after unmarked packets is acknowledged at once. Then every second
    /// marked packet is acknowledged while data waits, and every third without data.
    #[test]
    fn marks_trigger_acks_at_a_change_and_every_second_or_third() {
        let mut counters = Counters::default();
        let mut at_once = |ecn, len, waiting| {
            let due = counters.on_packet(ecn, len, waiting);
            if due {
                counters.on_ack_sent();
            }
            due
        };
        assert!(!at_once(Ecn::Ect1, 100, true));
        assert!(at_once(Ecn::Ce, 100, true));
        assert!(!at_once(Ecn::Ce, 100, true));
        assert!(at_once(Ecn::Ce, 100, true));
        assert!(!at_once(Ecn::Ect0, 100, true));
        assert!(!at_once(Ecn::Ce, 0, false));
        assert!(!at_once(Ecn::Ce, 100, false));
        assert!(at_once(Ecn::Ce, 0, false));
    }

    /// 3.2.3.3: the option uses the shorter order, and has the counts that ever changed. Where room
    /// is short it has those that changed last, and without room for these there is no option.
    #[test]
    fn option_has_changed_counts_in_the_shorter_order() {
        let mut counters = Counters::default();
        assert_eq!(counters.option(40), None);
        counters.on_packet(Ecn::Ect1, 100, true);
        let option = |order, fields: &[u32]| Some(AccEcnOption::new(order, fields));
        assert_eq!(counters.option(40), option(FieldOrder::Ect1First, &[101]));
        assert_eq!(counters.option(40), None);
        counters.on_packet(Ecn::Ce, 100, true);
        assert_eq!(
            counters.option(40),
            option(FieldOrder::Ect1First, &[101, 100])
        );
        counters.on_packet(Ecn::Ect0, 10, true);
        assert_eq!(counters.option(7), None);
        assert_eq!(counters.option(8), option(FieldOrder::Ect0First, &[11]));
        counters.on_packet(Ecn::Ect0, 10, true);
        assert_eq!(
            counters.option(12),
            option(FieldOrder::Ect0First, &[21, 100, 101])
        );
    }

    #[test]
    fn bytes_wrap_at_24_bits_and_a_demanded_option_has_all_counts() {
        let mut counters = Counters::default();
        counters.demand(1);
        let first = AccEcnOption::new(FieldOrder::Ect0First, &[1, 0, 1]);
        assert_eq!(counters.option(12), Some(first));
        assert_eq!(counters.option(12), None);
        for _ in 0..17 {
            counters.on_packet(Ecn::Ce, 1_000_000, true);
        }
        let wrapped = AccEcnOption::new(FieldOrder::Ect0First, &[1, 17_000_000 - (1 << 24)]);
        assert_eq!(counters.option(12), Some(wrapped));
    }
}
