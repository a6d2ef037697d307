//! Accurate ECN at one end of a connection (RFC 9768): handshake, counters, fall-backs.

use super::counters::Counters;
use super::reports::{NewMarks, Reports};
use crate::ecn::{AccEcnOption, Ecn, Ecn::Ce};
use crate::segment::{Flags, Segment};

/// Transmissions of a SYN that ask for ECN (3.1.4.1).
const SYNS: u8 = 2;
/// Transmissions of a SYN-ACK that agree to Accurate ECN (3.2.3.2.2).
const SYN_ACKS: u8 = 2;
/// Transmissions of a SYN-ACK with the option.
const SYN_ACKS_WITH_OPTION: u8 = 1;

/// State of an end that has negotiated, or asks for, Accurate ECN.
#[derive(Debug, Default)]
pub(crate) struct Accurate {
    pub(super) counters: Counters,
    reports: Reports,
    /// Transmissions of our SYN or SYN-ACK.
    handshakes_sent: u8,
    /// Codepoint of the peer's last SYN.
    syn: Ecn,
    /// Codepoint of a SYN-ACK that the next pure ACK reports (3.2.2.1).
    syn_ack: Option<Ecn>,
    /// Set if packets must not be ECN-capable: the path or the peer clears or changes the fields.
    pub(super) not_capable: bool,
    /// Set if reports of marks are ignored, because the peer does not count (table 4 and 3.2.2.4).
    ignores: bool,
    /// Set if the peer reported our SYN or SYN-ACK as marked.
    pub(super) handshake_marked: bool,
    /// Set once the ACE field of an ACK after the handshake was read.
    checked: bool,
}

/// Returns the three bits AE, CWR and ECE of a segment (the ACE field).
pub(super) fn ace(segment: &Segment) -> u8 {
    let bit = |flag: Flags| u8::from(segment.flags.has(flag));
    u8::from(segment.ae) << 2 | bit(Flags::CWR) << 1 | bit(Flags::ECE)
}

/// Encodes a codepoint in the three bits of a handshake (tables 2 and 3).
fn encoded(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ce => 0b110,
    }
}

/// Returns the codepoint in the three bits of a handshake; `None` for reserved values.
fn decoded(ace: u8) -> Option<Ecn> {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ce]
        .into_iter()
        .find(|&ecn| encoded(ecn) == ace)
}

impl Accurate {
    // Handshake.

    /// Processes the peer's SYN, which asks for Accurate ECN.
    pub(super) fn on_syn(&mut self, ecn: Ecn) {
        self.syn = ecn;
    }

    /// Processes a repeated SYN. `asks` is false if it no longer asks for ECN, which forbids
    /// ECN-capable packets (3.1.5).
    pub(super) fn on_syn_again(&mut self, ecn: Ecn, asks: bool) {
        self.syn = ecn;
        self.not_capable |= !asks;
    }

    /// Processes a SYN-ACK that agrees to Accurate ECN.
    pub(super) fn on_syn_ack(&mut self, segment: &Segment) {
        self.on_our_handshake(ace(segment));
        self.reports
            .on_first_option(segment.options.accecn.as_ref());
        self.counters.demand(2);
        self.on_syn_ack_again(segment);
    }

    /// Notes the codepoint of a SYN-ACK, first or repeated, for the pure ACK that answers it.
    pub(super) fn on_syn_ack_again(&mut self, segment: &Segment) {
        if segment.ecn == Ce {
            self.counters.on_marked_syn_ack();
        }
        self.syn_ack = Some(segment.ecn);
    }

    /// Processes the codepoint with which our SYN or SYN-ACK arrived. These are not ECN-capable, so
    /// that any other codepoint shows that the path changes the field (3.2.2.3).
    fn on_our_handshake(&mut self, ace: u8) {
        let ecn = decoded(ace).unwrap_or(Ecn::NotEct);
        self.not_capable |= ecn != Ecn::NotEct;
        self.handshake_marked = ecn == Ce;
    }

    /// Processes the first ACK of our SYN-ACK. Only a pure ACK without SACK blocks has the encoding
    /// of the handshake (3.2.2.1, table 4).
    pub(super) fn on_handshake_ack(&mut self, segment: &Segment) {
        self.reports
            .on_first_option(segment.options.accecn.as_ref());
        if segment.seq_len() > 0 || !segment.options.sack.is_empty() {
            return;
        }
        self.checked = true;
        let ace = ace(segment);
        if ace == 0 {
            (self.not_capable, self.ignores) = (true, true);
            return;
        }
        self.on_our_handshake(ace);
        if self.handshake_marked {
            self.reports.on_marked_syn_ack();
        }
    }

    /// Returns the three bits of the next SYN.
    pub(super) fn syn_bits(&mut self) -> u8 {
        self.handshakes_sent = self.handshakes_sent.saturating_add(1);
        if self.handshakes_sent <= SYNS { 7 } else { 0 }
    }

    /// Returns the three bits of the next SYN-ACK. Zero gives up ECN-capable packets (3.1.5).
    pub(super) fn syn_ack_bits(&mut self) -> u8 {
        self.handshakes_sent = self.handshakes_sent.saturating_add(1);
        if self.handshakes_sent <= SYN_ACKS_WITH_OPTION {
            self.counters.demand(1);
        } else {
            self.counters.demand(0);
        }
        if self.handshakes_sent <= SYN_ACKS {
            encoded(self.syn)
        } else {
            self.not_capable = true;
            0
        }
    }

    // Packets after the handshake.

    /// Returns whether a pure ACK must leave first, which reports the codepoint of a SYN-ACK.
    pub(super) fn owes_handshake_ack(&self) -> bool {
        self.syn_ack.is_some()
    }

    /// Returns the three bits of a segment that is no SYN. `pure` is set for an ACK without data and
    /// SACK blocks.
    pub(super) fn ack_bits(&mut self, pure: bool) -> u8 {
        self.counters.on_ack_sent();
        match self.syn_ack.filter(|_| pure) {
            Some(ecn) => {
                self.syn_ack = None;
                encoded(ecn)
            }
            None => self.counters.ace(),
        }
    }

    /// Decodes an ACK of `delivered` segments that is not superseded.
    pub(super) fn on_ack(&mut self, segment: &Segment, delivered: u64, mss: u64) -> NewMarks {
        let ace = ace(segment);
        if !std::mem::replace(&mut self.checked, true) && ace == 0 {
            (self.not_capable, self.ignores) = (true, true); // 3.2.2.4
        }
        let option: Option<&AccEcnOption> = segment.options.accecn.as_ref();
        let marks = self.reports.on_ack(ace, option, delivered, mss);
        self.not_capable |= marks.inconsistent;
        if self.ignores {
            NewMarks::default()
        } else {
            marks
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables 2 and 3; the other values are reserved or mean no ECN.
    #[test]
    fn codepoints_of_the_handshake_have_three_bits() {
        let all = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ce];
        assert_eq!(all.map(encoded), [0b010, 0b011, 0b100, 0b110]);
        for ecn in all {
            assert_eq!(decoded(encoded(ecn)), Some(ecn));
        }
        assert_eq!([0, 1, 5, 7].map(decoded), [None; 4]);
    }
}
