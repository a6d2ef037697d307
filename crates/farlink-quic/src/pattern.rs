//! Contents of the streams: bytes that are known at every position.

use bytes::Bytes;
use std::sync::OnceLock;

/// Period of the contents: a prime, so that data at a wrong position does not look right.
const PERIOD: usize = 65_521;

fn whole() -> &'static Bytes {
    static WHOLE: OnceLock<Bytes> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let mut state = 1_u32;
        let byte = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..PERIOD).map(byte).collect()
    })
}

/// Returns bytes of the stream from `at` on, at least one and at most `most`.
pub(crate) fn part(at: u64, most: u64) -> Bytes {
    let from = (at % PERIOD as u64) as usize;
    let to = (from as u64).saturating_add(most).min(PERIOD as u64) as usize;
    whole().slice(from..to)
}

/// Returns whether `bytes` are those of the stream from `at` on.
pub(crate) fn is_at(mut at: u64, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let expected = part(at, bytes.len() as u64);
        let (head, rest) = bytes.split_at(expected.len());
        if head != expected {
            return false;
        }
        (at, bytes) = (at + expected.len() as u64, rest);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_known_at_every_position_and_at_no_other() {
        let mut stream = Vec::new();
        while stream.len() < 3 * PERIOD {
            stream.extend(part(stream.len() as u64, 50_000));
        }
        assert!(is_at(0, &stream) && is_at(70_000, &stream[70_000..190_000]));
        assert!(!is_at(70_001, &stream[70_000..71_000]));
        assert!(!is_at(70_000 - 1_440, &stream[70_000..71_000]));
        stream[140_000] ^= 1;
        assert!(!is_at(0, &stream));
        assert!(is_at(5, &[]));
        assert_eq!(part(1, u64::MAX).len(), PERIOD - 1);
    }
}
