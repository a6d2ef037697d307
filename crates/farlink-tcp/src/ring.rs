//! A queue in a ring of slots, for records that implement `Copy`.
//!
//! `VecDeque` calls a function for each push. Every segment passes through several such queues, so
//! this queue inlines its methods. It also uses a quarter less memory.

use std::iter::Chain;
use std::ops::{Index, IndexMut, Range};
use std::slice::{Iter, IterMut};

/// A first-in, first-out queue of records. It never frees memory.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// Zero or 2^n slots. Slots outside of the queue have stale copies.
    slots: Box<[T]>,
    /// Slot of the first record.
    first: u32,
    len: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self {
            slots: Box::default(),
            first: 0,
            len: 0,
        }
    }
}

impl<T: Copy> Ring<T> {
    /// An empty queue, which allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of records.
    #[inline(always)] // reads a field
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns whether the ring is empty.
    #[inline(always)] // reads a field
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the slot of record `i`.
    #[inline(always)] // one addition
    fn slot(&self, i: usize) -> usize {
        (self.first as usize + i) & self.slots.len().wrapping_sub(1)
    }

    /// The first record.
    #[inline(always)] // called for each segment
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() {
            None
        } else {
            self.slots.get(self.first as usize)
        }
    }

    /// Mutable reference to the first record.
    #[inline(always)] // called for each segment
    pub fn front_mut(&mut self) -> Option<&mut T> {
        if self.is_empty() {
            None
        } else {
            self.slots.get_mut(self.first as usize)
        }
    }

    /// The last record.
    #[inline(always)] // called for each segment
    pub fn back(&self) -> Option<&T> {
        self.get(self.len().wrapping_sub(1))
    }

    /// Record `i`, counted from the first.
    #[inline(always)] // like `front`
    pub fn get(&self, i: usize) -> Option<&T> {
        if i < self.len() {
            self.slots.get(self.slot(i))
        } else {
            None
        }
    }

    /// Mutable reference to record `i`.
    #[inline(always)] // like `front`
    pub fn get_mut(&mut self, i: usize) -> Option<&mut T> {
        if i < self.len() {
            let slot = self.slot(i);
            self.slots.get_mut(slot)
        } else {
            None
        }
    }

    /// Appends a record.
    #[inline(always)] // called for each segment
    pub fn push_back(&mut self, record: T) {
        if self.len() == self.slots.len() {
            self.grow(record);
        }
        let slot = self.slot(self.len());
        self.slots[slot] = record;
        self.len += 1;
    }

    /// Doubles the number of slots; unused slots get `filler`.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        // Grows fast, because a queue with more than a few records soon contains a whole window.
        let slots = match self.slots.len() {
            0 => 4,
            4 => 16,
            more => 2 * more,
        };
        assert!(u32::try_from(slots).is_ok(), "2^32 records in a queue");
        let mut all = Vec::with_capacity(slots);
        all.extend(self.iter().copied());
        all.resize(slots, filler);
        self.slots = all.into_boxed_slice();
        self.first = 0;
    }

    /// Prefetches record `i`, and the slot behind the last record.
    #[inline]
    pub fn prefetch(&self, i: usize) {
        for place in [i, self.len()] {
            if let Some(record) = self.slots.get(self.slot(place)) {
                farlink_prefetch::whole(record);
            }
        }
    }

    /// Removes and returns the first record.
    #[inline(always)] // called for each segment
    pub fn pop_front(&mut self) -> Option<T> {
        let front = *self.front()?;
        self.first = self.slot(1) as u32;
        self.len -= 1;
        Some(front)
    }

    /// Removes the first record without returning it.
    #[inline(always)] // called for each segment
    pub fn drop_front(&mut self) {
        debug_assert!(!self.is_empty(), "there is none");
        self.first = self.slot(1) as u32;
        self.len -= 1;
    }

    /// Inserts a record before record `i`. Moves the records on the shorter side of it.
    ///
    /// # Panics
    ///
    /// Panics if the queue has fewer than `i` records.
    pub fn insert(&mut self, i: usize, record: T) {
        assert!(i <= self.len(), "no place {i} among {}", self.len);
        if 2 * i < self.len() {
            self.push_front(record);
            for to in 0..i {
                self[to] = self[to + 1];
            }
        } else {
            self.push_back(record);
            for to in (i + 1..self.len()).rev() {
                self[to] = self[to - 1];
            }
        }
        self[i] = record;
    }

    /// Adds a record before the first.
    fn push_front(&mut self, record: T) {
        if self.len() == self.slots.len() {
            self.grow(record);
        }
        self.first = self.slot(self.slots.len() - 1) as u32;
        self.len += 1;
        self[0] = record;
    }

    /// Removes the records at these places.
    ///
    /// # Panics
    ///
    /// Panics if the range exceeds the queue.
    pub fn remove(&mut self, places: Range<usize>) {
        assert!(
            places.start <= places.end && places.end <= self.len(),
            "no places {places:?} among {}",
            self.len
        );
        for behind in places.end..self.len() {
            self[behind - places.len()] = self[behind];
        }
        self.len -= places.len() as u32;
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        self.first = 0;
        self.len = 0;
    }

    /// Returns the records in two slices, in order.
    fn halves(&self) -> (&[T], &[T]) {
        let (first, len) = (self.first as usize, self.len());
        let to_end = len.min(self.slots.len() - first);
        (
            &self.slots[first..first + to_end],
            &self.slots[..len - to_end],
        )
    }

    /// The records in order.
    pub fn iter(&self) -> Chain<Iter<'_, T>, Iter<'_, T>> {
        let (front, back) = self.halves();
        front.iter().chain(back)
    }

    /// The records in order, to be changed.
    pub fn iter_mut(&mut self) -> Chain<IterMut<'_, T>, IterMut<'_, T>> {
        let (first, len) = (self.first as usize, self.len());
        let to_end = len.min(self.slots.len() - first);
        let (before, front) = self.slots.split_at_mut(first);
        front[..to_end]
            .iter_mut()
            .chain(&mut before[..len - to_end])
    }

    /// Returns the number of leading records for which `within` is true; it must be false for all
    /// later ones.
    pub fn partition_point(&self, within: impl Fn(&T) -> bool) -> usize {
        let (front, back) = self.halves();
        match front.partition_point(&within) {
            all if all == front.len() => all + back.partition_point(within),
            some => some,
        }
    }
}

