//! Contact plan of a link: the times at which it exists, with its rate and delay.

use farlink_tcp::time::NANOS_PER_SEC;
use farlink_tcp::{Instant, Interval};

/// Time during which the transmitter reaches the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contact {
    /// Time at which the first bit may leave.
    pub start: Instant,
    /// Time by which the last bit must have left.
    pub end: Instant,
    /// Rate in bit/s, above 0.
    pub rate: u64,
}

impl Contact {
    /// Returns the time that a packet of `wire` bytes takes.
    fn time(&self, wire: u32) -> Interval {
        let bits = u128::from(wire) * 8 * u128::from(NANOS_PER_SEC);
        let rate = u128::from(self.rate);
        Interval::from_nanos(((bits + rate / 2) / rate) as u64)
    }

    /// Returns whether a packet of `wire` bytes whose last bit leaves at `end` was sent within the
    /// contact as a whole.
    fn holds(&self, end: Instant, wire: u32) -> bool {
        self.start + self.time(wire) <= end && end <= self.end
    }
}

/// Contacts in the order of their times, without overlaps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContactPlan {
    contacts: Vec<Contact>,
    /// Time from which each one-way delay is valid, in rising order.
    delays: Vec<(Instant, Interval)>,
    hold: bool,
}

/// Error of contacts that overlap, or that are not in order; the number of the later one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overlap(pub usize);

impl ContactPlan {
    /// Creates a plan. With `hold`, a packet waits for the next contact into which it fits.
    /// Otherwise the transmitter sends at all times, and what leaves outside a contact is lost.
    ///
    /// # Errors
    /// Fails if a contact begins before the previous one ends.
    pub fn new(
        contacts: Vec<Contact>,
        delays: Vec<(Instant, Interval)>,
        hold: bool,
    ) -> Result<Self, Overlap> {
        debug_assert!(!contacts.is_empty() && !delays.is_empty());
        match contacts
            .windows(2)
            .position(|two| two[1].start < two[0].end)
        {
            Some(first) => Err(Overlap(first + 1)),
            None => Ok(Self {
                contacts,
                delays,
                hold,
            }),
        }
    }

    /// Returns the contacts.
    pub fn contacts(&self) -> &[Contact] {
        &self.contacts
    }

    /// Returns the end of the last contact.
    pub fn end(&self) -> Instant {
        self.contacts[self.contacts.len() - 1].end
    }

    /// Returns the least and the greatest delay.
    pub fn delay_bounds(&self) -> [Interval; 2] {
        let delays = || self.delays.iter().map(|(_, delay)| *delay);
        let bound = |delay: Option<Interval>| delay.unwrap_or(Interval::ZERO);
        [bound(delays().min()), bound(delays().max())]
    }

    /// Returns the mean rate from time 0 to the end of the last contact in bit/s.
    pub fn mean(&self) -> u64 {
        let bits = |c: &Contact| u128::from(c.end.since(c.start).as_nanos()) * u128::from(c.rate);
        let sum: u128 = self.contacts.iter().map(bits).sum();
        (sum / u128::from(self.end().as_nanos().max(1))) as u64
    }

    /// Returns the largest rate in bit/s.
    pub fn most(&self) -> u64 {
        self.contacts.iter().map(|c| c.rate).max().unwrap_or(1)
    }

    /// Returns the first contact, from number `hint` on, that ends after `now`.
    fn next(&self, now: Instant, hint: usize) -> usize {
        let begin = if hint > 0 && self.contacts[hint - 1].end > now {
            0
        } else {
            hint
        };
        begin + self.contacts[begin..].partition_point(|contact| contact.end <= now)
    }

    /// Returns the start and the end of the transmission of `wire` bytes by a transmitter that is
    /// free at `now`. `hint` is the number of the last contact, where the search starts.
    ///
    /// After the last contact the transmitter sends at its rate, so that a queue ends; [`Self::delay`]
    /// then has no delay for the packet.
    pub(super) fn send(&self, now: Instant, wire: u32, hint: &mut usize) -> (Instant, Instant) {
        let first = self.next(now, *hint);
        *hint = first.min(self.contacts.len() - 1);
        if self.hold {
            for contact in &self.contacts[first..] {
                let start = now.max(contact.start);
                let end = start + contact.time(wire);
                if end <= contact.end {
                    return (start, end);
                }
            }
        }
        let at = self.contacts.get(first);
        // Between contacts the rate is that of the contact before.
        let contact = match at.filter(|contact| contact.start <= now || first == 0) {
            Some(contact) => contact,
            None => &self.contacts[first - 1],
        };
        (now, now + contact.time(wire))
    }

    /// Returns the delay of a packet of `wire` bytes whose last bit leaves at `now`; `None` if it
    /// was not sent within a contact as a whole.
    pub fn delay(&self, now: Instant, wire: u32, hint: &mut usize) -> Option<Interval> {
        // A packet may end with its contact, so the contact that ends at `now` counts.
        let before = Instant::from_nanos(now.as_nanos().saturating_sub(1));
        let number = self.next(before, *hint);
        *hint = number.min(self.contacts.len() - 1);
        self.contacts.get(number).filter(|c| c.holds(now, wire))?;
        let row = self.delays.partition_point(|(from, _)| *from <= now);
        Some(self.delays[row.saturating_sub(1)].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * NANOS_PER_SEC)
    }

