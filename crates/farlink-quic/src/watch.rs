//! Log and trace of an end, from the packets of its tap.

use crate::control::ControlStats;
use crate::counters::Counters;
use crate::ledger::Ledger;
use crate::qlog::Qlog;
use crate::tap::Plain;

/// Datagram of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Datagram<'a> {
    /// A timer expired.
    None,
    Arrived(&'a [u8]),
    Sent(&'a [u8]),
}

/// Log and trace of an end.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) qlog: Option<Qlog>,
    pub(crate) ledger: Ledger,
    /// Set if the caller takes what the ledger has.
    pub(crate) traced: bool,
    /// Set if the congestion control has slow start and recovery.
    has_states: bool,
    /// Number of packets that were lost.
    lost: u64,
}

impl Watch {
    pub(crate) fn new(windows: (u64, u64), has_states: bool) -> Self {
        Self {
            qlog: None,
            ledger: Ledger::new(0, windows),
            traced: false,
            has_states,
            lost: 0,
        }
    }

    /// Returns the records of the log.
    pub(crate) fn text(&self) -> &str {
        self.qlog.as_ref().map_or("", Qlog::text)
    }

    /// Adds an event, in which the packets `plain` were sent or arrived.
    pub(crate) fn add(
        &mut self,
        now: u64,
        datagram: Datagram<'_>,
        plain: &[Plain],
        (counters, control): (&Counters, &ControlStats),
    ) {
        for packet in plain {
            self.ledger.add(packet, counters.mtu);
        }
        let lost = counters.lost.saturating_sub(self.lost);
        self.lost += lost;
        let lost: Vec<_> = (0..lost).map(|_| self.ledger.lose()).collect();
        if !self.traced {
            self.ledger.take();
        }
        let Some(log) = &mut self.qlog else {
            return;
        };
        match datagram {
            Datagram::None => {}
            Datagram::Arrived(bytes) => log.on_arrival(now, bytes, plain),
            Datagram::Sent(bytes) => log.on_transmit(now, bytes, plain),
        }
        for packet in lost {
            log.on_lost(now, packet);
        }
        if self.has_states {
            log.on_state(now, counters, control, self.ledger.largest());
        }
        log.on_change(now, counters, control);
    }
}
