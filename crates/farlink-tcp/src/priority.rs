//! Class of service of a packet: the Diffserv field of its IP header.

/// Class of service that a packet requests from queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(u8)]
pub enum Priority {
    /// Best effort, the default.
    #[default]
    Normal = 0,
    /// Lower effort (RFC 8622): sent only if no normal packet waits, and dropped first.
    Low = 1,
}

impl Priority {
    /// Returns the Diffserv codepoint (RFC 2474): default forwarding, or LE (RFC 8622, 5).
    #[inline]
    pub const fn dscp(self) -> u8 {
        self as u8
    }

    /// Returns the class of a codepoint: LE is low, all others are normal.
    #[inline]
    pub const fn from_dscp(codepoint: u8) -> Self {
        if codepoint == Self::Low.dscp() {
            Self::Low
        } else {
            Self::Normal
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lower_effort_codepoint_is_low_priority() {
        for codepoint in 0..64 {
            let priority = Priority::from_dscp(codepoint);
            assert_eq!(priority == Priority::Low, codepoint == 0b00_0001);
        }
        assert_eq!(Priority::Normal.dscp(), 0);
    }
}
