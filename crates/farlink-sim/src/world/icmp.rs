//! Packets of real programs in the simulated network: their entry and exit, ICMP messages of
//! routers (RFC 792, RFC 1812), and the balance of all packets.

use super::World;
use super::real_packets::{Balance, Bucket, Place};
use farlink_channel::DropCause;
use farlink_tcp::{Instant, Reason};
use farlink_wire::icmp::IcmpError;
use farlink_wire::{FlowId, HOST_TTL, LinkId, NodeId, Packet, PacketId, Payload, Raw, node_of};
use std::net::IpAddr;

impl World {
    /// Sets which nodes run programs. All other nodes are routers.
    pub(crate) fn set_hosts(&mut self, is_host: impl Iterator<Item = bool>) {
        let errors = Bucket {
            full: Instant::ZERO,
        };
        self.real.places = is_host.map(|is_host| Place { is_host, errors }).collect();
    }

    /// Sets the uplink: the host that gets IPv4 packets for addresses that no node has, and with
    /// `ipv6` also IPv6 packets.
    pub(crate) fn set_uplink(&mut self, host: NodeId, ipv6: bool) {
        self.real.uplink = Some((host, ipv6));
    }

    /// Returns the destination node of an address.
    pub(crate) fn node_for(&self, address: IpAddr) -> Option<NodeId> {
        let node = node_of(address);
        let is_here = node.is_some_and(|node| self.real.places.get(node).is_some());
        match self.real.uplink {
            Some((host, ipv6)) if !is_here && (ipv6 || address.is_ipv4()) => Some(host),
            _ => node,
        }
    }

    /// Returns whether a node forwards packets of others.
    pub(crate) fn is_junction(&self, node: NodeId) -> bool {
        !self.nodes[node].routes.is_empty()
    }

    /// Returns the next node on the path from `node` to `to`, if there is a route.
    pub(crate) fn next_node(&self, node: NodeId, to: NodeId) -> Option<NodeId> {
        self.next_link(node, to).map(|link| self.links[link].to())
    }

    /// Returns the link direction over which `node` sends to `to`.
    pub(crate) fn next_link(&self, node: NodeId, to: NodeId) -> Option<LinkId> {
        let link = self.nodes[node].next_hop(to);
        self.links.has(link).then_some(link)
    }

    /// Sends a packet of a real program from a node that has a route for it.
    pub(crate) fn enter(&mut self, now: Instant, node: NodeId, packet: Packet) {
        debug_assert!(now >= self.now, "time goes on");
        self.now = now;
        if let Some(probes) = &mut self.probes {
            probes.capture(now, node, &packet);
        }
        self.real.entered += 1;
        let number = self.packets.insert(packet);
        self.forward(node, number);
    }

    /// Passes each packet of a real program that has arrived to `take`, with its node.
    pub(crate) fn leave(&mut self, mut take: impl FnMut(NodeId, &mut Packet)) {
        self.real.left += self.real.leaving.len() as u64;
        for (node, number) in self.real.leaving.drain(..) {
            take(node, self.packets.get_mut(number));
            self.packets.release(number);
        }
    }

    /// Handles a packet of a real program at its destination node.
    pub(crate) fn at_program(&mut self, node: NodeId, link: LinkId, number: PacketId) {
        if self.is_host(node) {
            self.real.leaving.push((node, number));
        } else {
            self.at_router(node, link, number);
        }
    }

    fn is_host(&self, node: NodeId) -> bool {
        let place = self.real.places.get(node);
        place.is_some_and(|place| place.is_host)
    }

    /// Drops a packet whose TTL has expired, with an ICMP error to its sender (RFC 1812, 5.3.1).
    #[cold]
    pub(crate) fn expired(&mut self, node: NodeId, link: LinkId, number: PacketId) {
        self.refuse(node, link, number, IcmpError::TimeExceeded);
    }

    /// Drops a packet without a route, with an ICMP error to its sender.
    #[cold]
    pub(crate) fn no_route(&mut self, node: NodeId, link: LinkId, number: PacketId) {
        self.refuse(node, link, number, IcmpError::NetUnreachable);
    }

