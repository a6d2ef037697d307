//! Checks of hosts that move together with agents, and the agents between which state may be
//! transferred.

use super::agent::{AgentName, ExpandedAgent};
use super::checks::{fault, ignored};
use super::decode::Problem;
use super::expanded::Routes;
use super::handoff::{AgentHandoff, ExpandedHandoff};
use super::tree::Step;

/// Checks that moving hosts and agents are compatible. Sets for each agent the list of agents to
/// which its state may be transferred.
pub(super) fn check(
    handoffs: &[ExpandedHandoff],
    agents: &mut [ExpandedAgent],
    routes: &Routes,
) -> Result<(), Problem> {
    for (number, handoff) in handoffs.iter().enumerate() {
        let here = |problem: Problem| problem.within(number).within("handoffs");
        let host = &handoff.spec.host;
        if handoffs[..number]
            .iter()
            .any(|item| item.host == handoff.host)
        {
            let message = format!("= {host:?} moves twice; write one entry");
            return Err(here(fault("host", message)));
        }
        if handoffs
            .iter()
            .any(|item| item.stations.contains(&handoff.host))
        {
            let message = format!("= {host:?} is a station of another host that moves");
            return Err(here(fault("host", message)));
        }
        if let Some(agent) = agents.iter().position(|item| item.at == handoff.host) {
            let message =
                format!("= {host:?} is a host that moves, and no router; write a station");
            let path = [Step::from("agents"), agent.into(), Step::from("at")];
            return Err(Problem::new(path, message));
        }
        let fixed = |&(at, to, _): &(usize, usize, usize)| [at, to].contains(&handoff.host);
        let mut changes = routes.changes.iter();
        let changed = changes.find(|change| [change.at, change.to].contains(&handoff.host));
        let changed = changed.map(|change| change.entry);
        if let Some(route) = routes.fixed.iter().position(fixed).or(changed) {
            let message = format!("is of {host:?}, whose routes change as it moves; remove it");
            let path = [Step::from("routes"), route.into()];
            return Err(Problem::new(path, message));
        }
    }
    for number in 0..agents.len() {
        let here = |problem: Problem| problem.within(number).within("agents");
        agents[number].peers = peers(handoffs, agents, number).map_err(here)?;
    }
    Ok(())
}

/// Returns the agents to which the state of this agent may be transferred, each with its link.
fn peers(
    handoffs: &[ExpandedHandoff],
    agents: &[ExpandedAgent],
    number: usize,
) -> Result<Vec<(usize, usize)>, Problem> {
    let agent = &agents[number];
    let spec = &agent.spec;
    let station = |handoff: &ExpandedHandoff, link: usize, at: usize| {
        let mut pairs = handoff.links.iter().zip(&handoff.stations);
        pairs.any(|pair| pair == (&link, &at))
    };
    let Some(handoff) = handoffs
        .iter()
        .find(|item| station(item, agent.wireless, agent.at))
    else {
        return match spec.handoff {
            Some(_) => Err(ignored("handoff", "[[handoffs]] of a host behind its link")),
            None => Ok(Vec::new()),
        };
    };
    if spec.handoff == Some(AgentHandoff::Keep)
        && matches!(
            spec.kind,
            AgentName::Split | AgentName::Pep | AgentName::Pepsal | AgentName::Spoof
        )
    {
        let message = "= \"keep\" would leave its connections at a station that their packets do not \
                    cross; write \"transfer\" or \"lose\"";
        return Err(fault("handoff", message));
    }
    if spec.handoff != Some(AgentHandoff::Transfer) {
        return Ok(Vec::new());
    }
    let like = |other: &&ExpandedAgent| {
        let mut same = other.spec.clone();
        (same.at, same.wireless) = (spec.at.clone(), spec.wireless.clone());
        same == *spec
    };
    let mut peers = Vec::new();
    for (&link, &at) in handoff.links.iter().zip(&handoff.stations) {
        if link == agent.wireless {
            continue;
        }
        let mut there = agents.iter().enumerate();
        let peer = there.find(|(_, item)| item.wireless == link && item.at == at && like(item));
        let Some((peer, _)) = peer else {
            let place = handoff.links.iter().position(|item| *item == link);
            let name = place.map_or("", |place| &handoff.spec.links[place]);
            let message = format!(
                "= \"transfer\" needs an agent with the same keys at each station of {:?}; there \
                 is none for link {name:?}",
                handoff.spec.host
            );
            return Err(fault("handoff", message));
        };
        peers.push((link, peer));
    }
    Ok(peers)
}
