//! Careful Resume (RFC 9959): starts from half of the window that an earlier connection over the
//! same path reached, and retreats if the path no longer carries it.
//!
//! The method runs beside the controller, and sets its window and threshold. Where TCP differs from
//! the RFC's packets with numbers, positions of the stream take their place.

use super::{CongestionControl, Context, Extras, Resumable};
use crate::config::{InitialWindow, SavedPath, WindowConfig};
use crate::record::Mark;
use crate::seq::Offset;
use crate::time::Instant;

/// Share of the saved window that a connection may jump to (3.3: `saved_cwnd` / 2).
const JUMP_DIVISOR: u64 = 2;
/// Share of `PipeSize` that remains at the begin of a retreat (3.5).
const RETREAT_DIVISOR: u64 = 2;
/// 1 / Beta: share of `PipeSize` that becomes ssthresh after a retreat (3.5).
const BETA_DIVISOR: u64 = 2;
/// Multiple of the saved RTT above which the path is another one (4.2.1).
const MOST_RTTS: u64 = 10;

/// State of Careful Resume.
#[derive(Clone, Debug)]
pub(crate) struct Resume {
    saved: SavedPath,
    initial: InitialWindow,
    phase: Phase,
    /// `PipeSize`: bytes that the path is known to carry.
    pipe: u64,
    /// Bytes presumed lost before the jump.
    losses: u64,
}

/// Phase of RFC 9959, 3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The initial window is sent, and path and RTT are checked.
    Reconnaissance,
    /// The window is the jump. `first` is the position of the first unvalidated byte.
    Unvalidated { first: Offset, since: Instant },
    /// State after the last byte of the jump is sent. `last` is the position after that byte.
    Validating { last: Offset },
    /// Congestion followed the jump. The window is at most `bound` until `last` is acknowledged.
    SafeRetreat {
        last: Offset,
        bound: u64,
        /// Set after a time-out, which hides what arrived.
        timed_out: bool,
    },
    /// Careful Resume is over.
    Normal,
}

/// An ACK of new data, after the hooks of the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Bytes acknowledged for the first time.
    pub(crate) bytes: u64,
    /// Bytes in flight before the ACK.
    pub(crate) flight_before: u64,
    /// Set if cwnd limited the sender.
    pub(crate) cwnd_limited: bool,
    /// Bytes presumed lost since the connection began.
    pub(crate) losses: u64,
}

impl Resume {
    /// Returns the state that `config` selects, if the controller can follow it.
    pub(crate) fn new(config: &WindowConfig, extras: &Extras) -> Option<Box<Self>> {
        let able = extras.slow_start.is_some() || extras.resume.is_some();
        let saved = config.resume.filter(|_| able)?;
        Some(Box::new(Self {
            saved,
            initial: config.initial,
            phase: Phase::Reconnaissance,
            pipe: 0,
            losses: 0,
        }))
    }