    fn contact(start: u64, end: u64, rate: u64) -> Contact {
        Contact {
            start: s(start),
            end: s(end),
            rate,
        }
    }

    /// Contacts at 10 to 20 s (8 kbit/s) and 30 to 33 s (16 kbit/s), 240 s and then 300 s away.
    fn plan(hold: bool) -> ContactPlan {
        let delays = vec![
            (s(0), Interval::from_secs(240)),
            (s(25), Interval::from_secs(300)),
        ];
        let contacts = vec![contact(10, 20, 8_000), contact(30, 33, 16_000)];
        ContactPlan::new(contacts, delays, hold).unwrap()
    }

    #[test]
    fn packets_of_a_second_fill_contacts_to_their_ends() {
        let plan = plan(true);
        let (mut now, mut hint, mut starts) = (s(0), 0, Vec::new());
        for _ in 0..16 {
            let (start, end) = plan.send(now, 1000, &mut hint);
            starts.push((start.as_nanos() / 1_000_000, end.as_nanos() / 1_000_000));
            now = end;
        }
        // Ten packets of 1 s, and six of 0.5 s.
        let mut expected: Vec<_> = (10..20).map(|t| (t * 1000, t * 1000 + 1000)).collect();
        expected.extend((0..6).map(|i| (30_000 + i * 500, 30_500 + i * 500)));
        assert_eq!(starts, expected);
        // Nothing is left: the next one is sent after the plan, where it has no delay.
        let (start, end) = plan.send(now, 1000, &mut hint);
        assert_eq!((start, end), (s(33), s(33) + Interval::from_millis(500)));
        assert_eq!(plan.delay(end, 1000, &mut hint), None);
    }

    #[test]
    fn a_packet_that_does_not_fit_waits_as_a_whole() {
        let plan = plan(true);
        let mut hint = 0;
        let late = s(19) + Interval::from_nanos(1);
        let (start, end) = plan.send(late, 1000, &mut hint);
        assert_eq!((start, end), (s(30), s(30) + Interval::from_millis(500)));
        // A shorter packet fits, and the hint is no bar to it.
        let (start, end) = plan.send(late, 500, &mut hint);
        assert_eq!((start, end), (late, late + Interval::from_millis(500)));
        // A packet longer than both contacts is sent at the end and lost.
        let (_, end) = plan.send(s(0), 12_000, &mut hint);
        assert_eq!(plan.delay(end, 12_000, &mut 0), None);
    }

    #[test]
    fn a_packet_passes_if_all_of_it_left_within_a_contact() {
        let plan = plan(false);
        let ms = |at: u64| s(0) + Interval::from_millis(at);
        for (end, delay) in [
            (10_999, None),
            (11_000, Some(240)),
            (20_000, Some(240)),
            (20_001, None),
            (30_499, None),
            (30_500, Some(300)),
            (33_000, Some(300)),
            (33_001, None),
        ] {
            let passed = plan.delay(ms(end), 1000, &mut 0);
            assert_eq!(passed, delay.map(Interval::from_secs), "{end} ms");
        }
    }

    #[test]
    fn without_hold_the_transmitter_sends_at_the_rate_of_the_last_contact() {
        let plan = plan(false);
        for (now, took) in [
            (0, 1000),
            (9, 1000),
            (19, 1000),
            (25, 1000),
            (30, 500),
            (40, 500),
        ] {
            let (start, end) = plan.send(s(now), 1000, &mut 0);
            assert_eq!(start, s(now));
            assert_eq!(end.since(start), Interval::from_millis(took), "{now} s");
        }
    }

    #[test]
    fn a_contact_that_follows_at_once_has_its_own_rate_and_delay() {
        let delays = vec![
            (s(0), Interval::from_secs(5)),
            (s(10), Interval::from_secs(6)),
        ];
        let contacts = vec![contact(0, 10, 8_000), contact(10, 20, 16_000)];
        let plan = ContactPlan::new(contacts, delays, false).unwrap();
        let (start, end) = plan.send(s(10), 1000, &mut 0);
        assert_eq!(end.since(start), Interval::from_millis(500));
        assert_eq!(plan.delay(s(9), 1000, &mut 0), Some(Interval::from_secs(5)));
        assert_eq!(
            plan.delay(s(10), 1000, &mut 0),
            Some(Interval::from_secs(6))
        );
    }

    #[test]
    fn a_number_beyond_the_contact_does_not_hide_it() {
        let plan = plan(true);
        let mut hint = 1;
        assert_eq!(plan.send(s(12), 1000, &mut hint), (s(12), s(13)));
        assert_eq!(hint, 0);
        assert_eq!(
            plan.delay(s(13), 1000, &mut 1),
            Some(Interval::from_secs(240))
        );
    }

    #[test]
    fn the_mean_counts_from_time_zero() {
        // (10 s of 8 kbit/s and 3 s of 16 kbit/s) in 33 s.
        assert_eq!(plan(true).mean(), 128_000 / 33);
        assert_eq!(plan(true).most(), 16_000);
    }

    #[test]
    fn overlaps_are_refused() {
        let delays = vec![(s(0), Interval::ZERO)];
        let plan = |contacts| ContactPlan::new(contacts, delays.clone(), true);
        let touching = vec![contact(0, 10, 1), contact(10, 20, 1)];
        assert!(plan(touching).is_ok());
        let overlap = vec![contact(0, 10, 1), contact(9, 20, 1)];
        assert_eq!(plan(overlap), Err(Overlap(1)));
    }
}
