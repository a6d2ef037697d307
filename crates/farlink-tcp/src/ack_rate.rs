//! TCP ACK Rate Request (TARR, draft-ietf-tcpm-ack-rate-request): the option, and its state.

use crate::config::AckRate;
use crate::segment::ACK_RATE_LEN;
use crate::seq::Offset;

/// Option of TARR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckRateOption {
    /// On a SYN: requests are supported.
    Capable,
    /// On a later segment: an ACK for this many full-sized segments, 1 to 127, is requested. 0
    /// requests an immediate ACK of this segment alone.
    Every(u8),
}

impl AckRateOption {
    /// Greatest number that fits into the seven bits of R.
    pub const MOST: u8 = 127;

    /// Length of the option in a header, padded to a multiple of four.
    pub(crate) const fn wire_len(self) -> u32 {
        match self {
            Self::Capable => 4,
            Self::Every(_) => ACK_RATE_LEN,
        }
    }
}

/// State of TARR of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckRateState {
    wish: AckRate,
    /// Set if the peer supports requests.
    agreed: bool,
    /// Position after the first segment with a request; `Offset::MAX` before.
    asked: Offset,
}

impl AckRateState {
    pub(crate) const fn new(wish: AckRate) -> Self {
        Self {
            wish,
            agreed: false,
            asked: Offset::MAX,
        }
    }

    /// Returns whether TARR is configured.
    pub(crate) fn is_on(&self) -> bool {
        self.wish != AckRate::Off
    }

    /// Processes the option of the peer's SYN.
    pub(crate) fn on_syn(&mut self, option: Option<AckRateOption>) {
        self.agreed = self.is_on() && option.is_some();
    }

    /// Returns whether a SYN, or a SYN-ACK if `answers` is set, has the option.
    pub(crate) fn offers(&self, answers: bool) -> bool {
        self.is_on() && (self.agreed || !answers)
    }

    /// Returns whether the peer's requests are followed.
    pub(crate) fn follows(&self) -> bool {
        self.agreed
    }

    /// Returns the bytes of a segment that are reserved for requests.
    pub(crate) fn reserved(&self) -> u32 {
        match self.wish {
            AckRate::Request(_) if self.agreed => ACK_RATE_LEN,
            _ => 0,
        }
    }

    /// Returns the request for a segment of data up to `end`. Each segment has one until the first
    /// of them is acknowledged.
    pub(crate) fn request(&mut self, una: Offset, end: Offset) -> Option<AckRateOption> {
        let AckRate::Request(every) = self.wish else {
            return None;
        };
        if !self.agreed || una >= self.asked {
            return None;
        }
        self.asked = self.asked.min(end);
        Some(AckRateOption::Every(every))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments have the request up to the acknowledgment of the first segment that had it, and not
    /// of a later one.
    #[test]
    fn requests_end_with_the_ack_of_the_first() {
        let mut state = AckRateState::new(AckRate::Request(4));
        state.on_syn(Some(AckRateOption::Capable));
        let request = Some(AckRateOption::Every(4));
        assert_eq!(state.request(1, 101), request);
        assert_eq!(state.request(1, 201), request);
        assert_eq!(state.request(100, 301), request);
        assert_eq!(state.request(101, 401), None);
    }
}
