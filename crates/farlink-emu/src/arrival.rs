//! Upper bound of the time that packets waited in a device before they were read.
//!
//! A device does not report arrival times, and the time stamps of [`crate::stamps`] may be
//! incomplete. But the event loop records times at which a device was empty: after it was drained,
//! and while the loop slept without an event. A packet that is read later arrived after such a
//! time.

use crate::tun::DEVICE_QUEUE;
use farlink_tcp::{Instant, Interval};
use std::collections::VecDeque;

/// Longest sleep of the loop. A longer sleep is a stall: the process was stopped or not scheduled.
/// The length of a stall is underestimated by at most this interval.
const TICK: Interval = Interval::from_millis(1);

/// Bounds for the devices of all hosts.
#[derive(Debug)]
pub(crate) struct Arrivals {
    devices: Vec<Device>,
    /// Time at which all drained devices were last known to be empty.
    empty: Instant,
    /// Time of the last poll for readable devices.
    polled: Instant,
    /// Number of polls.
    polls: u64,
}

#[derive(Clone, Debug, Default)]
struct Device {
    /// Lower bound of the arrival time of the next packet read.
    since: Instant,
    reads: u64,
    /// Number of the last poll that reported the device as readable.
    reported: u64,
    /// Times at which the loop left the device without draining it, each with the number of reads
    /// until then. Empty if the device is always drained.
    left: VecDeque<(u64, Instant)>,
}

impl Arrivals {
    pub(crate) fn new(hosts: usize) -> Self {
        Self {
            devices: vec![Device::default(); hosts],
            empty: Instant::ZERO,
            polled: Instant::ZERO,
            polls: 0,
        }
    }

    /// Returns the time of the last poll or wake-up. All packets that arrived before it have been
    /// read.
    pub(crate) fn last_poll(&self) -> Instant {
        self.polled
    }

    /// Returns the time at which a loop that waits until `next` must wake up.
    pub(crate) fn until(now: Instant, next: Instant) -> Instant {
        // A multiple of the longest sleep, so the timer is not set again for each packet.
        let tick = TICK.as_nanos();
        let whole = now.as_nanos() / tick + 1;
        next.min(Instant::from_nanos(whole.saturating_mul(tick)))
    }

    /// Records a poll at `now`. If a device was not readable at the previous poll, or was drained
    /// after it, its packets arrived after the previous poll.
    pub(crate) fn record_poll(&mut self, now: Instant) {
        self.empty = self.empty.max(self.polled);
        self.polled = now;
        self.polls += 1;
    }

    /// Records a sleep from `before` to `now`. A poll at `before` found no readable device, and the
    /// sleep should have ended with the first packet, or at the latest at `until`.
    pub(crate) fn record_sleep(&mut self, before: Instant, until: Instant, now: Instant) {
        self.record_poll(before.max(until.min(now)));
        self.empty = self.polled;
    }

    /// Records a read of packets. Returns the longest time that they may have waited.
    pub(crate) fn read(&mut self, device: usize, now: Instant) -> Interval {
        let entry = &mut self.devices[device];
        entry.reads += 1;
        if entry.reported + 1 < self.polls {
            // The previous poll did not report the device, so the device was empty.
            entry.left.clear();
        }
        entry.reported = self.polls;
        if entry.left.is_empty() {
            entry.since = entry.since.max(self.empty);
        }
        // At most [`DEVICE_QUEUE`] packets were in the device when this packet arrived.
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

    /// Records that a device was read until it was empty.
    pub(crate) fn drained(&mut self, device: usize, now: Instant) {
        let entry = &mut self.devices[device];
        entry.since = now;
        entry.left.clear();
    }

    /// Records that the loop stopped reading a device without draining it.
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

    /// After a sleep of 100 ms instead of 1 ms, packets may have waited for 99 ms.
    #[test]
    fn a_stall_counts_as_waiting_time() {
        let mut a = Arrivals::new(1);
        let until = Arrivals::until(us(5000), Instant::MAX);
        assert_eq!(until, us(6000));
        a.record_poll(us(5000));
        a.record_sleep(us(5000), until, us(105_000));
        assert_eq!(waited(&mut a, us(105_010)), 99_010);
        a.drained(0, us(105_020));
        // The loop woke up in time, so the packet has not waited.
        a.record_poll(us(105_030));
        a.record_sleep(us(105_030), us(106_000), us(105_700));
        assert_eq!(waited(&mut a, us(105_703)), 3);
    }

    /// A signal ends the sleep without an event. The next poll reports packets that arrived in
    /// between, even if it is late.
    #[test]
    fn an_interrupted_sleep_counts_as_a_stall() {
        let mut a = Arrivals::new(1);
        a.record_poll(us(5000));
        a.record_sleep(us(5000), us(6000), us(105_000));
        a.record_poll(us(105_300));
        assert_eq!(waited(&mut a, us(105_312)), 99_312);
    }

    /// The loop is busy for 7 ms. A packet found afterwards may have arrived at any time since the
    /// device was drained.
    #[test]
    fn a_busy_loop_counts_as_waiting_time() {
        let mut a = Arrivals::new(2);
        a.record_poll(us(1000));
        a.record_sleep(us(1000), us(2000), us(1500));
        waited(&mut a, us(1501));
        a.drained(0, us(1502));
        a.record_poll(us(8500));
        assert_eq!(waited(&mut a, us(8502)), 7000);
        // Device 1 was empty until the loop woke up for device 0. Otherwise the wake-up would have
        // reported both devices.
        assert_eq!(a.read(1, us(8502)).as_nanos(), 7_002_000);
        // Device 1 is reported at every poll but never drained, so the bound keeps growing.
        a.left(1, us(8503));
        a.record_poll(us(9900));
        assert_eq!(a.read(1, us(9902)).as_nanos(), 8_402_000);
        a.left(1, us(9903));
        // The next poll does not report device 1, so it was empty.
        a.record_poll(us(10_000));
        a.record_sleep(us(10_000), us(11_000), us(10_500));
        assert_eq!(a.read(1, us(10_502)).as_nanos(), 2000);
    }

    /// A device that is never drained has at most `DEVICE_QUEUE` packets. So each packet arrived
    /// after the read that was `DEVICE_QUEUE` packets earlier.
    #[test]
    fn the_wait_in_a_never_empty_device_is_bounded() {
        let mut a = Arrivals::new(1);
        let mut last = 0;
        for turn in 1..=1000 {
            // The loop makes 64 reads per millisecond.
            let now = us(1000 * turn);
            a.record_poll(now);
            for _ in 0..64 {
                last = waited(&mut a, now);
            }
            a.left(0, now);
        }
        // 10,000 reads take 156.25 ms at this rate.
        assert!((156_000..159_000).contains(&last), "{last}");
        assert!(a.devices[0].left.len() < 200);
    }
}
