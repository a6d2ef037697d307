//! Explicit Congestion Notification (RFC 3168).
//!
//! The sender declares that its data may be marked instead of dropped (ECT). A queue marks it (CE).
//! The receiver echoes the mark in its ACKs (ECE) until the sender confirms that it has reduced its
//! window (CWR).

use crate::segment::{Flags, Segment};

/// ECN field of an IP header (RFC 3168, 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: queues drop the packet instead of marking it.
    #[default]
    NotEct = 0,
    /// ECN-capable, ECT(1).
    Ect1 = 1,
    /// ECN-capable, ECT(0).
    Ect0 = 2,
    /// Congestion experienced: a queue marked the packet.
    Ce = 3,
}

impl Ecn {
    /// Returns the field from its two bits; higher bits are ignored.
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

/// Flags of a SYN that offers ECN: ECE and CWR.
pub(crate) const SETUP: Flags = Flags::ECE.with(Flags::CWR);

/// Negotiated ECN state of a connection, and the pending echo to its peer.
#[derive(Debug)]
pub(crate) struct Negotiation {
    enabled: bool,
    agreed: bool,
    /// Set from the arrival of a mark until a CWR; every ACK then carries ECE.
    echo: bool,
}

impl Negotiation {
    pub(crate) fn new(enabled: bool) -> Self {
        Self {
            enabled,
            agreed: false,
            echo: false,
        }
    }

    #[inline]
    pub(crate) fn agreed(&self) -> bool {
        self.agreed
    }

    /// Processes the SYN of a peer that opens the connection (6.1.1).
    pub(crate) fn on_syn(&mut self, flags: Flags) {
        self.agreed = self.enabled && flags.has(SETUP);
    }

    /// Processes the SYN-ACK to our SYN. Both bits set come from a peer that only reflects unknown
    /// bits, so ECN stays off.
    pub(crate) fn on_syn_ack(&mut self, flags: Flags) {
        self.agreed = self.enabled && flags.has(Flags::ECE) && !flags.has(Flags::CWR);
    }

    /// Returns the bits of a SYN, or of a SYN-ACK if `ack` is set.
    pub(crate) fn syn_flags(&self, ack: bool) -> Flags {
        match (ack, self.enabled, self.agreed) {
            (false, true, _) => SETUP,
            (true, _, true) => Flags::ECE,
            _ => Flags::default(),
        }
    }

    /// Returns the bits of segments with an ACK, except SYNs.
    #[inline]
    pub(crate) fn ack_flags(&self) -> Flags {
        if self.echo {
            Flags::ECE
        } else {
            Flags::default()
        }
    }

    /// Processes a segment that arrived in the window; `fresh` is set if it carries new data within
    /// the window (6.1.3, 6.1.5).
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
    fn ecn_field_has_two_bits() {
        for bits in 0..=3 {
            assert_eq!(Ecn::from_bits(bits).bits(), bits);
            assert_eq!(Ecn::from_bits(0b1111_1100 | bits).bits(), bits);
        }
        let markable = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(Ecn::markable);
        assert_eq!(markable, [false, true, true, false]);
    }

    #[test]
    fn ecn_needs_both_ends() {
        let none = Flags::default();
        for (enabled, syn, syn_ack) in [
            (true, SETUP, Flags::ECE),
            (true, Flags::ECE, SETUP),
            (true, none, none),
            (false, SETUP, Flags::ECE),
        ] {
            let mut side = Negotiation::new(enabled);
            side.on_syn(syn);
            assert_eq!(side.agreed(), enabled && syn == SETUP);
            assert_eq!(side.syn_flags(true).has(Flags::ECE), side.agreed());
            side.on_syn_ack(syn_ack);
            assert_eq!(side.agreed(), enabled && syn_ack == Flags::ECE);
            assert_eq!(side.syn_flags(false) == SETUP, enabled);
        }
    }
}
