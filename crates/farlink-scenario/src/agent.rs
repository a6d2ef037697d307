//! Agents at routers in a scenario.

use farlink_net::agent::Limits;
use farlink_tcp::{Config, Interval, config};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::app::App;
use super::checks::{LONGEST_DELAY, LONGEST_RUN, SHORTEST, fault, ignored, out_of_range};
use super::decode::Problem;
use super::expanded::{ExpandedFlow, ExpandedLink};
use super::table::table;
use super::tcp::TcpSpec;
use super::tree::Step;
use super::units::{Size, Time};

table! {
    /// An agent at a router: it sees every packet that crosses the router.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct AgentSpec for kind: AgentName {
        /// Router that it is at.
        at: String;
        /// Link at that router that it looks after, by its name: the one behind which
        /// losses are those of the medium.
        wireless: String;
        /// What it does.
        kind: AgentName;
        /// Whether it is at work from the start; `ctl set agents.0.enabled=false` switches it
        /// while an emulator runs.
        enabled?: bool = true;
        /// Instants at which it is switched: off if it is on, on if it is off.
        switch_at?: Vec<Time>;
        /// Connections that it keeps something of at once; those of others pass unread.
        connections?: u32 = Limits::default().connections as u32, in 1..=1_000_000;
        /// A connection of which nothing was seen for so long is forgotten.
        idle?: Time = Time(Limits::default().idle), in SHORTEST..=Time(LONGEST_RUN);
        /// Segments with data without any acknowledgment, from the first of a connection
        /// on, after which it takes the acknowledgments to come another way, and lets the
        /// connection pass until it sees one.
        blind_after?: u32 = Limits::default().blind_after, of [Eln];
        /// The TCP of the half on the side of the other links: keys that differ from those
        /// of the scenario's `tcp`.
        wired_tcp?: TcpSpec, of [Split, Pep, Pepsal];
        /// The same of the half on the side of the wireless link.
        wireless_tcp?: TcpSpec, of [Split];
        /// The same of the half on the side of the satellite, the link that `wireless`
        /// names. The variant is "hybla" if none is written.
        satellite_tcp?: TcpSpec, of [Pep, Pepsal];
        /// When the SYN of an end is answered.
        open?: OpenName = OpenName::Early, of [Split, Pep, Pepsal];
        /// Bytes of a direction that are sent on and not acknowledged; what comes beyond
        /// stays unread in the half that it came to, whose window closes.
        buffer?: Size, in Size(1)..=Size(1 << 30),
            of [Split = Size(64 << 10), Pep = Size(1 << 20), Pepsal = Size(4 << 20)];
        /// How long bytes wait for more, to fill a segment of the other half; no time is
        /// as they come.
        linger?: Time, in Time(Interval::ZERO)..=Time(LONGEST_DELAY),
            of [Split = Time(Interval::ZERO), Pep = Time(Interval::from_millis(200)),
                Pepsal = Time(Interval::ZERO)];
        /// How long a packet takes from the link to the agent, and from there to the next
        /// link.
        stack_delay?: Time = Time(Interval::ZERO),
            in Time(Interval::ZERO)..=Time(LONGEST_DELAY), of [Split, Pep, Pepsal];
    }
}

/// Kinds of agents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentName {
    /// Marks duplicate ACKs for what was lost on the wireless link (west1997, 2.3.3).
    Eln,
    /// Ends the connection from each side, and passes on what it is sent: I-TCP
    /// (west1997, 2.5).
    Split,
    /// The same as a performance-enhancing proxy before a satellite: one at each end of
    /// the link, with any TCP on it, and segments that are filled (vatne2006, 2).
    Pep,
    /// The same as PEPsal does it: one agent, Hybla on the satellite link, and large
    /// buffers (Caini, Firrincieli, Lacamera 2006).
    Pepsal,
}

/// When a split connection is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OpenName {
    /// At once, by the agent.
    Early,
    /// When the other end has answered, with its number.
    Through,
}

/// An agent with its place in numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct ExpandedAgent {
    /// Node that it is at.
    pub at: usize,
    /// Place of its link in the list of links.
    pub wireless: usize,
    /// What it does, with its keys.
    pub spec: AgentSpec,
    /// The TCP of its halves, if it has any: first the one on the wireless side.
    pub tcp: Option<[Config; 2]>,
}

