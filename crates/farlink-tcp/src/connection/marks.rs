//! Congestion marks: those that ACKs report, and the feedback of those that arrive.

use super::Connection;
use super::acks::Arrival;
use crate::congestion::{Context, Feedback, MarkReport};
use crate::flight::context;
use crate::receive::AckNeed;
use crate::segment::{Flags, Segment};
use crate::time::Instant;

impl Connection {
    /// Returns whether the marks that an ACK reports are counted.
    #[inline]
    pub(super) fn counts_marks(&self) -> bool {
        let feedback = self.agreed.feedback;
        feedback != Feedback::None
            && (feedback == Feedback::Accurate
                || self.tx.flight.extras.marks.is_some()
                || self.tx.flight.board.rate.is_some())
    }

    /// Counts the marks that an ACK newly reports, after its SACK blocks were processed and before
    /// SND.UNA moves. An ACK without progress may be older than the last one, so its counts are
    /// ignored (RFC 9768, appendix A.1).
    #[inline(never)]
    pub(super) fn count_marks(
        &mut self,
        now: Instant,
        segment: &Segment,
        arrival: &mut Arrival,
        newly_sacked: u64,
    ) {
        let accurate = self.agreed.feedback == Feedback::Accurate;
        let progress = arrival.ack > arrival.una || newly_sacked > 0;
        if arrival.ack < arrival.una || (accurate && !progress) {
            return;
        }
        let mss = u64::from(self.tx.flight.mss);
        let (segments, bytes) = self.tx.flight.board.undelivered(arrival.ack);
        let mut report = MarkReport {
            delivered: bytes + newly_sacked,
            cwnd_limited: self.tx.flight.cwnd_limited(),
            ..MarkReport::default()
        };
        let segments = segments + newly_sacked.div_ceil(mss);
        if accurate {
            let marks = self.clocks.ecn.on_counts(segment, segments, mss);
            (report.marked, report.marked_packets) = (marks.bytes, marks.packets);
            let flight = &mut self.tx.flight;
            flight.loss.mark_echoed = marks.packets > 0;
            arrival.marked = (marks.packets > 0).then(|| flight.flight_at_loss());
        } else if arrival.marked.is_some() {
            (report.marked, report.marked_packets) = (report.delivered, segments);
        }
        let flight = &mut self.tx.flight;
        if let Some(rate) = &mut flight.board.rate {
            rate.on_marked(report.marked);
        }
        if report.delivered > 0 || report.marked > 0 {
            let cx = Context {
                snd_una: arrival.ack,
                ..context!(flight, now, flight.board.flight())
            };
            if let Some(counting) = flight.extras.marks.of_mut(&mut *flight.cc) {
                counting.on_marks(&cx, &report);
            }
        }
    }

    /// Starts with a window of one segment if the peer reported our SYN or SYN-ACK as marked (RFC
    /// 9768, 3.2.2.2; RFC 5562, 3.2).
    #[cold]
    pub(super) fn respond_to_marked_handshake(&mut self) {
        if self.clocks.ecn.handshake_marked() {
            let mss = u64::from(self.tx.flight.mss);
            self.tx.flight.cc.collapse(mss);
        }
    }

    /// Updates the echo for a segment in the window, with classic feedback; `fresh` is set if the
    /// segment carries new data within the window. Returns whether an ACK with the new echo is due
    /// at once. Waiting data is first acknowledged with the previous echo, so that the sender
    /// counts marked bytes exactly (RFC 8257, 3.2).
    pub(super) fn process_echo(&mut self, now: Instant, segment: &Segment, fresh: bool) -> bool {
        let changes = self.clocks.ecn.changes_echo(segment, fresh);
        if changes && self.rx.need() != AckNeed::None {
            let mut ack = Segment::default();
            self.ack_segment(now, &mut ack);
            self.reply = Some(Box::new(ack));
        }
        self.agreed.echo = self.clocks.ecn.on_segment(segment, fresh);
        changes
    }

    /// Counts the codepoint of a segment that arrived in the window, with Accurate ECN. Returns
    /// whether an ACK is due at once.
    pub(super) fn counts_codepoint(&mut self, segment: &Segment) -> bool {
        let waiting = !segment.body.is_empty() || self.rx.need() != AckNeed::None;
        !segment.flags.has(Flags::SYN) && self.clocks.ecn.counts(segment, waiting)
    }

    /// Returns whether a pure ACK must leave before data, because it reports the codepoint of a
    /// SYN-ACK (RFC 9768, 3.2.2.1).
    #[inline]
    pub(super) fn owes_handshake_ack(&self) -> bool {
        self.agreed.feedback == Feedback::Accurate
            && self.rx.need() == AckNeed::Now
            && self.clocks.ecn.owes_handshake_ack()
    }

    /// Writes the three bits of Accurate ECN into a segment. `bare` is set for an ACK without data.
    #[inline(never)]
    pub(super) fn write_count(&mut self, bare: bool, out: &mut Segment) {
        let pure = bare && out.options.sack.is_empty();
        let bits = self.clocks.ecn.ack_bits(pure);
        out.flags = out.flags.with(bits.flags);
        out.ae = bits.ae;
    }
}