impl<T: Copy> Index<usize> for Ring<T> {
    type Output = T;

    #[inline(always)] // like `get`
    fn index(&self, i: usize) -> &T {
        self.get(i).expect("a record of the queue")
    }
}

impl<T: Copy> IndexMut<usize> for Ring<T> {
    #[inline(always)] // like `get_mut`
    fn index_mut(&mut self, i: usize) -> &mut T {
        self.get_mut(i).expect("a record of the queue")
    }
}

impl<'a, T: Copy> IntoIterator for &'a Ring<T> {
    type Item = &'a T;
    type IntoIter = Chain<Iter<'a, T>, Iter<'a, T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Copy> IntoIterator for &'a mut Ring<T> {
    type Item = &'a mut T;
    type IntoIter = Chain<IterMut<'a, T>, IterMut<'a, T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// After any operations a ring contains the same records as a `VecDeque`.
        #[test]
        fn ring_equals_a_vec_deque(steps in prop::collection::vec((0u8..12, 0usize..40), 0..300)) {
            let (mut ring, mut queue) = (Ring::new(), VecDeque::new());
            let mut next = 1000u32;
            for (what, n) in steps {
                match what {
                    0..=4 => {
                        ring.push_back(next);
                        queue.push_back(next);
                        next += 2;
                    }
                    5..=7 => prop_assert_eq!(ring.pop_front(), queue.pop_front()),
                    8 if n <= queue.len() => {
                        let middle = queue.get(n).map_or(next, |v| v - 1);
                        ring.insert(n, middle);
                        queue.insert(n, middle);
                        next += 2;
                    }
                    9 => {
                        for record in &mut ring {
                            *record += 1000;
                        }
                        for record in &mut queue {
                            *record += 1000;
                        }
                        next += 1000;
                    }
                    11 if n <= queue.len() => {
                        let end = (n + 2).min(queue.len());
                        ring.remove(n..end);
                        queue.drain(n..end);
                    }
                    10 if n == 0 => {
                        ring.clear();
                        queue.clear();
                    }
                    _ => prop_assert_eq!(ring.get(n), queue.get(n)),
                }
                prop_assert_eq!(ring.len(), queue.len());
                prop_assert_eq!(ring.is_empty(), queue.is_empty());
                prop_assert_eq!((ring.front(), ring.back()), (queue.front(), queue.back()));
                prop_assert!(ring.iter().eq(&queue) && ring.iter().rev().eq(queue.iter().rev()));
                let bound = next / 2;
                let within = |v: &u32| *v < bound;
                if queue.iter().is_sorted() {
                    prop_assert_eq!(ring.partition_point(within), queue.partition_point(within));
                }
            }
        }
    }

    /// Every link and every flow has a queue: 24 bytes each, where `VecDeque` takes 32.
    #[test]
    fn ring_size_is_three_words() {
        assert_eq!(size_of::<Ring<u64>>(), 24);
    }
}
