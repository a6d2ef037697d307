//! State of hosts that move from link to link.

use super::later_routes::LaterRoutes;
use farlink_agent::TransferredState;
use farlink_channel::mobility::{Point, Walker};
use farlink_tcp::{Instant, Interval};
use farlink_wire::{LinkId, NodeId, PacketId};

/// Schedule of a host's handoffs.
#[derive(Debug)]
pub(crate) enum Plan {
    /// Change at fixed times to the next of the host's links; the first link follows the last.
    At(Vec<Instant>),
    /// Check after each interval `every`. The host changes to the link of the nearest station if
    /// this station is nearer than the current one by at least `hysteresis` metres.
    Walk {
        walker: Box<Walker>,
        /// Positions of the stations.
        places: Vec<Point>,
        every: Interval,
        hysteresis: f64,
    },
}

/// A host that moves.
#[derive(Debug)]
pub(crate) struct Mover {
    pub(crate) node: NodeId,
    /// Numbers of the host's links.
    pub(crate) links: Vec<u32>,
    pub(crate) plan: Plan,
    /// Time without a link during a handoff.
    pub(crate) gap: Interval,
    /// Set if waiting packets are forwarded, otherwise they are lost.
    pub(crate) forwards: bool,
    /// Index in `links` of the host's current link. During a handoff, index of the next link.
    pub(super) at: usize,
    pub(super) is_away: bool,
    /// Packets stored during a handoff, each with its node and link.
    pub(super) kept: Vec<(NodeId, LinkId, PacketId)>,
    /// State of the host that agents have given up, with the number of each agent.
    pub(super) moved: Vec<(usize, TransferredState)>,
    pub(crate) counts: Counts,
    /// Position that the host reported, which replaces the position on its walk.
    pub(super) reported: Option<Point>,
}

/// Costs of a host's handoffs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) handoffs: u64,
    /// Number of packets lost in transmission on a link that the host left.
    pub(crate) lost_on_air: u64,
    /// Number of packets lost because of a handoff: in the queue of a link that the host left,
    /// offered to such a link, or sent by the host while it had no link.
    pub(crate) lost_waiting: u64,
    /// Number of packets stored during a handoff and forwarded afterwards.
    pub(crate) forwarded: u64,
    /// Number of bytes of connection state transferred between agents.
    pub(crate) transferred: u64,
    /// Total time of these transfers in nanoseconds.
    pub(crate) transfer_time: u64,
}

impl Mover {
    /// Creates a moving host at its first link, or at the link of the nearest station.
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

/// State of a host's connections in transit from one agent to another. The receiving agent gets all
/// of it at the end of the transfer.
#[derive(Debug)]
pub(super) struct StateTransfer {
    pub(super) agent: usize,
    /// Index of the moving host.
    pub(super) mover: usize,
    pub(super) at: Instant,
    pub(super) moved: TransferredState,
    /// Packets that wait for this state, each with the link over which it arrived.
    pub(super) held: Vec<(LinkId, PacketId)>,
}

/// Moving hosts, and state of their connections in transit to agents.
#[derive(Debug, Default)]
pub(crate) struct Roaming {
    pub(crate) movers: Vec<Mover>,
    pub(super) transfers: Vec<StateTransfer>,
    /// Routes that have not begun.
    pub(super) routes: LaterRoutes,
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

/// Returns the index of the place nearest to `here`. `or` wins if it is equally near.
pub(super) fn nearest(here: Point, places: &[Point], or: usize) -> usize {
    let far = |place: usize| here.distance(places[place]);
    let closer = |best, other| if far(other) < far(best) { other } else { best };
    (0..places.len()).fold(or, closer)
}
