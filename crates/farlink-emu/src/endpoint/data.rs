//! Checked data of a transfer: SHA-256 in counter mode, so the receiver can compute every byte.
//! `python/farlink/transfer.py` generates the same data.

use sha2::{Digest, Sha256};

/// Bytes generated from one counter value.
pub(super) const BLOCK: u64 = 1 << 16;

/// Generator of the data, which stores one block.
#[derive(Debug, Default)]
pub(super) struct Pattern {
    /// Number of the block in `block`, which is empty before the first use.
    number: u64,
    block: Vec<u8>,
}

impl Pattern {
    /// Returns the data from `offset` to the end of the block.
    pub(super) fn at(&mut self, offset: u64) -> &[u8] {
        let number = offset / BLOCK;
        if self.number != number || self.block.is_empty() {
            let digest = Sha256::digest(number.to_be_bytes());
            self.block.clear();
            while (self.block.len() as u64) < BLOCK {
                self.block.extend_from_slice(&digest);
            }
            self.number = number;
        }
        &self.block[(offset % BLOCK) as usize..]
    }

    /// Returns whether `bytes` equal the data from `offset` on.
    pub(super) fn is(&mut self, mut offset: u64, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let expected = self.at(offset);
            let n = expected.len().min(bytes.len());
            if expected[..n] != bytes[..n] {
                return false;
            }
            offset += n as u64;
            bytes = &bytes[n..];
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values from Python's hashlib.
    #[test]
    fn the_data_equals_that_of_python() {
        let mut pattern = Pattern::default();
        let start = [0xaf, 0x55, 0x70, 0xf5, 0xa1, 0x81, 0x0b, 0x7a];
        assert_eq!(pattern.at(0)[..8], start);
        assert_eq!(pattern.at(32)[..8], start, "a block repeats its digest");
        let next = [0xcd, 0x26, 0x62, 0x15, 0x4e, 0x6d, 0x76, 0xb2];
        assert_eq!(pattern.at(BLOCK)[..8], next);
        assert_eq!(pattern.at(BLOCK - 3).len(), 3);
    }

    #[test]
    fn a_changed_byte_is_found_wherever_it_is() {
        let mut pattern = Pattern::default();
        let mut all = pattern.at(0).to_vec();
        all.extend_from_slice(pattern.at(BLOCK));
        assert!(pattern.is(0, &all));
        assert!(pattern.is(777, &all[777..]));
        for at in [0, BLOCK as usize - 1, BLOCK as usize, all.len() - 1] {
            all[at] ^= 0x10;
            assert!(!pattern.is(0, &all), "{at}");
            all[at] ^= 0x10;
        }
        assert!(!pattern.is(0, &all[32 * 3 + 1..]), "a hole");
    }
}
