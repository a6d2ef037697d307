use super::*;
use crate::live::Live;
use crate::scenario::{Expanded, ExpandedAgent, load};
use crate::{Monitor, build};
use farlink_agent::{Eln, Limits};
use farlink_tcp::{Body, Config, Flags, Interval, Segment, Seq};
use farlink_wire::fragment::Mtu;
use farlink_wire::{Addresses, FlowId, Ip, Packet, Payload};

const RADIO: u32 = 1;

/// Returns a transfer of 1 MB to a host behind a router, over a radio link with this channel.
fn scenario(channel: &str) -> Expanded {
    let text = format!(
        "[tcp]\nvariant = \"eln\"\neln = \"checksum\"\n[[links]]\nbetween = [\"fixed\", \"base\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n\
         [[links]]\nname = \"radio\"\nbetween = [\"base\", \"mobile\"]\n\
         down = {{ rate = \"2 Mbit/s\", delay = \"1 ms\", channel = {{ {channel} }} }}\n\
         up = {{ rate = \"2 Mbit/s\", delay = \"1 ms\" }}\n\
         [[flows]]\nfrom = \"fixed\"\nto = \"mobile\"\nsize = \"1 MB\"\n"
    );
    load(&text, "test", &[]).unwrap().expand().unwrap()
}

fn run(scenario: &Expanded, agent: Option<Box<dyn Agent>>) -> World {
    let mut world = build::build(scenario, 0, &Monitor::default()).unwrap();
    if let Some(agent) = agent {
        let number = world.add_agent(NodeId(1), RADIO, agent);
        world.wake_agent(number);
    }
    while world.completion.unfinished > 0 && world.step() {}
    world
}

/// Runs the scenario with an ELN agent that is built from JSON, as in a scenario.
fn with_eln(scenario: &Expanded) -> World {
    let spec = r#"{ "at": "base", "wireless": "radio", "kind": "eln" }"#;
    run(&with(scenario, spec), None)
}

fn with(scenario: &Expanded, spec: &str) -> Expanded {
    let mut scenario = scenario.clone();
    scenario.agents.push(ExpandedAgent {
        at: 1,
        wireless: RADIO as usize,
        spec: serde_json::from_str(spec).unwrap(),
        tcp: None,
        peers: Vec::new(),
    });
    scenario
}

fn seconds(world: &World) -> f64 {
    world.completion.finished_at.as_secs_f64()
}

/// Segments lost on the radio link are marked, and retransmitted without halving the window. The
/// transfer takes at most 0.8 of the time.
#[test]
fn marked_losses_do_not_halve_the_window() {
    let lossy = scenario("loss = 0.02");
    let without = run(&lossy, None);
    let with = with_eln(&lossy);
    let counters = with.agents.counters(with.now).next().unwrap();
    assert!(counters[0].1 > 10.0, "{counters:?}");
    assert!(
        seconds(&with) < 0.8 * seconds(&without),
        "{} s, without {} s",
        seconds(&with),
        seconds(&without)
    );
    // Without losses the agent changes nothing.
    let clean = scenario("");
    assert_eq!(
        with_eln(&clean).completion.finished_at,
        run(&clean, None).completion.finished_at
    );
}

/// An agent that is always off does not change the run: the events are those without agents, and
/// hops are fused. An agent that is switched on later gets reports of its link's departures.
#[test]
fn agent_always_off_leaves_events_and_fusing_unchanged() {
    let monitor = Monitor::default();
    let lossy = scenario("loss = 0.02");
    let json = |scenario: &Expanded| {
        let outcome = crate::run::run(scenario, 0, &monitor).unwrap();
        let mut json: serde_json::Value = serde_json::from_str(&outcome.to_json(scenario)).unwrap();
        json.as_object_mut().unwrap().remove("agents");
        json
    };
    let off = r#"{ "at": "base", "wireless": "radio", "kind": "snoop", "enabled": false }"#;
    let off = with(&lossy, off);
    assert_eq!(json(&off), json(&lossy));
    let any_forwards_early = |scenario: &Expanded| {
        let mut world = build::build(scenario, 0, &monitor).unwrap();
        world.fast_collapse_hops(scenario);
        world.links.each().any(|(_, link)| link.forwards_early())
    };
    assert!(any_forwards_early(&lossy) && any_forwards_early(&off));
    let mut world = build::build(&off, 0, &monitor).unwrap();
    world.switch_agent(0, true);
    while world.completion.unfinished > 0 && world.step() {}
    let counted = world.agents.counters(world.now).next().unwrap();
    let repaired = counted.iter().find(|(n, _)| *n == "local_retransmissions");
    assert!(repaired.is_some_and(|(_, n)| *n > 10.0), "{counted:?}");
}

