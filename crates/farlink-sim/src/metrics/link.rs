//! Metrics of a link direction.

use super::table::{Subject, measures, seconds, share};

use crate::world::World;
use farlink_channel::DropCause;
use farlink_link::arq::{ArqLink, ArqStats};
use farlink_link::background::BackgroundStats;
use farlink_link::discipline::Reason;
use farlink_link::header_compression::{Compression, CompressionStats};
use farlink_link::{LinkStats, QueueStats};
use farlink_tcp::Instant;
use farlink_wire::{ById, LinkId, NodeId};

measures! { LINK: OfLink;
    "utilisation" "" Share Apart |l| l.over(l.stats.busy as f64).map(|x| x.min(1.0)),
        "share of the run in which the transmitter was sending, framing and cross traffic included; \
        the time in which a packet waits for a contact, or for a rate above 0, is part of its sending";
    "throughput" "bit/s" Rate Apart |l| l.over(l.stats.bytes as f64 * 8e9),
        "IP bytes of flows sent, times 8, over the run; compressed headers count as sent";
    "packets" "" Count Apart |l| Some(l.stats.packets as f64),
        "packets of flows sent";
    "bytes" "B" Size Apart |l| Some(l.stats.bytes as f64),
        "IP bytes of the packets of flows sent";
    "queue_max" "" Count Apart |l| Some(l.stats.queue_max as f64),
        "greatest number of packets that waited for the transmitter at once";
    "drops" "" Count Apart |l| Some(l.stats.drops.iter().sum::<u64>() as f64),
        "packets lost for any cause";
    "marks" "" Count Apart |l| Some(l.stats.marks as f64),
        "ECN-capable packets that the queue marked (RFC 3168)";
    "queue_drops_full" "" Count Apart |l| Some((l.stats.drops[DropCause::Congestion as usize] - l.drops(Reason::Control).unwrap_or(0)) as f64),
        "packets lost because the queue was full; these and queue_drops_aqm are drops_congestion";
    "queue_drops_aqm" "" Count Apart |l| l.drops(Reason::Control).map(|n| n as f64),
        "packets that the control law of a queue discipline dropped; none without a discipline";
    "queue_drops_redundant" "" Count Apart |l| l.drops(Reason::Redundant).map(|n| n as f64),
        "ACKs that the ACK filter of a queue discipline dropped, part of drops_policy; none without a \
        discipline";
    "sojourn_mean" "s" Time Apart |l| l.queue?.sojourn_mean().map(|ns| ns / 1e9),
        "mean time of packets in the queue of a discipline, up to the beginning of their transmission; \
        the metrics sojourn_mean to sojourn_max exist only with a discipline";
    "sojourn_p99" "s" Time Apart |l| l.queue?.sojourns.percentile(99).map(seconds),
        "99 % quantile of these times (nearest rank, accurate to 0.4 %)";
    "sojourn_max" "s" Time Apart |l| l.queue?.sojourns.most().map(seconds),
        "greatest of these times";
    "low_packets" "" Count Apart |l| Some(l.stats.low_packets as f64),
        "packets sent that are of low priority (dummy segments and their ACKs)";
    "low_drops_congestion" "" Count Apart |l| Some(l.low_drops().0 as f64),
        "lost packets of low priority that found no room or were pushed out";
    "low_drops_other" "" Count Apart |l| Some(l.low_drops().1 as f64),
        "lost packets of low priority with another cause than a full queue";
    "goodput_share" "" Share Apart |l| l.needed.and_then(|needed| share(needed, l.stats.data)),
        "segments of data that had to cross (bytes delivered over the MSS, rounded up, for each \
        flow whose path uses the link; datagrams received) over the segments of data that the \
        transmitter sent: 1 without retransmissions (the wired and wireless goodput of West 1997); \
        none in an emulation, and none between two agents that split a connection";
    "stalled_flows" "" Count Apart |l| Some(l.stalled as f64),
        "flows that starve (stalled_since) and of whose way this direction has most packets waiting in \
        its queue or its protocol";
    "background_throughput" "bit/s" Rate Apart |l| l.has_other.then(|| l.over(l.other.bytes as f64 * 8e9)).flatten(),
        "IP bytes of cross traffic (`background`) sent, times 8, over the run; none without cross \
        traffic";
    "background_loss" "" Share Apart |l| share(l.other.drops, l.offered),
        "share of the packets of cross traffic that found the queue full";
    "frames_sent" "" Count Apart |l| l.frames(|s| s.information),
        "frames with a packet handed to the MAC, retransmissions included; the metrics frames_sent \
        to window_max exist only for a link with a protocol (arq)";
    "frames_retransmitted" "" Count Apart |l| l.frames(|s| s.retransmitted),
        "frames sent whose packet was sent before";
    "frames_supervisory" "" Count Apart |l| l.frames(|s| s.supervisory),
        "frames without a packet: acknowledgments, rejects, status, SABME and UA";
    "frames_lost" "" Count Apart |l| l.frames(|s| s.lost),
        "frames of any kind that the channel lost or damaged; a packet is lost only if the link \
        gives it up (drops_link_give_up)";
    "frames_duplicate" "" Count Apart |l| l.frames(|s| s.duplicates),
        "frames that arrived when the receiver had their packet already";
    "frames_discarded" "" Count Apart |l| l.frames(|s| s.discarded),
        "frames that arrived undamaged and new, and were discarded: out of sequence in go-back-N, \
        or during a reset of the link";
    "link_resets" "" Count Apart |l| l.frames(|s| s.resets),
        "times that the sender of this direction reset the link after N2 time-outs";
    "competing_retransmissions" "" Count Apart |l| l.frames(|s| s.competing),
        "TCP segments that reached the link while a frame with some of the same data had been sent \
        and not yet delivered: TCP and the link repair one loss";
    "link_delay_mean" "s" Time Apart |l| l.link_delay_mean(),
        "mean time from a frame's first hand-over to the MAC to the first arrival of its packet at \
        the far end's link layer, without packets that never arrived";
    "window_mean" "" Count Apart |l| l.arq.and_then(|arq| l.over(arq.window_area(l.from, l.now) as f64)),
        "mean over the run of the number of frames sent and not acknowledged";
    "window_max" "" Count Apart |l| l.frames(|s| s.window_max),
        "greatest number of frames sent and not acknowledged at once";
    "access_failures" "" Count Apart |l| l.frames(|s| s.access_failures),
        "frames of any kind that the MAC gave up, because the medium was never free (csma-ca, \
        aloha); only for a link with a protocol";
    "vj_compressed" "" Count Apart |l| l.headers(|s| s.compressed),
        "packets with compressed headers; the metrics vj_compressed to vj_errors exist only for a \
        link with header_compression";
    "vj_uncompressed" "" Count Apart |l| l.headers(|s| s.uncompressed),
        "packets with whole headers that set the state of their connection (UNCOMPRESSED_TCP)";
    "vj_ip" "" Count Apart |l| l.headers(|s| s.ip),
        "packets sent unchanged (TYPE_IP): no TCP, SYN, FIN, RST, fragments";
    "vj_bytes_saved" "B" Size Apart |l| l.headers(|s| s.saved),
        "bytes of headers saved by compression";
    "vj_tossed" "" Count Apart |l| l.headers(|s| s.tossed),
        "packets discarded at the far end after a damaged frame, or without state of their \
        connection (drops_checksum)";
    "vj_errors" "" Count Apart |l| l.headers(|s| s.wrong),
        "packets with wrong headers at the far end, which the receiver's TCP checksum detects \
        (drops_checksum there)";    each "drops_" "" Count Apart |l, cause| Some(l.stats.drops[cause as usize] as f64),
        "packets lost";
}

