//! Random numbers of the TLS library, from the seed of an end.
//!
//! rustls takes its source of random numbers as a static reference, so the source that a call draws
//! from is held per thread while the call lasts.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use rustls::crypto::{GetRandomFailed, SecureRandom};
use std::cell::RefCell;

thread_local! {
    static CURRENT: RefCell<Option<Xoshiro256PlusPlus>> = const { RefCell::new(None) };
}

/// Source of the random numbers that rustls asks for.
#[derive(Debug)]
pub(crate) struct Seeded;

impl SecureRandom for Seeded {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        CURRENT.with_borrow_mut(|current| {
            let source = current.as_mut().ok_or(GetRandomFailed)?;
            source.fill_bytes(buf);
            Ok(())
        })
    }
}

/// Calls `work` while rustls draws from `source`.
pub(crate) fn drawing<T>(source: &mut Xoshiro256PlusPlus, work: impl FnOnce() -> T) -> T {
    CURRENT.set(Some(source.clone()));
    let result = work();
    if let Some(advanced) = CURRENT.take() {
        *source = advanced;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn numbers_come_from_the_source_of_the_call() {
        let mut bytes = [0; 8];
        assert!(Seeded.fill(&mut bytes).is_err());
        let mut source = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut same = source.clone();
        drawing(&mut source, || Seeded.fill(&mut bytes)).unwrap();
        assert_eq!(u64::from_le_bytes(bytes), same.next_u64());
        assert_eq!(source, same);
        assert!(Seeded.fill(&mut bytes).is_err());
    }
}
