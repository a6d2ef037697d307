//! cwnd that grows and shrinks by fractions of a byte.

/// Largest receive window of RFC 7323, 2.3, as the maximum of cwnd.
const MAX_WINDOW: u64 = 1 << 30;

/// cwnd in bytes, with the fraction of a byte that changes of one ACK leave over.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Fraction {
    bytes: u64,
    carry: f64,
}

impl Fraction {
    pub(super) const fn new(bytes: u64) -> Self {
        Self { bytes, carry: 0.0 }
    }

    /// Returns the whole bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Sets the window to whole bytes.
    pub(super) fn set(&mut self, bytes: u64) {
        *self = Self::new(bytes);
    }

    /// Adds `change` bytes, which may be negative. The result is at least `least`, and never rises
    /// above the larger of [`MAX_WINDOW`] and the window before.
    pub(super) fn add(&mut self, change: f64, least: u64) {
        let most = MAX_WINDOW.max(self.bytes);
        let window = self.bytes as f64 + self.carry + change;
        if window <= least as f64 {
            self.set(least);
        } else if window >= most as f64 {
            self.set(most);
        } else {
            self.bytes = window as u64;
            self.carry = window - self.bytes as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_add_up_and_bounds_hold() {
        let mut window = Fraction::new(1000);
        for _ in 0..4 {
            window.add(0.25, 0);
        }
        assert_eq!(window, Fraction::new(1001));
        window.add(-0.5, 0);
        assert_eq!((window.bytes(), window.carry), (1000, 0.5));
        window.add(-900.0, 200);
        assert_eq!(window, Fraction::new(200));
        window.add(1e12, 200);
        assert_eq!(window.bytes(), 1 << 30);
        window.set(1 << 31);
        window.add(1e12, 200);
        assert_eq!(window.bytes(), 1 << 31);
    }
}
