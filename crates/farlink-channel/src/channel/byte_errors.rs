//! Errors at random distances in bytes, which a checksum detects (West and Vaidya 1997, section
//! 4.3).

use super::closed_form::{Derived, LAGS, Sampling, Theory};
use super::error::ChannelError;
use super::passage::{DropCause, Passage, Verdict};
use super::process::Process;
use crate::rng::Stream;
use farlink_tcp::{Instant, Interval};

/// Bytes of the IP header, which has a checksum of its own.
const IP_HEADER: u64 = 20;

/// Damages the byte on which an error falls. Distances in bytes from one error to the next are
/// exponential.
///
/// An error in the IP header makes the next hop drop the packet ([`DropCause::BitError`]). The
/// receiver's TCP checksum detects an error behind the header ([`Verdict::Corrupt`]). With a
/// `burst` above 1 an error also damages the following packets, each at an independent byte. Only
/// bytes of IP packets count, not the framing of the link.
/// count, not the framing of the link.
#[derive(Clone, Debug)]
pub struct ByteErrors {
    /// Mean distance, in bytes.
    distance: f64,
    burst: u32,
    overhead: u32,
    /// Bytes before the next error.
    left: u64,
    /// Number of packets that the last error still damages.
    following: u32,
    stream: Stream,
    /// Random stream for the damaged bytes in following packets.
    places: Stream,
}

impl ByteErrors {
    /// Creates the process. `distance` is the mean number of bytes from error to error, `burst` the
    /// number of packets that one error damages, and `overhead` the framing of the link in bytes.
    ///
    /// # Errors
    /// Fails if the distance is 0 or the burst is 0.
    pub fn new(
        distance: u64,
        burst: u32,
        overhead: u32,
        mut stream: Stream,
        places: Stream,
    ) -> Result<Self, ChannelError> {
        if distance == 0 || burst == 0 {
            return Err(ChannelError::Cannot(
                "the mean distance of errors and the burst cannot be 0: write 1 B and 1 packet or \
                 more",
            ));
        }
        let distance = distance as f64;
        let left = stream.exponential(distance) as u64;
        Ok(Self {
            distance,
            burst,
            overhead,
            left,
            following: 0,
            stream,
            places,
        })
    }

    /// Returns the probability that an error falls into this number of bytes: 1 - exp(-n / D).
    fn hit(&self, bytes: f64) -> f64 {
        -libm::expm1(-bytes / self.distance)
    }

    fn ip_bytes(&self, bytes: u32) -> u64 {
        u64::from(bytes.saturating_sub(self.overhead))
    }
}

impl Process for ByteErrors {
    #[inline]
    fn pass(&mut self, _now: Instant, bytes: u32, passage: &mut Passage) {
        let bytes = self.ip_bytes(bytes);
        let mut place = None;
        if self.following > 0 {
            self.following -= 1;
            place = Some((self.places.uniform() * bytes as f64) as u64);
        }
        // The first error of a packet is nearest to the IP header.
        let mut at = self.left;
        if at < bytes {
            place = Some(place.map_or(at, |place| place.min(at)));
            self.following = self.burst - 1;
            while at < bytes {
                at += 1 + self.stream.exponential(self.distance) as u64;
            }
        }
        self.left = at - bytes;
        match place {
            Some(place) if place < IP_HEADER => {
                passage.verdict = Verdict::Drop(DropCause::BitError);
            }
            Some(_) => passage.verdict = Verdict::Corrupt,
            None => {}
        }
    }

    /// Returns the closed form. With q the probability of an error in a packet and N the burst, a
    /// packet is undamaged if neither it nor the N - 1 packets before it have an error: (1 - q)^N.
    /// Two packets k apart are both undamaged with probability (1 - q)^(N + min(k, N)). The mean
    /// gap is 1 / q, because after a burst each packet begins the next burst with probability q.
    fn theory(&self, sampling: Sampling) -> Theory {
        let bytes = self.ip_bytes(sampling.bytes) as f64;
        let burst = f64::from(self.burst);
        let whole = |packets: f64| libm::exp(-packets * bytes / self.distance);
        let (loss, delivered) = (self.hit(burst * bytes), whole(burst));
        let lags = (1..=LAGS).map(|lag| {
            let both = whole(burst + (lag as f64).min(burst));
            (both - delivered * delivered) / (loss * delivered)
        });
        Theory::of_loss(loss, lags.collect())
    }

