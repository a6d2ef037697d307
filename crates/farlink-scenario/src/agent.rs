//! Agents at routers in a scenario.

use farlink_net::agent::Limits;
use farlink_tcp::Interval;
use farlink_tcp::config;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::app::App;
use super::checks::{LONGEST_RUN, at_most, fault, out_of_range};
use super::decode::Problem;
use super::expanded::{ExpandedFlow, ExpandedLink};
use super::tree::Step;
use super::units::Time;

/// An agent at a router: it sees every packet that crosses the router.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentSpec {
    /// Router that it is at.
    pub at: String,
    /// Link at that router that it looks after, by its name: the one behind which losses
    /// are those of the medium.
    pub wireless: String,
    /// What it does.
    pub kind: AgentName,
    /// Connections that it keeps something of at once, 1 to 1000000; those of others
    /// pass unread.
    #[serde(default = "connections")]
    pub connections: u32,
    /// A connection of which nothing was seen for so long is forgotten.
    #[serde(default = "idle")]
    pub idle: Time,
    /// Segments with data without any acknowledgment, from the first of a connection on,
    /// after which it takes the acknowledgments to come another way, and lets the
    /// connection pass until it sees one.
    #[serde(default = "blind_after")]
    pub blind_after: u32,
}

fn connections() -> u32 {
    Limits::default().connections as u32
}

fn idle() -> Time {
    Time(Limits::default().idle)
}

fn blind_after() -> u32 {
    Limits::default().blind_after
}

/// Kinds of agents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentName {
    /// Marks duplicate ACKs for what was lost on the wireless link (west1997, 2.3.3).
    Eln,
}

/// An agent with its place in numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ExpandedAgent {
    /// Node that it is at.
    pub at: usize,
    /// Place of its link in the list of links.
    pub wireless: usize,
    /// What it does.
    pub kind: AgentName,
    /// How much it keeps, and how long.
    pub limits: Limits,
}

impl AgentName {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eln => "eln",
        }
    }
}

impl AgentSpec {
    /// What is to be built, at node number `at` of those with these names; paths begin
    /// with the key.
    pub(super) fn resolve(
        &self,
        at: usize,
        nodes: &[String],
        links: &[ExpandedLink],
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
        if !(1..=1_000_000).contains(&self.connections) {
            let says = format!("{} is out of range; write 1 to 1000000", self.connections);
            return Err(out_of_range(["connections".into()], &says));
        }
        at_most("idle", self.idle, LONGEST_RUN)?;
        if self.idle.0 == Interval::ZERO {
            let says = "\"0 s\" is no time; write \"120 s\"";
            return Err(out_of_range(["idle".into()], says));
        }
        Ok(ExpandedAgent {
            at,
            wireless,
            kind: self.kind,
            limits: Limits {
                connections: self.connections as usize,
                idle: self.idle.0,
                blind_after: self.blind_after,
            },
        })
    }
}

/// Whether the senders can work with the agents, and have those that they wait for.
pub(super) fn check<'a>(
    agents: &[ExpandedAgent],
    flows: impl Iterator<Item = (usize, &'a ExpandedFlow)> + Clone,
) -> Result<(), Problem> {
    let mut over_tcp = flows.filter(|(_, flow)| !matches!(flow.app, App::Udp(_)));
    let marks = agents.iter().position(|agent| agent.kind == AgentName::Eln);
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
