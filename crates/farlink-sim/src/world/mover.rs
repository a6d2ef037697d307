//! State of hosts that move from link to link.

use farlink_agent::Moved;
use farlink_channel::mobility::{Point, Walker};
use farlink_tcp::{Instant, Interval};
use farlink_wire::{LinkId, NodeId, PacketId};

/// Schedule of a host's handoffs.
#[derive(Debug)]
pub(crate) enum Plan {
    /// To the next of its links at these instants, behind the last to the first.
    At(Vec<Instant>),
    /// To the link whose station is nearer by some metres than its own, which it finds out every
    /// so often.
    Walk {
        walker: Box<Walker>,
        /// Places of the stations.
        places: Vec<Point>,
        every: Interval,
        hysteresis: f64,
    },
}

/// A host that moves.
#[derive(Debug)]
pub(crate) struct Mover {
    pub(crate) node: NodeId,
    /// Numbers of its links.
    pub(crate) links: Vec<u32>,
    pub(crate) plan: Plan,
    /// Time without a link between two links.
    pub(crate) gap: Interval,
    /// Set if waiting packets are forwarded, and not lost.
    pub(crate) forwards: bool,
    /// The link that it is at, or goes to, among its own.
    pub(super) at: usize,
    pub(super) is_away: bool,
    /// Packets that are kept until it is at the next link: where, and for which.
    pub(super) kept: Vec<(NodeId, LinkId, PacketId)>,
    /// State of the host that left agents, with the number of each agent.
    pub(super) moved: Vec<(usize, Moved)>,
    pub(crate) counts: Counts,
    /// Place that the host reported, which replaces its walk.
    pub(super) reported: Option<Point>,
}

/// Costs of a host's handoffs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) handoffs: u64,
    /// Packets lost on the air of a link that the host left.
    pub(crate) lost_on_air: u64,
    /// Packets lost that waited for such a link or came to it, or that the host sent without one.
    pub(crate) lost_waiting: u64,
    /// Packets kept and passed on.
    pub(crate) forwarded: u64,
    /// Bytes of connections that went from agent to agent.
    pub(crate) transferred: u64,
    /// Total of these times in nanoseconds.
    pub(crate) transfer_time: u64,
}

impl Mover {
    /// A host at the first of its links, or that of the nearest station.
    pub(crate) fn new(
        node: NodeId,
        links: Vec<u32>,
        plan: Plan,
        gap: Interval,
        forwards: bool,
    ) -> Self {
        let mut plan = plan;
        let at = match &mut plan {
            Plan::At(_) => 0,
            Plan::Walk { walker, places, .. } => nearest(walker.at(Instant::ZERO), places, 0),
        };
        Self {
            node,
            links,
            plan,
            gap,
            forwards,
            at,
            is_away: false,
            kept: Vec::new(),
            moved: Vec::new(),
            counts: Counts::default(),
            reported: None,
        }
    }
}

/// State of a host's connections on its way to an agent, which knows nothing of them until then.
#[derive(Debug)]
pub(super) struct Coming {
    pub(super) agent: usize,
    /// The host, among those that move.
    pub(super) mover: usize,
    pub(super) at: Instant,
    pub(super) moved: Moved,
    /// Packets that wait for it, with the link that brought each.
    pub(super) held: Vec<(LinkId, PacketId)>,
}

/// Hosts that move, and the state of their connections that agents still wait for.
#[derive(Debug, Default)]
pub(crate) struct Roaming {
    pub(crate) movers: Vec<Mover>,
    pub(super) coming: Vec<Coming>,
}

impl Roaming {
    /// Returns the costs of each host's handoffs, in the order of the scenario.
    pub(crate) fn counters(&self) -> impl Iterator<Item = Vec<(&'static str, f64)>> + '_ {
        let of = |mover: &Mover| {
            let counts = &mover.counts;
            let all = [
                ("handoffs", counts.handoffs as f64),
                ("packets_lost_on_air", counts.lost_on_air as f64),
                ("packets_lost_waiting", counts.lost_waiting as f64),
                ("packets_forwarded", counts.forwarded as f64),
                ("bytes_transferred", counts.transferred as f64),
                ("transfer_time", counts.transfer_time as f64 / 1e9),
            ];
            all.to_vec()
        };
        self.movers.iter().map(of)
    }
}

/// Returns the nearest of some places, and `or` if that is as near.
pub(super) fn nearest(here: Point, places: &[Point], or: usize) -> usize {
    let far = |place: usize| here.distance(places[place]);
    let closer = |best, other| if far(other) < far(best) { other } else { best };
    (0..places.len()).fold(or, closer)
}
