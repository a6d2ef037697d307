//! Map and set as sorted vectors, with the interface of the standard library's B-trees as far as
//! the engine uses it. An insertion moves the entries behind it.

use std::borrow::Borrow;
use std::ops::{Bound, RangeBounds};

/// Iterator over entries of a map.
pub type Entries<'a, K, V> = std::iter::Map<std::slice::Iter<'a, (K, V)>, Split<'a, K, V>>;

/// Function that splits a reference to an entry into references to its key and value.
type Split<'a, K, V> = fn(&'a (K, V)) -> (&'a K, &'a V);

/// Map in a vector that is sorted by key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SortedMap<K, V> {
    entries: Vec<(K, V)>,
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> SortedMap<K, V> {
    /// Returns an empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the map has no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Iterates over the entries in the order of their keys.
    pub fn iter(&self) -> Entries<'_, K, V> {
        self.into_iter()
    }

    /// Iterates over the keys in their order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator {
        self.entries.iter().map(|(key, _)| key)
    }

    /// Iterates over the values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator {
        self.entries.iter().map(|(_, value)| value)
    }

    /// Iterates over the values in the order of their keys, for changes.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// Returns the entry with the least key.
    #[must_use]
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.entries.first().map(|(key, value)| (key, value))
    }

    /// Returns the entry with the greatest key.
    #[must_use]
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.entries.last().map(|(key, value)| (key, value))
    }

    /// Removes the entry with the least key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (!self.entries.is_empty()).then(|| self.entries.remove(0))
    }

    /// Keeps the entries for which `keep` returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Returns the index of a key, or the index at which the key would be inserted.
    fn search<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.entries.binary_search_by(|(k, _)| k.borrow().cmp(key))
    }

    /// Returns the value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.search(key).ok().map(|at| &self.entries[at].1)
    }

    /// Returns the value of a key, for changes.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.search(key).ok().map(|at| &mut self.entries[at].1)
    }

    /// Returns whether the map has an entry of a key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.search(key).is_ok()
    }

    /// Sets the value of a key and returns the value that it replaces.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.search(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.entries[at].1, value)),
            Err(at) => {
                self.entries.insert(at, (key, value));
                None
            }
        }
    }

    /// Removes the entry of a key and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.search(key).ok().map(|at| self.entries.remove(at).1)
    }

    /// Returns the place of a key, for a value that may have to be inserted.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        Entry { map: self, key }
    }

    /// Iterates over the entries whose keys are in a range.
    pub fn range(&self, range: impl RangeBounds<K>) -> Entries<'_, K, V> {
        let first = match range.start_bound() {
            Bound::Included(key) => self.entries.partition_point(|(k, _)| k < key),
            Bound::Excluded(key) => self.entries.partition_point(|(k, _)| k <= key),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(key) => self.entries.partition_point(|(k, _)| k <= key),
            Bound::Excluded(key) => self.entries.partition_point(|(k, _)| k < key),
            Bound::Unbounded => self.entries.len(),
        };
        let split: Split<'_, K, V> = |(key, value)| (key, value);
        self.entries[first..end].iter().map(split)
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<'a, K: Ord + Copy, V: Copy> Extend<(&'a K, &'a V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (&'a K, &'a V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(*key, *value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Entries<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        let split: Split<'a, K, V> = |(key, value)| (key, value);
        self.entries.iter().map(split)
    }
}

impl<K: Ord + Borrow<Q>, Q: Ord + ?Sized, V> std::ops::Index<&Q> for SortedMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the map has no entry of the key")
    }
}

/// Place of a key in a map.
#[derive(Debug)]
pub struct Entry<'a, K, V> {
    map: &'a mut SortedMap<K, V>,
    key: K,
}

impl<'a, K: Ord, V> Entry<'a, K, V> {
    /// Returns the value, after inserting `value` if the key has none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// Returns the value, after inserting that of `value` if the key has none.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        let at = self.map.search(&self.key).unwrap_or_else(|at| {
            self.map.entries.insert(at, (self.key, value()));
            at
        });
        &mut self.map.entries[at].1
    }

    /// Returns the value, after inserting the default if the key has none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

/// Set in a sorted vector.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SortedSet<T> {
    map: SortedMap<T, ()>,
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> SortedSet<T> {
    /// Returns an empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            map: SortedMap::new(),
        }
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Returns whether the set has no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        self.map.clear();
    }

    /// Iterates over the elements in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.map.keys()
    }

    /// Returns the least element.
    #[must_use]
    pub fn first(&self) -> Option<&T> {
        self.map.first_key_value().map(|(element, ())| element)
    }

    /// Returns the greatest element.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.map.last_key_value().map(|(element, ())| element)
    }

    /// Removes the least element.
    pub fn pop_first(&mut self) -> Option<T> {
        self.map.pop_first().map(|(element, ())| element)
    }
}

