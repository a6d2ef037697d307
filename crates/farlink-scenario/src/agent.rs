//! Agents at routers in a scenario.

use farlink_agent::{
    Far, Limits, Repair, SackHandling, SenderNotices, SnoopConfig, ThinConfig, TimerStart,
};
use farlink_tcp::{Config, Interval, config};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::app::App;
use super::checks::{LONGEST_DELAY, LONGEST_RUN, SHORTEST, fault, ignored, out_of_range};
use super::decode::Problem;
use super::expanded::{ExpandedFlow, ExpandedLink};
use super::handoff::AgentHandoff;
use super::stp_half::StpHalfSpec;
use super::table::table;
use super::tcp::TcpSpec;
use super::tree::Step;
use super::units::{Rate, Size, Time};
use super::xtp_half::XtpHalfSpec;

table! {
    /// An agent at a router. Every packet that crosses the router passes the agent.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct AgentSpec for kind: AgentName {
        /// Router of the agent.
        at: String;
        /// Name of the link at that router that the agent serves. The agent treats losses behind
        /// this link as losses of the medium.
        wireless: String;
        /// Kind of the agent.
        kind: AgentName;
        /// Enable the agent from the start; `ctl set agents.0.enabled=false` switches it while an
        /// emulation runs.
        enabled?: bool = true;
        /// Instants at which the agent is switched off if it is on, and on if it is off.
        switch_at?: Vec<Time>;
        /// Fate of the state that the agent has for a host of `[[handoffs]]` when the host leaves
        /// the agent's link. The default is "lose".
        handoff?: AgentHandoff;
        /// Rate of a state transfer to another agent; by default the transfer takes no time.
        transfer_rate?: Rate, in Rate(1)..=Rate(1_000_000_000_000);
        /// Additional delay of the transfer.
        transfer_delay?: Time, in Time(Interval::ZERO)..=Time(LONGEST_DELAY);
        /// Most connections with state in the agent at once. Packets of further connections pass
        /// unread.
        connections?: u32 = Limits::default().connections as u32, in 1..=1_000_000;
        /// Time without packets after which the agent removes a connection's state.
        idle?: Time = Time(Limits::default().idle), in SHORTEST..=Time(LONGEST_RUN);
        /// Event at which the agent sends partial acknowledgments.
        protocol?: AckpProtocol = AckpProtocol::Full, of [Ackp];
        /// Send partial acknowledgments only to senders whose SYN has the option. The default is
        /// true with `protocol = "full"`, otherwise false.
        negotiate?: bool, of [Ackp];
        /// Send a partial acknowledgment at each expiry of the timer, and not only at the first
        /// expiry for the same data. Only with `protocol = "full"`.
        repeat?: bool = false, of [Ackp];
        /// Most packets of a connection in the agent's cache. It should be at least the window.
        /// Berkeley's snoop of 1995 had 100.
        cache?: u32 = SNOOP.cache as u32, in 1..=100_000, of [Snoop, Ackp, Ebsn, SeqCache];
        /// Most bytes of all connections' packets in the cache. If the cache is full, further
        /// packets pass without a copy.
        memory?: Size = Size(64 << 20), in Size(1)..=Size(1 << 40), of [Snoop, Ackp, Ebsn];
        /// Instant from which the local timer of a packet runs. With "arrival" it covers the wait
        /// for the wireless link.
        timer_from?: TimerFrom = TimerFrom::Departure, of [Snoop, Ackp, Ebsn];
        /// Least time after which the agent declares a packet lost.
        tick?: Time = Time(SNOOP.tick), in SHORTEST..=Time(LONGEST_DELAY),
            of [Snoop, Ackp, Ebsn, SeqCache];
        /// Smoothed round-trip time of the wireless side before the first sample.
        srtt?: Time = Time(SNOOP.srtt), in SHORTEST..=Time(LONGEST_DELAY),
            of [Snoop, Ackp, Ebsn, SeqCache];
        /// Initial variation of the round-trip time.
        rttvar?: Time = Time(SNOOP.rttvar), in SHORTEST..=Time(LONGEST_DELAY),
            of [Snoop, Ackp, Ebsn, SeqCache];
        /// Number of local retransmissions of a packet after which the agent gives up the packet
        /// and forwards duplicate ACKs for it.
        tries?: u32, in 1..=1000,
            of [Snoop = 10, Ackp = 10, Ebsn = 10, SeqCache = 10, Spoof = 15];
        /// Send retransmissions before all packets that wait for the wireless link. Not on a link
        /// with a protocol, cross traffic or header compression.
        ahead?: bool = true, of [Snoop, Ackp, Ebsn];
        /// Treatment of selective acknowledgments.
        sack?: SackName = SackName::Pass, of [Snoop, Ackp, Ebsn];
        /// At a duplicate ACK with SACK blocks, retransmit all missing data below the highest
        /// block.
        sack_repair?: bool = false, of [Snoop, Ackp, Ebsn];
        /// Send negative acknowledgments to the mobile host for data that the wireless link lost;
        /// the host's TCP needs `nack = true`.
        uploads?: bool = false, of [Snoop];
        /// Number of data segments from the start of a connection without any acknowledgment. At
        /// this number the agent assumes that acknowledgments take another path, and forwards the
        /// connection unread until an acknowledgment arrives.
        blind_after?: u32 = Limits::default().blind_after,
            of [Eln, Snoop, Ackp, Ebsn, EbsnPlain, SeqCache];
        /// TCP of the half on the other links' side: the keys that differ from the scenario's
        /// `tcp`.
        wired_tcp?: TcpSpec, of [Split, Pep, Pepsal];
        /// TCP of the half on the side of the wireless link.
        wireless_tcp?: TcpSpec, of [Split];
        /// TCP of the half on the side of the satellite link that `wireless` names. The default
        /// variant is "hybla", or the profile's default if the profile has no Hybla.
        satellite_tcp?: TcpSpec, of [Pep, Pepsal];
        /// XTP instead of TCP between this proxy and one at the other end of the satellite link.
        /// Simulated only; `open` must be "early".
        satellite_xtp?: XtpHalfSpec, of [Pep];
        /// STP instead of TCP between this proxy and one at the other end of the satellite link.
        /// Simulated only; `open` must be "early".
        satellite_stp?: StpHalfSpec, of [Pep];
        /// Time at which the agent answers the SYN of an end.
        open?: OpenName = OpenName::Early, of [Split, Pep, Pepsal];
        /// Most forwarded and unacknowledged bytes of a direction. At this limit a split connection
        /// reads no more data, so its receive window closes, and "spoof" acknowledges no more data.
        buffer?: Size, in Size(1)..=Size(1 << 30),
            of [Split = Size(64 << 10), Pep = Size(1 << 20), Pepsal = Size(4 << 20),
                Spoof = Size(64 << 10)];
        /// Time for which bytes wait for more bytes to fill a segment of the other half. With 0
        /// they are sent as they arrive.
        linger?: Time, in Time(Interval::ZERO)..=Time(LONGEST_DELAY),
            of [Split = Time(Interval::ZERO), Pep = Time(Interval::from_millis(200)),
                Pepsal = Time(Interval::ZERO)];
        /// Least time between two pure ACKs of a connection. The ACKs between them wait, and newer
        /// ones replace them.
        interval?: Time = Time(Interval::from_millis(20)), in SHORTEST..=Time(LONGEST_DELAY),
            of [Thin];
        /// Most ACKs that one ACK replaces. The next one leaves at once.
        replaces?: u32 = 32, in 1..=1_000_000, of [Thin];
        /// Delay of a packet from the link to the agent, and the same delay again from the agent to
        /// the next link.
        stack_delay?: Time = Time(Interval::ZERO),
            in Time(Interval::ZERO)..=Time(LONGEST_DELAY), of [Split, Pep, Pepsal];
    }
}

