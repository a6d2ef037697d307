//! DAMA: slots of a frame structure that a hub assigns on demand, as on a DVB-RCS return link.
//!
//! The station sends a request in a request slot, or inside a data slot. One grant delay later it
//! knows the assigned slots. Assignment is by volume (VBDC), beside constant slots (CRA) and free
//! slots (FCA). Other stations are modelled only by the limit of slots and by the free ones.

use farlink_channel::rng::{Probability, Stream};
use farlink_tcp::{Instant, Interval};
use std::collections::VecDeque;

/// Parameters of demand assignment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Dama {
    /// Duration of a frame; frames begin at multiples of it.
    pub frame: Interval,
    /// Number of slots of a frame, which share its time evenly.
    pub slots: u32,
    /// Number of slots of each frame that the station always has (CRA).
    pub constant: u32,
    /// Maximum number of slots of a frame that the station gets.
    pub max_slots: u32,
    /// Probability that a slot below `max_slots` that is not assigned is free, and assigned to the
    /// station without a request (FCA).
    pub free: Probability,
    /// Number of frames from one request slot to the next. Request slots are at the start of a
    /// frame and take no time of data.
    pub request_every: u32,
    /// Set if data slots carry requests, too.
    pub piggyback: bool,
    /// Time from a request to the arrival of its grant. `None` is the round trip of the link, see
    /// [`Access::over`](super::Access::over).
    pub grant_delay: Option<Interval>,
}

impl Dama {
    /// Returns the number of whole bytes of a slot at `rate` bit/s.
    pub fn slot_bytes(&self, rate: u64) -> u64 {
        let bits = u128::from(self.frame.as_nanos()) * u128::from(rate);
        (bits / (u128::from(self.slots) * 8_000_000_000)) as u64
    }

    fn slot_at(&self, slot: u64) -> Instant {
        let (frame, place) = (slot / self.per_frame(), slot % self.per_frame());
        let within = u128::from(self.frame.as_nanos()) * u128::from(place);
        let within = within.div_ceil(u128::from(self.slots)) as u64;
        Instant::from_nanos(frame * self.frame.as_nanos() + within)
    }

    /// Returns the first slot that begins at `now` or later.
    fn slot_from(&self, now: Instant) -> u64 {
        let nanos = self.frame.as_nanos();
        let (frame, within) = (now.as_nanos() / nanos, now.as_nanos() % nanos);
        let place = u128::from(within) * u128::from(self.slots);
        let slot = frame * self.per_frame() + (place / u128::from(nanos)) as u64;
        slot + u64::from(self.slot_at(slot) < now)
    }

    fn per_frame(&self) -> u64 {
        u64::from(self.slots)
    }
}

/// Slots that are assigned on request in one frame, after the constant ones.
#[derive(Clone, Copy, Debug)]
struct Grant {
    frame: u64,
    slots: u64,
}

/// Bytes that are sent in one slot.
#[derive(Clone, Copy, Debug)]
struct Burst {
    begins: Instant,
    sent: u64,
    left: u64,
}

/// State of a station.
#[derive(Clone, Debug)]
pub(super) struct Station {
    config: Dama,
    rate: u64,
    slot_bytes: u64,
    /// Bytes that wait and are in no burst yet.
    backlog: u64,
    /// Grants of present and future frames.
    grants: VecDeque<Grant>,
    /// Sum of the slots of `grants`.
    granted: u64,
    /// First slot that has not been looked at.
    slot: u64,
    /// First request slot that has not been used.
    request_slot: u64,
    burst: Burst,
    /// Bytes of the frame at the MAC that are in no burst yet.
    left: u64,
}

impl Station {
    pub(super) fn new(config: Dama, rate: u64) -> Self {
        Self {
            config,
            rate,
            slot_bytes: config.slot_bytes(rate).max(1),
            backlog: 0,
            grants: VecDeque::new(),
            granted: 0,
            slot: 0,
            request_slot: 0,
            burst: Burst {
                begins: Instant::ZERO,
                sent: 0,
                left: 0,
            },
            left: 0,
        }
    }

