//! Notices of nodes on the way, and of the medium.

use super::recovery::{Eln, PartialAck};

/// Notices of nodes on the way, and of the medium.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoticeConfig {
    /// Explicit loss notification, by the receiver and to the sender.
    pub eln: Eln,
    /// Explicit bad state notification: the retransmission timer starts anew when
    /// a base station tells of one (west1997, 3).
    pub ebsn: bool,
    /// Effect of a partial acknowledgment on the retransmission timer; `None` if partial
    /// acknowledgments are not understood.
    pub ackp: Option<PartialAck>,
    /// Segments that drew a partial acknowledgment give no round-trip sample
    /// (west1997, 3.4, in the manner of Karn).
    pub ackp_karn: bool,
    /// Negative acknowledgments of a base station: what they name goes again and the window
    /// stays (Balakrishnan et al. 1995).
    pub nack: bool,
}

impl Default for NoticeConfig {
    fn default() -> Self {
        Self {
            eln: Eln::Off,
            ebsn: false,
            ackp: None,
            ackp_karn: false,
            nack: false,
        }
    }
}
