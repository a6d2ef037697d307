//! Hash in place of random numbers: a controller draws none, so that a run can be repeated exactly.

/// Hashes a number (finalizer of `SplitMix64`). Of time and position it gives each flow another
/// value.
pub(super) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
