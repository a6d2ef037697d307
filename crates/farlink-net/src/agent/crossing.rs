//! Which way a packet goes.

/// Where a packet goes as it crosses the node of an agent, seen from the link that the
/// agent looks after: the wireless one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crossing {
    /// To the wireless link.
    ToWireless,
    /// From the wireless link.
    FromWireless,
    /// Between two other links.
    Beside,
}
