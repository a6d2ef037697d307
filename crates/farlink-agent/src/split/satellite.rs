//! Packets of halves over XTP or STP: the two proxies of a satellite link exchange them in the names
//! of the ends of the connection.

use super::super::crossing::Ends;
use super::super::middlebox::{Out, Verdict};
use super::super::view::{Path, View};
use super::relay::Relay;
use super::transport::Far;
use super::{Passing, Split, number};
use farlink_tcp::{Instant, Reason};
use farlink_wire::{Carried, stp, xtp};

/// Packet that arrived from the satellite.
#[derive(Debug)]
pub(super) struct ArrivedPdu {
    ends: Ends,
    path: Path,
    /// Source and destination port.
    ports: (u16, u16),
    pdu: Carried,
}

impl Split {
    /// Handles a packet from the satellite at a proxy whose satellite halves are XTP or STP. Packets of
    /// other transports, and TCP that the other proxy has not split, pass.
    pub(super) fn on_datagram(
        &mut self,
        now: Instant,
        view: &mut View<'_>,
        out: &mut Out,
    ) -> Verdict {
        let addresses = view.addresses();
        let path = view.path();
        let Some((src_port, dst_port, pdu)) = view.pdu() else {
            return Verdict::Forward;
        };
        let ends = Ends([(addresses.src, src_port), (addresses.dst, dst_port)]);
        if !self.is_of_proxy(ends, pdu) {
            return Verdict::Forward;
        }
        let arrived = ArrivedPdu {
            ends,
            path,
            ports: (src_port, dst_port),
            pdu: pdu.clone(),
        };
        if self.settings.stack_delay.is_zero() {
            self.arrive_pdu(now, &arrived, out);
        } else {
            let at = now + self.settings.stack_delay;
            self.stack
                .push_back((at, Passing::Datagram(Box::new(arrived))));
        }
        Verdict::Absorb
    }

    /// Returns whether the other proxy sent a packet. The numbers of its associations of XTP are
    /// above those of XTP flows.
    fn is_of_proxy(&self, ends: Ends, pdu: &Carried) -> bool {
        match (&self.settings.far, pdu) {
            (Some(Far::Xtp(_)), Carried::Xtp(pdu)) => {
                self.relays.contains_key(&ends) || pdu.key > u64::from(u32::MAX)
            }
            (Some(Far::Stp(_)), Carried::Stp(_)) => true,
            _ => false,
        }
    }

    /// Handles a packet of the satellite that has left the stack.
    pub(super) fn arrive_pdu(&mut self, now: Instant, arrived: &ArrivedPdu, out: &mut Out) {
        let (ends, pdu) = (arrived.ends, &arrived.pdu);
        let known = self.relays.get(&ends).and_then(|relay| relay.association());
        if known != Some(key_of(pdu)) {
            if !opens(pdu) {
                // The packet that opens may be lost, and follows. An END needs its answer.
                if let Carried::Stp(pdu) = pdu
                    && matches!(pdu.content, stp::Content::End { .. })
                {
                    let content = stp::Content::EndAck;
                    Self::answer(
                        now,
                        arrived,
                        stp::Pdu {
                            key: pdu.key,
                            content,
                        },
                        out,
                    );
                }
                return;
            }
            if known.is_some() {
                // The opener has a new connection, so that the old one is over.
                if let Some(relay) = self.relays.get_mut(&ends) {
                    relay.abort(now);
                }
                self.serve(ends, now, out);
                self.remove_connection(ends, now);
            }
            if !(self.is_on && self.has_room(now, out)) {
                self.count.refused += 1;
                Self::refuse(now, arrived, out);
                return;
            }
            self.open_for(now, arrived);
        }
        if let Some(relay) = self.relays.get_mut(&ends) {
            relay.on_pdu(now, pdu);
        }
        self.serve(ends, now, out);
    }

    fn open_for(&mut self, now: Instant, arrived: &ArrivedPdu) {
        let Some(far) = &self.settings.far else {
            return;
        };
        self.count.opened += 1;
        let (ends, path) = (arrived.ends, arrived.path);
        let relay = Relay::answer(
            &self.settings,
            far,
            (path, arrived.ports),
            key_of(&arrived.pdu),
            number(ends, now),
            now,
        );
        self.relays.insert(ends, Box::new(relay));
    }

    /// Refuses a connection: answers FIRST with END, and BGN with BGREJ.
    fn refuse(now: Instant, arrived: &ArrivedPdu, out: &mut Out) {
        let pdu: Carried = match &arrived.pdu {
            Carried::Xtp(pdu) => Carried::Xtp(xtp::Pdu {
                key: pdu.key,
                end: true,
                ..xtp::Pdu::default()
            }),
            Carried::Stp(pdu) => Carried::Stp(stp::Pdu {
                key: pdu.key,
                content: stp::Content::Reject,
            }),
        };
        Self::answer(now, arrived, pdu, out);
    }

    fn answer(now: Instant, arrived: &ArrivedPdu, pdu: impl Into<Carried>, out: &mut Out) {
        let ports = (arrived.ports.1, arrived.ports.0);
        let packet = arrived.path.reverse().datagram(ports, pdu.into(), now, 0);
        out.inject_because(packet, (Reason::AgentReset, false));
    }
}

/// Returns the number of a packet's connection.
fn key_of(pdu: &Carried) -> u64 {
    match pdu {
        Carried::Xtp(pdu) => pdu.key,
        Carried::Stp(pdu) => pdu.key.into(),
    }
}

/// Returns whether a packet opens a connection.
fn opens(pdu: &Carried) -> bool {
    match pdu {
        Carried::Xtp(pdu) => matches!(pdu.content, xtp::Content::Data { first: true, .. }),
        Carried::Stp(pdu) => matches!(pdu.content, stp::Content::Begin { answers: false, .. }),
    }
}

#[cfg(test)]
mod tests;