impl<T: Ord> SortedSet<T> {
    /// Inserts an element and returns whether the set did not have it.
    pub fn insert(&mut self, element: T) -> bool {
        self.map.insert(element, ()).is_none()
    }

    /// Removes an element and returns whether the set had it.
    pub fn remove<Q: Ord + ?Sized>(&mut self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.map.remove(element).is_some()
    }

    /// Returns whether the set has an element.
    pub fn contains<Q: Ord + ?Sized>(&self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.map.contains_key(element)
    }

    /// Iterates over the elements in a range.
    pub fn range(
        &self,
        range: impl RangeBounds<T>,
    ) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.map.range(range).map(|(element, ())| element)
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        for element in elements {
            self.insert(element);
        }
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut set = Self::new();
        set.extend(elements);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u8, u16),
        Remove(u8),
        Add(u8),
        PopFirst,
        Retain(u16),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0_u8..40, any::<u16>()).prop_map(|(key, value)| Step::Insert(key, value)),
            (0_u8..40).prop_map(Step::Remove),
            (0_u8..40).prop_map(Step::Add),
            Just(Step::PopFirst),
            any::<u16>().prop_map(Step::Retain),
        ]
    }

    fn entries<'a>(all: impl Iterator<Item = (&'a u8, &'a u16)>) -> Vec<(u8, u16)> {
        all.map(|(key, value)| (*key, *value)).collect()
    }

    proptest! {
        // Every answer of the map equals that of the B-tree after the same calls.
        #[test]
        fn answers_as_a_b_tree_map(steps in prop::collection::vec(step(), 0..200), a: u8, b: u8) {
            let (mut tree, mut map) = (BTreeMap::new(), SortedMap::new());
            for step in steps {
                match step {
                    Step::Insert(key, value) => prop_assert_eq!(map.insert(key, value), tree.insert(key, value)),
                    Step::Remove(key) => prop_assert_eq!(map.remove(&key), tree.remove(&key)),
                    Step::Add(key) => {
                        let value = map.entry(key).or_default();
                        *value = value.wrapping_add(1);
                        let expected = tree.entry(key).or_insert(0_u16);
                        *expected = expected.wrapping_add(1);
                    }
                    Step::PopFirst => prop_assert_eq!(map.pop_first(), tree.pop_first()),
                    Step::Retain(least) => {
                        map.retain(|_, value| *value >= least / 4);
                        tree.retain(|_, value| *value >= least / 4);
                    }
                }
                prop_assert_eq!(map.first_key_value(), tree.first_key_value());
                prop_assert_eq!(map.last_key_value(), tree.last_key_value());
            }
            let (low, high) = (a.min(b), a.max(b));
            prop_assert_eq!(map.len(), tree.len());
            prop_assert_eq!(map.get(&a), tree.get(&a));
            prop_assert_eq!(entries(map.iter()), entries(tree.iter()));
            prop_assert_eq!(entries(map.range(low..high)), entries(tree.range(low..high)));
            prop_assert_eq!(entries(map.range(..=low).rev()), entries(tree.range(..=low).rev()));
            prop_assert_eq!(entries(map.range(low..)), entries(tree.range(low..)));
            let after = (Bound::Excluded(low), Bound::Unbounded);
            prop_assert_eq!(entries(map.range(after)), entries(tree.range(after)));
            prop_assert_eq!(map.into_iter().collect::<Vec<_>>(), tree.into_iter().collect::<Vec<_>>());
        }

        // Every answer of the set equals that of the B-tree after the same calls.
        #[test]
        fn answers_as_a_b_tree_set(all in prop::collection::vec(0_u8..60, 0..80), gone in prop::collection::vec(0_u8..60, 0..40)) {
            let mut tree: BTreeSet<u8> = all.iter().copied().collect();
            let mut set: SortedSet<u8> = all.into_iter().collect();
            for element in gone {
                prop_assert_eq!(set.contains(&element), tree.contains(&element));
                prop_assert_eq!(set.remove(&element), tree.remove(&element));
                prop_assert_eq!(set.insert(element / 2), tree.insert(element / 2));
                prop_assert_eq!((set.first(), set.last()), (tree.first(), tree.last()));
            }
            prop_assert_eq!(set.range(10..30).collect::<Vec<_>>(), tree.range(10..30).collect::<Vec<_>>());
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), tree.iter().collect::<Vec<_>>());
        }
    }
}
