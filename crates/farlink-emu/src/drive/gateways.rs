//! Gateways on other machines: the emulation reads their packets, and subtracts the delays of their
//! tunnels from the scenario's delays.

use super::{BATCH, Emulation};
use crate::EmuError;
use crate::allowance::take_off;
use crate::clock::Clock;
use crate::host::Port;
use crate::unit::{Notices, Unit, UnitEvent};
use farlink_sim::ChangeError;
use farlink_sim::scenario::Expanded;
use farlink_tcp::{Instant, Interval};
use farlink_wire::Id;

impl Emulation {
    /// Puts packets from gateways into the network at the time at which they are read.
    pub(super) fn receive_from_gateways(
        &mut self,
        clock: Clock,
        buffer: &mut [u8],
    ) -> Result<(), EmuError> {
        let device = self.hosts.len();
        for _ in 0..BATCH {
            let read = self.unit.as_ref().and_then(|unit| unit.read(buffer));
            let now = clock.now();
            let Some((length, from)) = read else {
                self.poller.arrivals.drained(device, now);
                return Ok(());
            };
            let waited = self.poller.arrivals.read(device, now);
            self.deliver_by(now, clock)?;
            let Some(unit) = &mut self.unit else {
                return Ok(());
            };
            match unit.on_datagram(now, from, &buffer[..length], &mut self.hosts) {
                UnitEvent::Nothing => {}
                UnitEvent::Packet(host, packet, checked) => {
                    self.enter(now, host, packet, checked, waited);
                }
                UnitEvent::Place(host, x, y) => self.live.place(host, x, y),
            }
            if let Some(captures) = &mut self.captures {
                captures.network(&mut self.live, self.hosts.len());
            }
        }
        self.poller.arrivals.left(device, clock.now());
        Ok(())
    }

    /// Changes the running network to `scenario`.
    pub(crate) fn set(&mut self, scenario: &Expanded) -> Result<(), ChangeError> {
        self.live.set(&self.with_tunnels(scenario).0)?;
        self.scenario = scenario.clone();
        Ok(())
    }

    /// Returns `scenario` with its delays shortened by those of the tunnels. Also returns the
    /// subtracted delay of each gateway, with its index in `hosts`.
    fn with_tunnels(&self, scenario: &Expanded) -> (Expanded, Vec<(usize, Interval)>) {
        let (mut hosts, mut added) = (Vec::new(), Vec::new());
        for (i, host) in self.hosts.iter().enumerate() {
            if let Port::Gateway(peer) = &host.port
                && let Some(one_way) = peer.allowed
            {
                hosts.push(i);
                added.push((host.node.index(), one_way));
            }
        }
        let (scenario, off) = take_off(scenario, &added);
        (scenario, hosts.into_iter().zip(off).collect())
    }

    /// Subtracts the tunnels' current delays from the scenario's delays, if a tunnel's delay has
    /// changed enough.
    pub(super) fn allow_for_tunnels(&mut self, now: Instant) {
        let mut changed = false;
        for host in &mut self.hosts {
            if let Port::Gateway(peer) = &mut host.port {
                changed |= peer.update_allowance(now);
            }
        }
        if !changed {
            return;
        }
        let (scenario, off) = self.with_tunnels(&self.scenario);
        let done = self.live.set(&scenario).is_ok();
        for (host, off) in off {
            if let Port::Gateway(peer) = &mut self.hosts[host].port {
                peer.taken_off = if done { off } else { Interval::ZERO };
            }
        }
    }

    /// Returns the status lines of the unit, if this emulation is one.
    pub(crate) fn notices(&self) -> Option<Notices> {
        self.unit.as_ref().map(Unit::notices)
    }
}
