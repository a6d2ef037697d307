//! Congestion controls of quinn-proto, watched: their inputs are counted.

use crate::config::Control;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{
    BbrConfig, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Counters of what the congestion control of an end was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlStats {
    /// Number of round-trip samples.
    pub rtt_samples: u64,
    /// Sum of the round-trip samples in nanoseconds, the peer's delay included.
    pub rtt_sum: u64,
    /// Least and greatest round-trip sample in nanoseconds.
    pub rtt_min: u64,
    /// Greatest round-trip sample in nanoseconds.
    pub rtt_max: u64,
    /// Latest round-trip sample in nanoseconds.
    pub rtt_last: u64,
    /// Smoothed round-trip time in nanoseconds.
    pub srtt: u64,
    /// Bytes in flight after the latest acknowledgment.
    pub in_flight: u64,
    /// Reductions of the window, persistent congestion included.
    pub reductions: u64,
    /// Events of persistent congestion (RFC 9002, 7.6).
    pub persistent: u64,
    /// Set while the window does not block the next datagram.
    pub(crate) is_open: bool,
}

/// Window of a control while it does not block: beyond it quinn-proto does not pace either.
const OPEN: u64 = 1 << 40;

/// Lets the window block the next datagram, or lets it not.
pub(crate) fn open_window(control_stats: &Mutex<ControlStats>, is_open: bool) {
    if let Ok(mut control_stats) = control_stats.lock() {
        control_stats.is_open = is_open;
    }
}

/// Makes the congestion control of a connection.
pub(crate) struct Factory {
    pub(crate) control: Control,
    /// Seed of a control that draws random numbers.
    pub(crate) seed: [u8; 16],
    pub(crate) control_stats: Arc<Mutex<ControlStats>>,
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let inner = match self.control {
            Control::Cubic => Arc::new(CubicConfig::default()).build(now, mtu),
            Control::NewReno => Arc::new(NewRenoConfig::default()).build(now, mtu),
            Control::Bbr => {
                rand_pcg::set_next_seed(self.seed);
                Arc::new(BbrConfig::default()).build(now, mtu)
            }
        };
        Box::new(Watched {
            inner,
            newest: None,
            control_stats: Arc::clone(&self.control_stats),
        })
    }
}

/// A congestion control and the counters of its inputs.
struct Watched {
    inner: Box<dyn Controller>,
    /// Departure of the newest packet of the current batch of acknowledged packets.
    newest: Option<Instant>,
    control_stats: Arc<Mutex<ControlStats>>,
}

impl Watched {
    fn count(&self, change: impl FnOnce(&mut ControlStats)) {
        if let Ok(mut control_stats) = self.control_stats.lock() {
            change(&mut control_stats);
        }
    }
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.newest = self.newest.max(Some(sent));
        self.count(|control_stats| control_stats.srtt = nanos(rtt.get()));
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest: Option<u64>,
    ) {
        let sample = self.newest.take().map(|sent| nanos(now - sent));
        self.count(|control_stats| {
            control_stats.in_flight = in_flight;
            if let Some(sample) = sample {
                control_stats.rtt_min = match control_stats.rtt_samples {
                    0 => sample,
                    _ => control_stats.rtt_min.min(sample),
                };
                control_stats.rtt_max = control_stats.rtt_max.max(sample);
                control_stats.rtt_last = sample;
                control_stats.rtt_sum += sample;
                control_stats.rtt_samples += 1;
            }
        });
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let before = self.inner.window();
        self.inner
            .on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
        let reduced = self.inner.window() < before;
        self.count(|control_stats| {
            control_stats.reductions += u64::from(reduced);
            control_stats.persistent += u64::from(is_persistent_congestion);
        });
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        let is_open = self.control_stats.lock().is_ok_and(|stats| stats.is_open);
        if is_open { OPEN } else { self.inner.window() }
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            inner: self.inner.clone_box(),
            newest: self.newest,
            control_stats: Arc::clone(&self.control_stats),
        })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