/// Default parameters of agents of the snoop family.
const SNOOP: SnoopConfig = SnoopConfig::DEFAULT;

/// Event at which an agent sends partial acknowledgments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AckpProtocol {
    /// At the expiry of the local timer (west1997, 3.3).
    Full,
    /// For each packet with data (west1997, 4.2).
    Initial,
}

/// Instant from which the local timer of a packet runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimerFrom {
    /// The packet has left the transmitter.
    Departure,
    /// The packet reached the agent, or was sent again (west1997, 3.3).
    Arrival,
}

/// Treatment of selective acknowledgments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SackName {
    /// Blocks pass unchanged.
    Pass,
    /// Blocks that cover holes under local repair are hidden, so the sender does not react to the
    /// holes.
    Mask,
    /// The option is removed from SYNs, so the ends do not use SACK.
    Off,
}

/// Kinds of agents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentName {
    /// Marks duplicate ACKs for losses on the wireless link (west1997, 2.3.3).
    Eln,
    /// Keeps copies of data, retransmits losses of the wireless link, and drops the duplicate ACKs
    /// of those losses (west1997, 2.6).
    Snoop,
    /// Snoop with partial acknowledgments to the sender (west1997, 3).
    Ackp,
    /// Snoop that also sends the sender notices of a bad state at each expiry of the local timer
    /// (west1997, 3.0).
    Ebsn,
    /// Sends the sender notices of a bad state at each retransmission by the wireless link's
    /// protocol. Has no cache.
    #[serde(rename = "ebsn-plain")]
    EbsnPlain,
    /// Records sequence numbers of data. The sender itself retransmits losses of the wireless link,
    /// without congestion measures (west1997, 7.0).
    SeqCache,
    /// Ends the connection on each side and forwards the data: I-TCP (west1997, 2.5).
    Split,
    /// Split connections with a performance-enhancing proxy at each end of a satellite link, any
    /// TCP between the proxies, and full segments (vatne2006, 2).
    Pep,
    /// Split connections like PEPsal: one agent, Hybla on the satellite link, and large buffers
    /// (Caini, Firrincieli, Lacamera 2006).
    Pepsal,
    /// Acknowledges data in the far end's name at the gateway before a satellite, and retransmits
    /// the data if it is lost (vatne2006, 2).
    Spoof,
    /// Forwards one pure ACK of a connection per interval to the link, the newest (RFC 3449, 5.2.1).
    Thin,
}

