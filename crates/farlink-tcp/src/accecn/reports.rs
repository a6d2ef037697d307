//! Marks that a peer with Accurate ECN reports (RFC 9768, 3.2.2 and 3.2.3): three bits of a packet
//! counter in each ACK, and counters of bytes in the option.

use super::counters::{FIRST_BYTES, FIRST_PACKETS};
use crate::ecn::AccEcnOption;

/// Availability of the peer's options.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Options {
    /// None has arrived.
    #[default]
    None,
    /// Options arrive.
    Seen,
    /// A middlebox clears options, so they are ignored (3.2.3.2.4).
    Ignored,
}

/// Sender's copies of its peer's counters.
#[derive(Debug)]
pub(crate) struct Reports {
    /// `s.cep` of RFC 9768.
    packets: u64,
    /// `s.ceb` of RFC 9768.
    bytes: u64,
    options: Options,
}

/// Marks that an ACK newly reports.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct NewMarks {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// Set if the counts of bytes and of packets contradict each other (3.2.3.2.5).
    pub(crate) inconsistent: bool,
}

impl Default for Reports {
    fn default() -> Self {
        Self {
            packets: FIRST_PACKETS,
            bytes: FIRST_BYTES[1],
            options: Options::None,
        }
    }
}

impl Reports {
    /// Processes the first option of the peer, on its first segment (3.2.3.2.3 and 3.2.3.2.4).
    pub(super) fn on_first_option(&mut self, option: Option<&AccEcnOption>) {
        if let Some(option) = option
            && (option.ect0() == Some(0) || option.ect1() == Some(0))
        {
            self.options = Options::Ignored;
        }
    }

    /// Counts the mark of our SYN-ACK (3.2.2.2).
    pub(super) fn on_marked_syn_ack(&mut self) {
        self.packets = FIRST_PACKETS + 1;
    }

    /// Decodes an ACK that is not superseded and delivers `delivered` segments of at most `mss`
    /// bytes.
    pub(super) fn on_ack(
        &mut self,
        ace: u8,
        option: Option<&AccEcnOption>,
        delivered: u64,
        mss: u64,
    ) -> NewMarks {
        let bytes = self.new_bytes(option);
        let least = (u64::from(ace).wrapping_sub(self.packets)) & 7;
        let packets = match bytes {
            // The packet counter is the smallest that has the reported three bits and could have
            // carried these bytes, at up to MSS bytes per packet.
            Some(bytes) => {
                let needed = bytes.div_ceil(mss).saturating_sub(least);
                least + needed.next_multiple_of(8)
            }
            // The safest case (appendix A.2.1): as many packets were marked as the bits allow.
            None if delivered > 7 => delivered - ((delivered - least) & 7),
            None => least,
        };
        self.packets += packets;
        NewMarks {
            packets,
            bytes: bytes.filter(|&n| n > 0).unwrap_or(packets * mss),
            inconsistent: bytes.is_some_and(|n| n > 0) && least == 0 && delivered < 8,
        }
    }