/// Subject of the metrics above.
pub(super) enum OfLink {}

impl Subject for OfLink {
    type View<'a> = Link<'a>;
}

/// A link direction after `period` nanoseconds.
pub(super) struct Link<'a> {
    stats: LinkStats,
    /// Set if the link has background traffic; `other` has its counters.
    has_other: bool,
    other: BackgroundStats,
    /// Number of background packets that were offered to the link.
    offered: u64,
    arq: Option<&'a ArqLink>,
    compression: Option<&'a CompressionStats>,
    /// Index of the end of the ARQ link that sends in this direction.
    from: usize,
    needed: Option<u64>,
    now: Instant,
    period: u64,
    stalled: usize,
    /// Counters of the queue discipline, if any.
    queue: Option<&'a QueueStats>,
}

impl<'a> Link<'a> {
    pub(super) fn new(world: &'a World, link: LinkId, needed: Option<u64>, period: u64) -> Self {
        let here = &world.links[link];
        let before = here.background_stats();
        let (stats, other) = world.links.stats_at(link, world.now);
        Self {
            stats,
            has_other: here.has_background(),
            other,
            offered: before.packets + before.drops,
            arq: world.links.arq(link),
            compression: here.compression().map(Compression::stats),
            from: link.direction() as usize,
            needed,
            now: world.now,
            period,
            stalled: world.stalled_at(link),
            queue: here.queue_stats(),
        }
    }

