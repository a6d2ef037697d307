//! Medium access control: sends one frame at a time, after an access delay.
//!
//! The link layer passes a frame to the MAC (Request), and receives a Confirm when the MAC has sent
//! it or given it up. Until then it passes no other frame. The MAC at the far end passes undamaged
//! frames to its link layer (Indication). Frames keep their order. Access is either a random delay
//! (Wong 1998, 3.2.2) or contention by CSMA/CA or slotted ALOHA with stations that are not nodes of
//! the scenario, or the slots that a hub assigns on demand.

mod contention;
mod dama;

use crate::arq::Frame;
pub use contention::{Aloha, CsmaCa, Others};
pub use dama::Dama;
use farlink_channel::rng::Stream;
use farlink_tcp::{Instant, Interval};

/// Method by which a frame gets access to the medium.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Access {
    /// No delay.
    #[default]
    None,
    /// Constant delay.
    Constant(Interval),
    /// Independent exponentially distributed delay with this mean for each frame.
    Exponential(Interval),
    /// CSMA/CA: waits until the channel is sensed idle.
    CsmaCa(CsmaCa),
    /// Slotted ALOHA: retransmits until no other station sends in the same slots.
    Aloha(Aloha),
    /// DAMA: sends in slots that a hub assigns on demand.
    Dama(Dama),
}

impl Access {
    /// Returns the access over a link with this round trip, which is the default of the time from a
    /// request to its grant.
    #[must_use]
    pub fn over(self, round_trip: Interval) -> Self {
        match self {
            Self::Dama(dama) => Self::Dama(Dama {
                grant_delay: dama.grant_delay.or(Some(round_trip)),
                ..dama
            }),
            other => other,
        }
    }
}

/// Frame that the MAC has sent or given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Confirmed {
    /// Frame that was sent or given up.
    pub frame: Frame,
    /// Set if the frame was sent; otherwise the MAC gave it up because the medium was never free.
    pub sent: bool,
}

/// The MAC of one direction.
#[derive(Clone, Debug)]
pub struct Mac {
    access: Access,
    rate: u64,
    stream: Stream,
    sending: Option<Confirmed>,
    done_at: Instant,
    /// State of [`Access::Dama`].
    station: Option<Box<dama::Station>>,
}

impl Mac {
    /// Creates an idle MAC with a rate of `rate` bit/s.
    pub fn new(access: Access, rate: u64, stream: Stream) -> Self {
        let station = match access {
            Access::Dama(config) => Some(Box::new(dama::Station::new(config, rate))),
            _ => None,
        };
        Self {
            access,
            rate,
            stream,
            sending: None,
            done_at: Instant::MAX,
            station,
        }
    }

    /// Accepts the length of a packet, on the wire, that joins the queue in front of the MAC.
    #[inline]
    pub fn on_offer(&mut self, now: Instant, bytes: u32) {
        if let Some(station) = &mut self.station {
            station.on_offer(now, bytes);
        }
    }

