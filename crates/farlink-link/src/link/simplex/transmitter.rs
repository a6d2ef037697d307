//! Transmitter and propagation delay of a direction.

use crate::link::config::LinkConfig;
use farlink_channel::trace::Pace;
use farlink_tcp::{Instant, Interval};

/// State of the transmitter.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Transmitter {
    pub(super) free_at: Instant,
    /// Transmission time of the last packet, cached because lengths repeat and a division costs as
    /// much as the rest of a hop.
    pub(super) last_sending: Interval,
    /// Bytes on the wire for which `last_sending` holds.
    pub(super) last_wire: u32,
    /// Copy of the configured framing bytes.
    pub(super) overhead: u32,
    /// Packed description of the last packet that started without waiting or left the queue.
    pub(super) packet: u32,
}

/// Propagation from the transmitter to the far end.
#[derive(Debug, Default)]
pub(super) struct Propagation {
    /// Copy of the configured delay.
    pub(super) delay: Interval,
    /// Earliest arrival time of later packets that keep the order.
    pub(super) last_arrival: Instant,
}

/// Transmission of a packet.
pub(super) struct Transmission {
    pub(super) starts: Instant,
    pub(super) takes: Interval,
    /// Set if the packet must wait for the transmitter.
    pub(super) waits: bool,
}

impl Transmitter {
    /// Schedules a packet that arrived at `now` as soon as the transmitter is free. A block code
    /// and a rate trace are used only if `paced`.
    #[inline(always)] // like `Simplex::enqueue`
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
