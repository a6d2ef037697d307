//! Bound on the time that packets waited in a device before they were read.
//!
//! A device does not say when a packet came, and what tells it beside the device
//! ([`crate::stamps`]) may miss some. What the loop knows is when the
//! device held nothing: when it was read to its end, and while the loop slept until
//! one of its devices had something. A packet came after that, and has waited no longer
//! than since then.

use crate::tun::DEVICE_QUEUE;
use farlink_tcp::{Instant, Interval};
use std::collections::VecDeque;

/// Longest sleep of the loop. One that took longer was a stall (the process was stopped,
/// or others had the processor), so that no stall is overlooked by more than this.
const BEAT: Interval = Interval::from_millis(1);

/// Arrival state of the devices of all hosts.
#[derive(Debug)]
pub(crate) struct Arrivals {
    devices: Vec<Device>,
    /// Devices that had been read to their end held nothing at this time.
    empty: Instant,
    /// Time at which the loop last looked for readable devices.
    looked: Instant,
    /// Number of such looks.
    looks: u64,
}

#[derive(Clone, Debug, Default)]
struct Device {
    /// Lower bound of the arrival time of what is read now.
    since: Instant,
    reads: u64,
    /// Number of the look that last reported it.
    reported: u64,
    /// Times at which it was left before it was empty, and the number of reads until
    /// then. None while it is read to its end each time.
    left: VecDeque<(u64, Instant)>,
}

impl Arrivals {
    pub(crate) fn new(hosts: usize) -> Self {
        Self {
            devices: vec![Device::default(); hosts],
            empty: Instant::ZERO,
            looked: Instant::ZERO,
            looks: 0,
        }
    }

    /// The last time at which the loop looked, or slept: what came before that it has read.
    pub(crate) fn looked_at(&self) -> Instant {
        self.looked
    }

    /// Until when the loop may sleep that waits for `next`, from `now` on.
    pub(crate) fn until(now: Instant, next: Instant) -> Instant {
        // At whole beats, so that a timer need not be set anew for each packet.
        let beat = BEAT.as_nanos();
        let whole = now.as_nanos() / beat + 1;
        next.min(Instant::from_nanos(whole.saturating_mul(beat)))
    }

    /// At `now` the loop looked which devices hold something. Those that did not when it
    /// looked before, or that it read to their end since, got it after that.
    pub(crate) fn looked(&mut self, now: Instant) {
        self.empty = self.empty.max(self.looked);
        self.looked = now;
        self.looks += 1;
    }

    /// At `before` the loop looked, and no device held anything; then it slept. It was to
    /// be awake when one did, and at `until` at the latest, and is awake `now`.
    pub(crate) fn slept(&mut self, before: Instant, until: Instant, now: Instant) {
        self.looked(before.max(until.min(now)));
        self.empty = self.looked;
    }

    /// A read gave packets; returns how long they may have waited.
    pub(crate) fn read(&mut self, device: usize, now: Instant) -> Interval {
        let entry = &mut self.devices[device];
        entry.reads += 1;
        if entry.reported + 1 < self.looks {
            // The look before did not tell of it: it was empty when it was left.
            entry.left.clear();
        }
        entry.reported = self.looks;
        if entry.left.is_empty() {
            entry.since = entry.since.max(self.empty);
        }
        // When it came, no more were before it than the device holds.
        let before = entry.reads.saturating_sub(u64::from(DEVICE_QUEUE));
        while let Some(&(reads, at)) = entry.left.front()
            && reads <= before
            && entry.left.len() > 1
        {
            entry.since = entry.since.max(at);
            entry.left.pop_front();
        }
        now.since(entry.since)
    }

    /// A device was read to its end.
    pub(crate) fn drained(&mut self, device: usize, now: Instant) {
        let entry = &mut self.devices[device];
        entry.since = now;
        entry.left.clear();
    }

    /// A device was left although it may hold more.
    pub(crate) fn left(&mut self, device: usize, now: Instant) {
        let entry = &mut self.devices[device];
        entry.left.push_back((entry.reads, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Instant {
        Instant::from_nanos(1000 * n)
    }

    fn waited(arrivals: &mut Arrivals, now: Instant) -> u64 {
        arrivals.read(0, now).as_nanos() / 1000
    }

    /// A loop that was to sleep for 1 ms and was stopped for 100 finds packets that may
    /// have waited for 99.
    #[test]
    fn a_stall_of_the_loop_is_seen() {
        let mut a = Arrivals::new(1);
        let until = Arrivals::until(us(5000), Instant::MAX);
        assert_eq!(until, us(6000));
        a.looked(us(5000));
        a.slept(us(5000), until, us(105_000));
        assert_eq!(waited(&mut a, us(105_010)), 99_010);
        a.drained(0, us(105_020));
        // Awake in time for a packet: it has not waited.
        a.looked(us(105_030));
        a.slept(us(105_030), us(106_000), us(105_700));
        assert_eq!(waited(&mut a, us(105_703)), 3);
    }

    /// A stop ends a sleep without anything to tell, and what came meanwhile is there
    /// when the loop looks again, however long that takes.
    #[test]
    fn an_interrupted_sleep_is_a_stall_too() {
        let mut a = Arrivals::new(1);
        a.looked(us(5000));
        a.slept(us(5000), us(6000), us(105_000));
        a.looked(us(105_300));
        assert_eq!(waited(&mut a, us(105_312)), 99_312);
    }

    /// A loop that is busy for 7 ms finds a packet when it looks again, which came at
    /// some time after the device had been read to its end.
    #[test]
    fn a_busy_loop_is_seen() {
        let mut a = Arrivals::new(2);
        a.looked(us(1000));
        a.slept(us(1000), us(2000), us(1500));
        waited(&mut a, us(1501));
        a.drained(0, us(1502));
        a.looked(us(8500));
        assert_eq!(waited(&mut a, us(8502)), 7000);
        // The other device held nothing until the loop woke for the first, or it would
        // have been told of, too.
        assert_eq!(a.read(1, us(8502)).as_nanos(), 7_002_000);
        // It is not drained, and told of again and again: it waits no less for that.
        a.left(1, us(8503));
        a.looked(us(9900));
        assert_eq!(a.read(1, us(9902)).as_nanos(), 8_402_000);
        a.left(1, us(9903));
        // It held nothing more after all, or the next look would have told of it.
        a.looked(us(10_000));
        a.slept(us(10_000), us(11_000), us(10_500));
        assert_eq!(a.read(1, us(10_502)).as_nanos(), 2000);
    }

    /// A device that is never empty holds a bounded number of packets, so that what is
    /// read came after the read of as many before it.
    #[test]
    fn what_waits_in_a_device_that_is_never_empty_is_bounded() {
        let mut a = Arrivals::new(1);
        let mut last = 0;
        for turn in 1..=1000 {
            // 64 reads each millisecond.
            let now = us(1000 * turn);
            a.looked(now);
            for _ in 0..64 {
                last = waited(&mut a, now);
            }
            a.left(0, now);
        }
        // 10,000 reads take 156.25 ms.
        assert!((156_000..159_000).contains(&last), "{last}");
        assert!(a.devices[0].left.len() < 200);
    }
}
