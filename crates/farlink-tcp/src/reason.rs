//! Reasons for which an end or an agent sends a packet, for traces.

/// Declares the reasons, each with the name that traces show.
macro_rules! reasons {
    ($($(#[$doc:meta])* $reason:ident $name:literal,)*) => {
        /// Reason for which a packet was sent.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[repr(u8)]
        pub enum Reason {
            $($(#[$doc])* $reason,)*
        }

        impl Reason {
            /// Reasons in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$reason),*];

            /// Name in traces.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$reason => $name,)*
                }
            }
        }
    };
}

reasons! {
    /// Data that was never sent before.
    #[default]
    NewData "new data",
    /// SYN, SYN-ACK, or the ACK that ends the handshake.
    Handshake "handshake",
    /// FIN without data.
    EndOfData "end of the data",
    /// New data on one of the first duplicate ACKs (RFC 3042; RFC 6675, 5, step 3).
    LimitedTransmit "limited transmit",
    /// New data that tests whether a time-out was spurious (F-RTO, RFC 5682).
    Frto "F-RTO test",
    /// First retransmission after as many duplicate ACKs as the threshold, or as much SACKed data.
    DuplicateAcks "duplicate ACKs",
    /// Further retransmission of a go-back-N that duplicate ACKs began (Tahoe).
    GoBackN "go-back-N",
    /// Next hole, which a partial ACK shows (NewReno).
    PartialAck "partial ACK",
    /// Hole below SACKed data.
    SackHole "SACK hole",
    /// Rule (4) of `NextSeg` (RFC 6675).
    Rescue "rescue",
    /// A segment sent later was delivered (RACK, RFC 8985).
    Rack "RACK",
    /// Tail loss probe (RFC 8985, 7).
    TailProbe "tail loss probe",
    /// Expiry of the fine time-out of Vegas.
    FineTimeout "fine time-out",
    /// Hole that a SNACK of the receiver names.
    Snack "SNACK",
    /// Hole that a negative ACK of a base station names.
    NegativeAck "negative ACK",
    /// Explicit loss notification.
    LossNotice "loss notification",
    /// First retransmission after the RTO expired.
    Timeout "RTO",
    /// Further retransmission of data that was in flight when the RTO expired.
    AfterTimeout "after the RTO",
    /// Probe of a closed window.
    WindowProbe "window probe",
    /// Data that the receiver's report names as missing (XTP).
    Report "report of missing data",
    /// Byte of a window probe, once the window is open.
    WindowOpened "window opened",
    /// Data that no longer fits the path MTU or that a SYN could not deliver.
    Resend "sent again",
    /// Keep-alive probe.
    KeepAlive "keep-alive probe",
    /// Dummy segment that probes the path.
    Dummy "dummy segment",
    /// Arrival of the number of segments that one ACK may acknowledge.
    EveryNth "every n-th segment",
    /// ACKs of these segments are not delayed.
    EverySegment "every segment",
    /// The delayed-ACK timer expired.
    DelayedAck "delayed-ACK timer",
    /// A segment arrived behind a hole.
    OutOfOrder "out-of-order segment",
    /// A segment filled a hole or part of it.
    HoleFilled "filled hole",
    /// A segment arrived whose data had arrived before.
    Duplicate "duplicate segment",
    /// A segment arrived that the window has no room for, such as a window probe.
    Refused "refused segment",
    /// The application read data, so that the window opened.
    WindowUpdate "window update",
    /// A FIN arrived.
    Fin "FIN",
    /// A segment arrived damaged (ELN).
    Damaged "damaged segment",
    /// A dummy segment arrived.
    DummyAck "ACK of a dummy segment",
    /// Answer to a segment outside of the window or of the connection.
    Answer "unacceptable segment",
    /// Reset of the connection.
    Reset "reset",
    /// Datagram of a flow over UDP.
    Datagram "datagram",
    /// Control packet of XTP.
    Control "control packet",
    /// ICMP message of a node.
    Icmp "ICMP message",
    /// Retransmission by an agent on the path.
    AgentRetransmission "agent's retransmission",
    /// ACK by an agent in the name of the receiver.
    AgentAck "agent's ACK",
    /// Partial ACK by an agent.
    AgentPartialAck "agent's partial ACK",
    /// Negative ACK by an agent.
    AgentNegativeAck "agent's negative ACK",
    /// ACK with which an agent names a loss (ELN).
    AgentMark "agent's loss notification",
    /// Reset by an agent.
    AgentReset "agent's reset",
    /// The congestion marks of arriving data changed, or several arrived (RFC 9768, RFC 8257).
    Marked "congestion marks",
}

impl Reason {
    /// Returns the reason of the next retransmission, if no other sign of a loss has come.
    pub(crate) fn next(self, sacking: bool) -> Self {
        match self {
            Self::DuplicateAcks if sacking => Self::SackHole,
            Self::DuplicateAcks => Self::GoBackN,
            Self::Timeout => Self::AfterTimeout,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table has the number of a reason, and looks its name up in this list.
    #[test]
    fn numbers_of_reasons_are_places_in_the_list() {
        for (number, &reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(reason as usize, number, "{}", reason.name());
        }
    }
}
