//! Compensation for tunnels: the delay that a tunnel adds to a host's packets is subtracted from
//! the scenario's propagation delays.
//!
//! Only links that carry no packets of other hosts are shortened. These are the link at the host
//! and, while the next node has only one more link, the links that follow. The nearest link is
//! shortened first, in both directions, until the tunnel's delay is compensated or no delay is
//! left. Rates and queues do not change.

use farlink_sim::scenario::Expanded;
use farlink_tcp::Interval;

/// Returns the scenario with shorter delays. `added` has the node and the one-way delay of each
/// tunnel. Also returns the delay that was subtracted for each tunnel.
pub(crate) fn take_off(base: &Expanded, added: &[(usize, Interval)]) -> (Expanded, Vec<Interval>) {
    let mut scenario = base.clone();
    let off = added
        .iter()
        .map(|&(node, added)| {
            let mut expected = added;
            for link in chain(base, node) {
                let link = &mut scenario.links[link];
                let off = expected.min(link.down.delay).min(link.up.delay);
                link.down.delay = link.down.delay.saturating_sub(off);
                link.up.delay = link.up.delay.saturating_sub(off);
                expected = expected.saturating_sub(off);
            }
            added.saturating_sub(expected)
        })
        .collect();
    (scenario, off)
}

/// Returns the links, nearest first, that all packets from or to `node` cross.
fn chain(scenario: &Expanded, node: usize) -> Vec<usize> {
    let ends_at = |node: usize| {
        let links = scenario.links.iter().enumerate();
        links.filter(move |(_, link)| link.a == node || link.b == node)
    };
    let is_host = |node: usize| {
        let mut flows = scenario.flows.iter();
        flows.any(|flow| flow.from == node || flow.to == node)
    };
    let (mut at, mut list) = (node, Vec::new());
    loop {
        let ahead: Vec<_> = ends_at(at).filter(|(i, _)| !list.contains(i)).collect();
        // Links after a branch also carry packets of other hosts.
        let &[(number, link)] = &ahead[..] else {
            return list;
        };
        // An ARQ link keeps its delay. Links behind another host carry that host's packets too, so
        // they also keep their delay.
        if link.arq.is_some() || (at != node && is_host(at)) {
            return list;
        }
        list.push(number);
        at = if link.a == at { link.b } else { link.a };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_sim::scenario;

    fn path(delays: &[u64]) -> Expanded {
        let link = |(i, ms): (usize, &u64)| {
            format!(
                "[[links]]\nbetween = [\"n{i}\", \"n{}\"]\ndown = {{ rate = \"1 Mbit/s\", delay = \
                 \"{ms} ms\" }}\n",
                i + 1
            )
        };
        let links: String = delays.iter().enumerate().map(link).collect();
        let last = delays.len();
        let flow = format!("[[flows]]\nfrom = \"n0\"\nto = \"n{last}\"\nsize = \"1 kB\"\n");
        let text = links + &flow;
        scenario::load(&text, "", &[]).unwrap().expand().unwrap()
    }

    fn delays(scenario: &Expanded) -> Vec<u64> {
        let ms = |delay: Interval| delay.as_nanos() / 1_000_000;
        let both = |link: &scenario::ExpandedLink| {
            assert_eq!(link.down.delay, link.up.delay);
            ms(link.down.delay)
        };
        scenario.links.iter().map(both).collect()
    }

    fn ms(n: u64) -> Interval {
        Interval::from_millis(n)
    }

    #[test]
    fn delay_is_subtracted_from_the_nearest_link_first() {
        let base = path(&[2, 250, 1]);
        let (less, off) = take_off(&base, &[(0, ms(5)), (3, ms(3))]);
        assert_eq!(delays(&less), [0, 245, 0]);
        assert_eq!(off, [ms(5), ms(3)]);
        let (less, off) = take_off(&path(&[3]), &[(0, ms(2)), (1, ms(2))]);
        assert_eq!(delays(&less), [0]);
        assert_eq!(off, [ms(2), ms(1)], "the rest is added");
        assert_eq!(take_off(&base, &[]), (base, vec![]));
    }

    #[test]
    fn links_shared_with_other_hosts_keep_their_delay() {
        let text = "[[links]]\nbetween = [\"a\", \"hub\"]\ndown = { rate = \"1 Mbit/s\", delay = \"1 \
                    ms\" }\n[[links]]\nbetween = [\"b\", \"hub\"]\ndown = { rate = \"1 Mbit/s\", \
                    delay = \"1 ms\" }\n[[links]]\nbetween = [\"hub\", \"c\"]\ndown = { rate = \"1 \
                    Mbit/s\", delay = \"9 ms\" }\n[[flows]]\nfrom = \"a\"\nto = \"c\"\nsize = \"1 \
                    kB\"\n[[flows]]\nfrom = \"b\"\nto = \"c\"\nsize = \"1 kB\"\n";
        let base = scenario::load(text, "", &[]).unwrap().expand().unwrap();
        let (less, off) = take_off(&base, &[(0, ms(5))]);
        assert_eq!((delays(&less), off), (vec![0, 1, 9], vec![ms(1)]));
    }
}
