//! `[[handoffs]]`: hosts that move from link to link.

use farlink_channel::mobility::{Point, Walker};
use farlink_channel::rng::Stream;
use farlink_tcp::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{HOUR, LONGEST_RUN, ZERO, fault, out_of_range};
use super::decode::Problem;
use super::process::MobilitySpec;
use super::table::table;
use super::tree::Step;
use super::units::{Length, Time};

table! {
    /// A host that moves between links and uses one link at a time.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct HandoffSpec {
        /// Name of the host.
        host: String;
        /// Names of the host's links, each to another station. The host starts at the first link.
        links: Vec<String>;
        /// Times at which the host changes to the next link of `links`; after the last link the
        /// first follows.
        at?: Vec<Time>;
        /// Mobility of the host, as an alternative to `at`. The host starts at the nearest station,
        /// and changes to the link of another station when that station becomes nearer. The key
        /// `moves` has no effect here.
        mobility?: MobilitySpec;
        /// Positions of the stations of `links`: for each station, metres from the left and from
        /// the lower border of the area.
        stations?: Vec<[Length; 2]>, needs mobility;
        /// Distance advantage that another station needs before the host changes to it.
        hysteresis?: Length = Length(0), needs mobility;
        /// Time from one search for the nearest station to the next.
        interval?: Time = Time(Interval::from_millis(100)),
            in Time(Interval::from_millis(1))..=HOUR, needs mobility;
        /// Time between two links during which the host has no link.
        gap?: Time = ZERO, in ZERO..=HOUR;
        /// Fate of three kinds of packets: those waiting for the link that the host leaves, those
        /// that reach the old station later, and those that the host sends during the gap. Packets
        /// in transmission are lost.
        queued?: QueuedName = QueuedName::Lose;
    }
}

/// Fate of packets that wait for a link which a host leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QueuedName {
    /// Packets are lost; their cause is `handoff`.
    Lose,
    /// Packets are stored, and forwarded when the host has reached the next station.
    Forward,
}

/// Fate of an agent's state of a host that leaves the agent's link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentHandoff {
    /// The state is lost, and connections that need it are reset.
    Lose,
    /// Transfer of the state to the agent at the next station, after `transfer_delay` plus the time
    /// of its bytes at `transfer_rate`.
    Transfer,
    /// The agent keeps the state until the host returns.
    Keep,
}

/// Host that moves, with indices in place of names.
#[derive(Clone, PartialEq, Debug)]
pub struct ExpandedHandoff {
    /// Index of the host.
    pub host: usize,
    /// Links of the host, in their order.
    pub links: Vec<usize>,
    /// Stations at the far ends of the links.
    pub stations: Vec<usize>,
    /// Times of the moves, and the other keys of the scenario.
    pub spec: HandoffSpec,
}

impl ExpandedHandoff {
    /// Returns the moving host and the positions of the stations if `mobility` is set.
    pub fn walk(&self, stream: Stream) -> Option<(Walker, Vec<Point>)> {
        let walker = self.spec.mobility.as_ref()?.walker(stream);
        let places = self.spec.stations.iter().flatten();
        let places = places.map(|[x, y]| Point {
            x: x.metres(),
            y: y.metres(),
        });
        Some((walker, places.collect()))
    }
}

/// Properties of a link that a host may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) name: &'a str,
    pub(super) a: usize,
    pub(super) b: usize,
    /// Key of the link that prevents a host from leaving it, if any.
    pub(super) keeps: Option<&'static str>,
}

