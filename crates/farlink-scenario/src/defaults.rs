//! Default values that serde calls by the path of a function.

use super::units::Size;

pub(super) fn one() -> u32 {
    1
}

pub(super) fn nothing() -> Size {
    Size(0)
}

pub(super) fn on() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands out references
pub(super) fn is_on(value: &bool) -> bool {
    *value
}
