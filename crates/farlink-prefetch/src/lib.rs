//! Asks the processor to have in its cache what will be read soon.
//!
//! A run with thousands of flows does not fit the cache. Which of them has its turn next is known
//! before it has it, and what a processor was asked for early it need not wait for. To ask changes
//! nothing but the time that it takes. This is the one thing that the engine needs unsafe code
//! for, so it has a crate of its own; on processors other than those of x86-64 it does nothing.

#![deny(unsafe_op_in_unsafe_fn)]

/// Bytes of a line of the cache.
pub const LINE: usize = 64;

/// A thing will be read, or written to.
#[inline(always)] // an instruction a line
pub fn whole<T: ?Sized>(thing: &T) {
    let len = size_of_val(thing);
    lines(thing, len.div_ceil(LINE));
    if align_of_val(thing) < len.min(LINE) {
        // It may begin within a line, and end within another.
        line(thing, len - 1);
    }
}

/// Prefetches what is boxed, if present. An empty option is not branched on, because a processor
/// would often mispredict.
#[inline(always)] // as `whole`
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

/// Prefetches this many cache lines from the first byte of a value on, whatever they hold.
#[inline(always)] // as `whole`
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
        // SAFETY: it reads nothing that a program could see and never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_asked_for_nothing_happens() {
        let things = [7_u64; 100];
        whole(&things);
        whole(&things[..0]);
        whole::<dyn std::fmt::Debug>(&things[99]);
        lines(&things[99], 1000); // far behind its end
        boxed(&Some(Box::new(things)));
        boxed::<[u64; 100]>(&None);
        assert_eq!(things, [7; 100]);
    }
}