    fn derived(&self) -> Vec<Derived> {
        let derived = |name, value, source| Derived {
            name,
            unit: "probability",
            value,
            source,
        };
        let damage = |bytes| {
            let spacing = Interval::ZERO;
            let bytes = bytes + self.overhead;
            self.theory(Sampling { bytes, spacing }).loss.unwrap_or(0.0)
        };
        vec![
            derived(
                "equivalent_ber",
                1.0 / (8.0 * self.distance),
                "1 / (8 D); West and Vaidya 1997, section 5.1: 1.9e-6 for 64 KB",
            ),
            derived(
                "damage_1500_bytes",
                damage(1500),
                "1 - exp(-N n / D), packets of 1500 B",
            ),
            derived(
                "damage_40_bytes",
                damage(40),
                "1 - exp(-N n / D), ACKs of 40 B",
            ),
            derived(
                "ip_header_1500_bytes",
                self.hit(IP_HEADER as f64) / self.hit(1500.0),
                "(1 - exp(-20 / D)) / (1 - exp(-1500 / D)): of the packets that an error falls \
                 into, those whose IP header it hits",
            ),
        ]
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::agreement::{PacketFates, agrees, sampling};
    use super::super::testing::{assert_near, rate_error, stream};
    use super::*;

    fn errors(distance: u64, burst: u32) -> ByteErrors {
        let (errors, places) = (stream("errors"), stream("places"));
        ByteErrors::new(distance, burst, 0, errors, places).unwrap()
    }

    #[test]
    fn damage_bursts_and_gaps_are_those_of_the_closed_form() {
        for (distance, burst) in [
            (65_536, 1),
            (16_384, 1),
            (65_536, 6),
            (32_768, 3),
            (2_000, 2),
        ] {
            agrees(errors(distance, burst), sampling(1500, 1_000_000));
        }
        agrees(errors(1000, 2), sampling(40, 1_000_000));
    }

    #[test]
    fn the_bit_error_rate_is_the_printed_one() {
        // West and Vaidya 1997, sections 5.1 and 5.2.1: a bit error rate of 1.9e-6, and about 30.5
        // errors in the 2,000,000 bytes of a transfer.
        let derived = errors(65_536, 1).derived();
        assert_eq!(derived[0].value, 1.907_348_632_812_5e-6);
        assert!((2e6 / 65_536.0 - 30.5f64).abs() < 0.05);
    }

    /// Returns the shares of damaged packets, of packets dropped by IP, and of packets delivered to
    /// TCP.
    fn split(mut channel: ByteErrors, bytes: u32) -> [f64; 2] {
        let mut kinds = [0.0, 0.0];
        for _ in 0..1_000_000 {
            let mut passage = Passage::CLEAN;
            channel.pass(Instant::ZERO, bytes, &mut passage);
            match passage.verdict {
                Verdict::Drop(DropCause::BitError) => kinds[0] += 1.0,
                Verdict::Corrupt => kinds[1] += 1.0,
                Verdict::Pass => {}
                other @ Verdict::Drop(_) => panic!("{other:?}"),
            }
        }
        kinds
    }

    #[test]
    fn where_the_error_falls_decides_who_drops_the_packet() {
        for (bytes, distance) in [(1500, 16_384), (40, 2_000), (1500, 3_000)] {
            let channel = errors(distance, 1);
            let share = channel.hit(20.0) / channel.hit(f64::from(bytes));
            let [ip, tcp] = split(channel, bytes);
            let all = ip + tcp;
            assert_near(ip / all, share, rate_error(share, all as usize));
        }
        // In a burst the damaged byte of each following packet is anywhere, so 20 of 1500 hits fall
        // into the IP header.
        let [ip, tcp] = split(errors(10_000_000, 50), 1500);
        let share = 20.0 / 1500.0;
        // Errors damage 50 packets each, at independent bytes.
        assert_near(
            ip / (ip + tcp),
            share,
            rate_error(share, (ip + tcp) as usize),
        );
    }

    #[test]
    fn framing_is_not_counted() {
        let (a, b) = (stream("errors"), stream("places"));
        let mut framed = ByteErrors::new(65_536, 1, 26, a, b).unwrap();
        let mut plain = errors(65_536, 1);
        let framed = PacketFates::of(&mut framed, |_| (1526, 0));
        let plain = PacketFates::of(&mut plain, |_| (1500, 0));
        assert_eq!(framed.lost, plain.lost);
    }

    #[test]
    fn onsets_do_not_depend_on_the_burst() {
        let lost = |burst| PacketFates::of(&mut errors(65_536, burst), |_| (1500, 0)).lost;
        let (single, double) = (lost(1), lost(2));
        let expected: Vec<bool> = (0..single.len())
            .map(|i| single[i] || (i > 0 && single[i - 1]))
            .collect();
        assert_eq!(double, expected);
    }

    #[test]
    fn nothing_is_no_distance() {
        let none = ByteErrors::new(0, 1, 0, stream("a"), stream("b"));
        assert!(none.is_err());
    }

    /// A draw is the number of undamaged bytes before the next error, so one byte never has two
    /// errors.
    #[test]
    fn errors_are_at_the_drawn_distances() {
        let mut draws = stream("errors");
        let mut next = draws.exponential(3.0) as u64;
        let mut channel = errors(3, 1);
        for byte in 0..10_000 {
            let mut passage = Passage::CLEAN;
            channel.pass(Instant::ZERO, 1, &mut passage);
            assert_eq!(passage.verdict != Verdict::Pass, byte == next, "{byte}");
            if byte == next {
                next += 1 + draws.exponential(3.0) as u64;
            }
        }
    }
}
