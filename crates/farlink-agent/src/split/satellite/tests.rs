use super::super::tests::{at, counter, settings};
use super::super::transport::{Kind, kind_of};
use super::super::{Crossing, Settings};
use super::*;
use crate::middlebox::{Action, Agent};
use farlink_tcp::Body;
use farlink_wire::{Datagram, NodeId, Packet, PacketId, Payload};
use farlink_xtp::stp::Config;

fn agent() -> Split {
    let config = Config {
        rate: None,
        packet: 1000,
        window: 100_000,
        polls: 3,
        early_data: true,
    };
    Split::new(Settings {
        far: Some(Far::Stp(config)),
        ..settings()
    })
}

/// Passes a packet from the satellite to the agent. Returns the packets of STP that it sends.
fn arrive(agent: &mut Split, key: u32, content: stp::Content) -> Vec<(u32, stp::Content)> {
    let pdu = stp::Pdu { key, content };
    let datagram = Datagram {
        src_port: 1000,
        dst_port: 80,
        body: Body::of_len(pdu.wire_len()),
        carried: Some(Box::new(pdu.into())),
        ..Datagram::default()
    };
    let mut packet = Packet::new(NodeId(1), NodeId(2), Payload::Udp(datagram));
    let mut out = Out::default();
    let mut view = View::new(&mut packet);
    let id = PacketId::default();
    let verdict = agent.on_packet(at(1), id, Crossing::FromWireless, &mut view, &mut out);
    assert_eq!(verdict, Verdict::Absorb);
    let mut sent = Vec::new();
    for action in out.actions {
        if let Action::Inject(injection) = action
            && let Payload::Udp(datagram) = injection.packet.payload
            && let Some(Carried::Stp(pdu)) = datagram.carried.map(|pdu| *pdu)
        {
            sent.push((pdu.key, pdu.content));
        }
    }
    sent
}

fn begin() -> stp::Content {
    stp::Content::Begin {
        answers: false,
        credit: 100,
    }
}

/// An END without a connection gets its answer, so that it is not repeated. Other packets get none.
#[test]
fn an_unknown_end_is_answered() {
    let mut agent = agent();
    let end = stp::Content::End { done: false };
    assert_eq!(arrive(&mut agent, 5, end), [(5, stp::Content::EndAck)]);
    let poll = stp::Poll { number: 1, next: 3 };
    assert_eq!(arrive(&mut agent, 5, stp::Content::Poll(poll)), []);
    assert_eq!(counter(&agent, "connections"), 0);
}

/// A BGN of the same ends with another number ends the connection before it.
#[test]
fn a_new_connection_replaces_the_old_one() {
    let mut agent = agent();
    let of_answer = |sent: &[(u32, stp::Content)]| {
        let answers =
            |content: &stp::Content| matches!(content, stp::Content::Begin { answers: true, .. });
        sent.iter().find(|sent| answers(&sent.1)).map(|sent| sent.0)
    };
    assert_eq!(of_answer(&arrive(&mut agent, 5, begin())), Some(5));
    assert_eq!(of_answer(&arrive(&mut agent, 5, begin())), Some(5));
    assert_eq!(counter(&agent, "connections"), 1);
    let sent = arrive(&mut agent, 6, begin());
    assert_eq!(of_answer(&sent), Some(6));
    assert_eq!(sent[0], (5, stp::Content::End { done: false }));
    assert_eq!(counter(&agent, "connections"), 2);
    assert_eq!(counter(&agent, "connections_failed"), 1);
}

#[test]
fn packets_have_the_reasons_of_their_kinds() {
    let reason = |content, again| kind_of(&stp::Pdu { key: 1, content }.into()).reason(again);
    let data = stp::Content::Data {
        seq: 1,
        position: 1000,
        len: 10,
        last: false,
        poll: None,
    };
    assert_eq!(reason(data.clone(), false), Reason::NewData);
    assert_eq!(reason(data, true), Reason::Report);
    for content in [stp::Content::Reject, stp::Content::End { done: false }] {
        assert_eq!(reason(content, false), Reason::AgentReset);
    }
    assert_eq!(reason(stp::Content::EndAck, false), Reason::Control);
    let stat = stp::Content::Stat(stp::Stat {
        poll: 1,
        next: 1,
        credit: 1,
        gaps: vec![],
        edge: 1,
    });
    let ustat = stp::Content::Ustat {
        next: 1,
        credit: 1,
        gap: (1, 2),
    };
    for content in [stat, ustat, stp::Content::End { done: true }] {
        let kind = kind_of(&stp::Pdu { key: 1, content }.into());
        assert!(matches!(kind, Kind::Report));
    }
}
