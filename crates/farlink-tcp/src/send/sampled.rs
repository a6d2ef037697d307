//! Samples of the round trip and of the delivery rate.

use super::Sender;
use crate::flight::{Flight, context};
use crate::rate::RateSample;
use crate::record::{Record, Recorder};
use crate::time::{Instant, Interval};

impl Sender {
    /// Adds the RTT sample of a segment sent at `sent`.
    #[inline]
    pub(super) fn sample(
        &mut self,
        now: Instant,
        sent: Instant,
        recorder: &mut Recorder,
    ) -> Interval {
        self.flight
            .rtt
            .window(self.flight.board.una(), self.flight.board.max());
        let rtt = self.flight.rtt.sample(sent, now);
        let Flight {
            loss,
            rtt: estimator,
            ..
        } = &mut self.flight;
        loss.spurious.on_rtt_sample(estimator, sent, rtt);
        self.recovery.on_rtt_sample();
        let rto = self.flight.rto();
        recorder.emit(now, Record::Rtt { rtt, rto });
        rtt
    }

    /// Processes an ACK that SACKs data but does not advance SND.UNA.
    #[inline]
    pub(crate) fn sacked_only(&mut self, now: Instant, recorder: &mut Recorder) {
        let Some(sent) = self.flight.board.first_sacked.get() else {
            return; // every SACKed segment was retransmitted
        };
        if self.flight.config().rto.from_sack {
            self.sample(now, sent, recorder);
        }
        // SACKs of later segments do not restart the timer. Otherwise a first segment that is lost
        // repeatedly would never time out.
        if self.flight.config().restart_on_sack
            && self.flight.timer_runs()
            && self
                .flight
                .board
                .front()
                .is_some_and(|front| sent < front.at)
        {
            self.flight.restart_timer(now);
        }
    }

    /// Bytes in the network, for a controller that takes rate samples.
    #[inline]
    pub(crate) fn rated_flight(&self) -> Option<u64> {
        self.flight.board.rate.is_some().then(|| self.in_network())
    }

    /// Returns the estimated bytes in the network.
    fn in_network(&self) -> u64 {
        if self.flight.loss.sacking {
            self.flight.board.pipe()
        } else {
            self.flight.board.flight()
        }
    }

    /// Passes the rate sample of an ACK to the controller, if the ACK delivered anything.
    /// `prior_flight` is the bytes in the network before the ACK.
    #[inline(never)] // keeps rare code out of the instruction cache
    pub(crate) fn sample_rate(&mut self, now: Instant, prior_flight: u64) {
        let flight = self.in_network();
        self.report_lost_segments(now, prior_flight);
        let selective = self.flight.loss.sacking;
        let Some(rate) = &mut self.flight.board.rate else {
            return;
        };
        let Some(sample) = rate.finish_ack(now) else {
            return;
        };
        let sample = RateSample {
            selective,
            prior_flight,
            flight,
            ..sample
        };
        let cx = context!(self.flight, now, prior_flight);
        let Some(model) = self.flight.extras.rate.of_mut(&mut *self.flight.cc) else {
            return;
        };
        model.on_rate_sample(&cx, &sample);
        if model.limits_itself()
            && let Some(rate) = &mut self.flight.board.rate
        {
            rate.mark_app_limited(flight);
        }
        if let Some(rare) = &self.flight.rare
            && let Some(resume) = &rare.resume
        {
            resume.after_sample(&mut *self.flight.cc);
        }
    }

    /// Passes the segments marked lost since the last ACK to a controller that asks for them.
    fn report_lost_segments(&mut self, now: Instant, prior_flight: u64) {
        let rate = self.flight.board.rate.as_mut();
        let Some((segments, delivered)) = rate.and_then(|rate| rate.take_lost_segments()) else {
            return;
        };
        let cx = context!(self.flight, now, prior_flight);
        if let Some(model) = self.flight.extras.losses.of_mut(&mut *self.flight.cc) {
            model.on_segments_lost(&cx, &segments, delivered);
        }
    }

    /// Drops the rate sample of a SYN.
    pub(crate) fn skip_sample(&mut self, now: Instant) {
        if let Some(rate) = &mut self.flight.board.rate {
            rate.finish_ack(now);
        }
    }

    /// Marks following samples as application-limited if no full segment is queued, the window has
    /// room and no loss awaits repair (draft-cheng-iccrg-delivery-rate-estimation-00, 3.4).
    #[inline]
    pub(super) fn application_limits(&mut self) {
        if self.flight.board.rate.is_none() {
            return;
        }
        let unsent = self.buffer.end().saturating_sub(self.flight.board.max());
        let flight = self.in_network();
        if unsent < u64::from(self.flight.mss)
            && flight < self.flight.cwnd()
            && let Some(rate) = &mut self.flight.board.rate
        {
            rate.mark_app_limited(flight);
        }
    }
}
