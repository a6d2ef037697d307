//! Delay and loss by a contact plan.

use super::closed_form::{Derived, Sampling, Theory};
use super::passage::{DropCause, Passage, Verdict};
use super::process::Process;
use crate::trace::ContactPlan;
use farlink_tcp::{Instant, Interval};
use std::sync::Arc;

/// Channel of a link with a contact plan. What was not sent within a contact is lost.
#[derive(Clone, Debug)]
pub struct Contacts {
    plan: Arc<ContactPlan>,
    hint: usize,
    /// Arrival of the previous packet, which later packets do not overtake.
    last: Instant,
}

impl Contacts {
    /// Creates the process.
    pub fn new(plan: Arc<ContactPlan>) -> Self {
        Self {
            plan,
            hint: 0,
            last: Instant::ZERO,
        }
    }
}

impl Process for Contacts {
    fn pass(&mut self, now: Instant, bytes: u32, passage: &mut Passage) {
        let Some(delay) = self.plan.delay(now, bytes, &mut self.hint) else {
            passage.verdict = Verdict::Drop(DropCause::Fade);
            return;
        };
        passage.hold = passage.hold + delay;
        self.last = self.last.max(now + passage.hold);
        passage.hold = self.last.since(now);
    }

    /// Returns no closed form, because a plan ends.
    fn theory(&self, _: Sampling) -> Theory {
        Theory::default()
    }

    fn derived(&self) -> Vec<Derived> {
        let [least, most] = self.plan.delay_bounds().map(Interval::as_secs_f64);
        let of = |name, unit, value| Derived {
            name,
            unit,
            value,
            source: "the contact plan",
        };
        vec![
            of("contacts", "", self.plan.contacts().len() as f64),
            of("contacts_end", "s", self.plan.end().as_secs_f64()),
            of("delay_min", "s", least),
            of("delay_max", "s", most),
        ]
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Channel, Stage};
    use super::*;
    use crate::trace::Contact;

    #[test]
    fn delays_follow_the_plan_and_packets_stay_in_order() {
        let s = |seconds| Instant::ZERO + Interval::from_secs(seconds);
        let contact = |start, end| Contact {
            start: s(start),
            end: s(end),
            rate: 8_000_000,
        };
        let delays = vec![
            (s(0), Interval::from_secs(240)),
            (s(20), Interval::from_secs(200)),
        ];
        let plan = ContactPlan::new(vec![contact(0, 10), contact(20, 40)], delays, true).unwrap();
        let mut channel = Channel::new(vec![Stage::Process(Box::new(Contacts::new(plan.into())))]);
        let mut arrival = |at| {
            let passage = channel.pass(s(at), 1000);
            (passage.verdict == Verdict::Pass).then(|| (s(at) + passage.hold).as_secs_f64())
        };
        assert_eq!(arrival(5), Some(245.0));
        assert_eq!(arrival(15), None);
        // 20 s later, 40 s nearer: it waits for the packet before.
        assert_eq!(arrival(21), Some(245.0));
        assert_eq!(arrival(39), Some(245.0));
        assert_eq!(arrival(40), Some(245.0));
        assert_eq!(arrival(41), None);
        let names: Vec<_> = channel.stages()[0]
            .derived()
            .iter()
            .map(|d| d.value)
            .collect();
        assert_eq!(names, [2.0, 40.0, 200.0, 240.0]);
    }
}