/// An agent does nothing while it is off, and starts in its initial state when switched on.
#[test]
fn switched_off_agent_does_nothing_and_restarts_fresh() {
    let lossy = |agent: &str| {
        let text = "[tcp]\nvariant = \"eln\"\neln = \"agent\"\n\
             [[links]]\nbetween = [\"fixed\", \"base\"]\ndown = { rate = \"10 Mbit/s\", delay = \"10 ms\" }\n\
             [[links]]\nname = \"radio\"\nbetween = [\"base\", \"mobile\"]\n\
             down = { rate = \"2 Mbit/s\", delay = \"1 ms\", channel = { loss = 0.02 } }\n\
             [[agents]]\nat = \"base\"\nwireless = \"radio\"\nkind = \"eln\"\n";
        let flow = "[[flows]]\nfrom = \"fixed\"\nto = \"mobile\"\nsize = \"1 MB\"\n";
        let text = format!("{text}{agent}\n{flow}");
        let scenario = load(&text, "test", &[]).unwrap().expand().unwrap();
        let world = run(&scenario, None);
        let counters = world.agents.counters(world.now).next().unwrap();
        (counters[0].1, seconds(&world))
    };
    let (always, in_time) = lossy("");
    let (never, late) = lossy("enabled = false");
    let (at_first, _) = lossy("switch_at = [\"2 s\"]");
    let (at_last, _) = lossy("enabled = false\nswitch_at = [\"2 s\"]");
    assert!(always > at_first && at_first > 0.0 && at_last > 0.0 && never == 0.0);
    assert!(in_time < late, "{in_time} {late}");
}

/// Test agent that drops the second data segment, holds the fourth for 50 ms, and sends the first
/// ACK twice.
#[derive(Debug, Default)]
struct Meddler {
    data: u32,
    held: Option<(Instant, PacketId)>,
    repeated: bool,
    called: u64,
}

impl Agent for Meddler {
    fn on_packet(
        &mut self,
        now: Instant,
        id: PacketId,
        crossing: Crossing,
        view: &mut View<'_>,
        out: &mut Out,
    ) -> Verdict {
        let path = view.path();
        let Some(segment) = view.segment() else {
            return Verdict::Forward;
        };
        if crossing == Crossing::FromWireless && !segment.flags.has(Flags::SYN) && !self.repeated {
            self.repeated = true;
            out.inject(path.packet(segment.clone()).unwrap());
        }
        if crossing == Crossing::ToWireless && !segment.body.is_empty() {
            self.data += 1;
            if self.data == 2 {
                return Verdict::Drop;
            }
            if self.data == 4 {
                self.held = Some((now + Interval::from_millis(50), id));
                return Verdict::Hold;
            }
        }
        Verdict::Forward
    }

    fn deadline(&self) -> Option<Instant> {
        self.held.map(|held| held.0)
    }

    fn on_deadline(&mut self, _now: Instant, out: &mut Out) {
        self.called += 1;
        if let Some((_, id)) = self.held.take() {
            out.actions.push(Action::Release(id));
        }
    }

    fn switch(&mut self, _now: Instant, _on: bool, _out: &mut Out) {}

    fn counters(&self, _now: Instant) -> Vec<(&'static str, f64)> {
        vec![("called", self.called as f64)]
    }
}

#[test]
fn packets_are_dropped_held_and_injected() {
    let world = run(&scenario(""), Some(Box::new(Meddler::default())));
    assert_eq!(world.completion.unfinished, 0);
    assert_eq!(world.agents.injected, 1);
    assert!(world.agents.held.is_empty());
    assert_eq!(
        world.agents.counters(world.now).next(),
        Some(vec![("called", 1.0), ("injected", 1.0)])
    );
    // The drop counts once at the link over which the packet arrived, and once at its flow.
    let stats = world.links[LinkId(0)].stats();
    assert_eq!(stats.drops[DropCause::Agent as usize], 1);
    let tally = &world.counters[FlowId(0)];
    assert_eq!(tally.forward()[DropCause::Agent as usize], 1);
}

