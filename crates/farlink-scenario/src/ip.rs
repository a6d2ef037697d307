//! IP version of flows: the key `ip` of the scenario and of a flow, and keys that exclude or need
//! IPv6.

use std::collections::HashMap;

use farlink_tcp::IpVersion;

use super::decode::Problem;
use super::expanded::{DirectionSpec, ExpandedFlow, ExpandedLink, Routes};
use super::flow::FlowSpec;
use super::handoff::ExpandedHandoff;
use super::spec::Scenario;
use super::tcp::TcpSpec;
use super::tree::Step;
use super::units::Size;

impl Scenario {
    /// Returns the IP version of a flow.
    pub(super) fn ip_of(&self, flow: &FlowSpec) -> IpVersion {
        flow.ip.unwrap_or(self.ip).into()
    }

    /// Returns the TCP of a flow: the flow's keys over the scenario's. Unless `mss` is set,
    /// segments are shorter by the additional length of an IPv6 header.
    pub(super) fn tcp_of(&self, flow: &FlowSpec) -> TcpSpec {
        let tcp = flow.tcp.over(&self.tcp);
        let more = self.ip_of(flow).header_len() - IpVersion::V4.header_len();
        tcp.with_shorter_segments(more)
    }

    /// Returns the path of the key that gives the IP version of entry `i` of `flows`.
    fn ip_written(&self, i: usize) -> Vec<Step> {
        match self.flows[i].ip {
            Some(_) => vec!["flows".into(), i.into(), "ip".into()],
            None => vec!["ip".into()],
        }
    }
}

/// Refuses keys without an effect in this IP version.
pub(super) fn check(scenario: &Scenario) -> Result<(), Problem> {
    let is_v6 = |flow: &FlowSpec| scenario.ip_of(flow) == IpVersion::V6;
    if !scenario.ip.is_v4()
        && !scenario.flows.is_empty()
        && scenario.flows.iter().all(|flow| flow.ip.is_some())
    {
        let message = "would be ignored: every flow has its own; remove it";
        return Err(Problem::new(["ip".into()], message));
    }
    for (i, flow) in scenario.flows.iter().enumerate() {
        if is_v6(flow) && !flow.dont_fragment {
            let message = "= false goes with IPv4 alone: of packets of IPv6 none but the sender may cut \
                        one (RFC 8200, 5); remove it";
            let path = ["flows".into(), i.into(), "dont_fragment".into()];
            return Err(Problem::new(path, message));
        }
    }
    let mut over_tcp = scenario.flows.iter().filter(|flow| !flow.app.is_udp());
    let some = over_tcp.clone().next().is_some();
    if some && over_tcp.all(is_v6) {
        let compresses = |link: &super::spec::LinkSpec| link.header_compression.is_some();
        if let Some(i) = scenario.links.iter().position(compresses) {
            let message = "would be ignored: RFC 1144 is of IPv4, and all flows over TCP are of IPv6; \
                        remove it";
            let path = ["links".into(), i.into(), "header_compression".into()];
            return Err(Problem::new(path, message));
        }
    }
    Ok(())
}

/// Data from which the paths of flows are computed.
pub(super) struct Paths<'a> {
    /// Names of the nodes.
    pub(super) nodes: &'a [String],
    pub(super) links: &'a [ExpandedLink],
    pub(super) routes: &'a Routes,
    pub(super) handoffs: &'a [ExpandedHandoff],
    /// Returns, for a destination, the next node on the path from each node.
    pub(super) next_hops: &'a dyn Fn(usize) -> Vec<Option<usize>>,
}

