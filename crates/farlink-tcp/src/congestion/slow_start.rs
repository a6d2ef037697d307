//! Rules that end slow start before a loss, for any controller that can set its threshold.
//!
//! The rule runs beside the controller. It may scale the bytes that an ACK counts, and it sets the
//! controller's window and threshold when slow start ends.

use super::hystart::{GROWTH_LIMIT, Growth, HyStart};
use super::hystart_classic::Classic;
use super::search::Search;
use super::{Ack, CongestionControl, Context, Extras};
use crate::config::WindowConfig;
use crate::record::Mark;

/// Rule that ends slow start before a loss (`tcp.slow_start`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SlowStartExit {
    /// The congestion control's own rule: a loss, a mark or the threshold.
    #[default]
    Standard,
    /// HyStart (Ha and Rhee 2011) as in Linux.
    HyStart,
    /// HyStart++ (RFC 9406).
    HyStartPlusPlus,
    /// SEARCH (draft-chung-ccwg-search-09).
    Search,
}

/// Rule in use, with its state.
#[derive(Clone, Debug)]
pub(crate) struct SlowStart(Rule);

#[allow(clippy::large_enum_variant)] // one per connection at most, behind a pointer
#[derive(Clone, Debug)]
enum Rule {
    HyStart(Classic, Paced),
    PlusPlus(HyStart, Paced),
    Search(Search),
}

/// Set if segments are paced.
type Paced = bool;

impl SlowStart {
    /// Returns the rule that `config` selects, if the controller can follow it.
    pub(crate) fn new(config: &WindowConfig, extras: &Extras) -> Option<Box<Self>> {
        let paced = config.pacing.is_some();
        let rule = match config.slow_start {
            SlowStartExit::Standard => return None,
            SlowStartExit::HyStart => Rule::HyStart(Classic::new(paced), paced),
            SlowStartExit::HyStartPlusPlus => Rule::PlusPlus(HyStart::default(), paced),
            SlowStartExit::Search => Rule::Search(Search::new()),
        };
        extras.slow_start.is_some().then(|| Box::new(Self(rule)))
    }

    /// Handles an ACK of new data in slow start, in place of [`CongestionControl::on_ack`]. Returns
    /// the reason if slow start ends.
    pub(crate) fn on_ack(
        &mut self,
        cc: &mut dyn CongestionControl,
        extras: &Extras,
        cx: &Context<'_>,
        ack: &Ack,
    ) -> Option<Mark> {
        let cwnd = cc.cwnd();
        let (end, mark) = match &mut self.0 {
            Rule::HyStart(classic, _) => {
                let ends = classic.on_ack(cx, ack, cwnd);
                (ends.then_some(cwnd), classic.sign())
            }
            Rule::PlusPlus(hystart, paced) => {
                let limit = if *paced {
                    u64::MAX
                } else {
                    GROWTH_LIMIT * cx.mss
                };
                let (bytes, ends) = match hystart.on_ack(cx, ack, limit) {
                    Growth::Grow(bytes) => (bytes, false),
                    Growth::GrowAndExit(bytes) => (bytes, true),
                };
                cc.on_ack(cx, &Ack { bytes, ..*ack });
                if !ends {
                    return None;
                }
                let window = cc.cwnd();
                end_slow_start(cc, extras, window);
                return Some(Mark::ConservativeSlowStart);
            }
            Rule::Search(search) => {
                let target = search.on_ack(cx, ack.fine_rtt.or(ack.rtt_sample));
                let window = target.map(|target| target.clamp((2 * cx.mss).min(cwnd), cwnd));
                (window, Mark::Search)
            }
        };
        if let Some(window) = end {
            end_slow_start(cc, extras, window);
        }
        cc.on_ack(cx, ack);
        end.map(|_| mark)
    }

    /// Returns the rule for the next slow start after an exit, a loss, a mark or a time-out. HyStart
    /// applies to every slow start and begins anew at a time-out; the others apply to the first.
    pub(crate) fn keep(&self, timeout: bool) -> Option<Self> {
        let rule = match self.0 {
            Rule::HyStart(_, paced) if timeout => Rule::HyStart(Classic::new(paced), paced),
            Rule::HyStart(..) => return Some(self.clone()),
            Rule::PlusPlus(..) | Rule::Search(_) => return None,
        };
        Some(Self(rule))
    }
}

fn end_slow_start(cc: &mut dyn CongestionControl, extras: &Extras, window: u64) {
    if let Some(controller) = extras.slow_start.of_mut(cc) {
        controller.end_slow_start(window);
    }
}

#[cfg(test)]
mod tests;