impl HandoffSpec {
    /// Resolves the handoffs. Paths in errors begin with the key.
    pub(super) fn resolve(
        &self,
        host: usize,
        links: &[Place<'_>],
    ) -> Result<ExpandedHandoff, Problem> {
        self.check_keys()?;
        let at_host = |link: &Place<'_>| link.a == host || link.b == host;
        let here = links.iter().filter(|link| at_host(link));
        let names: Vec<_> = here.map(|link| link.name).collect();
        let mut numbers = Vec::new();
        for (place, name) in self.links.iter().enumerate() {
            let path = [Step::from("links"), place.into()];
            let measured = links
                .iter()
                .position(|link| link.name == *name && at_host(link));
            let Some(number) = measured else {
                let message = format!(
                    "\"{name}\" is not a link of {:?}; its links are {}",
                    self.host,
                    names.join(", ")
                );
                return Err(out_of_range(path, &message));
            };
            if numbers.contains(&number) {
                return Err(out_of_range(path, &format!("\"{name}\" is there twice")));
            }
            if let Some(what) = links[number].keeps {
                let message =
                    format!("\"{name}\" has {what}, which a host cannot leave; remove it");
                return Err(out_of_range(path, &message));
            }
            numbers.push(number);
        }
        if let Some(left_out) = names
            .iter()
            .find(|name| !self.links.iter().any(|entry| entry == *name))
        {
            let message = format!("leaves out {left_out:?}: a host that moves has no other links");
            return Err(fault("links", message));
        }
        if numbers.len() < 2 {
            return Err(fault("links", "has one link; write two or more"));
        }
        self.check_plan()?;
        let other = |&link: &usize| {
            if links[link].a == host {
                links[link].b
            } else {
                links[link].a
            }
        };
        Ok(ExpandedHandoff {
            host,
            stations: numbers.iter().map(other).collect(),
            links: numbers,
            spec: self.clone(),
        })
    }

    fn check_plan(&self) -> Result<(), Problem> {
        match (&self.at, &self.mobility) {
            (Some(at), None) => self.check_times(at),
            (None, Some(mobility)) => self.check_walk(mobility),
            (None, None) => {
                let message =
                    "has neither at nor mobility; write for example at = [\"10 s\", \"20 s\"]";
                Err(Problem::new([], message))
            }
            (Some(_), Some(_)) => Err(fault("at", "does not go with mobility; write one of them")),
        }
    }

    fn check_times(&self, at: &[Time]) -> Result<(), Problem> {
        if at.is_empty() {
            return Err(fault(
                "at",
                "is empty; write for example [\"10 s\", \"20 s\"]",
            ));
        }
        let mut free = Interval::ZERO;
        for (number, at) in at.iter().enumerate() {
            let place = [Step::from("at"), number.into()];
            if at.0 <= free {
                let message = format!(
                    "\"{at}\" is not after the handoff before, with its gap; write later and later \
                     times"
                );
                return Err(out_of_range(place, &message));
            }
            if at.0 > LONGEST_RUN {
                let max = Time(LONGEST_RUN);
                let message = format!("\"{at}\" is out of range; write at most \"{max}\"");
                return Err(out_of_range(place, &message));
            }
            free = at.0 + self.gap().0;
        }
        Ok(())
    }

    fn check_walk(&self, mobility: &MobilitySpec) -> Result<(), Problem> {
        mobility
            .check()
            .map_err(|problem| problem.within("mobility"))?;
        if mobility.moves.is_some() {
            let message = "would be ignored: the host moves, and stations stand";
            return Err(fault("moves", message).within("mobility"));
        }
        let stations = self.stations.as_deref().unwrap_or_default();
        if stations.len() != self.links.len() {
            let message = format!(
                "has {} places for {} links; write a pair such as [\"100 m\", \"50 m\"] for each",
                stations.len(),
                self.links.len()
            );
            return Err(fault("stations", message));
        }
        for (number, place) in stations.iter().enumerate() {
            for (side, (at, max)) in place.iter().zip(&mobility.area).enumerate() {
                if at.metres() > max.metres() {
                    let path = [Step::from("stations"), number.into(), side.into()];
                    let message = format!("\"{at}\" is outside the area; write at most \"{max}\"");
                    return Err(out_of_range(path, &message));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::fault;

    const WALK: &str = r#"[[links]]
between = ["fixed", "router"]
down = { rate = "10 Mbit/s", delay = "5 ms" }
[[links]]
between = ["router", "north"]
down = { rate = "10 Mbit/s", delay = "2 ms" }
[[links]]
between = ["router", "south"]
down = { rate = "10 Mbit/s", delay = "2 ms" }
[[links]]
name = "n"
between = ["north", "mobile"]
down = { rate = "2 Mbit/s", delay = "1 ms" }
[[links]]
name = "s"
between = ["south", "mobile"]
down = { rate = "2 Mbit/s", delay = "1 ms" }
[[handoffs]]
host = "mobile"
links = ["n", "s"]
at = ["10 s", "20 s"]
[[agents]]
at = "north"
wireless = "n"
kind = "snoop"
[[flows]]
from = "fixed"
to = "mobile"
size = "1 MB"
"#;

    /// Part of the scenario, its replacement, and the end of the message after the file's name.
    const FAULTS: &[(&str, &str, &str)] = &[
        (
            "host = \"mobile\"",
            "host = \"moble\"",
            "geo.toml:19: handoffs[0].host = \"moble\" is not a node; did you mean \
             \"mobile\"?",
        ),
        (
            "\"n\", \"s\"",
            "\"n\", \"t\"",
            "geo.toml:20: handoffs[0].links[1] = \"t\" is not a link of \"mobile\"; its \
             links are n, s",
        ),
        (
            "\"n\", \"s\"",
            "\"n\", \"n\"",
            "geo.toml:20: handoffs[0].links[1] = \"n\" is there twice",
        ),
        (
            "\"n\", \"s\"",
            "\"n\"",
            "geo.toml:20: handoffs[0].links leaves out \"s\": a host that moves has no \
             other links",
        ),
        (
            "at = [\"10 s\", \"20 s\"]",
            "",
            "geo.toml:18: handoffs[0] has neither at nor mobility; write for example at = \
             [\"10 s\", \"20 s\"]",
        ),
        (
            "\"10 s\", \"20 s\"",
            "",
            "geo.toml:21: handoffs[0].at is empty; write for example [\"10 s\", \"20 s\"]",
        ),
        (
            "\"10 s\", \"20 s\"",
            "\"10 s\", \"9 s\"",
            "geo.toml:21: handoffs[0].at[1] = \"9 s\" is not after the handoff before, \
             with its gap; write later and later times",
        ),
        (
            "at = [\"10 s\"",
            "gap = \"10 s\"\nat = [\"10 s\"",
            "geo.toml:22: handoffs[0].at[1] = \"20 s\" is not after the handoff before, \
             with its gap; write later and later times",
        ),
        (
            "at = [\"10 s\"",
            "hysteresis = \"1 m\"\nat = [\"10 s\"",
            "geo.toml:21: handoffs[0].hysteresis would be ignored; it needs mobility",
        ),
        (
            "at = [\"10 s\", \"20 s\"]",
            "mobility = { model = \"random-waypoint\", area = [\"9 m\", \"9 m\"], speed = [\"1 m/s\", \"2 m/s\"] }",
            "geo.toml:18: handoffs[0].stations has 0 places for 2 links; write a pair such \
             as [\"100 m\", \"50 m\"] for each",
        ),
        (
            "at = [\"10 s\", \"20 s\"]",
            "stations = [[\"1 m\", \"1 m\"], [\"1 m\", \"10 m\"]]\n\
             mobility = { model = \"random-waypoint\", area = [\"9 m\", \"9 m\"], speed = [\"1 m/s\", \"2 m/s\"] }",
            "geo.toml:21: handoffs[0].stations[1][1] = \"10 m\" is outside the area; write \
             at most \"9 m\"",
        ),
        (
            "at = [\"10 s\", \"20 s\"]",
            "mobility = { model = \"random-waypoint\", moves = \"one\", area = [\"9 m\", \"9 m\"], speed = [\"1 m/s\", \"2 m/s\"] }",
            "geo.toml:21: handoffs[0].mobility.moves would be ignored: the host moves, and \
             stations stand",
        ),
        (
            "at = [\"10 s\", \"20 s\"]",
            "at = [\"10 s\"]\nmobility = { model = \"random-waypoint\", area = [\"9 m\", \"9 m\"], speed = [\"1 m/s\", \"2 m/s\"] }",
            "geo.toml:21: handoffs[0].at does not go with mobility; write one of them",
        ),
        (
            "between = [\"south\", \"mobile\"]",
            "between = [\"south\", \"mobile\"]\narq = { protocol = \"rlp\" }",
            "geo.toml:21: handoffs[0].links[1] = \"s\" has a protocol, which a host cannot \
             leave; remove it",
        ),
        (
            "[[flows]]",
            "[[handoffs]]\nhost = \"mobile\"\nlinks = [\"n\", \"s\"]\nat = [\"1 s\"]\n[[flows]]",
            "geo.toml:27: handoffs[1].host = \"mobile\" moves twice; write one entry",
        ),
        (
            "at = \"north\"\nwireless",
            "at = \"mobile\"\nwireless",
            "geo.toml:23: agents[0].at = \"mobile\" is a host that moves, and no router; \
             write a station",
        ),
        (
            "[[flows]]",
            "[[routes]]\nat = \"router\"\nto = \"mobile\"\nvia = \"north\"\n[[flows]]",
            "geo.toml:26: routes[0] is of \"mobile\", whose routes change as it moves; \
             remove it",
        ),
        (
            "kind = \"snoop\"",
            "kind = \"snoop\"\nhandoff = \"transfer\"",
            "geo.toml:26: agents[0].handoff = \"transfer\" needs an agent with the same \
             keys at each station of \"mobile\"; there is none for link \"s\"",
        ),
        (
            "kind = \"snoop\"",
            "kind = \"snoop\"\ntransfer_delay = \"1 s\"",
            "geo.toml:26: agents[0].transfer_delay would be ignored; it needs handoff = \
             \"transfer\"",
        ),
        (
            "kind = \"snoop\"",
            "kind = \"split\"\nhandoff = \"keep\"",
            "geo.toml:26: agents[0].handoff = \"keep\" would leave its connections at a \
             station that their packets do not cross; write \"transfer\" or \"lose\"",
        ),
        (
            "at = \"north\"\nwireless = \"n\"\nkind = \"snoop\"",
            "at = \"router\"\nwireless = \"router-north\"\nkind = \"snoop\"\nhandoff = \"keep\"",
            "geo.toml:26: agents[0].handoff would be ignored; it needs [[handoffs]] of a \
             host behind its link",
        ),
    ];

    #[test]
    fn invalid_handoffs_are_refused_with_a_reason() {
        let mut wrong = Vec::new();
        for (good, bad, message) in FAULTS {
            assert!(WALK.contains(good), "{good:?}");
            let got = fault(&WALK.replacen(good, bad, 1), &[]);
            if got != *message {
                wrong.push(got);
            }
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }
}
