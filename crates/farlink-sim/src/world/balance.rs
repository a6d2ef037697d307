//! Tests that the metrics of flows balance, in random scenarios.

use super::random::scenario;
use super::{FlowKind, World};
use crate::flow::EndId;
use crate::metrics::{Scope, named, of_flows};
use crate::monitor::Monitor;
use crate::run::run_world;
use farlink_channel::DropCause;
use farlink_wire::NodeId;
use serde_json::{Map, Value};

/// Returns source and destination node of a flow's data.
fn way(world: &World, slot: FlowKind) -> [NodeId; 2] {
    match slot {
        FlowKind::Tcp(number) => EndId::both(number).map(|end| world.ends[end].node),
        FlowKind::Udp(index) => world.udp[index].nodes(),
        FlowKind::Xtp(index) => world.xtp[index].nodes(),
        FlowKind::Quic(index) => world.quic[index].nodes(),
    }
}

/// Returns the rate of the slowest link between two nodes, in bit/s.
fn least_rate(world: &World, [mut at, to]: [NodeId; 2]) -> f64 {
    let mut min = u64::MAX;
    while at != to {
        let link = &world.links[world.nodes[at].next_hop(to)];
        min = min.min(link.config().rate);
        at = link.to();
    }
    min as f64
}

/// Goodput is at most the rate of the slowest link of the path. Each sent datagram was received,
/// was lost for a cause, or is in flight.
#[test]
fn goodput_and_datagrams_of_each_flow_add_up() {
    let (mut flows, mut datagrams, mut cut_off) = (0, 0, 0);
    for number in 1_000..1_400 {
        let (text, Some(scenario)) = scenario(number) else {
            continue; // The random choices contradict each other.
        };
        let world = run_world(&scenario, 0, &Monitor::default()).unwrap();
        for (values, &slot) in of_flows(&world).iter().zip(&world.order) {
            let flow: Map<String, Value> = named(Scope::Flow, values);
            let of = |name: &str| flow[name].as_f64();
            let min = least_rate(&world, way(&world, slot));
            for rate in ["goodput", "goodput_over_run"] {
                let rate = of(rate).unwrap_or(0.0);
                assert!(
                    rate <= min * (1.0 + 1e-9),
                    "{rate} of {min}: {flow:?} of\n{text}"
                );
            }
            flows += 1;
            let Some(sent) = of("datagrams_sent") else {
                continue;
            };
            let [received, lost, under_way] = ["received", "lost", "under_way"]
                .map(|part| of(&format!("datagrams_{part}")).unwrap());
            assert_eq!(sent, received + lost + under_way, "{flow:?} of\n{text}");
            // Excluded are duplicates, because a lost copy is no lost datagram, and fragments,
            // because one lost fragment loses a datagram.
            if !text.contains("duplicate") && !text.contains("mtu") {
                let causes = DropCause::ALL.iter();
                let causes = causes.filter_map(|cause| of(&format!("lost_{}", cause.name())));
                assert_eq!(lost, causes.sum::<f64>(), "{flow:?} of\n{text}");
            }
            datagrams += 1;
            cut_off += usize::from(under_way > 0.0);
        }
    }
    assert!(flows > 400 && datagrams > 100, "{datagrams} of {flows}");
    assert!(cut_off > 10, "{cut_off} of {datagrams} have some under way");
}
