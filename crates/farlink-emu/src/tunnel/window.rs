//! Replay window: which datagram numbers were received, down to a fixed distance below the highest
//! number (RFC 6479).

/// Number of words of the bitmap, and distance below the highest number within which numbers are
/// accepted. One word is excluded, because it is cleared for new numbers.
const WORDS: usize = 64;
pub(super) const BEHIND: u64 = (WORDS as u64 - 1) * 64;

/// Received numbers.
#[derive(Clone, Debug)]
pub(super) struct Window {
    bitmap: [u64; WORDS],
    /// Highest received number plus one.
    next: u64,
    count: u64,
}

impl Window {
    pub(super) fn new() -> Self {
        Self {
            bitmap: [0; WORDS],
            next: 0,
            count: 0,
        }
    }

    /// Returns whether a number is new. The number is not recorded, because only numbers of
    /// authentic datagrams may be.
    pub(super) fn is_new(&self, number: u64) -> bool {
        if number >= self.next {
            return true;
        }
        let (word, bit) = place(number);
        self.next - 1 - number < BEHIND && self.bitmap[word] & bit == 0
    }

    /// Records a number for which [`Self::is_new`] is true.
    pub(super) fn add(&mut self, number: u64) {
        if number >= self.next {
            let last = self.next.checked_sub(1).map_or(0, |n| n / 64);
            // The words above the old highest number hold bits of numbers that are `WORDS` words
            // lower, so they are cleared.
            let fresh = (number / 64 - last).min(WORDS as u64);
            for step in 1..=fresh {
                self.bitmap[((last + step) % WORDS as u64) as usize] = 0;
            }
            self.next = number.saturating_add(1);
        }
        let (word, bit) = place(number);
        self.bitmap[word] |= bit;
        self.count += 1;
    }

    /// Returns the number of missing numbers below the highest.
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
        /// The window agrees with an unbounded set: a number is new if it is not in the set and is
        /// within `BEHIND` of the highest number.
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