    /// Returns whether the MAC can accept a frame.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.sending.is_none()
    }

    /// Returns the time of the next Confirm, or with DAMA of an earlier slot; [`Instant::MAX`] if the
    /// MAC holds no frame.
    #[inline]
    pub fn done_at(&self) -> Instant {
        self.done_at
    }

    /// Request: accepts a frame of `bytes` on the wire. Returns its total time on the air,
    /// including transmissions that collide.
    #[inline]
    pub fn request(&mut self, now: Instant, frame: Frame, bytes: u32) -> Interval {
        debug_assert!(self.is_idle(), "one frame at a time");
        let air = Interval::of_bits(u64::from(bytes) * 8, self.rate);
        let after = |access| (now + access + air, air, true);
        let (done_at, on_air, sent) = match &self.access {
            Access::None => after(Interval::ZERO),
            Access::Constant(delay) => after(*delay),
            Access::Exponential(mean) => {
                let nanos = self.stream.exponential(mean.as_nanos() as f64);
                after(Interval::from_nanos(libm::round(nanos) as u64))
            }
            Access::CsmaCa(access) => match access.turn(&mut self.stream) {
                (wait, true) => after(wait),
                (wait, false) => (now + wait, Interval::ZERO, false),
            },
            Access::Aloha(access) => {
                let turn = access.turn(now, air, &mut self.stream);
                let on_air = Interval::from_nanos(air.as_nanos() * u64::from(turn.attempts));
                (turn.ends, on_air, turn.succeeded)
            }
            Access::Dama(_) => {
                let station = self.station.as_mut().expect("DAMA has a station");
                (station.request(now, bytes, &mut self.stream), air, true)
            }
        };
        self.sending = Some(Confirmed { frame, sent });
        self.done_at = done_at;
        on_air
    }

    /// Confirm: returns the frame if it was sent or given up until `now`.
    #[inline]
    pub fn confirm(&mut self, now: Instant) -> Option<Confirmed> {
        if self.done_at > now {
            return None;
        }
        if let Some(station) = &mut self.station
            && !station.is_done()
        {
            self.done_at = station.advance(now, &mut self.stream);
            if !station.is_done() || self.done_at > now {
                return None;
            }
        }
        self.done_at = Instant::MAX;
        self.sending.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arq::FrameKind;
    use farlink_channel::rng::Streams;

    /// Returns the times from Request to Confirm of frames of 24 bytes (10 ms at 19.2 kbit/s), in
    /// ms.
    fn times(access: Access, frames: u32) -> Vec<f64> {
        let mut mac = Mac::new(access, 19_200, Streams::new(7, 0).stream("mac"));
        let frame = Frame::control(FrameKind::ReceiveReady, 0, false);
        let mut now = Instant::from_nanos(3);
        (0..frames)
            .map(|_| {
                let air = mac.request(now, frame, 24);
                assert_eq!(air, Interval::from_millis(10));
                assert!(!mac.is_idle());
                let done = mac.done_at();
                assert_eq!(mac.confirm(Instant::from_nanos(done.as_nanos() - 1)), None);
                let sent = Confirmed { frame, sent: true };
                assert_eq!(mac.confirm(done), Some(sent));
                assert!(mac.is_idle());
                assert_eq!(mac.done_at(), Instant::MAX);
                let time = done.since(now).as_nanos() as f64;
                now = done;
                time
            })
            .collect()
    }

    #[test]
    fn frame_takes_access_delay_plus_air_time() {
        assert_eq!(times(Access::None, 2), [10e6; 2]);
        let constant = Access::Constant(Interval::from_millis(5));
        assert_eq!(times(constant, 2), [15e6; 2]);
    }

    #[test]
    fn exponential_delay_has_configured_mean_and_deviation() {
        let mean = 10e6;
        let times = times(Access::Exponential(Interval::from_millis(10)), 100_000);
        let n = times.len() as f64;
        let delays: Vec<f64> = times.iter().map(|t| t - 10e6).collect();
        let measured = delays.iter().sum::<f64>() / n;
        assert!(
            (measured - mean).abs() < 4.0 * mean / n.sqrt(),
            "{measured}"
        );
        let second = delays.iter().map(|d| d * d).sum::<f64>() / n;
        // The exponential distribution has E d^2 = 2 m^2, and d^2 has variance (24 - 4) m^4.
        let error = 4.0 * (20.0 / n).sqrt() * mean * mean;
        assert!((second - 2.0 * mean * mean).abs() < error, "{second}");
        // P(d > 3 m) = e^-3.
        let tail = delays.iter().filter(|&&d| d > 3.0 * mean).count() as f64 / n;
        let p = (-3.0f64).exp();
        assert!(
            (tail - p).abs() < 4.0 * (p * (1.0 - p) / n).sqrt(),
            "{tail}"
        );
    }
}
