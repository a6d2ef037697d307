//! Round-trip samples, and what SACKed data is to them and to the timer.

use super::Sender;
use crate::record::{Record, Recorder};
use crate::time::{Instant, Interval};

impl Sender {
    /// A segment that left at `sent` gives a round-trip sample.
    #[inline]
    pub(super) fn sample(
        &mut self,
        now: Instant,
        sent: Instant,
        recorder: &mut Recorder,
    ) -> Interval {
        self.rtt.window(self.board.una(), self.board.max());
        let rtt = self.rtt.sample(sent, now);
        self.spurious.sampled(&mut self.rtt, sent, rtt);
        if let Some(rack) = self.loss.rack_mut() {
            rack.sampled();
        }
        let rto = self.rto();
        recorder.emit(now, Record::Rtt { rtt, rto });
        rtt
    }

    /// An ACK of nothing new has SACKed something.
    #[inline]
    pub(crate) fn sacked_only(&mut self, now: Instant, recorder: &mut Recorder) {
        let Some(sent) = self.board.first_sacked.get() else {
            return; // nothing that was sent once
        };
        if self.config().rto.from_sack {
            self.sample(now, sent, recorder);
        }
        // Had it left later, then a first segment that is lost again and again
        // would never time out.
        if self.config().restart_on_sack
            && self.timer_runs()
            && self.board.front().is_some_and(|front| sent < front.at)
        {
            self.restart_timer(now);
        }
    }
}