/// Time at which an agent answers the SYN of a split connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OpenName {
    /// At once, by the agent.
    Early,
    /// Answer after the other end has answered, with that end's sequence number.
    Through,
}

/// Agent with indices in place of names.
#[derive(Clone, PartialEq, Debug)]
pub struct ExpandedAgent {
    /// Node of the agent.
    pub at: usize,
    /// Index of the agent's wireless link.
    pub wireless: usize,
    /// Kind of the agent, with its keys.
    pub spec: AgentSpec,
    /// TCPs of the two halves of an agent that splits connections, the wireless side first;
    /// otherwise `None`.
    pub tcp: Option<[Config; 2]>,
    /// Agents to which the state of a host may be transferred, as pairs (index of the link, index
    /// of the agent).
    pub peers: Vec<(usize, usize)>,
}

impl AgentName {
    /// Returns whether the agent ends the connections from both sides.
    const fn splits(self) -> bool {
        matches!(self, Self::Split | Self::Pep | Self::Pepsal)
    }
}

impl AgentSpec {
    /// Returns the TCPs of the two halves if the agent splits connections.
    fn halves(&self, scenario: &TcpSpec) -> Result<Option<[Config; 2]>, Problem> {
        if !self.kind.splits() {
            return Ok(None);
        }
        let (key, far) = match self.kind {
            AgentName::Split => ("wireless_tcp", self.wireless_tcp.clone()),
            _ => ("satellite_tcp", self.satellite_tcp.clone()),
        };
        let mut far = far.unwrap_or_default();
        if self.kind != AgentName::Split && far.variant.is_none() {
            // A profile without Hybla gets its default TCP instead of an error, because the user
            // wrote no variant that could be refused.
            let profile = if far.profile.is_some() {
                &far
            } else {
                scenario
            }
            .profile();
            let known = profile.config(SATELLITE).is_some();
            let usual = if known { SATELLITE } else { profile.usual };
            far.variant = Some(usual.to_owned());
        }
        let near = self.wired_tcp.clone().unwrap_or_default();
        let far = half(&far, scenario).map_err(|problem| problem.within(key))?;
        let near = half(&near, scenario).map_err(|problem| problem.within("wired_tcp"))?;
        Ok(Some([far, near]))
    }

