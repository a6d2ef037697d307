//! Choice of the next segment, or the reason why none may be sent.

use super::blocked::BlockedOn;
use super::{Choice, Chunk, Sender};
use crate::config::Nagle;
use crate::limit::Limit;
use crate::reason::Reason;
use crate::recovery::frto::Frto;
use crate::scoreboard::Sent;
use crate::time::Instant;
use crate::timers::Timer;

impl Sender {
    /// Returns the reason why sending last stopped. Pacing counts only if both windows have room
    /// for a segment.
    #[inline(always)] // called after each packet
    pub(crate) fn limit(&self) -> Limit {
        match self.blocked_on {
            BlockedOn::Cwnd => Limit::CongestionWindow,
            BlockedOn::Peer | BlockedOn::Window => Limit::ReceiveWindow,
            BlockedOn::Pace if self.buffer.end() > self.flight.board.max() => {
                let unsent = self.buffer.end() - self.flight.board.max();
                let next = u64::from(self.flight.mss).min(unsent);
                if self.flight.assumed_edge() < self.flight.board.max() + next {
                    Limit::ReceiveWindow
                } else if self.used() + next > self.flight.cwnd() {
                    Limit::CongestionWindow
                } else {
                    Limit::Pacing
                }
            }
            BlockedOn::Pace | BlockedOn::Idle if self.cut_short && self.buffer.fin().is_none() => {
                Limit::SendBuffer
            }
            BlockedOn::Pace | BlockedOn::Idle => Limit::Application,
        }
    }

    /// Returns the later of the last send time and the last restart of the retransmission timer.
    pub(crate) fn quiet_since(&self) -> Instant {
        self.last_sent.max(self.flight.timer_restarted)
    }

    /// Returns whether all data is sent and acknowledged and no probe is due, as at the receiving
    /// end. [`Self::choose`] gives the same result after more checks.
    #[inline]
    pub(super) fn only_receives(&self, now: Instant) -> bool {
        let max = self.flight.board.max();
        self.flight.board.is_empty()
            && max >= self.buffer.end()
            && max > 0
            && self.buffer.fin() != Some(max)
            && self.pacing_allows(now)
            && !self.probe
            && self.flight.board.rate.is_none()
            && self.recovery.rack().is_none_or(|rack| !rack.probe_due())
            && self.frto == Frto::Off
    }

    /// Stores the reason why sending stops now.
    #[inline]
    pub(super) fn block(&mut self, now: Instant, on: BlockedOn) {
        self.blocked_on = on;
        if on == BlockedOn::Pace {
            self.flight.timers.set(Timer::Pacing, self.paced_until);
            return;
        }
        let (una, max) = (self.flight.board.una(), self.flight.board.max());
        if on == BlockedOn::Cwnd {
            self.flight.usage.note_full(max);
            return;
        }
        let used = self.used();
        let full = used + u64::from(self.flight.mss) > self.flight.cwnd();
        self.flight.usage.note(full, used, una, max);
        if on == BlockedOn::Window {
            if !self.flight.timers.runs(Timer::Persist) {
                self.flight
                    .timers
                    .set(Timer::Persist, self.flight.rtt.deadline(now));
            }
        } else {
            self.application_limits();
        }
    }

    #[inline]
    pub(super) fn choose(&mut self, now: Instant) -> Result<Choice, BlockedOn> {
        if let Some(probe) = self.tail_probe() {
            return Ok(probe);
        }
        if !self.pacing_allows(now) && !self.probe {
            // Pacing is the reason only if a segment could be sent otherwise.
            return Err(BlockedOn::Pace);
        }
        if self.probe {
            self.probe = false;
            if let Some(front) = self.flight.board.front().copied() {
                let probe = self.again(front).because(Reason::WindowProbe);
                return Ok((probe, Some(0)));
            }
            return self
                .fresh(1, true)
                .map(|c| (c.because(Reason::WindowProbe), None))
                .ok_or(BlockedOn::Idle);
        }
        if let Some(choice) = self.frto_choice() {
            return choice;
        }
        // Before the first SACK or loss, `next_lost` costs one comparison.
        if let Some((i, sent)) = self.flight.board.next_lost() {
            if i > 0 && self.flight.board.una() == 0 {
                return Err(BlockedOn::Idle); // before the handshake only the SYN goes again
            }
            let repair = self.flight.extras.repair.of(&*self.flight.cc);
            let burst = self.flight.loss.after_timeout
                && repair
                    .is_some_and(|repair| self.retransmitted_in_row >= repair.retransmit_limit());
            let force = self.flight.loss.force || self.recovery.sends_lost_at_once(&self.flight);
            // A FIN does not count, so that a full segment with FIN fits a window of one segment.
            let chunk = self.again(sent);
            if !burst && (force || self.used() + u64::from(chunk.len) <= self.flight.cwnd()) {
                self.flight.loss.force = false;
                return Ok((chunk, Some(i)));
            }
            return Err(BlockedOn::Cwnd);
        }
        self.flight.loss.force = false;
        if self.flight.board.una() == 0 {
            return if self.early {
                self.choose_early(now)
            } else {
                Err(BlockedOn::Idle) // data waits for the handshake
            };
        }
        let result = self.choose_new(now, 0);
        if result.is_err() && self.recovery.counts_holes(&self.flight) {
            if self.flight.cwnd() < self.flight.board.pipe() + u64::from(self.flight.mss) {
                return Err(BlockedOn::Cwnd);
            }
            // NextSeg, rule (3).
            if let Some((i, sent)) = self.flight.board.next_hole() {
                return Ok((self.again(sent).because(Reason::SackHole), Some(i)));
            }
            // NextSeg, rule (4), restricted to its purpose, the end of the data. Taken literally,
            // the rule would send one segment twice in each recovery of a flow that the peer's
            // window limits.
            if self.flight.board.max() >= self.buffer.end()
                && self.recovery.may_rescue(self.flight.board.una())
                && let Some((i, sent)) = self.flight.board.last_hole()
            {
                self.recovery.rescued(&self.flight);
                return Ok((self.again(sent).because(Reason::Rescue), Some(i)));
            }
        }
        result.map(|c| (c, None))
    }

