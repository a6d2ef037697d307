//! Explicit Congestion Notification: RFC 3168.
//!
//! The sender says that its data may be marked instead of dropped (ECT), a queue
//! marks it (CE), the receiver echoes that in its ACKs (ECE) until the sender
//! says that it has reduced its window (CWR).

use crate::segment::{Flags, Segment};

/// The ECN field of an IP header (RFC 3168, 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: a queue drops it.
    #[default]
    NotEct = 0,
    /// ECN-capable, ECT(1).
    Ect1 = 1,
    /// ECN-capable, ECT(0).
    Ect0 = 2,
    /// Congestion experienced: a queue marked it.
    Ce = 3,
}

impl Ecn {
    /// The field from its two bits; higher ones do not count.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Returns the two bits of the field.
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// Returns whether a queue may mark the packet.
    #[inline]
    pub const fn markable(self) -> bool {
        matches!(self, Self::Ect0 | Self::Ect1)
    }
}

/// Both bits that negotiate.
pub(crate) const SETUP: Flags = Flags::ECE.with(Flags::CWR);

/// Negotiated ECN state of a connection, and the echo owed to its peer.
#[derive(Debug)]
pub(crate) struct Negotiation {
    wanted: bool,
    agreed: bool,
    /// A mark arrived and no CWR since: every ACK says ECE.
    echo: bool,
}

impl Negotiation {
    pub(crate) fn new(wanted: bool) -> Self {
        Self {
            wanted,
            agreed: false,
            echo: false,
        }
    }

    #[inline]
    pub(crate) fn agreed(&self) -> bool {
        self.agreed
    }

    /// The SYN of a peer that opens (6.1.1).
    pub(crate) fn on_syn(&mut self, flags: Flags) {
        self.agreed = self.wanted && flags.has(SETUP);
    }

    /// The SYN-ACK for our SYN: both bits come from a peer that only reflects
    /// what it does not know.
    pub(crate) fn on_syn_ack(&mut self, flags: Flags) {
        self.agreed = self.wanted && flags.has(Flags::ECE) && !flags.has(Flags::CWR);
    }

    /// Bits of a SYN, with an ACK or not.
    pub(crate) fn syn_flags(&self, ack: bool) -> Flags {
        match (ack, self.wanted, self.agreed) {
            (false, true, _) => SETUP,
            (true, _, true) => Flags::ECE,
            _ => Flags::default(),
        }
    }

    /// Bits of everything with an ACK but SYNs.
    #[inline]
    pub(crate) fn ack_flags(&self) -> Flags {
        if self.echo {
            Flags::ECE
        } else {
            Flags::default()
        }
    }

    /// A segment in the window arrived; `fresh` if it carries data that the
    /// window takes (6.1.3, 6.1.5).
    #[inline]
    pub(crate) fn on_segment(&mut self, segment: &Segment, fresh: bool) {
        if !self.agreed {
            return;
        }
        if segment.flags.has(Flags::CWR) {
            self.echo = false;
        }
        if fresh && segment.ecn == Ecn::Ce {
            self.echo = true;
        }
    }

    /// Returns whether an ACK reports marked data.
    #[inline]
    pub(crate) fn echoes(&self, flags: Flags) -> bool {
        self.agreed && flags.has(Flags::ECE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_two_bits() {
        for bits in 0..=3 {
            assert_eq!(Ecn::from_bits(bits).bits(), bits);
            assert_eq!(Ecn::from_bits(0b1111_1100 | bits).bits(), bits);
        }
        let markable = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(Ecn::markable);
        assert_eq!(markable, [false, true, true, false]);
    }

    #[test]
    fn both_sides_have_to_agree() {
        let none = Flags::default();
        for (wanted, syn, syn_ack) in [
            (true, SETUP, Flags::ECE),
            (true, Flags::ECE, SETUP),
            (true, none, none),
            (false, SETUP, Flags::ECE),
        ] {
            let mut side = Negotiation::new(wanted);
            side.on_syn(syn);
            assert_eq!(side.agreed(), wanted && syn == SETUP);
            assert_eq!(side.syn_flags(true).has(Flags::ECE), side.agreed());
            side.on_syn_ack(syn_ack);
            assert_eq!(side.agreed(), wanted && syn_ack == Flags::ECE);
            assert_eq!(side.syn_flags(false) == SETUP, wanted);
        }
    }
}
