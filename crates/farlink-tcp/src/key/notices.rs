//! Keys of the assumed cause of losses, and of notices of nodes on the path.

use super::entry::keys;
use super::value::{Kind, Value, Word, words};
use crate::config::{AssumeLoss, Eln, PartialAck};
use crate::time::Interval;

words! { ASSUME_LOSS: AssumeLoss {
    /// Full queues: a loss reduces the window.
    "congestion" Congestion,
    /// The medium: a loss does not reduce the window.
    "corruption" Corruption,
} }

words! { ELN: Eln {
    /// None.
    "off" Off,
    /// The network notifies the receiver of the cause of each loss.
    "oracle" Oracle,
    /// The receiver requests packets that fail the TCP checksum by marked ACKs.
    "checksum" Checksum,
    /// An agent at a router marks the ACKs; needs such an agent.
    "agent" Agent,
} }

const PARTIAL_ACK: &[Word] = &[
    Word("off", "Not understood, and not offered."),
    Word("restart", "The timer restarts, without backoff."),
    Word("constant", "The timer expires after `ackp_timer`."),
    Word("backoff", "The timer backs off and restarts."),
];

/// Twice the steady-state RTO of the testbed (west1997, 4.2).
const PARTIAL_ACK_TIMER: Interval = Interval::from_secs(2);

/// Returns the word for a setting of partial acknowledgments.
fn word(answer: Option<PartialAck>) -> Value {
    Value::Choice(match answer {
        None => "off",
        Some(PartialAck::Restart) => "restart",
        Some(PartialAck::Constant(_)) => "constant",
        Some(PartialAck::BackOff) => "backoff",
    })
}

keys! {
    /// Assumed cause of a loss for which no cause was reported (SCPS-TP, CCSDS 714.0-B):
    /// "corruption" keeps the window.
    assume_loss: Kind::Choice(ASSUME_LOSS) => [assume_loss], idle super::window::WINDOW;
    /// Explicit loss notification (west1997, 2.3.3) from the receiver or an agent to the sender.
    /// The sender retransmits data that the medium lost, and keeps its window.
    eln: Kind::Choice(ELN) => [notices.eln];
    /// Explicit bad state notification (west1997, 3): a base station's notice restarts the
    /// retransmission timer. Needs such an agent.
    ebsn: Kind::Flag => [notices.ebsn];
    /// Partial acknowledgments of a base station (west1997, 3): their offer on the SYN, and their
    /// effect on the retransmission timer. Needs such an agent.
    ackp: Kind::Choice(PARTIAL_ACK) => {
        get |c| Some(word(c.notices.ackp));
        set |c, v| if word(c.notices.ackp) != v {
            c.notices.ackp = match v {
                Value::Choice("restart") => Some(PartialAck::Restart),
                Value::Choice("constant") => Some(PartialAck::Constant(PARTIAL_ACK_TIMER)),
                Value::Choice("backoff") => Some(PartialAck::BackOff),
                _ => None,
            };
        };
    };
    /// RTO after a partial acknowledgment.
    ackp_timer: Kind::seconds(3600) => (|c| match &mut c.notices.ackp {
        Some(PartialAck::Constant(timer)) => Some(timer),
        _ => None,
    }), needs "ackp = \"constant\"";
    /// Segments that caused a partial acknowledgment give no RTT sample.
    ackp_karn: Kind::Flag => (|c| c.notices.ackp.map(|_| &mut c.notices.ackp_karn)), needs "ackp";
    /// Negative acknowledgments of a base station (Balakrishnan et al. 1995), offered on the SYN.
    /// The data that they name is retransmitted, and the window is not reduced. Needs such an
    /// agent.
    nack: Kind::Flag => [notices.nack];
}
