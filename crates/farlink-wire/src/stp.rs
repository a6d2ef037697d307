//! Packets of an STP-like transport, and their bytes in a capture.
//!
//! Kinds and numbers are those of SSCOP (ITU-T Q.2110), from which STP is derived (Henderson and
//! Katz 1997). The layout is a choice, as no public text gives that of STP: a header of 8 bytes,
//! then the fields of the kind with 4 bytes each, in UDP datagrams.

/// Bytes of the header that begins each packet: kind, marks, two zeros, number of the connection.
pub const HEADER_LEN: u32 = 8;
/// Bytes of a number: N(S), N(PS), N(R), N(MR), or an element of a list.
pub const NUMBER_LEN: u32 = 4;

const POLLS: u8 = 1;
const LAST: u8 = 2;
const DONE: u8 = 4;

/// Range of numbers of packets: the first, and the one after the last.
pub type Span = (u64, u64);

/// STP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Number of the connection, the same at both ends.
    pub key: u32,
    /// Content of the packet.
    pub content: Content,
}

/// Request for a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poll {
    /// Number of the request, N(PS).
    pub number: u32,
    /// Number of the next new packet of data, N(S).
    pub next: u64,
}

/// Content of an STP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// BGN, which opens a connection, or its answer BGAK.
    Begin {
        /// Set in a BGAK.
        answers: bool,
        /// Number of the first packet of data that may not be sent, N(MR).
        credit: u64,
    },
    /// SD.
    Data {
        /// Number of the packet, N(S).
        seq: u64,
        /// Position of the first byte in the stream. The packet does not carry it.
        position: u64,
        /// Number of bytes.
        len: u32,
        /// Set if the packet ends the stream.
        last: bool,
        /// POLL in the same packet.
        poll: Option<Poll>,
    },
    /// POLL.
    Poll(Poll),
    /// STAT, the answer to a POLL.
    Stat(Stat),
    /// USTAT, sent when a gap appears.
    Ustat {
        /// First missing packet, N(R).
        next: u64,
        /// See [`Content::Begin`].
        credit: u64,
        /// The gap.
        gap: Span,
    },
    /// END, which closes a connection.
    End {
        /// Set if both streams have ended and have arrived. Otherwise the connection is reset.
        done: bool,
    },
    /// ENDAK, the answer to an END.
    EndAck,
    /// BGREJ, which refuses a connection.
    Reject,
}

/// Report of the packets that an end has received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Number of the POLL, N(PS).
    pub poll: u32,
    /// First missing packet, N(R).
    pub next: u64,
    /// See [`Content::Begin`].
    pub credit: u64,
    /// Missing packets, in order.
    pub gaps: Vec<Span>,
    /// First packet about which the report says nothing.
    pub edge: u64,
}

impl Stat {
    /// Returns the number of elements of the list: each gap has two, and the edge has one unless
    /// the list ends with a gap.
    fn elements(&self) -> u32 {
        let gaps = 2 * self.gaps.len() as u32;
        gaps + u32::from(self.gaps.last().is_some_and(|gap| gap.1 < self.edge))
    }
}

impl Pdu {
    /// Returns the length in a UDP datagram, in bytes.
    pub fn wire_len(&self) -> u32 {
        let (numbers, data) = match &self.content {
            Content::Begin { .. } => (1, 0),
            Content::Data { len, poll, .. } => (if poll.is_some() { 3 } else { 1 }, *len),
            Content::Poll(_) => (2, 0),
            Content::Stat(stat) => (3 + stat.elements(), 0),
            Content::Ustat { .. } => (4, 0),
            Content::End { .. } | Content::EndAck | Content::Reject => (0, 0),
        };
        HEADER_LEN + NUMBER_LEN * numbers + data
    }

