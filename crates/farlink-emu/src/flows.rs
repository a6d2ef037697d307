//! Rows of the TCP connections between hosts of a running emulation. A row combines the states of
//! both ends, or uses one end's state.

use farlink_wire::{NodeId, node_of};
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// State of one end of a connection. Lengths are in bytes, times in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct End {
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    /// Number of bytes that the peer has acknowledged.
    pub(crate) acked: u64,
    /// Bytes received in order.
    pub(crate) received: u64,
    pub(crate) sender: Sender,
}

/// Sender state of one end. All fields are `None` if the kernel cannot be queried.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub(crate) struct Sender {
    /// Congestion window.
    pub(crate) cwnd_bytes: Option<u64>,
    /// Slow start threshold; `None` while it is infinite.
    pub(crate) ssthresh_bytes: Option<u64>,
    /// Bytes in flight: sent, not acknowledged, and not considered lost.
    pub(crate) flight_bytes: Option<u64>,
    /// Smoothed round-trip time; `None` before the first sample.
    pub(crate) srtt_s: Option<f64>,
    /// Smallest round-trip time; `None` before the first sample.
    pub(crate) min_rtt_s: Option<f64>,
    /// Retransmission time-out.
    pub(crate) rto_s: Option<f64>,
    /// Number of retransmitted segments.
    pub(crate) retransmissions: Option<u64>,
}

/// A connection, in the direction from the end with more acknowledged bytes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Flow {
    /// Host that sends.
    from: String,
    from_address: SocketAddr,
    /// Host that receives.
    to: String,
    to_address: SocketAddr,
    /// Bytes that the receiver has acknowledged.
    acked_bytes: u64,
    /// Bytes received in the other direction.
    returned_bytes: u64,
    /// Number of packets of all flows in the queues of the path.
    waiting: u64,
    /// Number of bytes of these packets, with IP headers.
    waiting_bytes: u64,
    /// Sender state.
    #[serde(flatten)]
    sender: Sender,
}

