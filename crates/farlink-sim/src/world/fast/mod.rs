//! Parts of the engine that exist only for speed. A reader can skip them, because runs without them
//! have the same results bit by bit. The head of each file names the general way and the test that
//! compares both.

mod hops;
mod offer;
mod prefetch;

pub(super) use offer::fast_offer;
pub(crate) use prefetch::Prefetch;
