//! DCTCP (RFC 8257): a mark reduces cwnd in proportion to the share of marked data.
//!
//! The sender estimates the share once per window of data: alpha = (1 - g) alpha + g F. A window
//! with marks reduces cwnd to cwnd (1 - alpha / 2). Growth, and the response to losses, are Reno's.

mod share;
#[cfg(test)]
mod tests;

use super::extras::access;
use super::metric::metric;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, EndSlowStart, Extras, Feedback, Input,
    Loss, MarkCounting, MarkReport, Parameter, Range, RecoveryWindow, Reno, Setting, Start,
    UndoReduction, Undone, Word,
};
use crate::seq::Offset;
use farlink_small::reference;
use share::Share;

/// The DCTCP controller.
#[derive(Debug)]
pub struct Dctcp {
    reno: Reno,
    share: Share,
    /// `WindowEnd` of RFC 8257, 3.3: SND.NXT when the observation window began.
    window_end: Offset,
    /// `BytesAcked` and `BytesMarked` of the observation window.
    acked: u64,
    marked: u64,
}

impl Dctcp {
    /// Description of DCTCP for the table of algorithms.
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "dctcp",
        summary: "Reno that reduces cwnd by half the share of marked data (RFC 8257)",
        parameters: &[
            Parameter {
                name: "g",
                doc: reference(
                    "weight of a new share in the estimate alpha (RFC 8257, 4.2); \"linux\" \
                      rounds it to a power of two",
                ),
                default: Setting::Number(0.0625),
                range: Range::Number(0.000_977, 1.0),
            },
            Parameter {
                name: "initial_alpha",
                doc: reference("estimate before the first window of data (RFC 8257, 4.2: 1)"),
                default: Setting::Number(1.0),
                range: Range::Number(0.0, 1.0),
            },
            Parameter {
                name: "arithmetic",
                doc: reference(
                    "computation of alpha: \"exact\" as printed; \"linux\" in whole parts of \
                      1,024, with cwnd in whole segments (tcp_dctcp.c)",
                ),
                default: Setting::Choice("exact"),
                range: Range::Choice(&[Word("exact", ""), Word("linux", "")]),
            },
        ],
        metrics: &[metric!(
            "alpha",
            "",
            "alpha, the estimated share of marked data",
            |dctcp: &Self, _: &Context<'_>| Some(dctcp.share.alpha())
        )],
        inputs: Input::ALL,
        recovery_window: |_| RecoveryWindow::Ssthresh,
        extras: Extras {
            undo: access!(Self),
            slow_start: access!(Self),
            marks: access!(Self),
            ..Extras::NONE
        },
        build: |control, start| Box::new(Self::new(control, start)),
    };

    fn new(control: &Control, start: Start) -> Self {
        Self {
            reno: Reno::new(&Control::new(&Reno::ALGORITHM), start),
            share: Share::new(
                control.choice("arithmetic") == "linux",
                control.number("g"),
                control.number("initial_alpha"),
            ),
            window_end: 0,
            acked: 0,
            marked: 0,
        }
    }
}

impl MarkCounting for Dctcp {
    fn on_agreed(&mut self, _feedback: Feedback) {}

    /// Counts an ACK, and updates alpha at the end of an observation window (RFC 8257, 3.3).
    fn on_marks(&mut self, cx: &Context<'_>, report: &MarkReport) {
        self.acked += report.delivered;
        self.marked += report.marked;
        if !self.share.window_is_over(cx.snd_una, self.window_end) {
            return;
        }
        self.share.update(self.acked, self.marked, cx.mss);
        (self.acked, self.marked) = (0, 0);
        self.window_end = cx.snd_max;
    }
}

impl CongestionControl for Dctcp {
    fn cwnd(&self) -> u64 {
        self.reno.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.reno.ssthresh()
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        self.reno.on_ack(cx, ack);
    }

    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss) {
        self.reno.on_loss(cx, loss);
    }

    /// Reduces cwnd by alpha / 2 (RFC 8257, 3.3).
    fn on_congestion_mark(&mut self, cx: &Context<'_>, _loss: &Loss) {
        let window = self.share.reduced(self.cwnd(), cx.mss);
        self.reno.reduce_to(window.max(2 * cx.mss));
    }

    fn on_recovered(&mut self, cx: &Context<'_>, window: u64) {
        self.reno.on_recovered(cx, window);
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        self.reno.on_timeout(cx, first);
    }

    fn collapse(&mut self, window: u64) {
        self.reno.collapse(window);
    }

    fn raise_ssthresh(&mut self, least: u64) {
        self.reno.raise_ssthresh(least);
    }

    fn on_idle(&mut self, cx: &Context<'_>, initial_window: u64) {
        self.reno.on_idle(cx, initial_window);
    }
}

impl EndSlowStart for Dctcp {
    fn end_slow_start(&mut self, window: u64) {
        self.reno.end_slow_start(window);
    }
}

impl UndoReduction for Dctcp {
    fn on_spurious(&mut self, cx: &Context<'_>, undone: &Undone) {
        self.reno.on_spurious(cx, undone);
    }
}