    /// Returns the parameters of an agent that thins ACKs.
    pub fn thin(&self) -> ThinConfig {
        ThinConfig {
            interval: self.interval().0,
            most: self.replaces(),
            limits: self.limits(),
        }
    }

    /// Returns the limits of the agent's state: number of connections, and idle time.
    pub fn limits(&self) -> Limits {
        Limits {
            connections: self.connections() as usize,
            idle: self.idle().0,
            blind_after: self.blind_after(),
        }
    }

    /// Returns the parameters of an agent of the snoop family.
    pub fn snoop(&self) -> SnoopConfig {
        let full = self.protocol() == AckpProtocol::Full;
        let negotiate = self.negotiate.unwrap_or(full);
        let notices = match self.kind {
            AgentName::Ackp if full => SenderNotices::Partial {
                negotiate,
                repeat: self.repeat(),
            },
            AgentName::Ackp => SenderNotices::EachPacket { negotiate },
            AgentName::Ebsn => SenderNotices::BadState,
            _ => SenderNotices::Nothing,
        };
        let repair = match self.kind {
            AgentName::SeqCache => Repair::Mark,
            _ => Repair::Resend,
        };
        SnoopConfig {
            limits: self.limits(),
            repair,
            notices,
            cache: self.cache() as usize,
            memory: self.memory().0,
            timer_from: match self.timer_from() {
                TimerFrom::Departure => TimerStart::Departure,
                TimerFrom::Arrival => TimerStart::Arrival,
            },
            tick: self.tick().0,
            srtt: self.srtt().0,
            rttvar: self.rttvar().0,
            tries: self.tries.unwrap_or(SNOOP.tries),
            ahead: self.ahead(),
            sack: match self.sack() {
                SackName::Pass => SackHandling::Pass,
                SackName::Mask => SackHandling::Mask,
                SackName::Off => SackHandling::Off,
            },
            sack_repair: self.sack_repair(),
            uploads: self.uploads(),
            holes: SNOOP.holes,
        }
    }