/// Combines the two ends of each connection between hosts into one row. An end belongs to the host
/// with its IPv4 or IPv6 address. `waits` returns the numbers of packets and bytes in the queues of
/// the path from one host to another.
pub(crate) fn flows(
    hosts: &[(&str, NodeId)],
    ends: &[End],
    waits: impl Fn(usize, usize) -> (u64, u64),
) -> Vec<Flow> {
    let numbers: BTreeMap<NodeId, usize> =
        (0..).zip(hosts).map(|(i, &(_, node))| (node, i)).collect();
    let number = |of: SocketAddr| numbers.get(&node_of(of.ip())?).copied();
    let mut pairs: BTreeMap<(SocketAddr, SocketAddr), Vec<&End>> = BTreeMap::new();
    for end in ends {
        let key = (end.local.min(end.peer), end.local.max(end.peer));
        pairs.entry(key).or_default().push(end);
    }
    let mut waiting = BTreeMap::new();
    let flow = |ends: Vec<&End>| {
        let item = ends[0];
        let sends = |end: &End| end.acked.max(end.received) == end.acked;
        let other = ends.get(1).copied();
        // If only one end can be queried, the number of bytes that it received is the number
        // acknowledged to the peer.
        let (acked, returned, from, to, sender) = match other {
            Some(other) if other.acked > item.acked => (
                other.acked,
                item.acked,
                other.local,
                other.peer,
                other.sender,
            ),
            Some(other) => (item.acked, other.acked, item.local, item.peer, item.sender),
            None if sends(item) => (
                item.acked,
                item.received,
                item.local,
                item.peer,
                item.sender,
            ),
            None => (
                item.received,
                item.acked,
                item.peer,
                item.local,
                Sender::default(),
            ),
        };
        let (sending, receiving) = (number(from)?, number(to)?);
        if sending == receiving {
            return None; // The connection does not leave the host.
        }
        let waiting = waiting.entry((sending, receiving));
        let &mut (packets, bytes) = waiting.or_insert_with(|| waits(sending, receiving));
        Some(Flow {
            from: hosts[sending].0.to_owned(),
            from_address: from,
            to: hosts[receiving].0.to_owned(),
            to_address: to,
            acked_bytes: acked,
            returned_bytes: returned,
            waiting: packets,
            waiting_bytes: bytes,
            sender,
        })
    };
    pairs.into_values().filter_map(flow).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn end(local: &str, peer: &str, acked: u64, received: u64) -> End {
        End {
            local: local.parse().unwrap(),
            peer: peer.parse().unwrap(),
            acked,
            received,
            sender: Sender {
                cwnd_bytes: Some(acked + 1),
                ssthresh_bytes: None,
                flight_bytes: Some(0),
                srtt_s: Some(0.5),
                min_rtt_s: None,
                rto_s: Some(1.0),
                retransmissions: Some(0),
            },
        }
    }

    /// Builds rows with 6 packets of 100 bytes queued in every direction.
    fn rows(ends: &[End]) -> Vec<Value> {
        let hosts = [("left", NodeId(0)), ("right", NodeId(2))];
        let flows = flows(&hosts, ends, |_, _| (6, 600));
        flows.into_iter().map(|flow| json!(flow)).collect()
    }

    const LEFT: &str = "10.0.0.1:5001";
    const RIGHT: &str = "10.0.0.3:40000";

    /// Both ends form one row. Its direction is that of the end that sent more, in either order of
    /// the list.
    #[test]
    fn a_connection_is_one_row_from_its_sender() {
        let ends = [end(LEFT, RIGHT, 900, 10), end(RIGHT, LEFT, 10, 950)];
        let (forward, backward) = (rows(&ends), rows(&[ends[1], ends[0]]));
        assert_eq!(forward, backward);
        assert_eq!(forward.len(), 1);
        let row = &forward[0];
        assert_eq!(
            (&row["from"], &row["to"]),
            (&json!("left"), &json!("right"))
        );
        assert_eq!(
            (&row["acked_bytes"], &row["returned_bytes"]),
            (&json!(900), &json!(10))
        );
        assert_eq!(
            (&row["cwnd_bytes"], &row["srtt_s"]),
            (&json!(901), &json!(0.5))
        );
        assert_eq!(
            (&row["waiting"], &row["waiting_bytes"]),
            (&json!(6), &json!(600))
        );
    }

    /// Connections over IPv4 and over IPv6 between the same hosts are separate rows.
    #[test]
    fn a_host_is_matched_by_ipv4_and_ipv6_address() {
        const LEFT6: &str = "[fd66:6172:6c6b::1]:5001";
        const RIGHT6: &str = "[fd66:6172:6c6b::3]:40000";
        let ends = [
            end(LEFT6, RIGHT6, 900, 10),
            end(RIGHT6, LEFT6, 10, 950),
            end(LEFT, RIGHT, 7, 0),
            end("[fd66:6172:6c6b::2]:1", RIGHT6, 5, 5),
            end("[fd66:6172:6c6b:1::1]:1", RIGHT6, 5, 5),
        ];
        let rows = rows(&ends);
        let report: Vec<_> = rows
            .iter()
            .map(|row| (row["from_address"].as_str(), row["acked_bytes"].as_u64()))
            .collect();
        assert_eq!(report, [(Some(LEFT), Some(7)), (Some(LEFT6), Some(900))]);
        assert!(rows.iter().all(|row| row["to"] == json!("right")));
    }

    /// If only the receiver can be queried, the row shows the bytes that it received.
    #[test]
    fn a_row_needs_only_one_end() {
        let [row] = &rows(&[end(RIGHT, LEFT, 10, 950)])[..] else {
            panic!("one flow")
        };
        assert_eq!(
            (&row["from"], &row["from_address"]),
            (&json!("left"), &json!(LEFT))
        );
        assert_eq!(
            (&row["acked_bytes"], &row["returned_bytes"]),
            (&json!(950), &json!(10))
        );
        assert_eq!(
            (&row["cwnd_bytes"], &row["srtt_s"]),
            (&Value::Null, &Value::Null)
        );
        let sender = &rows(&[end(LEFT, RIGHT, 900, 10)])[0];
        assert_eq!(sender["cwnd_bytes"], json!(901));
    }

    /// Connections within a host, and connections of an attached host with other networks, are not
    /// listed.
    #[test]
    fn foreign_connections_are_left_out() {
        let ends = [
            end("10.0.0.1:1", "10.0.0.1:2", 5, 5),
            end("127.0.0.1:1", "127.0.0.1:2", 5, 5),
            end("10.0.0.1:1", "192.0.2.7:80", 5, 5),
        ];
        assert_eq!(rows(&ends), Vec::<Value>::new());
    }
}
