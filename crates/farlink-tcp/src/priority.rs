//! Class of service of a packet: the Diffserv field of its IP header.

/// Class of service that a packet requests from queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(u8)]
pub enum Priority {
    /// Default: every codepoint except LE.
    #[default]
    Normal = 0,
    /// Lower effort (RFC 8622): sent only if no normal packet waits, and dropped first.
    Low = 1,
}

/// Diffserv codepoint (RFC 2474).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub struct Dscp(u8);

impl Dscp {
    /// Number of codepoints.
    pub const COUNT: usize = 64;
    /// Default forwarding (RFC 2474, 4.1).
    pub const DEFAULT: Self = Self(0);
    /// Lower effort (RFC 8622).
    pub const LE: Self = Self(1);

    /// Returns the codepoint with these six bits; higher bits are ignored.
    #[inline]
    pub const fn new(codepoint: u8) -> Self {
        Self(codepoint & 63)
    }

    /// Returns the six bits.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns the class of service: LE is low, all others are normal.
    #[inline]
    pub const fn priority(self) -> Priority {
        if self.0 == Self::LE.0 {
            Priority::Low
        } else {
            Priority::Normal
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lower_effort_codepoint_is_low_priority() {
        for codepoint in 0..=255 {
            let dscp = Dscp::new(codepoint);
            assert_eq!(dscp.bits(), codepoint % 64);
            let is_low = dscp.priority() == Priority::Low;
            assert_eq!(is_low, dscp.bits() == 0b00_0001);
        }
        assert_eq!(Dscp::default(), Dscp::DEFAULT);
    }
}