    /// Returns whether the method has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Normal
    }

    /// Returns whether segments must be paced over the RTT.
    pub(crate) fn paces(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated { .. })
    }

    /// Returns whether the window is bounded after congestion.
    pub(crate) fn retreats(&self) -> bool {
        matches!(self.phase, Phase::SafeRetreat { .. })
    }

    /// Handles an ACK of new data, with the bytes in flight after it in `cx`. Returns the mark of a
    /// new phase.
    pub(crate) fn on_ack(
        &mut self,
        cc: &mut dyn CongestionControl,
        extras: &Extras,
        cx: &Context<'_>,
        ack: &Delivery,
    ) -> Option<Mark> {
        if self.phase == Phase::Reconnaissance {
            return self.reconnoitre(cc, extras, cx, ack);
        }
        let hidden = matches!(
            self.phase,
            Phase::SafeRetreat {
                timed_out: true,
                ..
            }
        );
        if !hidden {
            self.pipe += ack.bytes;
        }
        match self.phase {
            Phase::Unvalidated { first, since } => {
                let jump = self.jump();
                let late = cx.rtt.min().is_some_and(|rtt| cx.now.since(since) > rtt);
                let sent = ack.flight_before + cx.mss > jump;
                if cx.snd_una > first || late || sent || !may_jump(cc, extras) {
                    return Some(self.validate(cc, cx, ack.flight_before.min(jump)));
                }
                set_window(cc, jump); // the jump does not grow
                None
            }
            Phase::Validating { last } if cx.snd_una >= last => {
                self.phase = Phase::Normal;
                Some(Mark::ResumeNormal)
            }
            Phase::SafeRetreat { last, .. } if cx.snd_una >= last => {
                Some(self.end_retreat(cc, extras, cx, ack.losses))
            }
            Phase::SafeRetreat { bound, .. } => {
                let window = cc.cwnd().min(bound);
                set_window(cc, window);
                None
            }
            Phase::Validating { .. } | Phase::Reconnaissance | Phase::Normal => None,
        }
    }

    /// Holds the jump, or bounds the window in a retreat, after the controller's rate sample.
    pub(crate) fn after_sample(&self, cc: &mut dyn CongestionControl) {
        match self.phase {
            Phase::Unvalidated { .. } => set_window(cc, self.jump()),
            Phase::SafeRetreat { bound, .. } => {
                let window = cc.cwnd().min(bound);
                set_window(cc, window);
            }
            Phase::Reconnaissance | Phase::Validating { .. } | Phase::Normal => {}
        }
    }

    /// Handles a reduction of the controller's window by a loss, a mark or a time-out, with the
    /// position after the last byte sent and the MSS. Returns the mark of a new phase.
    pub(crate) fn on_reduction(
        &mut self,
        cc: &mut dyn CongestionControl,
        extras: &Extras,
        (sent, mss): (Offset, u64),
        timeout: bool,
    ) -> Option<Mark> {
        let last = match &mut self.phase {
            Phase::Reconnaissance => {
                self.phase = Phase::Normal;
                return Some(Mark::ResumeRefused);
            }
            Phase::Unvalidated { .. } => sent,
            Phase::Validating { last } => *last,
            Phase::SafeRetreat { timed_out, .. } => {
                *timed_out |= timeout;
                return None;
            }
            Phase::Normal => return None,
        };
        let bound = (self.pipe / RETREAT_DIVISOR).max(mss);
        self.phase = Phase::SafeRetreat {
            last,
            bound,
            timed_out: timeout,
        };
        let (window, ssthresh) = (cc.cwnd().min(bound), cc.ssthresh().min(bound));
        set_threshold(cc, extras, ssthresh, false);
        set_window(cc, window);
        Some(Mark::ResumeSafeRetreat)
    }

    /// Returns `jump_cwnd`.
    fn jump(&self) -> u64 {
        self.saved.cwnd / JUMP_DIVISOR
    }

    /// Handles an ACK in the Reconnaissance Phase: jumps once the initial window is acknowledged, if
    /// the saved parameters are of use and describe the path.
    fn reconnoitre(
        &mut self,
        cc: &mut dyn CongestionControl,
        extras: &Extras,
        cx: &Context<'_>,
        ack: &Delivery,
    ) -> Option<Mark> {
        if !ack.cwnd_limited {
            return None; // the application does not need a larger window yet
        }
        if cc.cwnd() >= self.jump() || !may_jump(cc, extras) {
            self.phase = Phase::Normal;
            return Some(Mark::ResumeRefused);
        }
        let rtt = cx.rtt.min()?;
        // The SYN takes position 0.
        if cx.snd_una <= self.initial.bytes(cx.mss as u32) {
            return None;
        }
        let age = self.saved.age + cx.now.since(Instant::ZERO);
        let saved = self.saved.rtt;
        if age > self.saved.lifetime || rtt + rtt <= saved || rtt > saved.saturating_mul(MOST_RTTS)
        {
            self.phase = Phase::Normal;
            return Some(Mark::ResumeRefused);
        }
        self.pipe = cx.flight;
        self.losses = ack.losses;
        self.phase = Phase::Unvalidated {
            first: cx.snd_max,
            since: cx.now,
        };
        set_window(cc, self.jump());
        Some(Mark::ResumeUnvalidated)
    }

    /// Ends the Unvalidated Phase, in which `flight` bytes were brought in flight. A jump that the
    /// application did not use ends the method (3.3).
    fn validate(&mut self, cc: &mut dyn CongestionControl, cx: &Context<'_>, flight: u64) -> Mark {
        let initial = self.initial.bytes(cx.mss as u32);
        if flight < initial || flight <= self.pipe {
            self.phase = Phase::Normal;
            set_window(cc, self.pipe.max(initial).min(self.jump()));
            return Mark::ResumeNormal;
        }
        self.phase = Phase::Validating { last: cx.snd_max };
        set_window(cc, flight);
        Mark::ResumeValidating
    }

    /// Ends the Safe Retreat Phase: slow start follows, up to Beta x `PipeSize`. The bytes that were
    /// lost after the jump were acknowledged as retransmissions, and do not count.
    fn end_retreat(
        &mut self,
        cc: &mut dyn CongestionControl,
        extras: &Extras,
        cx: &Context<'_>,
        losses: u64,
    ) -> Mark {
        let pipe = self.pipe.saturating_sub(losses - self.losses);
        let window = cc.cwnd();
        set_threshold(cc, extras, (pipe / BETA_DIVISOR).max(2 * cx.mss), true);
        set_window(cc, window);
        self.phase = Phase::Normal;
        Mark::ResumeNormal
    }
}

/// Returns whether the controller's own signal shows no congestion.
fn may_jump(cc: &dyn CongestionControl, extras: &Extras) -> bool {
    extras.resume.of(cc).is_none_or(Resumable::may_jump)
}

/// Sets the threshold, and perhaps the window with it. `grows` is set at the end of a retreat.
fn set_threshold(cc: &mut dyn CongestionControl, extras: &Extras, ssthresh: u64, grows: bool) {
    if let Some(controller) = extras.slow_start.of_mut(cc) {
        controller.end_slow_start(ssthresh);
    } else if let Some(controller) = extras.resume.of_mut(cc) {
        controller.limit(ssthresh, grows);
    }
}

/// Sets the window, and leaves the threshold.
fn set_window(cc: &mut dyn CongestionControl, window: u64) {
    if cc.cwnd() != window {
        cc.collapse(window);
    }
}

#[cfg(test)]
mod tests;