    /// Drops a packet at `node`, and sends an ICMP error to the program that sent the packet.
    pub(crate) fn refuse(
        &mut self,
        node: NodeId,
        link: LinkId,
        number: PacketId,
        error: IcmpError,
    ) {
        let cause = match error {
            IcmpError::TimeExceeded => DropCause::HopLimit,
            IcmpError::TooBig(_) => DropCause::TooBig,
            _ => DropCause::NoRoute,
        };
        let answer = self.real_packet(number);
        let answer = answer.and_then(|raw| raw.error_of(node, error));
        self.lose_beyond(link, number, cause);
        let Some(answer) = answer else { return };
        // "Too big" errors are not limited, because path MTU discovery needs them (RFC 1812,
        // 4.3.2.8, leaves the choice to the router).
        if matches!(error, IcmpError::TooBig(_)) || self.allows_icmp_error(node) {
            self.send_answer(node, answer);
        }
    }

    /// Handles a packet addressed to a router: sends an echo reply, or an ICMP error if required.
    #[cold]
    fn at_router(&mut self, node: NodeId, link: LinkId, number: PacketId) {
        if self.packets[number].corrupt {
            self.lose_beyond(link, number, DropCause::Checksum);
            return;
        }
        let raw = self.real_packet(number);
        self.real.for_routers += 1;
        self.packets.release(number);
        let Some(raw) = raw else { return };
        if let Some(reply) = raw.echo_reply() {
            self.send_answer(node, reply);
        } else if let Some(error) = raw.answer_of_router()
            && self.allows_icmp_error(node)
        {
            self.send_answer(node, error);
        }
    }

    /// Returns the bytes of a packet of a real program. If the packet is corrupt, they include the
    /// error.
    fn real_packet(&self, number: PacketId) -> Option<Raw> {
        let packet = &self.packets[number];
        let Payload::Raw(raw) = &packet.payload else {
            return None;
        };
        let mut raw = raw.clone();
        if packet.corrupt {
            raw.spoil();
        }
        Some(raw)
    }

    /// Returns whether the rate limit allows a node to send another ICMP error. An allowed error is
    /// counted.
    fn allows_icmp_error(&mut self, node: NodeId) -> bool {
        let now = self.now;
        let place = self.real.places.get_mut(node);
        let allowed = place.is_some_and(|place| place.errors.try_take(now));
        self.real.limited += u64::from(!allowed);
        allowed
    }

    /// Sends a router's message to the host that has the destination address, if a host has it.
    fn send_answer(&mut self, node: NodeId, answer: Raw) {
        let to = self.node_for(answer.destination());
        let Some(to) = to.filter(|&to| self.is_host(to)) else {
            return;
        };
        self.real.answered += 1;
        let ip = answer.ip();
        let answer = Packet {
            src: node,
            dst: to,
            flow: FlowId::NONE,
            from_opener: false,
            ident: 0,
            ttl: HOST_TTL,
            corrupt: false,
            ip,
            piece: None,
            payload: Payload::Raw(answer),
        };
        let answer = self.make_packet(answer, Reason::Icmp, false);
        if to == node {
            self.real.leaving.push((node, answer));
        } else if !self.forward(node, answer) {
            // A message without a route is not counted.
            self.real.answered -= 1;
            self.packets.release(answer);
        }
    }

    /// Returns the balance of all packets of real programs.
    pub(crate) fn balance(&self) -> Balance {
        let own = &self.real;
        Balance {
            entered: own.entered,
            copied: own.copied,
            cut: own.cut,
            answered: own.answered,
            injected: self.agents.injected,
            left: own.left,
            lost: self.links.ids().map(|link| self.links.lost(link)).sum(),
            for_routers: own.for_routers,
            absorbed: self.agents.absorbed,
            inside: (self.packets.count() - self.real.leaving.len()) as u64,
            limited: own.limited,
        }
    }
}