fn bytes(ip: Ip, from: u32, segment: Segment) -> Vec<u8> {
    let packet = Packet {
        ip,
        ..Packet::new(NodeId(from), NodeId(2 - from), Payload::Tcp(segment))
    };
    farlink_wire::encode(&packet, Addresses::of(&packet)).unwrap()
}

/// Agents also process packets of real programs. Of the duplicate ACKs only one is marked, for the
/// segment lost on the radio link. Packets stay balanced although an agent drops, holds and injects
/// packets.
#[test]
fn agents_act_on_packets_of_real_programs() {
    for ip in [Ip::default(), Ip::V6] {
        real_packets_of(ip);
    }
}

fn real_packets_of(ip: Ip) {
    let mut live = Live::new(&scenario("scripted_loss = { packets = [2] }"), 0).unwrap();
    live.add_agent(NodeId(1), RADIO, Box::new(Eln::new(Limits::default())));
    live.add_agent(NodeId(1), RADIO, Box::new(Meddler::default()));
    let at = |ms| Instant::ZERO + Interval::from_millis(ms);
    let data = |seq| Segment {
        seq: Seq(seq),
        flags: Flags::ACK,
        body: Body::of_bytes(&[7; 100]),
        ..Segment::default()
    };
    let ack = |ack| Segment {
        ack: Seq(ack),
        flags: Flags::ACK,
        ..Segment::default()
    };
    // The agent drops the second copy of 0, and the radio link loses 100. Segment 300 is never
    // sent.
    for seq in [0, 0, 100, 200, 400] {
        live.send(at(1), 0, bytes(ip, 0, data(seq))).unwrap();
    }
    let mut arrivals = Vec::new();
    live.advance(at(100), |host, due, raw| {
        let (_, segment) = farlink_wire::decode(raw.bytes()).unwrap();
        arrivals.push((host, segment.seq.0, due > at(50)));
    });
    assert_eq!(arrivals, [(1, 0, false), (1, 400, false), (1, 200, true)]);
    for number in [100, 100, 300, 300] {
        live.send(at(200), 1, bytes(ip, 2, ack(number))).unwrap();
    }
    let mut marks = Vec::new();
    live.advance(at(300), |host, _, raw| {
        let (_, segment) = farlink_wire::decode(raw.bytes()).unwrap();
        marks.push((host, segment.ack.0, segment.options.eln));
    });
    let expected = [
        (100, false),
        (100, false),
        (100, true),
        (300, false),
        (300, false),
    ];
    assert_eq!(marks, expected.map(|(ack, eln)| (0, ack, eln)));
    let balance = live.balance();
    assert_eq!(
        (balance.missing(), balance.injected, balance.lost),
        (0, 1, 2)
    );
}

/// Runs these flows and agents over a path whose middle link is long and lossy.
fn far(agents: &str, flows: &str) -> World {
    let text = format!(
        "[tcp]\nvariant = \"reno\"\n[[links]]\nbetween = [\"fixed\", \"base\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"30 ms\" }}\n\
         [[links]]\nname = \"radio\"\nbetween = [\"base\", \"gate\"]\n\
         down = {{ rate = \"2 Mbit/s\", delay = \"60 ms\", channel = {{ loss = 0.01 }} }}\n\
         [[links]]\nbetween = [\"gate\", \"mobile\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n{agents}\n{flows}"
    );
    let scenario = load(&text, "test", &[]).unwrap().expand().unwrap();
    run(&scenario, None)
}

fn counter(world: &World, agent: usize, name: &str) -> u64 {
    let counters = world.agents.counters(world.now).nth(agent).unwrap();
    counters.iter().find(|(n, _)| *n == name).unwrap().1 as u64
}

const SPLIT: &str = "[[agents]]\nat = \"base\"\nwireless = \"radio\"\nkind = \"split\"\n";
const DOWN: &str = "[[flows]]\nfrom = \"fixed\"\nto = \"mobile\"\nsize = \"3 MB\"\n";