    /// Returns the bytes without the data, which are zeros. The kinds have the codes of SSCOP.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mark = |set, bit| if set { bit } else { 0 };
        let (kind, marks, numbers) = match &self.content {
            &Content::Begin { answers, credit } => (if answers { 2 } else { 1 }, 0, vec![credit]),
            &Content::Data {
                seq, last, poll, ..
            } => {
                let poll_fields = poll.map(|poll| [u64::from(poll.number), poll.next]);
                let fields = [seq].into_iter().chain(poll_fields.into_iter().flatten());
                let marks = mark(poll.is_some(), POLLS) | mark(last, LAST);
                (8, marks, fields.collect())
            }
            Content::Poll(poll) => (10, 0, vec![poll.number.into(), poll.next]),
            Content::Stat(stat) => {
                let gaps = stat.gaps.iter().flat_map(|gap| [gap.0, gap.1]);
                let list = gaps.chain([stat.edge]).take(stat.elements() as usize);
                let fields = [stat.poll.into(), stat.credit, stat.next];
                (11, 0, fields.into_iter().chain(list).collect())
            }
            &Content::Ustat { next, credit, gap } => (12, 0, vec![credit, next, gap.0, gap.1]),
            &Content::End { done } => (3, mark(done, DONE), vec![]),
            Content::EndAck => (4, 0, vec![]),
            Content::Reject => (7, 0, vec![]),
        };
        let mut out = vec![kind, marks, 0, 0];
        out.extend_from_slice(&self.key.to_be_bytes());
        for number in numbers {
            out.extend_from_slice(&(number as u32).to_be_bytes());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(content: Content) -> (u8, u8, Vec<u32>) {
        let pdu = Pdu { key: 77, content };
        let bytes = pdu.to_bytes();
        let data = match &pdu.content {
            Content::Data { len, .. } => *len,
            _ => 0,
        };
        assert_eq!(bytes.len() as u32 + data, pdu.wire_len());
        assert_eq!(bytes[2..8], [0, 0, 0, 0, 0, 77]);
        let numbers = bytes[8..].chunks(4);
        let numbers = numbers.map(|word| u32::from_be_bytes(word.try_into().expect("a word")));
        (bytes[0], bytes[1], numbers.collect())
    }

    #[test]
    fn packets_have_the_codes_and_numbers_of_sscop() {
        let begin = |answers| Content::Begin { answers, credit: 9 };
        assert_eq!(words(begin(false)), (1, 0, vec![9]));
        assert_eq!(words(begin(true)), (2, 0, vec![9]));
        assert_eq!(words(Content::End { done: false }), (3, 0, vec![]));
        assert_eq!(words(Content::End { done: true }), (3, 4, vec![]));
        assert_eq!(words(Content::EndAck), (4, 0, vec![]));
        assert_eq!(words(Content::Reject), (7, 0, vec![]));
        let poll = Poll { number: 5, next: 8 };
        let data = |poll, last| Content::Data {
            seq: 7,
            position: 999,
            len: 100,
            last,
            poll,
        };
        assert_eq!(words(data(None, false)), (8, 0, vec![7]));
        assert_eq!(words(data(Some(poll), true)), (8, 3, vec![7, 5, 8]));
        assert_eq!(words(Content::Poll(poll)), (10, 0, vec![5, 8]));
        let ustat = Content::Ustat {
            next: 3,
            credit: 20,
            gap: (4, 6),
        };
        assert_eq!(words(ustat), (12, 0, vec![20, 3, 4, 6]));
    }

    /// A list that ends with received packets has an odd number of elements.
    #[test]
    fn a_report_has_an_element_for_each_change() {
        let stat = |gaps: &[Span], edge| {
            words(Content::Stat(Stat {
                poll: 5,
                next: 3,
                credit: 20,
                gaps: gaps.to_vec(),
                edge,
            }))
        };
        assert_eq!(stat(&[], 3), (11, 0, vec![5, 20, 3]));
        assert_eq!(stat(&[(3, 4)], 9), (11, 0, vec![5, 20, 3, 3, 4, 9]));
        let numbers = vec![5, 20, 3, 3, 4, 8, 9];
        assert_eq!(stat(&[(3, 4), (8, 9)], 9), (11, 0, numbers));
    }
}
