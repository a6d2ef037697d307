//! Direction of a packet at an agent.

/// Direction in which a packet crosses the agent's node, seen from the wireless link that the agent
/// serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crossing {
    /// To the wireless link.
    ToWireless,
    /// From the wireless link.
    FromWireless,
    /// Between two other links.
    Beside,
}
