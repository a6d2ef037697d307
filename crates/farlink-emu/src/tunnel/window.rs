//! Replay window: which numbers of datagrams were received, down to a fixed distance behind the
//! greatest (RFC 6479).

/// Words of the bitmap, and the distance behind the greatest number within which numbers are
/// accepted. One word is excluded, because it is being cleared.
const WORDS: usize = 64;
pub(super) const BEHIND: u64 = (WORDS as u64 - 1) * 64;

/// Received numbers.
#[derive(Clone, Debug)]
pub(super) struct Window {
    seen: [u64; WORDS],
    /// Greatest received number plus one.
    next: u64,
    count: u64,
}

impl Window {
    pub(super) fn new() -> Self {
        Self {
            seen: [0; WORDS],
            next: 0,
            count: 0,
        }
    }

    /// Returns whether a number is new. Does not record the number: only numbers of authentic
    /// datagrams may be recorded.
    pub(super) fn is_new(&self, number: u64) -> bool {
        if number >= self.next {
            return true;
        }
        let (word, bit) = place(number);
        self.next - 1 - number < BEHIND && self.seen[word] & bit == 0
    }

    /// Records a number for which [`Self::is_new`] is true.
    pub(super) fn add(&mut self, number: u64) {
        if number >= self.next {
            let last = self.next.checked_sub(1).map_or(0, |n| n / 64);
            // The words up to the new number still hold bits of numbers `WORDS` words before, so
            // clear them.
            let fresh = (number / 64 - last).min(WORDS as u64);
            for step in 1..=fresh {
                self.seen[((last + step) % WORDS as u64) as usize] = 0;
            }
            self.next = number.saturating_add(1);
        }
        let (word, bit) = place(number);
        self.seen[word] |= bit;
        self.count += 1;
    }

    /// Returns how many numbers below the greatest were not received.
    pub(super) fn missing(&self) -> u64 {
        self.next - self.count
    }
}

fn place(number: u64) -> (usize, u64) {
    ((number / 64 % WORDS as u64) as usize, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_number_is_new_once_and_not_if_it_is_too_old() {
        let mut window = Window::new();
        for number in [0, 1, 5, 4, 63, 64, 4000, 3999] {
            assert!(window.is_new(number), "{number}");
            window.add(number);
            assert!(!window.is_new(number), "{number}");
        }
        assert!(window.is_new(2));
        window.add(10_000);
        assert!(!window.is_new(2), "too old to know");
        assert!(!window.is_new(4000), "and so is this");
        assert!(!window.is_new(10_000 - BEHIND));
        assert!(window.is_new(10_001 - BEHIND));
        assert_eq!(window.missing(), 10_001 - 9);
        window.add(u64::MAX - 1);
        assert!(!window.is_new(u64::MAX - 1));
    }

    proptest! {
        /// Compares the window with an unbounded set: a number is new if the set lacks it and it is
        /// within `BEHIND` of the greatest.
        #[test]
        fn the_window_agrees_with_an_unbounded_set(steps in prop::collection::vec((0u64..300, 0u64..6000), 1..400)) {
            let (mut window, mut all, mut base) = (Window::new(), BTreeSet::new(), 0u64);
            for (forward, back) in steps {
                base += forward * forward / 20;
                let number = base.saturating_sub(back);
                let greatest = all.last().copied().unwrap_or(0);
                let recent = number > greatest || greatest - number < BEHIND;
                prop_assert_eq!(window.is_new(number), recent && !all.contains(&number));
                if window.is_new(number) {
                    window.add(number);
                    all.insert(number);
                }
            }
        }
    }
}
