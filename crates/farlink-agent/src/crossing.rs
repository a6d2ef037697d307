//! Connection and direction of a packet at an agent.

use farlink_wire::id::NodeId;
use farlink_wire::node_of;
use std::net::IpAddr;

/// Direction in which a packet crosses the agent's node, seen from the wireless link that the agent
/// serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crossing {
    /// Towards the wireless link.
    ToWireless,
    /// Packet from the wireless link.
    FromWireless,
    /// Between two other links of the node.
    Beside,
}

/// Addresses and ports of both ends of a connection; index 0 is the end on the wireless side.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ends(pub [(IpAddr, u16); 2]);

impl Ends {
    /// Returns whether the end on the wireless side has an address of node `host`.
    pub fn wireless_is(&self, host: NodeId) -> bool {
        node_of(self.0[0].0) == Some(host)
    }
}
