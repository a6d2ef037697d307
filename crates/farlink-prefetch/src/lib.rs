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
    if align_of_val(thing) < LINE && len > 0 {
        // It may begin within a line, and end within another.
        line(thing, len - 1);
    }
}

/// So many lines of the cache will be read from the first byte of a thing on, whatever they hold.
#[inline(always)] // as `whole`
pub fn lines<T: ?Sized>(first: &T, lines: usize) {
    for number in 0..lines {
        line(first, number * LINE);
    }
}

#[inline(always)] // an instruction
fn line<T: ?Sized>(thing: &T, byte: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = std::ptr::from_ref(thing).cast::<i8>().wrapping_add(byte);
        // SAFETY: it reads nothing that a program could see and never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (thing, byte);
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
        assert_eq!(things, [7; 100]);
    }
}
