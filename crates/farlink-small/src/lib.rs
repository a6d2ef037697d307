//! Collections, histograms, debug output and reference texts that take little room in the browser's engine.
//!
//! Natively [`Map`] and [`Set`] are the B-trees of the standard library, and [`Printable`] is
//! [`std::fmt::Debug`]. For WebAssembly, where the page loads every instruction over the network,
//! the collections are sorted vectors, trait objects print no fields, and
//! [`reference()`] texts are empty. Both kinds iterate in
//! the same order, so results are equal to the bit.

mod printable;
mod quantile;
mod reference;
mod sorted;

pub use printable::Printable;
pub use quantile::Quantiles;
pub use reference::reference;
pub use sorted::{Entries, SortedMap, SortedSet};

/// Ordered map.
#[cfg(not(target_arch = "wasm32"))]
pub type Map<K, V> = std::collections::BTreeMap<K, V>;
/// Ordered map.
#[cfg(target_arch = "wasm32")]
pub type Map<K, V> = SortedMap<K, V>;

/// Ordered set.
#[cfg(not(target_arch = "wasm32"))]
pub type Set<T> = std::collections::BTreeSet<T>;
/// Ordered set.
#[cfg(target_arch = "wasm32")]
pub type Set<T> = SortedSet<T>;
