//! Prefetches memory into the processor's cache.
//!
//! Prefetches memory of flows. A run with thousands of flows does not fit into the cache. The
//! engine computes in advance which flow is next, and prefetches its memory so that the processor
//! need not wait. Prefetching changes only the run time. This is the only unsafe code of the
//! engine, so it has its own crate. On processors other than x86-64 the functions do nothing.

#![deny(unsafe_op_in_unsafe_fn)]

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// Prefetches all cache lines of a value that will be read or written.
#[inline(always)] // an instruction a line
pub fn whole<T: ?Sized>(thing: &T) {
    let len = size_of_val(thing);
    lines(thing, len.div_ceil(LINE));
    if align_of_val(thing) < len.min(LINE) {
        // A value that is not aligned to a line can extend into one more line.
        line(thing, len - 1);
    }
}

/// Prefetches the value in a box, if present. There is no branch on `None`, because a processor
/// would often mispredict it.
#[inline(always)] // like `whole`
pub fn boxed<T>(thing: &Option<Box<T>>) {
    let at: *const u8 = match thing {
        Some(thing) => std::ptr::from_ref(&**thing).cast(),
        None => std::ptr::from_ref(thing).cast(),
    };
    let len = size_of::<T>();
    for number in 0..len.div_ceil(LINE) {
        address(at.wrapping_add(number * LINE));
    }
    if align_of::<T>() < len.min(LINE) {
        address(at.wrapping_add(len - 1));
    }
}

/// Prefetches `lines` cache lines from the first byte of a value on, even beyond its end.
#[inline(always)] // like `whole`
pub fn lines<T: ?Sized>(first: &T, lines: usize) {
    for number in 0..lines {
        line(first, number * LINE);
    }
}

#[inline(always)] // an instruction
fn line<T: ?Sized>(thing: &T, byte: usize) {
    address(std::ptr::from_ref(thing).cast::<u8>().wrapping_add(byte));
}

#[inline(always)] // an instruction
fn address(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address has no visible effect and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefetching_changes_nothing() {
        let things = [7_u64; 100];
        whole(&things);
        whole(&things[..0]);
        whole::<dyn std::fmt::Debug>(&things[99]);
        lines(&things[99], 1000); // Lines far behind the end of the value.
        boxed(&Some(Box::new(things)));
        boxed::<[u64; 100]>(&None);
        assert_eq!(things, [7; 100]);
    }
}
