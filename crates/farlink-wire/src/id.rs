//! Identifiers of the parts of a network: indices into lists, with a type for each kind of list.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// Index into a list of one kind of element.
pub trait Id: Copy {
    /// Builds the identifier of the element at index `number`.
    fn at(number: u32) -> Self;

    /// Returns the index as a number.
    fn number(self) -> u32;

    /// Returns the index as `usize`.
    #[inline]
    fn index(self) -> usize {
        self.number() as usize
    }
}

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub u32);

        impl Id for $name {
            #[inline]
            fn at(number: u32) -> Self {
                Self(number)
            }

            #[inline]
            fn number(self) -> u32 {
                self.0
            }
        }
    )*};
}

id! {
    /// Index of a node in the network's list of nodes.
    NodeId;
    /// Index of a flow in the list of flows.
    FlowId;
    /// Direction of a link. Down of link 0 is 0, up is 1, down of link 1 is 2, and so on.
    LinkId;
    /// Index of a packet in the list of packets in the network.
    PacketId;
}

impl FlowId {
    /// Flow of a packet of a real program, because such packets belong to no flow of the scenario.
    pub const NONE: Self = Self(u32::MAX);
}

/// A direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// From the link's first node to its second.
    Down,
    /// From the link's second node to its first.
    Up,
}

impl Direction {
    /// Both directions.
    pub const BOTH: [Self; 2] = [Self::Down, Self::Up];

    /// Name in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }

    /// Returns the opposite direction.
    #[inline]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }
}

impl LinkId {
    /// Identifier of no direction.
    pub const NONE: Self = Self(u32::MAX);

    /// Builds the identifier of a direction of link number `link`.
    #[inline]
    pub const fn new(link: u32, direction: Direction) -> Self {
        Self(2 * link + direction as u32)
    }

    /// Returns the number of the link.
    #[inline]
    pub const fn link(self) -> u32 {
        self.0 / 2
    }

    /// Returns the direction.
    #[inline]
    pub const fn direction(self) -> Direction {
        if self.0.is_multiple_of(2) {
            Direction::Down
        } else {
            Direction::Up
        }
    }

    /// Returns the other direction of the same link.
    #[inline]
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// A list whose elements are identified by `I`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ById<I, T> {
    items: Vec<T>,
    by: PhantomData<I>,
}

impl<I: Id, T> ById<I, T> {
    /// Reserves room for `more` elements, so appending them moves no element.
    pub fn reserve(&mut self, more: usize) {
        self.items.reserve_exact(more);
    }

    /// Reserves room like [`Self::reserve`] for elements that are read in no order. A long list is
    /// then in large pages.
    pub fn reserve_long(&mut self, more: usize) {
        farlink_prefetch::reserve(&mut self.items, more);
    }

    /// Appends an element of a list that may become long. The list is then in large pages.
    #[cold]
    pub fn push_to_long(&mut self, item: T) -> I {
        farlink_prefetch::make_room(&mut self.items);
        self.push(item)
    }

    /// Appends an element.
    #[inline]
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::at(self.items.len() as u32 - 1)
    }

    /// Returns the element, if it exists.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// Returns a mutable reference to the element.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.items.get_mut(id.index())
    }

    /// Iterates over all identifiers.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(|index| I::at(index as u32))
    }

    /// Iterates over all elements with their identifiers.
    pub fn each(&self) -> impl ExactSizeIterator<Item = (I, &T)> + '_ {
        self.ids().zip(&self.items)
    }
}

impl<I, T> Default for ById<I, T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<I, T> From<Vec<T>> for ById<I, T> {
    fn from(items: Vec<T>) -> Self {
        let by = PhantomData;
        Self { items, by }
    }
}

impl<I, T> FromIterator<T> for ById<I, T> {
    fn from_iter<S: IntoIterator<Item = T>>(iter: S) -> Self {
        Self::from(Vec::from_iter(iter))
    }
}

impl<I: Id, T> Index<I> for ById<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for ById<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I, T> Deref for ById<I, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<I, T> DerefMut for ById<I, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<I, T> IntoIterator for ById<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, I, T> IntoIterator for &'a ById<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<'a, I, T> IntoIterator for &'a mut ById<I, T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_of_links_are_numbered_in_pairs() {
        let up = LinkId::new(3, Direction::Up);
        assert_eq!((up.number(), up.link()), (7, 3));
        assert_eq!(up.reverse(), LinkId::new(3, Direction::Down));
        assert_eq!(up.direction().reverse(), up.reverse().direction());
        let names = Direction::BOTH.map(Direction::name);
        assert_eq!(names, ["down", "up"]);
    }

    #[test]
    fn items_are_found_by_id() {
        let mut all = ById::<NodeId, char>::default();
        assert_eq!((all.push('a'), all.push('b')), (NodeId(0), NodeId(1)));
        assert_eq!((all[NodeId(1)], all.get(NodeId(2))), ('b', None));
        let each: Vec<_> = all.each().collect();
        assert_eq!(each, [(NodeId(0), &'a'), (NodeId(1), &'b')]);
    }
}