    /// Returns the times at which the agent is switched.
    pub fn switches(&self) -> impl Iterator<Item = Interval> + '_ {
        self.switch_at.iter().flatten().map(|at| at.0)
    }

    /// Checks that the agent can work on the link, and refuses keys without an effect.
    fn check_link(&self, link: &ExpandedLink) -> Result<(), Problem> {
        if self.kind == AgentName::EbsnPlain && link.arq.is_none() {
            let message = "= \"ebsn-plain\" needs a link that sends again; write [links.arq] there, or \
                        kind = \"ebsn\"";
            return Err(fault("kind", message));
        }
        if self.kind == AgentName::Ackp && self.protocol() == AckpProtocol::Initial && self.repeat()
        {
            return Err(ignored("repeat", "protocol = \"full\""));
        }
        let repairs = [AgentName::Snoop, AgentName::Ackp, AgentName::Ebsn];
        let busy = !link.down.background.is_empty() || !link.up.background.is_empty();
        let in_order = link.arq.is_some() || busy || link.header_compression.is_some();
        if repairs.contains(&self.kind) && self.ahead() && in_order {
            let message = format!(
                "= true is not possible: link {:?} has a protocol, other traffic or header \
                 compression, which go in order; write ahead = false",
                link.name
            );
            return Err(fault("ahead", message));
        }
        Ok(())
    }

    /// Checks the half over XTP or STP against the other keys.
    fn check_far(&self) -> Result<(), Problem> {
        let at = |key| move |problem: Problem| problem.within(key);
        if let Some(xtp) = &self.satellite_xtp {
            xtp.check().map_err(at("satellite_xtp"))?;
        }
        if let Some(stp) = &self.satellite_stp {
            stp.check().map_err(at("satellite_stp"))?;
        }
        let Some((key, _)) = self.far_key() else {
            return Ok(());
        };
        let others = [
            ("satellite_tcp", self.satellite_tcp.is_some()),
            ("satellite_stp", self.satellite_stp.is_some()),
        ];
        if let Some((other, _)) = others.into_iter().find(|other| other.1 && other.0 != key) {
            let message = format!("would be ignored beside {key}; remove one of the two");
            return Err(fault(other, message));
        }
        if self.open() == OpenName::Through {
            let why = if self.satellite_xtp.is_some() {
                "which has no answer to the opening"
            } else {
                "whose answer to the opening is that of the other proxy"
            };
            let message =
                format!("= \"through\" is not possible with {key}, {why}; write open = \"early\"");
            return Err(fault("open", message));
        }
        Ok(())
    }

    /// Returns the transport of the half over the satellite, if it is not TCP.
    pub fn far(&self) -> Option<Far> {
        let xtp = self.satellite_xtp.as_ref().map(XtpHalfSpec::config);
        let stp = self.satellite_stp.as_ref().map(StpHalfSpec::config);
        xtp.map(Far::Xtp).or(stp.map(Far::Stp))
    }

    /// Returns the key of a half over the satellite that is not TCP, and its `packet`.
    pub fn far_key(&self) -> Option<(&'static str, Size)> {
        let xtp = self.satellite_xtp.as_ref().map(XtpHalfSpec::packet);
        let stp = self.satellite_stp.as_ref().map(StpHalfSpec::packet);
        xtp.map(|packet| ("satellite_xtp", packet))
            .or(stp.map(|packet| ("satellite_stp", packet)))
    }

    fn check_switches(&self) -> Result<(), Problem> {
        let mut before = None;
        for (number, at) in self.switch_at.iter().flatten().enumerate() {
            let place = [Step::from("switch_at"), number.into()];
            if before.is_some_and(|before| before >= at.0) {
                let message = "is not after the one before; write later and later times";
                return Err(out_of_range(place, &format!("\"{at}\" {message}")));
            }
            if at.0 > LONGEST_RUN {
                let max = Time(LONGEST_RUN);
                let message = format!("\"{at}\" is out of range; write at most \"{max}\"");
                return Err(out_of_range(place, &message));
            }
            before = Some(at.0);
        }
        Ok(())
    }

    /// Resolves the agent at node `at` of the list `nodes`. Paths in errors begin with the key.
    pub(super) fn resolve(
        &self,
        at: usize,
        nodes: &[String],
        links: &[ExpandedLink],
        tcp: &TcpSpec,
    ) -> Result<ExpandedAgent, Problem> {
        let ends_at = |link: &ExpandedLink| link.a == at || link.b == at;
        let there: Vec<_> = links.iter().filter(|link| ends_at(link)).collect();
        if there.len() < 2 {
            let is_router = |node: &usize| {
                let ends = links.iter().filter(|l| l.a == *node || l.b == *node);
                ends.take(2).count() == 2
            };
            let routers = (0..nodes.len()).filter(is_router);
            let routers: Vec<_> = routers.take(10).map(|node| nodes[node].as_str()).collect();
            let hint = if routers.is_empty() {
                "there is none: join two links at a node".to_owned()
            } else {
                format!("write {}", routers.join(", "))
            };
            let message = format!("= {:?} is not a router, where links join; {hint}", self.at);
            return Err(fault("at", message));
        }
        let wireless = links
            .iter()
            .position(|link| ends_at(link) && link.name == self.wireless);
        let Some(wireless) = wireless else {
            let names: Vec<_> = there.iter().take(10).map(|l| l.name.as_str()).collect();
            let message = format!(
                "= {:?} is not a link at {:?}; the links there are {}",
                self.wireless,
                self.at,
                names.join(", ")
            );
            return Err(fault("wireless", message));
        };
        self.check_keys()?;
        self.check_far()?;
        self.check_switches()?;
        if self.handoff != Some(AgentHandoff::Transfer) {
            let given = [
                ("transfer_rate", self.transfer_rate.is_some()),
                ("transfer_delay", self.transfer_delay.is_some()),
            ];
            if let Some((key, _)) = given.into_iter().find(|item| item.1) {
                return Err(ignored(key, "handoff = \"transfer\""));
            }
        }
        let tcp = self.halves(tcp)?;
        self.check_link(&links[wireless])?;
        let spec = self.clone();
        Ok(ExpandedAgent {
            at,
            wireless,
            spec,
            tcp,
            peers: Vec::new(),
        })
    }
}

