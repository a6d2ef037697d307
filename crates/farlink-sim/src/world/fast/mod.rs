//! Parts of the engine that exist only for speed. A reader may skip them, because runs without them
//! give the same results to the bit. The head of each file names the general way and the test.

mod hops;
mod offer;
mod prefetch;

pub(super) use offer::fast_offer;
pub(crate) use prefetch::Prefetch;
