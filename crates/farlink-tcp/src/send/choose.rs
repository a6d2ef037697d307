//! Choice of the next segment, or of the reason why none leaves.

use super::held::Held;
use super::{Choice, Chunk, Sender};
use crate::config::Nagle;
use crate::recovery::frto;
use crate::scoreboard::Sent;
use crate::time::Instant;
use crate::timers::Timer;

impl Sender {
    /// Returns whether everything is sent and acknowledged and nothing else may have to leave, as
    /// at the receiving end. [`Self::choose`] would find the same, after many checks.
    #[inline]
    pub(super) fn only_receives(&self, now: Instant) -> bool {
        let max = self.board.max();
        self.board.is_empty()
            && max >= self.buffer.end()
            && max > 0
            && self.buffer.fin() != Some(max)
            && now >= self.paced_until
            && !self.probe
            && self.board.rate.is_none()
            && self.loss.rack().is_none_or(|rack| !rack.probes())
            && self.spurious.frto == frto::Frto::Off
    }

    /// Nothing more may leave now.
    #[inline]
    pub(super) fn hold(&mut self, now: Instant, held: Held) {
        self.held = held;
        if held == Held::Pace {
            self.timers.set(Timer::Pacing, self.paced_until);
            return;
        }
        let (una, max) = (self.board.una(), self.board.max());
        if held == Held::Cwnd {
            self.usage.note_full(max);
            return;
        }
        let used = self.used();
        let full = used + u64::from(self.mss) > self.cwnd();
        self.usage.note(full, used, una, max);
        if held == Held::Window {
            if !self.timers.runs(Timer::Persist) {
                self.timers.set(Timer::Persist, self.rtt.deadline(now));
            }
        } else {
            self.application_limits();
        }
    }

    #[inline]
    pub(super) fn choose(&mut self, now: Instant) -> Result<Choice, Held> {
        if let Some(probe) = self.tail_probe() {
            return Ok(probe);
        }
        if now < self.paced_until && !self.probe {
            // Only what could leave is held back.
            return Err(Held::Pace);
        }
        if self.probe {
            self.probe = false;
            if let Some(front) = self.board.front().copied() {
                return Ok((self.again(front), Some(0)));
            }
            return self.fresh(1, true).map(|c| (c, None)).ok_or(Held::Idle);
        }
        if let Some(choice) = self.frto_choice() {
            return choice;
        }
        // Before the first SACK or loss this is one comparison.
        if let Some((i, sent)) = self.board.next_lost() {
            if i > 0 && self.board.una() == 0 {
                return Err(Held::Idle); // before the handshake only the SYN goes again
            }
            let repair = self.extras.repair.of(&*self.cc);
            let burst = self.loss.after_timeout()
                && repair.is_some_and(|repair| self.sent_again >= repair.retransmit_limit());
            let force = self.loss.force || self.loss.sends_lost_at_once();
            // A FIN is no data: a full segment with one fits a window of a segment.
            let chunk = self.again(sent);
            if !burst && (force || self.used() + u64::from(chunk.len) <= self.cwnd()) {
                self.loss.force = false;
                return Ok((chunk, Some(i)));
            }
            return Err(Held::Cwnd);
        }
        self.loss.force = false;
        if self.board.una() == 0 {
            return if self.early {
                self.choose_early(now)
            } else {
                Err(Held::Idle) // data waits for the handshake
            };
        }
        let result = self.choose_new(now, 0);
        if result.is_err() && self.loss.counts_holes() {
            if self.cwnd() < self.board.pipe() + u64::from(self.mss) {
                return Err(Held::Cwnd);
            }
            // NextSeg, rule (3).
            if let Some((i, sent)) = self.board.next_hole() {
                return Ok((self.again(sent), Some(i)));
            }
            // NextSeg, rule (4), for what it is there for: the end of the data.
            // By the letter it would also send a segment twice in each recovery
            // of a flow that the peer's window limits.
            if self.board.max() >= self.buffer.end()
                && self.loss.may_rescue(self.board.una())
                && let Some((i, sent)) = self.board.last_hole()
            {
                self.loss.rescued();
                return Ok((self.again(sent), Some(i)));
            }
        }
        result.map(|c| (c, None))
    }

    /// Returns the bytes charged to a window.
    #[inline(always)] // asked for each segment
    pub(super) fn used(&self) -> u64 {
        if self.loss.counts_pipe() {
            self.board.pipe()
        } else {
            self.board.flight()
        }
    }

    /// Before the handshake is over: all but the FIN, which waits for it.
    #[cold]
    #[inline(never)]
    fn choose_early(&mut self, now: Instant) -> Result<Choice, Held> {
        let chunk = self.choose_new(now, 1)?;
        let data = Chunk {
            fin: false,
            ..chunk
        };
        (chunk.len > 0).then_some((data, None)).ok_or(Held::Idle)
    }

    /// Chooses new data. `syn` is the sequence space of a SYN in flight, which takes no window.
    #[inline(always)] // asked for each segment, and elsewhere only before the handshake
    fn choose_new(&mut self, now: Instant, syn: u64) -> Result<Chunk, Held> {
        let max = self.board.max();
        let unsent = self.buffer.end().saturating_sub(max);
        if unsent == 0 {
            let fin_due = self.buffer.fin() == Some(max);
            return if fin_due {
                self.fresh(0, false).ok_or(Held::Idle)
            } else {
                Err(Held::Idle)
            };
        }
        if self.board.is_empty() && self.board.una() > 1 {
            self.restart_after_idle(now);
        }
        let usable = self.believed_edge().saturating_sub(max);
        let mss = u64::from(self.mss);
        let len = mss.min(unsent).min(usable);
        // Sender's silly-window avoidance (RFC 9293, 3.8.6.2.1) with Nagle.
        let worth = len == mss
            || (len == unsent && (!self.nagle_holds() || self.buffer.fin().is_some()))
            || (len > 0 && len >= self.max_wnd / 2 && !self.nagle_holds());
        if !worth {
            return Err(match len < unsent {
                false => Held::Idle,
                true if self.board.is_empty() => Held::Window,
                true => Held::Peer,
            });
        }
        let window = self
            .cwnd()
            .saturating_add(syn + self.loss.limited_transmit_credit(mss));
        if self.used() + len > window {
            return Err(Held::Cwnd);
        }
        self.fresh(len as u32, false).ok_or(Held::Idle)
    }

    /// Returns whether a segment that is not full must wait.
    fn nagle_holds(&self) -> bool {
        match self.nagle {
            Nagle::Off => false,
            // A SYN is no data.
            Nagle::Rfc896 => self.board.max() > self.board.una().max(1),
            Nagle::Minshall => self.small_end > self.board.una(),
        }
    }

    /// A piece of up to `len` bytes never sent before, the FIN with the last.
    pub(super) fn fresh(&self, len: u32, probe: bool) -> Option<Chunk> {
        let start = self.board.max();
        let len = if probe {
            let unsent = self.buffer.end().saturating_sub(start);
            let usable = self.believed_edge().saturating_sub(start);
            // Zero window: one byte. A small one: what it takes, in spite of
            // silly-window avoidance, whose override this is.
            unsent.min(usable.clamp(1, u64::from(self.mss))) as u32
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
        })
    }

    /// The piece that a record stands for.
    pub(super) fn again(&self, sent: Sent) -> Chunk {
        let fin = self.buffer.fin().is_some_and(|fin| sent.end() > fin);
        let syn = sent.start == 0;
        Chunk {
            start: sent.start,
            len: sent.len - u32::from(fin) - u32::from(syn),
            syn,
            fin,
            retransmission: true,
        }
    }
}
