//! Fast path for full segments of a stream, and for the ACKs of an end that only receives.

use crate::connection::{Connection, State};
use crate::receive::AckNeed;
use crate::segment::Segment;
use crate::send::{BurstBudget, Streamed};
use crate::time::Instant;

impl Connection {
    /// Sends the next full segment of a stream. Falls back to [`Connection::transmit`].
    #[inline(always)] // called for each segment sent
    pub(in crate::connection) fn fast_transmit(
        &mut self,
        now: Instant,
        burst: &mut BurstBudget,
        out: &mut Segment,
    ) -> bool {
        let streamed = if burst.has_next(self.tx.flight.mss) {
            self.tx.fast_next_in_burst(now, burst)
        } else {
            let ordinary =
                self.predicts && self.state == State::Established && self.reply.is_none();
            if !ordinary {
                return self.transmit(now, out);
            }
            self.tx.fast_next(now, burst)
        };
        match streamed {
            Streamed::Segment(chunk) => {
                self.build_data(now, &chunk, out);
                true
            }
            Streamed::Full if self.rx.need() == AckNeed::Now || self.dummy_acks > 0 => {
                self.transmit(now, out)
            }
            Streamed::Full => {
                self.note_state(now);
                false
            }
            Streamed::Unknown => self.transmit(now, out),
        }
    }

    /// Sends the due ACK of an end that only receives.
    #[inline(always)] // like `build_ack`
    pub(in crate::connection) fn fast_transmit_ack(
        &mut self,
        now: Instant,
        out: &mut Segment,
    ) -> bool {
        let due = self.rx.need() == AckNeed::Now;
        if due {
            self.build_ack(now, out);
        }
        due
    }
}