    /// Returns the newly reported bytes; `None` if the ACK has no usable count.
    fn new_bytes(&mut self, option: Option<&AccEcnOption>) -> Option<u64> {
        let option = option.filter(|_| self.options != Options::Ignored)?;
        self.options = Options::Seen;
        let Some(count) = option.ce() else {
            return Some(0); // an omitted count has not changed
        };
        let new = (u64::from(count).wrapping_sub(self.bytes)) & 0xff_ffff;
        // A falling count comes from an older ACK.
        if new >= 1 << 23 {
            return None;
        }
        self.bytes += new;
        Some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ecn::FieldOrder;

    fn option(ce: u32) -> AccEcnOption {
        AccEcnOption::new(FieldOrder::Ect1First, &[1, ce])
    }

    fn marks(packets: u64, bytes: u64) -> NewMarks {
        NewMarks {
            packets,
            bytes,
            inconsistent: false,
        }
    }

    /// Three bits, from 5 on: 6 and 7 are one mark each, then 1 is two more across the wrap.
    #[test]
    fn three_bits_count_across_the_wrap() {
        let mut reports = Reports::default();
        for (ace, packets) in [(5, 0), (6, 1), (7, 1), (1, 2), (0, 7)] {
            assert_eq!(
                reports.on_ack(ace, None, 7, 1000),
                marks(packets, 1000 * packets),
                "{ace}"
            );
        }
    }

    /// RFC 9768, A.2.1, with its example: 9 segments and an unchanged field are 8 marks, 16 segments
    /// with two more are 10.
    #[test]
    fn without_options_a_thinned_ack_counts_the_most_marks() {
        let packets = |ace, delivered| {
            Reports::default()
                .on_ack(ace, None, delivered, 1000)
                .packets
        };
        assert_eq!(packets(5, 7), 0);
        assert_eq!(packets(5, 8), 8);
        assert_eq!(packets(5, 9), 8);
        assert_eq!(packets(7, 16), 10);
        assert_eq!(packets(7, 17), 10);
        assert_eq!(packets(7, 18), 18);
        assert_eq!(packets(4, 8), 7);
    }

    /// Bytes decide how often the three bits wrapped, and that they did not.
    #[test]
    fn bytes_of_the_option_resolve_the_wrap() {
        let mut reports = Reports::default();
        assert_eq!(reports.on_ack(5, Some(&option(0)), 20, 1000), marks(0, 0));
        assert_eq!(
            reports.on_ack(7, Some(&option(9_500)), 20, 1000),
            marks(10, 9_500)
        );
        assert_eq!(
            reports.on_ack(7, Some(&option(17_500)), 20, 1000),
            marks(8, 8_000)
        );
        assert_eq!(
            reports.on_ack(0, Some(&option(17_900)), 20, 1000),
            marks(1, 400)
        );
    }

    /// A field of 24 bits wraps. A falling field is of an older ACK, and an absent field has not
    /// changed.
    #[test]
    fn counts_of_bytes_wrap_and_do_not_fall() {
        let mut reports = Reports::default();
        for (ace, ce) in [(6, 0x7f_ffff), (6, 0xff_fff0)] {
            reports.on_ack(ace, Some(&option(ce)), 1, 0x80_0000);
        }
        let wrapped = reports.on_ack(7, Some(&option(0x10)), 1, 1000);
        assert_eq!(wrapped, marks(1, 0x20));
        let older = reports.on_ack(7, Some(&option(0x08)), 9, 1000);
        assert_eq!(older.packets, 8);
        let absent = AccEcnOption::new(FieldOrder::Ect1First, &[1]);
        assert_eq!(reports.on_ack(7, Some(&absent), 9, 1000), marks(0, 0));
    }

    #[test]
    fn marked_bytes_without_marked_packets_are_inconsistent() {
        let mut reports = Reports::default();
        assert!(reports.on_ack(5, Some(&option(100)), 7, 1000).inconsistent);
        let mut reports = Reports::default();
        assert!(!reports.on_ack(5, Some(&option(100)), 8, 1000).inconsistent);
        assert!(!reports.on_ack(6, Some(&option(200)), 7, 1000).inconsistent);
    }

    #[test]
    fn zeroed_options_are_ignored() {
        let zeroed = AccEcnOption::new(FieldOrder::Ect0First, &[0, 0, 1]);
        let mut reports = Reports::default();
        reports.on_first_option(Some(&zeroed));
        assert_eq!(reports.on_ack(5, Some(&option(0)), 9, 1000).packets, 8);
        let zeroed = AccEcnOption::new(FieldOrder::Ect0First, &[1, 0, 0]);
        let mut reports = Reports::default();
        reports.on_first_option(Some(&zeroed));
        assert_eq!(reports.on_ack(5, Some(&option(0)), 9, 1000).packets, 8);
        let mut reports = Reports::default();
        reports.on_first_option(Some(&option(0)));
        assert_eq!(reports.on_ack(5, Some(&option(0)), 9, 1000).packets, 0);
    }
}
