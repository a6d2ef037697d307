//! Routes that begin later in a run.

use farlink_tcp::Instant;
use farlink_wire::{LinkId, NodeId};

/// Route that begins at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaterRoute {
    pub(crate) start: Instant,
    /// Node that forwards the packets, and their destination.
    pub(crate) at: NodeId,
    pub(crate) to: NodeId,
    pub(crate) link: LinkId,
}

/// Routes that have not begun.
#[derive(Debug, Default)]
pub(crate) struct LaterRoutes {
    pub(super) all: Vec<LaterRoute>,
    /// Number of routes that have begun.
    pub(super) begun: usize,
}