    /// Adds a packet to the queue.
    pub(super) fn on_offer(&mut self, now: Instant, bytes: u32) {
        // A request that has left since the last slot does not include this packet.
        let request = self.next_request();
        if request < now {
            self.use_request_slot(request);
        }
        if self.backlog == 0 {
            self.slot = self.slot.max(self.config.slot_from(now));
        }
        let first = now.as_nanos().div_ceil(self.request_interval());
        self.request_slot = self.request_slot.max(first);
        self.backlog += u64::from(bytes);
    }

    /// Accepts a frame of the queue, and returns the next time at which to call
    /// [`Self::advance`].
    pub(super) fn request(&mut self, now: Instant, bytes: u32, stream: &mut Stream) -> Instant {
        self.left = u64::from(bytes);
        self.advance(now, stream)
    }

    /// Advances to `now`, and returns the time at which the last bit of the frame leaves, or an
    /// earlier time at which to call this function again. [`Self::is_done`] distinguishes them.
    pub(super) fn advance(&mut self, now: Instant, stream: &mut Stream) -> Instant {
        loop {
            let part = self.left.min(self.burst.left);
            self.left -= part;
            self.burst.left -= part;
            self.burst.sent += part;
            if self.left == 0 {
                return self.burst.begins + Interval::of_bits(self.burst.sent * 8, self.rate);
            }
            let request = self.next_request();
            let slot = self.next_slot();
            let next = request.min(slot);
            if next > now {
                return next;
            }
            if request <= slot {
                self.use_request_slot(request);
            } else {
                self.use_slot(slot, stream);
            }
        }
    }

    /// Returns whether all bits of the frame are in slots up to the time that
    /// [`Self::advance`] returned.
    pub(super) fn is_done(&self) -> bool {
        self.left == 0
    }

    fn request_interval(&self) -> u64 {
        self.config.frame.as_nanos() * u64::from(self.config.request_every)
    }

    /// Returns the time of the next request slot, if there is something to request.
    fn next_request(&self) -> Instant {
        if self.unrequested() == 0 {
            return Instant::MAX;
        }
        Instant::from_nanos(self.request_slot * self.request_interval())
    }

    fn use_request_slot(&mut self, at: Instant) {
        self.send_request(at);
        self.request_slot += 1;
    }

    /// Returns the number of slots for the bytes that no grant covers.
    fn unrequested(&self) -> u64 {
        if self.config.max_slots == self.config.constant {
            return 0;
        }
        let needed = self.backlog.div_ceil(self.slot_bytes);
        needed.saturating_sub(self.granted_ahead())
    }

    /// Returns the number of granted slots from `slot` on.
    fn granted_ahead(&self) -> u64 {
        let frame = self.slot / self.config.per_frame();
        let past = |grant: &Grant| {
            if grant.frame < frame {
                return grant.slots;
            }
            let place = self.slot % self.config.per_frame();
            let used = place.saturating_sub(self.config.constant.into());
            used.min(grant.slots)
        };
        let passed = self.grants.iter().take_while(|grant| grant.frame <= frame);
        self.granted - passed.map(past).sum::<u64>()
    }

    /// Requests slots for the backlog at `now`, and enters the grants into the frames after their
    /// arrival.
    fn send_request(&mut self, now: Instant) {
        let mut volume = self.unrequested();
        let delay = self.config.grant_delay.unwrap_or(Interval::ZERO);
        let arrival = (now + delay).as_nanos();
        let mut frame = arrival.div_ceil(self.config.frame.as_nanos());
        let room = u64::from(self.config.max_slots - self.config.constant);
        if let Some(last) = self.grants.back_mut()
            && last.frame >= frame
        {
            let more = volume.min(room - last.slots);
            last.slots += more;
            self.granted += more;
            volume -= more;
            frame = last.frame + 1;
        }
        while volume > 0 {
            let slots = volume.min(room);
            self.grants.push_back(Grant { frame, slots });
            self.granted += slots;
            volume -= slots;
            frame += 1;
        }
    }

