//! Prefetches memory into the processor's cache, and asks for large pages.
//!
//! Prefetches memory of flows. A run with thousands of flows does not fit into the cache. The
//! engine computes in advance which flow is next, and prefetches its memory so that the processor
//! need not wait. Prefetching changes only the run time. This is the only unsafe code of the
//! engine, so it has its own crate. On processors other than x86-64 prefetching does nothing.

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

/// Bytes of a large page of memory.
const LARGE_PAGE: usize = 2 << 20;

/// Bytes from which a list is in large pages. A page table entry covers 4 KiB, or 2 MiB with large
/// pages, so a processor finds the memory of thousands of flows with fewer table walks.
const LARGE_LIST: usize = LARGE_PAGE / 2;

/// Reserves room for exactly `more` elements of a list. A long list is put into large pages, where
/// the system has them. The list gets room for a whole page then.
pub fn reserve<T>(list: &mut Vec<T>, more: usize) {
    let room = list.len() + more;
    if room * size_of::<T>() < LARGE_LIST {
        list.reserve_exact(more);
    } else if room > list.capacity() {
        // The room may begin anywhere, so only twice a page contains a whole one. Elements move
        // after the advice, because pages that are in use stay small.
        let mut long = Vec::with_capacity(room.max(2 * LARGE_PAGE / size_of::<T>()));
        advise(&long);
        long.append(list);
        *list = long;
    }
}

/// Doubles the room of a list without room, like [`Vec::push`], and puts a long list into large
/// pages.
pub fn make_room<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        reserve(list, list.len().max(4));
    }
}

/// Asks the system for large pages for the whole pages in the room of a list.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn advise<T>(list: &Vec<T>) {
    use std::ffi::{c_int, c_void};
    const MADV_HUGEPAGE: c_int = 14;
    unsafe extern "C" {
        fn madvise(start: *mut c_void, len: usize, advice: c_int) -> c_int;
    }
    let first = list.as_ptr().addr();
    let end = first + list.capacity() * size_of::<T>();
    let (start, end) = (
        first.next_multiple_of(LARGE_PAGE),
        end / LARGE_PAGE * LARGE_PAGE,
    );
    if start < end {
        let at = list
            .as_ptr()
            .cast::<c_void>()
            .wrapping_byte_add(start - first);
        // SAFETY: the pages are inside of an allocation, and the advice changes no byte of them. A
        // system that does not know it returns an error, which does not matter.
        unsafe { madvise(at.cast_mut(), end - start, MADV_HUGEPAGE) };
    }
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn advise<T>(_: &Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_get_room_for_large_pages() {
        let mut short = vec![7_u64; 10];
        reserve(&mut short, 5);
        assert!((15..1000).contains(&short.capacity()));
        let mut long = vec![7_u64; 10];
        reserve(&mut long, LARGE_LIST / 8);
        assert!(long.capacity() * 8 >= 2 * LARGE_PAGE);
        assert_eq!(long, [7; 10]);
        let mut none: Vec<u64> = Vec::new();
        make_room(&mut none);
        let room = none.capacity();
        assert!(room >= 4);
        none.push(1);
        make_room(&mut none);
        assert_eq!(none.capacity(), room);
        none.resize(room, 1);
        make_room(&mut none);
        assert!(none.capacity() >= 2 * room);
    }

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
