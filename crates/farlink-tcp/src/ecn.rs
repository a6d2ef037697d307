//! ECN field of a packet, and the option with which a receiver counts it.
//!
//! The sender declares that its data may be marked instead of dropped (ECT). A queue marks it (CE).
//! [`crate::accecn`] has the feedback of the receiver.

mod option;

pub use option::{AccEcnOption, FieldOrder};

/// ECN field of an IP header (RFC 3168, 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: queues drop the packet instead of marking it.
    #[default]
    NotEct = 0,
    /// ECN-capable, ECT(1): with L4S, for controllers that count marks (RFC 9331).
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
}
