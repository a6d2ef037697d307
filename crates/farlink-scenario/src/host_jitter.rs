//! Jitter of hosts (`[[hosts]]`), set on each direction of a link that ends at the host.

use farlink_small::Set;

use super::decode::Problem;
use super::expanded::{ExpandedFlow, ExpandedLink, HostJitter};
use super::host::HostSpec;
use super::tree::Step;

/// Sets the jitter of each direction that ends at a host of `[[hosts]]`.
pub(super) fn jitters<'a>(
    hosts: &[HostSpec],
    names: &[String],
    find_all: &dyn Fn(&str) -> Result<Vec<usize>, Problem>,
    flows: impl Iterator<Item = &'a ExpandedFlow>,
    links: &mut [ExpandedLink],
) -> Result<(), Problem> {
    if hosts.is_empty() {
        return Ok(());
    }
    let is_end: Set<usize> = flows.flat_map(|flow| [flow.from, flow.to]).collect();
    for (i, host) in hosts.iter().enumerate() {
        let here = |problem: Problem| problem.within(i).within("hosts");
        let jitter = host
            .jitter
            .resolve()
            .map_err(|problem| here(problem.within("jitter")))?;
        for node in find_all(&host.name).map_err(here)? {
            let name = &names[node];
            if !is_end.contains(&node) {
                let message =
                    format!("= {name:?} is no host; name a node that a flow begins or ends at");
                return Err(here(Problem::new([Step::from("name")], message)));
            }
            for link in links.iter_mut() {
                let (down, up) = (link.b == node, link.a == node);
                if !(down || up) {
                    continue;
                }
                if link.arq.is_some() {
                    let message = format!(
                        "= {name:?} is at the end of {:?}, whose frames (arq) cannot wait for a \
                         host; put a link without arq before it",
                        link.name
                    );
                    return Err(here(Problem::new([Step::from("name")], message)));
                }
                let side = if down { &mut link.down } else { &mut link.up };
                if side.host_jitter.is_some() {
                    let message = format!("= {name:?} is a host that is named before");
                    return Err(here(Problem::new([Step::from("name")], message)));
                }
                side.host_jitter = Some(HostJitter {
                    host: name.clone(),
                    jitter,
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{GOOD, fault};

    const ARQ: &str = "[links.arq]\nprotocol = \"lapb\"\n";

    #[test]
    fn a_wrong_host_is_one_line() {
        let jitter = "jitter = { distribution = \"exponential\", mean = \"1 ms\" }";
        for (hosts, message) in [
            (
                format!("[[hosts]]\nname = \"gateway\"\n{jitter}\n"),
                "hosts[0].name = \"gateway\" is no host; name a node that a flow begins or ends at",
            ),
            (
                format!("[[hosts]]\nname = \"moon\"\n{jitter}\n"),
                "hosts[0].name = \"moon\" is not a node",
            ),
            (
                format!("[[hosts]]\nname = \"client\"\n{jitter}\n").repeat(2),
                "hosts[1].name = \"client\" is a host that is named before",
            ),
            (
                "[[hosts]]\nname = \"client\"\n".into(),
                "hosts[0] has no \"jitter\"",
            ),
            (
                "[[hosts]]\nname = \"client\"\njitter = { distribution = \"normal\", mean = \"1 ms\" }\n"
                    .into(),
                "hosts[0].jitter has no \"spread\"; write for example spread = \"5 ms\"",
            ),
            (
                "[[hosts]]\nname = \"client\"\njitter = { distribution = \"uniform\", \
                 mean = \"1 ms\", spread = \"2 ms\" }\n"
                    .into(),
                "hosts[0].jitter.spread = \"2 ms\" is above the mean, \"1 ms\"",
            ),
            (
                format!("[[hosts]]\nname = \"client\"\n{jitter}\n"),
                "hosts[0].name = \"client\" is at the end of \"",
            ),
        ] {
            let arq = if message.contains("at the end of") { ARQ } else { "" };
            let text = GOOD.replace("[links.up]", &format!("{arq}[links.up]"));
            let entry = fault(&format!("{text}\n{hosts}"), &[]);
            assert!(entry.contains(message), "{entry}\n{message}");
        }
    }
}
