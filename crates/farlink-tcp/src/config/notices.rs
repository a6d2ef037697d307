//! Settings for notices of nodes on the path.

use super::recovery::{Eln, PartialAck};

/// Settings for notices of nodes on the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoticeConfig {
    /// Explicit loss notification, from the receiver to the sender.
    pub eln: Eln,
    /// Explicit bad state notification: a base station's notice of a bad radio link restarts the
    /// retransmission timer (west1997, 3).
    pub ebsn: bool,
    /// Effect of a partial acknowledgment on the retransmission timer; `None` does not support
    /// partial acknowledgments.
    pub ackp: Option<PartialAck>,
    /// Takes no RTT sample from segments that caused a partial acknowledgment (west1997, 3.4, after
    /// Karn's rule).
    pub ackp_karn: bool,
    /// Negative acknowledgments of a base station: the named data is retransmitted, and the window
    /// is not reduced (Balakrishnan et al. 1995).
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