/// The wireless half repairs all losses, and the wired half has none. The mean transit time is at
/// least the delay of the whole path.
#[test]
fn split_agent_retransmits_only_on_the_lossy_half() {
    let (without, with) = (far("", DOWN), far(SPLIT, DOWN));
    let (with_it, without_it) = (seconds(&with), seconds(&without));
    assert!(
        with_it < 0.8 * without_it,
        "{with_it} s, without {without_it} s"
    );
    assert_eq!(counter(&with, 0, "connections"), 1);
    assert_eq!(counter(&with, 0, "wired_retransmissions"), 0);
    assert!(counter(&with, 0, "wireless_retransmissions") > 0);
    // The wired half receives data and sends none.
    assert_eq!(counter(&with, 0, "wired_segments"), 0);
    let mean = with.counters[FlowId(0)].transit.mean_nanos();
    assert!(mean.unwrap() > 100e6, "{mean:?}");
}

/// All data arrives with the delay of the path. Either end may open and either end may send, with
/// one agent or two.
#[test]
fn data_arrives_whichever_end_opens_or_sends() {
    let two = format!("{SPLIT}{}", SPLIT.replace("base", "gate"));
    let pep = two.replace("split", "pep");
    for agents in [SPLIT, &two, &pep, &SPLIT.replace("split", "pepsal")] {
        for open in ["early", "through"] {
            let agents = agents.replace("kind", &format!("open = \"{open}\"\nkind"));
            for flow in ["", "opens = \"receiver\"\n"] {
                for (from, to) in [("fixed", "mobile"), ("mobile", "fixed")] {
                    let flow = format!(
                        "[[flows]]\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"100 kB\"\n{flow}"
                    );
                    let world = far(&agents, &flow);
                    assert_eq!(world.completion.unfinished, 0, "{agents} {flow}");
                    let mean = world.counters[FlowId(0)].transit.mean_nanos();
                    assert!(mean.unwrap() > 100e6, "{mean:?}");
                    let lost = world.agents.counters(world.now).flatten();
                    let lost: f64 = lost.filter(|(n, _)| *n == "bytes_lost").map(|n| n.1).sum();
                    assert_eq!(lost, 0.0);
                }
            }
        }
    }
}

/// A split agent of a scenario answers the SYN of a real program. The agent was once missing,
/// because nodes with real programs were built a second time without agents.
#[test]
fn split_agent_answers_syn_of_real_program() {
    let text = scenario("");
    let mut with = text.clone();
    let spec = "{\"at\": \"base\", \"wireless\": \"radio\", \"kind\": \"split\"}";
    with.agents.push(ExpandedAgent {
        at: 1,
        wireless: RADIO as usize,
        spec: serde_json::from_str(spec).unwrap(),
        tcp: Some([Config::default(), Config::default()]),
        peers: Vec::new(),
    });
    // The MTU of 1000 bytes on the first link is too small for IPv6.
    let mtu = |bytes| Some(Mtu { bytes, unit: 8 });
    (with.links[0].up.mtu, with.links[1].up.mtu) = (mtu(1000), mtu(1400));
    let syn = Segment {
        src_port: 4000,
        dst_port: 80,
        flags: Flags::SYN,
        ..Segment::default()
    };
    let at = |ms| Instant::ZERO + Interval::from_millis(ms);
    // Over IPv4, the MSS is that of the links on the side of the half. Over IPv6, it follows from
    // the smallest MTU of at least 1280 bytes of any link.
    for (ip, to_wireless, to_wired) in [(Ip::default(), 1460, 960), (Ip::V6, 1340, 1340)] {
        let mut live = Live::new(&with, 0).unwrap();
        live.send(at(1), 0, bytes(ip, 0, syn.clone())).unwrap();
        let mut arrivals = Vec::new();
        live.advance(at(22), |host, _, raw| {
            let (fields, segment) = farlink_wire::decode(raw.bytes()).unwrap();
            let mss = segment.options.mss.unwrap();
            arrivals.push((host, fields.addresses.src, segment.flags, mss));
        });
        // The agent forwards the SYN to the other host, and answers the first host at once in the
        // name of the other.
        let own = |node| farlink_wire::address_of(NodeId(node), ip.version());
        let both = Flags::SYN.with(Flags::ACK);
        let requested = (1, own(0), Flags::SYN, to_wireless);
        assert_eq!(arrivals, [requested, (0, own(2), both, to_wired)]);
        let balance = live.balance();
        assert_eq!((balance.absorbed, balance.missing()), (1, 0));
    }
}
