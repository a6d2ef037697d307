//! Parameters of CAKE.

use super::ack_filter::AckFilter;
use super::diffserv::Tins;
use super::shaper::Overhead;
use crate::discipline::fair::mix;
use farlink_tcp::Interval;

/// Units between which the rate is shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Isolation {
    /// Flows.
    Flows,
    /// Source hosts, with one queue each.
    SourceHosts,
    /// Destination hosts, with one queue each.
    DestinationHosts,
    /// Pairs of hosts, with one queue each.
    HostPairs,
    /// Source hosts, and flows of each of them.
    DualSource,
    /// Destination hosts, and flows of each of them.
    DualDestination,
    /// Source hosts and destination hosts, and flows of each of them.
    #[default]
    Triple,
}

impl Isolation {
    /// Returns the number that selects a queue.
    pub(super) fn key(self, flow: u64, [source, destination]: [u64; 2]) -> u64 {
        match self {
            Self::Flows | Self::DualSource | Self::DualDestination | Self::Triple => flow,
            Self::SourceHosts => source,
            Self::DestinationHosts => destination,
            Self::HostPairs => mix(source) ^ destination,
        }
    }

    /// Returns whether hosts of a side (0: source, 1: destination) have equal shares.
    pub(super) fn shares_between(self, side: usize) -> bool {
        match self {
            Self::DualSource => side == 0,
            Self::DualDestination => side == 1,
            Self::Triple => true,
            _ => false,
        }
    }
}

/// Parameters of CAKE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CakeConfig {
    /// Rate of the shaper in bit/s; `None` for no shaper.
    pub rate: Option<u64>,
    /// Rule for the bytes that a packet takes from the shaper and from its turn.
    pub overhead: Overhead,
    /// Tins.
    pub tins: Tins,
    /// Units between which a tin is shared.
    pub isolation: Isolation,
    /// ACK filter.
    pub ack_filter: AckFilter,
    /// Sojourn time that may persist (5 ms), where the shaper sends 1.5 long packets in it.
    pub target: Interval,
    /// Time above the target before the first drop (100 ms).
    pub interval: Interval,
    /// Number that flows are hashed with, so that flows collide by chance and not by design.
    pub seed: u64,
}