/// Default variant of the half on the satellite's side.
const SATELLITE: &str = "hybla";

fn half(written: &TcpSpec, scenario: &TcpSpec) -> Result<Config, Problem> {
    const NOBODY: [(&str, &str); 2] = [
        ("eln", "an agent is told of no damage"),
        ("fast_open", "an agent knows no cookies"),
    ];
    for (key, why) in NOBODY {
        if written.has(key) {
            return Err(fault(key, format!("would be ignored: {why}; remove it")));
        }
    }
    written.check()?;
    let mut config = written.over(scenario).resolve()?;
    if let Some((key, needs)) = written.ignored(&config).first() {
        return Err(ignored(key, needs));
    }
    config.notices.eln = config::Eln::Off;
    config.fast_open = config::FastOpen::Off;
    Ok(config)
}

/// Requirement of an agent on the senders: the test of a sender, the message if no sender passes,
/// and the key to set.
type AgentNeed = (fn(&Config) -> bool, &'static str, &'static str);

/// Returns the agent's requirement on senders, if any.
fn wanted(agent: &AgentSpec) -> Option<AgentNeed> {
    Some(match agent.kind {
        AgentName::Eln | AgentName::SeqCache => (
            |sender| sender.notices.eln != config::Eln::Off,
            "no sender takes its marks",
            "eln = \"agent\"",
        ),
        AgentName::Ackp => (
            |sender| sender.notices.ackp.is_some(),
            "no sender takes partial acknowledgments",
            "ackp = \"restart\"",
        ),
        AgentName::Ebsn | AgentName::EbsnPlain => (
            |sender| sender.notices.ebsn,
            "no sender takes its notices",
            "ebsn = true",
        ),
        AgentName::Snoop if agent.uploads() => (
            |sender| sender.notices.nack,
            "no sender takes negative acknowledgments",
            "nack = true",
        ),
        _ => return None,
    })
}

/// Requirement of a sender on the agents: the test of the sender, the message, the test of an
/// agent, and the key to set.
type SenderNeed = (
    fn(&Config) -> bool,
    &'static str,
    fn(&AgentSpec) -> bool,
    &'static str,
);