    /// Returns the start of the next slot that may be the station's.
    fn next_slot(&mut self) -> Instant {
        let per = self.config.per_frame();
        let constant = u64::from(self.config.constant);
        let frame = self.slot / per;
        while let Some(first) = self.grants.front()
            && first.frame < frame
        {
            self.granted -= first.slots;
            self.grants.pop_front();
        }
        let has_free = self.config.free != Probability::ZERO;
        let end = if has_free {
            u64::from(self.config.max_slots)
        } else {
            constant + self.slots_in(frame)
        };
        if self.slot % per < end {
            return self.config.slot_at(self.slot);
        }
        let later = self.grants.iter().find(|grant| grant.frame > frame);
        let next = if constant > 0 || has_free {
            frame + 1
        } else if let Some(grant) = later {
            grant.frame
        } else {
            return Instant::MAX;
        };
        self.slot = next * per;
        self.config.slot_at(self.slot)
    }

    /// Returns the number of slots that are granted in a frame.
    fn slots_in(&self, frame: u64) -> u64 {
        let mut near = self.grants.iter().take_while(|grant| grant.frame <= frame);
        near.find(|grant| grant.frame == frame)
            .map_or(0, |grant| grant.slots)
    }

    /// Begins a burst in the slot `self.slot`, if the slot is the station's.
    fn use_slot(&mut self, begins: Instant, stream: &mut Stream) {
        let per = self.config.per_frame();
        let assigned = u64::from(self.config.constant) + self.slots_in(self.slot / per);
        let is_own = self.slot % per < assigned || stream.chance(self.config.free);
        self.slot += 1;
        if !is_own {
            return;
        }
        let left = self.backlog.min(self.slot_bytes);
        self.backlog -= left;
        self.burst = Burst {
            begins,
            sent: 0,
            left,
        };
        if self.config.piggyback && self.unrequested() > 0 {
            self.send_request(begins);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arq::{Frame, FrameKind};
    use crate::mac::{Access, Mac};
    use farlink_channel::rng::Streams;

    /// Frames of 50 ms with 10 slots of 100 bytes at 160 kbit/s; grants after 500 ms.
    const USUAL: Dama = Dama {
        frame: Interval::from_millis(50),
        slots: 10,
        constant: 0,
        max_slots: 10,
        free: Probability::ZERO,
        request_every: 1,
        piggyback: false,
        grant_delay: Some(Interval::from_millis(500)),
    };
    const RATE: u64 = 160_000;

    /// Sends packets that arrive at times in us, with their bytes, and returns the times in us at
    /// which their last bits leave. Each call of the MAC is `late` us after its time.
    fn late_leaves(dama: Dama, packets: &[(u64, u32)], late: u64) -> Vec<u64> {
        let stream = Streams::new(7, 0).stream("mac");
        let mut mac = Mac::new(Access::Dama(dama), RATE, stream);
        let frame = Frame::control(FrameKind::Unnumbered, 0, false);
        let mut waiting = VecDeque::new();
        let mut arrivals = packets.iter().copied().peekable();
        let mut times = Vec::new();
        while times.len() < packets.len() {
            let done = mac.done_at();
            let arrival = arrivals
                .peek()
                .map_or(Instant::MAX, |&(at, _)| Instant::from_nanos(at * 1000));
            assert!(done < Instant::MAX || arrival < Instant::MAX, "stuck");
            let mut now = done.min(arrival);
            if done <= arrival {
                now += Interval::from_micros(late);
                if mac.confirm(now).is_some() {
                    times.push(done.as_nanos() / 1000);
                }
            } else if let Some((_, bytes)) = arrivals.next() {
                mac.on_offer(now, bytes);
                waiting.push_back(bytes);
            }
            if mac.is_idle()
                && let Some(bytes) = waiting.pop_front()
            {
                mac.request(now, frame, bytes);
            }
        }
        times
    }

    fn leaves(dama: Dama, packets: &[(u64, u32)]) -> Vec<u64> {
        late_leaves(dama, packets, 0)
    }

    /// The request waits for the next frame, the grant for a round trip, and the data for its
    /// slots.
    #[test]
    fn first_packet_waits_for_request_slot_grant_and_slot() {
        // 250 bytes take two slots and half of the third.
        assert_eq!(leaves(USUAL, &[(1, 250)]), [50_000 + 500_000 + 12_500]);
        assert_eq!(leaves(USUAL, &[(50_000, 250)]), [550_000 + 12_500]);
        // A grant is for the first frame after its arrival.
        let slow = Dama {
            grant_delay: Some(Interval::from_millis(501)),
            ..USUAL
        };
        assert_eq!(leaves(slow, &[(1, 100)]), [600_000 + 5_000]);
        let rare = Dama {
            request_every: 4,
            ..USUAL
        };
        assert_eq!(leaves(rare, &[(1, 100)]), [200_000 + 500_000 + 5_000]);
        let near = Dama {
            grant_delay: Some(Interval::ZERO),
            ..USUAL
        };
        assert_eq!(leaves(near, &[(1, 100)]), [50_000 + 5_000]);
    }

    /// Random arrivals have the mean delay E F / 2 + D + air, where D is rounded up to frames.
    #[test]
    fn lone_packets_have_the_mean_delay_of_the_closed_form() {
        for (every, delay, rounded) in [(1, 500, 500.0), (4, 500, 500.0), (2, 501, 550.0)] {
            let dama = Dama {
                request_every: every,
                grant_delay: Some(Interval::from_millis(delay)),
                ..USUAL
            };
            let interval = 50_000 * u64::from(every);
            // Arrivals at every place between two request slots, far apart.
            let count = 2_000;
            let packets: Vec<_> = (0..count)
                .map(|n| (n * 20 * interval + n * interval / count, 100))
                .collect();
            let times = leaves(dama, &packets);
            let sum: u64 = times.iter().zip(&packets).map(|(t, (a, _))| t - a).sum();
            let mean = sum as f64 / count as f64 / 1000.0;
            let expected = 25.0 * f64::from(every) + rounded + 5.0;
            assert!((mean - expected).abs() < 0.1, "{mean}, not {expected}");
        }
    }

    #[test]
    fn saturated_station_has_the_rate_of_its_slots() {
        let queue: Vec<_> = (0..4_000).map(|_| (0, 70)).collect();
        for (dama, slots) in [
            (USUAL, 10),
            (
                Dama {
                    max_slots: 4,
                    ..USUAL
                },
                4,
            ),
            (
                Dama {
                    max_slots: 4,
                    constant: 4,
                    ..USUAL
                },
                4,
            ),
            (
                Dama {
                    max_slots: 6,
                    constant: 2,
                    piggyback: true,
                    ..USUAL
                },
                6,
            ),
        ] {
            let times = leaves(dama, &queue);
            // Slots are filled with parts of packets without gaps.
            let span = times[3_999] - times[999];
            let expected = 3_000.0 * 70.0 / (f64::from(slots) * 100.0) * 50_000.0;
            let error = (span as f64 - expected).abs();
            assert!(error <= 50_000.0, "{span}, not {expected}");
        }
    }

    /// A queue that is offered step by step needs more requests, and has the same rate.
    #[test]
    fn arrivals_during_the_round_trip_get_slots_without_a_gap() {
        // 1,000 bytes per frame, as many as all slots carry.
        let packets: Vec<_> = (0..2_000).map(|n| (n * 5_000, 100)).collect();
        for piggyback in [false, true] {
            let dama = Dama { piggyback, ..USUAL };
            let times = leaves(dama, &packets);
            for (time, (arrival, _)) in times.iter().zip(&packets) {
                // Bounds: the round trip alone, and with a frame before the request and a frame of slots.
                assert!((500_000..=600_000).contains(&(time - arrival)));
            }
        }
    }

    #[test]
    fn constant_slots_need_no_request() {
        let dama = Dama {
            constant: 1,
            ..USUAL
        };
        // The first slot of the frame carries 100 bytes; the rest follows in later frames.
        assert_eq!(leaves(dama, &[(1, 100)]), [55_000]);
        assert_eq!(
            leaves(
                Dama {
                    max_slots: 1,
                    ..dama
                },
                &[(1, 250)]
            ),
            [50_000 + 2 * 50_000 + 2_500]
        );
        // The request for 1,100 bytes at 50 ms makes slots of the frame at 550 ms.
        let times = leaves(dama, &[(1, 100), (2, 1_100)]);
        assert_eq!(times[1], 550_000 + 5_000 * 2);
    }

    #[test]
    fn piggybacked_request_leaves_before_the_next_request_slot() {
        let dama = Dama {
            request_every: 100,
            constant: 1,
            ..USUAL
        };
        let packets = [(1, 100), (1, 100), (1, 200)];
        // Without piggybacking all of it leaves in constant slots.
        assert_eq!(leaves(dama, &packets), [55_000, 105_000, 205_000]);
        let short = Dama {
            grant_delay: Some(Interval::from_millis(40)),
            ..dama
        };
        assert_eq!(leaves(short, &packets), [55_000, 105_000, 205_000]);
        let both = Dama {
            piggyback: true,
            ..short
        };
        // The burst at 50 ms requests three slots, which arrive before the frame at 100 ms.
        assert_eq!(leaves(both, &packets), [55_000, 105_000, 115_000]);
    }

    #[test]
    fn request_does_not_include_packets_that_arrive_after_it() {
        // The second packet arrives after the request at 50 ms, so its request is at 100 ms.
        let times = leaves(USUAL, &[(1, 100), (60_000, 100)]);
        assert_eq!(times, [555_000, 605_000]);
        let times = leaves(USUAL, &[(1, 100), (49_999, 100)]);
        assert_eq!(times, [555_000, 560_000]);
    }

    #[test]
    fn free_slots_have_their_share() {
        let dama = Dama {
            free: Probability::new(0.3).unwrap(),
            max_slots: 8,
            constant: 8,
            ..USUAL
        };
        // The next slot of the frame in which the packet arrives.
        assert_eq!(leaves(dama, &[(1, 100)]), [10_000]);
        let dama = Dama {
            constant: 2,
            request_every: 65_536,
            ..dama
        };
        let queue: Vec<_> = (0..20_000).map(|_| (1, 100)).collect();
        let times = leaves(dama, &queue);
        // Two constant slots, and six free ones with probability 0.3, in each frame.
        let per_frame = 20_000.0 / (times[19_999] as f64 / 50_000.0);
        let error = 4.0 * (6.0 * 0.3 * 0.7_f64 / 5_000.0).sqrt();
        assert!((per_frame - 3.8).abs() < error, "{per_frame}");
    }

    /// An emulator calls later than asked; slots keep their times.
    #[test]
    fn lateness_does_not_move_slots() {
        let packets: Vec<_> = (0..3_000).map(|n| (1, 90 + n % 60)).collect();
        let dama = Dama {
            constant: 1,
            piggyback: true,
            request_every: 3,
            ..USUAL
        };
        let late = late_leaves(dama, &packets, 300);
        for (late, time) in late.iter().zip(leaves(dama, &packets)) {
            // The end of a frame that began in the slot of a late call is known to that call only.
            assert!(late.abs_diff(time) <= 300, "{late} and {time}");
        }
    }

    /// Frames whose slots are no whole number of nanoseconds lose no slot.
    #[test]
    fn odd_slots_are_used_one_after_the_other() {
        let dama = Dama {
            frame: Interval::from_nanos(49_999_999),
            slots: 7,
            max_slots: 7,
            ..USUAL
        };
        assert_eq!(dama.slot_bytes(RATE), 142);
        let queue: Vec<_> = (0..4_000).map(|_| (0, 71)).collect();
        let times = leaves(dama, &queue);
        let frames = (times[3_999] - times[9]) as f64 / 50_000.0;
        let expected = 3_990.0 * 71.0 / (7.0 * 142.0);
        assert!((frames - expected).abs() < 1.0, "{frames}, not {expected}");
        for slot in [0, 1, 6, 7, 8, 1_000_003] {
            let begins = dama.slot_at(slot);
            assert_eq!(dama.slot_from(begins), slot);
            let after = Instant::from_nanos(begins.as_nanos() + 1);
            assert_eq!(dama.slot_from(after), slot + 1);
        }
    }
}