/// Checks that every link on the path of a flow over IPv6 accepts packets of 1280 bytes. A sender
/// may not send shorter fragments (RFC 8200, 5).
pub(super) fn check_paths(
    scenario: &Scenario,
    flows: &[(usize, ExpandedFlow)],
    paths: &Paths<'_>,
) -> Result<(), Problem> {
    let min = IpVersion::V6.least_mtu();
    let is_short =
        |direction_spec: &DirectionSpec| direction_spec.mtu.is_some_and(|mtu| mtu.bytes < min);
    let mut short: HashMap<(usize, usize), (&ExpandedLink, &str, &DirectionSpec)> = HashMap::new();
    for link in paths.links {
        for (key, direction_spec, ends) in [
            ("down", &link.down, (link.a, link.b)),
            ("up", &link.up, (link.b, link.a)),
        ] {
            if is_short(direction_spec) {
                short.insert(ends, (link, key, direction_spec));
            }
        }
    }
    if short.is_empty() {
        return Ok(());
    }
    let fixed: HashMap<(usize, usize), usize> = paths
        .routes
        .fixed
        .iter()
        .map(|&(at, to, via)| ((at, to), via))
        .collect();
    let mut towards: HashMap<usize, Vec<Option<usize>>> = HashMap::new();
    for (i, flow) in flows {
        if flow.ip != IpVersion::V6 {
            continue;
        }
        for (from, to) in [(flow.from, flow.to), (flow.to, flow.from)] {
            let shortest = towards.entry(to).or_insert_with(|| (paths.next_hops)(to));
            let mut hops = Vec::new();
            let mut at = from;
            while at != to && hops.len() < paths.nodes.len() {
                let next = fixed.get(&(at, to)).copied().or(shortest[at]).unwrap_or(to);
                hops.push((at, next));
                at = next;
            }
            // Packets for a destination may cross each node with a later route.
            hops.extend(paths.routes.later_hops(to));
            // A host that moves also uses its other links.
            for handoff in paths.handoffs {
                let moves = [from, to].contains(&handoff.host);
                for &link in handoff.links.iter().filter(|_| moves) {
                    let link = &paths.links[link];
                    hops.extend([(link.a, link.b), (link.b, link.a)]);
                }
            }
            let Some((link, key, direction_spec)) = hops.iter().find_map(|hop| short.get(hop))
            else {
                continue;
            };
            let mtu = direction_spec.mtu.map_or(0, |mtu| mtu.bytes);
            let message = format!(
                "= \"v6\" needs links that take {min} B (RFC 8200, 5), and link {:?} {key} on the \
                 path from {:?} to {:?} has mtu = \"{}\"",
                link.name,
                paths.nodes[from],
                paths.nodes[to],
                Size(mtu.into())
            );
            return Err(Problem::new(scenario.ip_written(*i), message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{GOOD, fault};
    use super::super::{load, tcp::TcpSpec};
    use super::*;

    fn changed(pairs: &[(&str, &str)]) -> String {
        pairs.iter().fold(GOOD.to_owned(), |text, (old, new)| {
            assert!(text.contains(old), "{old:?} is not in {text}");
            text.replacen(old, new, 1)
        })
    }

    const V6: (&str, &str) = ("seed = 7", "seed = 7\nip = \"v6\"");

    #[test]
    fn keys_that_exclude_ipv6_are_refused_in_one_line() {
        let of_flow = |keys: &str| format!("opens = \"receiver\"\n{keys}");
        let of_link = |keys: &str| format!("delay = \"250 ms\"\n{keys}\nqueue");
        let cases = [
            (
                vec![("seed = 7", "seed = 7\nip = 6".to_owned())],
                "geo.toml:3: ip = 6 is unknown; did you mean \"v6\"?",
            ),
            (
                vec![("seed = 7", "seed = 7\nip = \"v5\"".to_owned())],
                "geo.toml:3: ip = \"v5\" is unknown; did you mean \"v4\"?",
            ),
            (
                vec![
                    (V6.0, V6.1.to_owned()),
                    ("opens = \"receiver\"", of_flow("ip = \"v4\"")),
                ],
                "geo.toml:3: ip would be ignored: every flow has its own; remove it",
            ),
            (
                vec![
                    (V6.0, V6.1.to_owned()),
                    ("opens = \"receiver\"", of_flow("dont_fragment = false")),
                ],
                "geo.toml:31: flows[0].dont_fragment = false goes with IPv4 alone: of packets of IPv6 \
                 none but the sender may cut one (RFC 8200, 5); remove it",
            ),
            (
                vec![
                    ("opens = \"receiver\"", of_flow("ip = \"v6\"")),
                    ("delay = \"250 ms\"\nqueue", of_link("mtu = \"1279 B\"")),
                ],
                "geo.toml:31: flows[0].ip = \"v6\" needs links that take 1280 B (RFC 8200, 5), and \
                 link \"satellite\" down on the path from \"server\" to \"client\" has mtu = \"1279 B\"",
            ),
            (
                vec![
                    (V6.0, V6.1.to_owned()),
                    (
                        "name = \"satellite\"",
                        "name = \"satellite\"\nheader_compression = \"rfc1144\"".to_owned(),
                    ),
                ],
                "geo.toml:10: links[0].header_compression would be ignored: RFC 1144 is of IPv4, and \
                 all flows over TCP are of IPv6; remove it",
            ),
            (
                vec![
                    (V6.0, V6.1.to_owned()),
                    (
                        "opens = \"receiver\"",
                        of_flow("reassembly_timeout = \"1 s\""),
                    ),
                ],
                "geo.toml:31: flows[0].reassembly_timeout would be ignored; TCP over IPv6 sends no \
                 fragments",
            ),
        ];
        for (changes, message) in cases {
            let pairs: Vec<_> = changes.iter().map(|(a, b)| (*a, b.as_str())).collect();
            assert_eq!(fault(&changed(&pairs), &[]), message);
        }
    }

    /// The MSS is 1500 bytes minus headers of 40 and 20 bytes. A configured `mss` is unchanged.
    #[test]
    fn segments_are_shorter_by_the_longer_header() {
        let of = |pairs: &[(&str, &str)]| {
            let scenario = load(&changed(pairs), "geo.toml", &[]).unwrap();
            let flow = scenario.expand().unwrap().flows.remove(0);
            let again = load(&scenario.to_json(), "result", &[]).unwrap();
            assert_eq!(again.expand().unwrap().flows.remove(0), flow);
            (flow.ip, flow.sender.mss, flow.receiver.mss)
        };
        let flow = ("opens = \"receiver\"", "opens = \"receiver\"\nip = \"v6\"");
        let mss = ("variant = \"reno\"", "variant = \"reno\"\nmss = \"1000 B\"");
        assert_eq!(of(&[]), (IpVersion::V4, 1460, 1460));
        assert_eq!(of(&[V6]), (IpVersion::V6, 1440, 1440));
        assert_eq!(of(&[flow]), (IpVersion::V6, 1440, 1440));
        assert_eq!(of(&[flow, mss]), (IpVersion::V6, 1000, 1000));
        let tcp = TcpSpec::default().with_shorter_segments(0);
        assert!(
            tcp.is_empty(),
            "what is as it is without a word is not written"
        );
    }
}
