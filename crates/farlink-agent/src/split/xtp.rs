//! Packets of halves over XTP: the two proxies of a satellite link exchange them in the names of the
//! ends of the connection.

use super::super::crossing::Ends;
use super::super::middlebox::{Out, Verdict};
use super::super::view::{Path, View};
use super::relay::Relay;
use super::{Passing, Split, number};
use farlink_tcp::{Instant, Reason};
use farlink_wire::xtp::{Content, Pdu};

/// XTP packet that arrived from the satellite.
#[derive(Debug)]
pub(super) struct ArrivedPdu {
    ends: Ends,
    path: Path,
    /// Source and destination port.
    ports: (u16, u16),
    pdu: Pdu,
}

impl Split {
    /// Handles a packet from the satellite at a proxy whose satellite halves are XTP. Packets of
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

    /// Returns whether the other proxy sent a packet. The numbers of its associations are
    /// above those of XTP flows.
    fn is_of_proxy(&self, ends: Ends, pdu: &Pdu) -> bool {
        self.relays.contains_key(&ends) || pdu.key > u64::from(u32::MAX)
    }

    /// Handles an XTP packet that has left the stack.
    pub(super) fn arrive_pdu(&mut self, now: Instant, arrived: &ArrivedPdu, out: &mut Out) {
        let (ends, pdu) = (arrived.ends, &arrived.pdu);
        let opens = matches!(pdu.content, Content::Data { first: true, .. });
        let known = self.relays.get(&ends).and_then(|relay| relay.association());
        if known != Some(pdu.key) {
            if !opens {
                return; // FIRST may be lost, and follows
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
        let Some(config) = &self.settings.xtp else {
            return;
        };
        self.count.opened += 1;
        let (ends, path) = (arrived.ends, arrived.path);
        let relay = Relay::answer(
            &self.settings,
            config,
            (path, arrived.ports),
            arrived.pdu.key,
            number(ends, now),
            now,
        );
        self.relays.insert(ends, Box::new(relay));
    }

    /// Answers FIRST with END.
    fn refuse(now: Instant, arrived: &ArrivedPdu, out: &mut Out) {
        let end = Pdu {
            key: arrived.pdu.key,
            end: true,
            ..Pdu::default()
        };
        let ports = (arrived.ports.1, arrived.ports.0);
        let packet = arrived.path.reverse().datagram(ports, end, now, 0);
        out.inject_because(packet, (Reason::AgentReset, false));
    }
}