    /// Returns a sum divided by the nanoseconds of the run.
    fn over(&self, sum: f64) -> Option<f64> {
        (self.period > 0).then(|| sum / self.period as f64)
    }

    /// Returns the low-priority packets lost to a full queue, and those lost to other causes.
    fn low_drops(&self) -> (u64, u64) {
        let full = self.stats.low_drops[DropCause::Congestion as usize];
        (full, self.stats.low_drops.iter().sum::<u64>() - full)
    }

    /// Returns the drops of the queue discipline for a reason.
    fn drops(&self, reason: Reason) -> Option<u64> {
        Some(self.queue?.drops(reason))
    }

    /// Returns a counter of the ARQ protocol at the sending end of this direction.
    fn frames(&self, of: fn(&ArqStats) -> u64) -> Option<f64> {
        Some(of(self.arq?.arq_stats(self.from)) as f64)
    }

    fn link_delay_mean(&self) -> Option<f64> {
        let frames = self.arq?.arq_stats(self.from);
        (frames.accepted > 0).then(|| frames.delay as f64 / 1e9 / frames.accepted as f64)
    }

    /// Returns a counter of header compression.
    fn headers(&self, of: fn(&CompressionStats) -> u64) -> Option<f64> {
        Some(of(self.compression?) as f64)
    }
}

/// Returns for each link direction the number of data segments and received datagrams that had to
/// cross it; `None` between two agents that cut the data of a flow anew.
pub(crate) fn needed(world: &World) -> ById<LinkId, Option<u64>> {
    let mut needed = world.links.ids().map(|_| Some(0)).collect::<ById<_, _>>();
    for [from, to] in world.ends.as_chunks().0 {
        for (a, b) in [(from, to), (to, from)] {
            let segments = [a, b].map(|end| b.received.div_ceil(u64::from(end.conn.mss().max(1))));
            let mut left = cutting_agents(world, a.node, b.node);
            let mut packets = Some(segments[0]);
            walk(world, [a.node, b.node], |at, came, link| {
                let here = world.agents.cutting_at(at, [came, Some(link)]);
                if here > 0 {
                    left -= here;
                    // The last agent cuts to the MSS of the far end.
                    packets = (left == 0).then_some(segments[1]);
                }
                add(&mut needed[link], packets);
            });
        }
    }
    // Agents forward datagrams as they are.
    let udp = world.udp.iter();
    let udp = udp.map(|flow| (flow.nodes(), flow.sink.received));
    let xtp = world.xtp.iter();
    let xtp = xtp.map(|flow| (flow.nodes(), flow.packets_received()));
    let quic = world.quic.iter();
    let quic = quic.map(|flow| (flow.nodes(), flow.packets_received()));
    for (ends, packets) in udp.chain(xtp).chain(quic) {
        walk(world, ends, |_, _, link| {
            add(&mut needed[link], Some(packets));
        });
    }
    needed
}

/// Adds packets to a sum; an unknown number makes the sum unknown.
fn add(sum: &mut Option<u64>, packets: Option<u64>) {
    *sum = sum.zip(packets).map(|(sum, more)| sum + more);
}

/// Calls `each` with the nodes of a path except the last, the link from the previous node and the
/// link to the next one.
fn walk(
    world: &World,
    [from, to]: [NodeId; 2],
    mut each: impl FnMut(NodeId, Option<LinkId>, LinkId),
) {
    let (mut at, mut came) = (from, None);
    // A path without a loop has fewer links than there are nodes.
    for _ in 0..world.nodes.len() {
        if at == to {
            break;
        }
        let link = world.nodes[at].next_hop(to);
        each(at, came, link);
        (at, came) = (world.links[link].to(), Some(link));
    }
}

/// Returns the number of agents on a path that cut data anew.
fn cutting_agents(world: &World, from: NodeId, to: NodeId) -> usize {
    let mut sum = 0;
    walk(world, [from, to], |at, came, link| {
        sum += world.agents.cutting_at(at, [came, Some(link)]);
    });
    sum
}
