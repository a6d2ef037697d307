//! Fast paths of a direction. Their results must equal those of the general path to the bit.

mod early;

pub(super) use early::{EarlyAdmissions, EarlyForwarding};