impl AgentName {
    /// Whether it ends the connections from both sides.
    const fn splits(self) -> bool {
        matches!(self, Self::Split | Self::Pep | Self::Pepsal)
    }
}

impl AgentSpec {
    /// The TCP of the halves of an agent that splits connections.
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
            far.variant = Some("hybla".to_owned());
        }
        let near = self.wired_tcp.clone().unwrap_or_default();
        let far = half(&far, scenario).map_err(|problem| problem.within(key))?;
        let near = half(&near, scenario).map_err(|problem| problem.within("wired_tcp"))?;
        Ok(Some([far, near]))
    }

    /// How much it keeps, and how long.
    pub fn limits(&self) -> Limits {
        Limits {
            connections: self.connections() as usize,
            idle: self.idle().0,
            blind_after: self.blind_after(),
        }
    }

    /// When it is switched.
    pub fn switches(&self) -> impl Iterator<Item = Interval> + '_ {
        self.switch_at.iter().flatten().map(|at| at.0)
    }

    fn check_switches(&self) -> Result<(), Problem> {
        let mut before = None;
        for (number, at) in self.switch_at.iter().flatten().enumerate() {
            let place = [Step::from("switch_at"), number.into()];
            if before.is_some_and(|before| before >= at.0) {
                let says = "is not after the one before; write later and later times";
                return Err(out_of_range(place, &format!("\"{at}\" {says}")));
            }
            if at.0 > LONGEST_RUN {
                let most = Time(LONGEST_RUN);
                let says = format!("\"{at}\" is out of range; write at most \"{most}\"");
                return Err(out_of_range(place, &says));
            }
            before = Some(at.0);
        }
        Ok(())
    }

    /// What is to be built, at node number `at` of those with these names; paths begin
    /// with the key.
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
            let says = format!("= {:?} is not a router, where links join; {hint}", self.at);
            return Err(fault("at", says));
        }
        let wireless = links
            .iter()
            .position(|link| ends_at(link) && link.name == self.wireless);
        let Some(wireless) = wireless else {
            let names: Vec<_> = there.iter().take(10).map(|l| l.name.as_str()).collect();
            let says = format!(
                "= {:?} is not a link at {:?}; the links there are {}",
                self.wireless,
                self.at,
                names.join(", ")
            );
            return Err(fault("wireless", says));
        };
        self.check_keys()?;
        self.check_switches()?;
        let tcp = self.halves(tcp)?;
        let spec = self.clone();
        Ok(ExpandedAgent {
            at,
            wireless,
            spec,
            tcp,
        })
    }
}

/// The TCP of a half: what is written for it over the scenario's.
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
    config.eln = config::Eln::Off;
    config.fast_open = config::FastOpen::Off;
    Ok(config)
}

/// Whether the senders can work with the agents, and have those that they wait for.
pub(super) fn check<'a>(
    agents: &[ExpandedAgent],
    flows: impl Iterator<Item = (usize, &'a ExpandedFlow)> + Clone,
) -> Result<(), Problem> {
    let mut over_tcp = flows.filter(|(_, flow)| !matches!(flow.app, App::Udp(_)));
    let marks = agents
        .iter()
        .position(|agent| agent.spec.kind == AgentName::Eln);
    match marks {
        Some(agent)
            if !over_tcp
                .clone()
                .any(|(_, flow)| flow.sender.eln != config::Eln::Off) =>
        {
            let says = "= \"eln\" is of no use: no sender takes its marks; write eln = \"agent\" in \
                        [tcp]";
            let path = [Step::from("agents"), Step::from(agent), Step::from("kind")];
            Err(Problem::new(path, says))
        }
        None => match over_tcp.find(|(_, flow)| flow.sender.eln == config::Eln::Agent) {
            Some((entry, _)) => {
                let says = "eln = \"agent\", and no agent that marks; write [[agents]] with kind = \
                            \"eln\"";
                let path = [Step::from("flows"), Step::from(entry)];
                Err(Problem::new(path, format!("has {says}")))
            }
            None => Ok(()),
        },
        _ => Ok(()),
    }
}