const SENDER_NEEDS: [SenderNeed; 4] = [
    (
        |sender| sender.notices.eln == config::Eln::Agent,
        "eln = \"agent\", and no agent that marks",
        |agent| matches!(agent.kind, AgentName::Eln | AgentName::SeqCache),
        "kind = \"eln\"",
    ),
    (
        |sender| sender.notices.ackp.is_some(),
        "ackp, and no agent that sends partial acknowledgments",
        |agent| agent.kind == AgentName::Ackp,
        "kind = \"ackp\"",
    ),
    (
        |sender| sender.notices.ebsn,
        "ebsn = true, and no agent that sends notices",
        |agent| matches!(agent.kind, AgentName::Ebsn | AgentName::EbsnPlain),
        "kind = \"ebsn\"",
    ),
    (
        |sender| sender.notices.nack,
        "nack = true, and no agent that sends negative acknowledgments",
        |agent| agent.kind == AgentName::Snoop && agent.uploads(),
        "kind = \"snoop\" and uploads = true",
    ),
];

/// Checks that each proxy with a half over XTP or STP has such a proxy at the other end of its link.
fn check_pairs(agents: &[ExpandedAgent]) -> Result<(), Problem> {
    for (number, agent) in agents.iter().enumerate() {
        let Some((key, packet)) = agent.spec.far_key() else {
            continue;
        };
        let at = |message: String| {
            let path = ["agents".into(), number.into(), Step::from(key)];
            Err(Problem::new(path, message))
        };
        let link = &agent.spec.wireless;
        let mut others = agents
            .iter()
            .filter(|other| other.wireless == agent.wireless && other.at != agent.at)
            .filter_map(|other| other.spec.far_key());
        let Some((_, other)) = others.find(|other| other.0 == key) else {
            return at(format!(
                "needs a proxy with {key} at the other end of link {link:?}, too; write \
                 [[agents]] there with kind = \"pep\" and wireless = {link:?}"
            ));
        };
        if other != packet {
            return at(format!(
                "has packet = \"{packet}\", and the proxy at the other end of link {link:?} \
                 \"{other}\"; write the same"
            ));
        }
    }
    Ok(())
}

/// Checks that senders support the agents, and that each sender that needs notices has an agent
/// that sends them.
pub(super) fn check<'a>(
    agents: &[ExpandedAgent],
    flows: impl Iterator<Item = (usize, &'a ExpandedFlow)> + Clone,
) -> Result<(), Problem> {
    check_pairs(agents)?;
    // In place of TCP, QUIC may cross agents that are of no use to it.
    let quic = flows
        .clone()
        .any(|(_, flow)| matches!(flow.app, App::Quic(_)));
    let over_tcp =
        flows.filter(|(_, flow)| !matches!(flow.app, App::Udp(_) | App::Xtp(_) | App::Quic(_)));
    for (number, agent) in agents.iter().enumerate() {
        let kind = agent.spec.kind;
        if let Some((can, lacks, hint)) = wanted(&agent.spec)
            && !quic
            && !over_tcp.clone().any(|(_, flow)| can(&flow.sender))
        {
            let name = serde_json::to_value(kind).unwrap_or_default();
            let (key, value) = match kind {
                AgentName::Snoop => ("uploads", "true".to_owned()),
                _ => ("kind", name.to_string()),
            };
            let message = format!("= {value} is of no use: {lacks}; write {hint} in [tcp]");
            let path = [Step::from("agents"), Step::from(number), Step::from(key)];
            return Err(Problem::new(path, message));
        }
    }
    for (needs, message, is_sent_by, hint) in SENDER_NEEDS {
        if agents.iter().any(|agent| is_sent_by(&agent.spec)) {
            continue;
        }
        if let Some((entry, _)) = over_tcp.clone().find(|(_, flow)| needs(&flow.sender)) {
            let path = [Step::from("flows"), Step::from(entry)];
            let message = format!("has {message}; write [[agents]] with {hint}");
            return Err(Problem::new(path, message));
        }
    }
    Ok(())
}