    /// Returns the bytes charged to a window.
    #[inline(always)] // called for each segment
    pub(super) fn used(&self) -> u64 {
        if self.flight.loss.counts_pipe() {
            self.flight.board.pipe()
        } else {
            self.flight.board.flight()
        }
    }

    /// Chooses data before the end of the handshake. The FIN is not sent before that end.
    #[cold]
    #[inline(never)]
    fn choose_early(&mut self, now: Instant) -> Result<Choice, BlockedOn> {
        let chunk = self.choose_new(now, 1)?;
        let data = Chunk {
            fin: false,
            ..chunk
        };
        (chunk.len > 0)
            .then_some((data, None))
            .ok_or(BlockedOn::Idle)
    }

    /// Chooses new data. `syn` is the sequence space of a SYN in flight, which uses no window.
    #[inline(always)] // called for each segment; elsewhere only before the handshake
    fn choose_new(&mut self, now: Instant, syn: u64) -> Result<Chunk, BlockedOn> {
        let max = self.flight.board.max();
        let unsent = self.buffer.end().saturating_sub(max);
        if unsent == 0 {
            let fin_due = self.buffer.fin() == Some(max);
            return if fin_due {
                self.fresh(0, false).ok_or(BlockedOn::Idle)
            } else {
                Err(BlockedOn::Idle)
            };
        }
        if self.flight.board.is_empty() && self.flight.board.una() > 1 {
            self.idle.restart(&mut self.flight, now, self.last_sent);
        }
        let usable = self.flight.assumed_edge().saturating_sub(max);
        let mss = u64::from(self.flight.mss);
        let mut len = mss.min(unsent).min(usable);
        // Sender's silly-window avoidance (RFC 9293, 3.8.6.2.1) with Nagle.
        let worth = len == mss
            || (len == unsent && (!self.nagle_holds() || self.buffer.fin().is_some()))
            || (len > 0 && len >= self.flight.peer.largest / 2 && !self.nagle_holds())
            || (len > 0 && self.nagle == Nagle::Fill);
        if !worth {
            return Err(match len < unsent {
                false => BlockedOn::Idle,
                true if self.flight.board.is_empty() => BlockedOn::Window,
                true => BlockedOn::Peer,
            });
        }
        let window = self
            .flight
            .cwnd()
            .saturating_add(syn + self.flight.loss.limited_transmit_credit(mss));
        if self.nagle == Nagle::Fill {
            len = len.min(window.saturating_sub(self.used()));
        }
        if len == 0 || self.used() + len > window {
            return Err(BlockedOn::Cwnd);
        }
        self.fresh(len as u32, false).ok_or(BlockedOn::Idle)
    }

    /// Returns whether a segment that is not full must wait.
    fn nagle_holds(&self) -> bool {
        match self.nagle {
            Nagle::Off | Nagle::Fill => false,
            // A SYN is no data.
            Nagle::Rfc896 => self.flight.board.max() > self.flight.board.una().max(1),
            Nagle::Minshall => self.small_end > self.flight.board.una(),
        }
    }

    /// Returns a chunk of up to `len` bytes that were never sent, with the FIN if the chunk ends
    /// the stream.
    pub(super) fn fresh(&self, len: u32, probe: bool) -> Option<Chunk> {
        let start = self.flight.board.max();
        let len = if probe {
            let unsent = self.buffer.end().saturating_sub(start);
            let usable = self.flight.assumed_edge().saturating_sub(start);
            // With a zero window the probe has one byte. With a small window the probe fills it, as
            // the override of silly-window avoidance.
            unsent.min(usable.clamp(1, u64::from(self.flight.mss))) as u32
        } else {
            len
        };
        let fin = self.buffer.fin() == Some(start + u64::from(len));
        (len > 0 || fin).then_some(Chunk {
            start,
            len,
            syn: false,
            fin,
            retransmission: false,
            why: Some(Reason::NewData),
        })
    }

    /// Returns the chunk that retransmits the scoreboard record `sent`.
    pub(super) fn again(&self, sent: Sent) -> Chunk {
        let fin = self.buffer.fin().is_some_and(|fin| sent.end() > fin);
        let syn = sent.start == 0;
        Chunk {
            start: sent.start,
            len: sent.len - u32::from(fin) - u32::from(syn),
            syn,
            fin,
            retransmission: true,
            why: None,
        }
    }
}

impl Chunk {
    /// Returns the chunk with the reason of its choice.
    #[inline]
    pub(super) fn because(self, reason: Reason) -> Self {
        Self {
            why: Some(reason),
            ..self
        }
    }
}
