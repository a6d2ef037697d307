//! Packets of simulated transports in UDP datagrams.

use crate::{stp, xtp};

/// Packet of a simulated transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    /// Packet of XTP.
    Xtp(xtp::Pdu),
    /// Packet of STP.
    Stp(stp::Pdu),
}

impl Carried {
    /// Returns the length in bytes.
    pub fn wire_len(&self) -> u32 {
        match self {
            Self::Xtp(pdu) => pdu.wire_len(),
            Self::Stp(pdu) => pdu.wire_len(),
        }
    }

    /// Returns the bytes without the data, which are zeros.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Xtp(pdu) => pdu.to_bytes(),
            Self::Stp(pdu) => pdu.to_bytes(),
        }
    }

    /// Returns the position of the data in its stream and its length; `None` without data.
    pub fn data(&self) -> Option<(u64, u32)> {
        match self {
            Self::Xtp(pdu) => match pdu.content {
                xtp::Content::Data { seq, len, .. } => Some((seq, len)),
                xtp::Content::Control(_) => None,
            },
            Self::Stp(pdu) => match pdu.content {
                stp::Content::Data { position, len, .. } => Some((position, len)),
                _ => None,
            },
        }
    }
}

impl From<xtp::Pdu> for Carried {
    fn from(pdu: xtp::Pdu) -> Self {
        Self::Xtp(pdu)
    }
}

impl From<stp::Pdu> for Carried {
    fn from(pdu: stp::Pdu) -> Self {
        Self::Stp(pdu)
    }
}
