//! Two connections over a path with all kinds of faults.

pub(crate) mod chance;
pub(crate) mod endpoint;
pub(crate) mod hostile;
pub(crate) mod path;
pub(crate) mod session;
pub(crate) mod setup;
pub(crate) mod tamper;
pub(crate) mod twins;
