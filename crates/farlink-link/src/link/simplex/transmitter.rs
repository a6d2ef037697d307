//! Transmitter and propagation of a direction.

use crate::link::config::LinkConfig;
use farlink_channel::trace::Pace;
use farlink_tcp::{Instant, Interval};

/// State of the transmitter.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Transmitter {
    pub(super) free_at: Instant,
    /// Transmission time of the last packet. Lengths repeat, and a division costs as much as the
    /// rest of a hop.
    pub(super) last_sending: Interval,
    /// Bytes on the wire of the last packet; `last_sending` is the time that they take.
    pub(super) last_wire: u32,
    /// Overhead of the parameters.
    pub(super) overhead: u32,
    /// The packet that was taken last without a wait, or out of the queue.
    pub(super) packet: u32,
}

/// Way from the transmitter to the far end.
#[derive(Debug, Default)]
pub(super) struct Propagation {
    /// Delay of the parameters.
    pub(super) delay: Interval,
    /// Arrival time that later packets in order do not precede.
    pub(super) last_arrival: Instant,
}

/// Transmission of a packet.
pub(super) struct Transmission {
    pub(super) starts: Instant,
    pub(super) takes: Interval,
    /// Set if the packet waits for the start.
    pub(super) waits: bool,
}

impl Transmitter {
    /// Sends a packet that came at `now` as soon as the transmitter is free. A code and a rate
    /// trace count only if the direction is `paced`.
    #[inline(always)] // as `Simplex::enqueue`
    pub(super) fn occupy(
        &mut self,
        now: Instant,
        ip_len: u32,
        config: &LinkConfig,
        pace: Option<&mut Pace>,
        paced: bool,
    ) -> Transmission {
        let mut waits = self.free_at > now;
        let mut starts = self.free_at.max(now);
        let mut wire = ip_len + self.overhead;
        if paced {
            wire = config.coded(wire);
        }
        if self.last_wire != wire {
            self.last_wire = wire;
            self.last_sending = config.sending(wire);
        }
        let mut takes = self.last_sending;
        if paced && let Some(pace) = pace {
            let (begins, ends) = pace.send(self.free_at, now, wire);
            takes = ends.since(starts);
            starts = begins;
            waits = starts > now;
            self.free_at = ends;
        } else {
            self.free_at = starts + takes;
        }
        Transmission {
            starts,
            takes,
            waits,
        }
    }
}
