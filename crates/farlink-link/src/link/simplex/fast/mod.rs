//! Shortcuts of a direction that exist for speed alone. Their results must equal those of the
//! general way to the bit.

mod early;

pub(super) use early::{EarlyAdmissions, EarlyForwarding};
