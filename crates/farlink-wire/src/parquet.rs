//! Encodings of column values in Parquet data pages (Apache Parquet, `Encodings.md`).
//!
//! The crate `parquet` has them too, for any type. These take the columns of traces as they are, and
//! are several times faster.

/// Values of a column in one encoding, with the bounds that the column's statistics need.
#[derive(Debug, PartialEq)]
pub struct Encoded<T> {
    /// Body of the data page.
    pub page: Vec<u8>,
    /// Number of rows without a value.
    pub nulls: usize,
    /// Least and greatest value; `None` if no row has a value.
    pub bounds: Option<(T, T)>,
}

/// Number of values in a block of [`delta`], and in each of its parts.
const BLOCK: usize = 128;
const PART: usize = 32;

/// Whole numbers of a column, in the type that the column has.
#[derive(Clone, Copy, Debug)]
pub enum Numbers<'a> {
    /// Signed numbers that are not negative.
    I64(&'a [i64]),
    /// Numbers of 64 bits.
    U64(&'a [u64]),
    /// Numbers of 32 bits.
    U32(&'a [u32]),
    /// Numbers of 8 bits.
    U8(&'a [u8]),
}

/// Evaluates an expression for the slice of numbers of any type.
macro_rules! each {
    ($numbers:expr, $slice:ident => $value:expr) => {
        match $numbers {
            Numbers::I64($slice) => $value,
            Numbers::U64($slice) => $value,
            Numbers::U32($slice) => $value,
            Numbers::U8($slice) => $value,
        }
    };
}

/// Whole number that a column may have.
trait Whole: Copy + Ord {
    fn wide(self) -> u64;
}

impl Whole for i64 {
    fn wide(self) -> u64 {
        self.cast_unsigned()
    }
}

impl Whole for u64 {
    fn wide(self) -> u64 {
        self
    }
}

impl Whole for u32 {
    fn wide(self) -> u64 {
        self.into()
    }
}

impl Whole for u8 {
    fn wide(self) -> u64 {
        self.into()
    }
}

impl Numbers<'_> {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        each!(self, slice => slice.len())
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Encodes real numbers of an optional column (BYTE_STREAM_SPLIT). NaN is a row without a value.
pub fn reals(numbers: &[f64]) -> Encoded<f64> {
    split(numbers)
}

/// Encodes nanoseconds as seconds of an optional column (BYTE_STREAM_SPLIT). Rows with the number
/// `none` have no value.
pub fn seconds(nanoseconds: Numbers<'_>, none: Option<u64>) -> Encoded<f64> {
    let of = |ns: u64| {
        if none == Some(ns) {
            f64::NAN
        } else {
            ns as f64 / 1e9
        }
    };
    converted(nanoseconds, of)
}

/// Encodes whole numbers as real ones of an optional column (BYTE_STREAM_SPLIT). The number
/// `endless` becomes infinite.
pub fn limits(numbers: Numbers<'_>, endless: u64) -> Encoded<f64> {
    let of = |n: u64| {
        if n == endless {
            f64::INFINITY
        } else {
            n as f64
        }
    };
    converted(numbers, of)
}

fn converted(numbers: Numbers<'_>, of: impl Fn(u64) -> f64) -> Encoded<f64> {
    let reals: Vec<f64> = each!(numbers, slice => slice.iter().map(|&n| of(n.wide())).collect());
    split(&reals)
}

fn split(numbers: &[f64]) -> Encoded<f64> {
    let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
    for &number in numbers {
        // A comparison with NaN is false, so rows without a value change no bound.
        least = if number < least { number } else { least };
        greatest = if number > greatest { number } else { greatest };
    }
    let missing: Vec<usize> = (0..numbers.len())
        .filter(|&row| numbers[row].is_nan())
        .collect();
    // A zero has two signs, and a bound must hold for both (Parquet, TypeDefinedOrder).
    let least = if least == 0.0 { -0.0 } else { least };
    let greatest = if greatest == 0.0 { 0.0 } else { greatest };
    let mut page = levels(numbers.len(), &missing);
    if missing.is_empty() {
        streams(numbers, &mut page);
    } else {
        let present = numbers.iter().copied().filter(|number| !number.is_nan());
        streams(&present.collect::<Vec<_>>(), &mut page);
    }
    Encoded {
        page,
        nulls: missing.len(),
        bounds: (missing.len() < numbers.len()).then_some((least, greatest)),
    }
}

/// Appends the first bytes of all numbers, then the second bytes, and so on. The high bytes of
/// neighbours are alike, so they compress well and quickly.
fn streams(numbers: &[f64], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + 8 * numbers.len(), 0);
    let mut rest = &mut out[start..];
    for shift in (0..64).step_by(8) {
        let (stream, behind) = rest.split_at_mut(numbers.len());
        for (place, number) in stream.iter_mut().zip(numbers) {
            *place = (number.to_bits() >> shift) as u8;
        }
        rest = behind;
    }
}

/// Encodes whole numbers (DELTA_BINARY_PACKED). With `none`, the column is optional, and rows with
/// that number have no value.
pub fn wholes(numbers: Numbers<'_>, none: Option<u64>) -> Encoded<i64> {
    each!(numbers, slice => wholes_of(slice, none))
}

fn wholes_of<N: Whole>(numbers: &[N], none: Option<u64>) -> Encoded<i64> {
    let mut missing = Vec::new();
    if let Some(none) = none {
        missing.extend((0..numbers.len()).filter(|&row| numbers[row].wide() == none));
    }
    let mut page = match none {
        Some(_) => levels(numbers.len(), &missing),
        None => Vec::new(),
    };
    let bounds = if missing.is_empty() {
        delta(numbers, &mut page)
    } else {
        let present = numbers.iter().map(|number| number.wide());
        let present = present.filter(|&number| none != Some(number));
        delta(&present.collect::<Vec<u64>>(), &mut page)
    };
    Encoded {
        page,
        nulls: missing.len(),
        bounds,
    }
}

/// Encodes flags (PLAIN); any number but 0 is true.
pub fn flags(numbers: Numbers<'_>) -> Encoded<bool> {
    each!(numbers, slice => flags_of(slice))
}

fn flags_of<N: Whole>(numbers: &[N]) -> Encoded<bool> {
    let byte = |eight: &[N]| {
        let bits = eight.iter().enumerate();
        bits.fold(0, |byte, (i, &number)| {
            byte | (u8::from(number.wide() != 0) << i)
        })
    };
    let bounds = (
        numbers.iter().all(|&n| n.wide() != 0),
        numbers.iter().any(|&n| n.wide() != 0),
    );
    Encoded {
        page: numbers.chunks(8).map(byte).collect(),
        nulls: 0,
        bounds: (!numbers.is_empty()).then_some(bounds),
    }
}

/// Encodes indices into a list of `entries` (RLE_DICTIONARY). Returns also the indices of the used
/// entries, which are the dictionary in this order. There are no bounds.
pub fn indices(numbers: Numbers<'_>, entries: usize) -> (Encoded<u64>, Vec<usize>) {
    each!(numbers, slice => indices_of(slice, entries))
}

fn indices_of<N: Whole>(numbers: &[N], entries: usize) -> (Encoded<u64>, Vec<usize>) {
    let entry = |number: N| (number.wide() as usize).min(entries.saturating_sub(1));
    let (page, used) = match numbers {
        // Most columns have one name in all rows of a piece.
        &[first, ref rest @ ..] if rest.len() >= 7 && rest.iter().all(|&n| n == first) => {
            let mut page = vec![1];
            repeat(numbers.len(), 0, 1, &mut page);
            (page, vec![entry(first)])
        }
        _ => {
            let mut places = vec![u32::MAX; entries];
            let mut used = Vec::new();
            let mut codes = Vec::with_capacity(numbers.len());
            for &number in numbers {
                let number = entry(number);
                if places[number] == u32::MAX {
                    places[number] = used.len() as u32;
                    used.push(number);
                }
                codes.push(places[number]);
            }
            let width = bits(used.len().saturating_sub(1) as u64).max(1);
            let mut page = vec![width as u8];
            hybrid(&codes, width, &mut page);
            (page, used)
        }
    };
    let encoded = Encoded {
        page,
        nulls: 0,
        bounds: None,
    };
    (encoded, used)
}

/// Decodes the first `rows` numbers of a page that [`indices`] wrote, and appends them to `out`.
/// Returns `None` if the page is damaged.
pub fn read_indices(page: &[u8], rows: usize, out: &mut Vec<u32>) -> Option<()> {
    let (&width, rest) = page.split_first()?;
    read_hybrid(rest, u32::from(width), rows, out)
}

/// Decodes the first `rows` numbers of `width` bits in the hybrid of RLE and bit packing.
fn read_hybrid(mut rest: &[u8], width: u32, rows: usize, out: &mut Vec<u32>) -> Option<()> {
    let end = out.len().checked_add(rows)?;
    if width > 32 {
        return None;
    }
    while out.len() < end {
        let head = read_varint(&mut rest)?;
        let (count, left) = (usize::try_from(head >> 1).ok()?, end - out.len());
        if head & 1 == 0 {
            let (bytes, behind) = rest.split_at_checked(width.div_ceil(8) as usize)?;
            rest = behind;
            let number = bytes
                .iter()
                .rev()
                .fold(0, |n, &byte| n << 8 | u32::from(byte));
            out.extend(std::iter::repeat_n(number, count.min(left)));
        } else {
            let length = count.checked_mul(width as usize)?;
            // The last groups may be cut off.
            let (bytes, behind) = rest.split_at(length.min(rest.len()));
            rest = behind;
            unpack(bytes, width, count.checked_mul(8)?.min(left), out)?;
        }
        if count == 0 {
            return None;
        }
    }
    Some(())
}

/// Decodes the first `rows` real numbers of a page of an optional column, and appends them to
/// `out`, NaN for a row without a value. The values are in streams of bytes as [`reals`] writes
/// them, or one after another (PLAIN). Returns `None` if the page is damaged.
pub fn read_reals(page: &[u8], rows: usize, in_streams: bool, out: &mut Vec<f64>) -> Option<()> {
    let (length, rest) = page.split_first_chunk::<4>()?;
    let (levels, values) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let mut is_there = Vec::with_capacity(rows);
    read_hybrid(levels, 1, rows, &mut is_there)?;
    let count = is_there.iter().filter(|&&level| level > 0).count();
    let values = values.get(..count.checked_mul(8)?)?;
    let number = |at: usize| {
        let byte = |i: usize| {
            let place = if in_streams {
                i * count + at
            } else {
                8 * at + i
            };
            u64::from(values[place]) << (8 * i)
        };
        f64::from_bits((0..8).fold(0, |bits, i| bits | byte(i)))
    };
    let mut next = 0;
    for level in is_there {
        if level > 0 {
            out.push(number(next));
            next += 1;
        } else {
            out.push(f64::NAN);
        }
    }
    Some(())
}

/// Decodes the first `rows` numbers of a page of a required column that [`wholes`] wrote, and
/// appends them to `out`. Returns `None` if the page is damaged.
pub fn read_wholes(mut page: &[u8], rows: usize, out: &mut Vec<i64>) -> Option<()> {
    let block = usize::try_from(read_varint(&mut page)?).ok()?;
    let parts = usize::try_from(read_varint(&mut page)?).ok()?;
    let count = usize::try_from(read_varint(&mut page)?).ok()?;
    let mut last = read_zigzag(&mut page)?;
    // A block has a multiple of 128 numbers, and each of its parts a multiple of 32.
    let part = block.checked_div(parts).filter(|part| part % 32 == 0)?;
    if count < rows || part == 0 {
        return None;
    }
    if rows == 0 {
        return Some(());
    }
    let end = out.len().checked_add(rows)?;
    out.push(last);
    while out.len() < end {
        let least = read_zigzag(&mut page)?;
        let (widths, mut rest) = page.split_at_checked(parts)?;
        for &width in widths {
            let left = end - out.len();
            if left == 0 {
                break;
            }
            let length = part.checked_mul(width.into())?.div_ceil(8);
            let (bytes, behind) = rest.split_at_checked(length)?;
            rest = behind;
            let mut push = |above: u64| {
                let above = above.cast_signed();
                last = last.wrapping_add(least).wrapping_add(above);
                out.push(last);
            };
            if width == 0 {
                (0..left.min(part)).for_each(|_| push(0));
            } else {
                unpack_each(bytes, width.into(), left.min(part), &mut push)?;
            }
        }
        page = rest;
    }
    Some(())
}

/// Reads a number of [`zigzag`].
fn read_zigzag(rest: &mut &[u8]) -> Option<i64> {
    let number = read_varint(rest)?;
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

/// Calls `push` with `count` numbers of `width` bits without gaps.
fn unpack_each(bytes: &[u8], width: u32, count: usize, push: &mut impl FnMut(u64)) -> Option<()> {
    if width > 64 {
        return None;
    }
    let (mut held, mut known) = (0_u128, 0);
    let mut bytes = bytes.iter();
    for _ in 0..count {
        while known < width {
            held |= u128::from(*bytes.next()?) << known;
            known += 8;
        }
        push((held & ((1 << width) - 1)) as u64);
        held >>= width;
        known -= width;
    }
    Some(())
}

/// Appends `count` numbers of `width` bits without gaps.
fn unpack(bytes: &[u8], width: u32, count: usize, out: &mut Vec<u32>) -> Option<()> {
    let (mut held, mut known) = (0_u64, 0);
    let mut bytes = bytes.iter();
    for _ in 0..count {
        while known < width {
            held |= u64::from(*bytes.next()?) << known;
            known += 8;
        }
        out.push((held & ((1 << width) - 1)) as u32);
        held >>= width;
        known -= width;
    }
    Some(())
}

fn read_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Returns the definition levels of an optional column, which its values follow.
fn levels(rows: usize, missing: &[usize]) -> Vec<u8> {
    let mut page = vec![0; 4];
    if missing.is_empty() {
        repeat(rows, 1, 1, &mut page);
    } else {
        let mut levels = vec![1; rows];
        for &row in missing {
            levels[row] = 0;
        }
        hybrid(&levels, 1, &mut page);
    }
    let length = page.len() as u32 - 4;
    page[..4].copy_from_slice(&length.to_le_bytes());
    page
}

/// Returns the number of bits of a number.
fn bits(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// Appends a number of seven bits a byte, lowest first.
fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed number like [`varint`], with its sign in the lowest bit.
fn zigzag(number: i64, out: &mut Vec<u8>) {
    varint(((number << 1) ^ (number >> 63)).cast_unsigned(), out);
}

/// Appends numbers of `width` bits without gaps, lowest bits first.
fn pack(numbers: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    if width > 32 {
        pack_wide(numbers, width, out);
        return;
    }
    let (mut held, mut count) = (0_u64, 0);
    for number in numbers {
        held |= number << count;
        count += width;
        if count >= 32 {
            out.extend_from_slice(&(held as u32).to_le_bytes());
            held >>= 32;
            count -= 32;
        }
    }
    let rest = held.to_le_bytes();
    out.extend_from_slice(&rest[..count.div_ceil(8) as usize]);
}

/// Appends numbers of more than 32 bits like [`pack`].
fn pack_wide(numbers: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let (mut held, mut count) = (0_u128, 0);
    for number in numbers {
        held |= u128::from(number) << count;
        count += width;
        while count >= 32 {
            out.extend_from_slice(&(held as u32).to_le_bytes());
            held >>= 32;
            count -= 32;
        }
    }
    let rest = held.to_le_bytes();
    out.extend_from_slice(&rest[..count.div_ceil(8) as usize]);
}

/// Appends a run of `count` equal numbers of the hybrid of RLE and bit packing.
fn repeat(count: usize, number: u32, width: u32, out: &mut Vec<u8>) {
    varint((count as u64) << 1, out);
    out.extend_from_slice(&number.to_le_bytes()[..width.div_ceil(8) as usize]);
}

/// Appends numbers in the hybrid of RLE and bit packing. Runs of 8 and more are counted.
fn hybrid(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    let literal = |numbers: &[u32], out: &mut Vec<u8>| {
        if numbers.is_empty() {
            return;
        }
        let groups = numbers.len().div_ceil(8);
        varint((groups as u64) << 1 | 1, out);
        let padding = std::iter::repeat_n(0, 8 * groups - numbers.len());
        let numbers = numbers.iter().map(|&number| u64::from(number));
        pack(numbers.chain(padding), width, out);
    };
    // `start` is the first number that is not written, and `at` the first that is not read.
    let (mut start, mut at) = (0, 0);
    while at < numbers.len() {
        let same = numbers[at..].iter().take_while(|&&n| n == numbers[at]);
        let end = at + same.count();
        // Literals have a multiple of 8 numbers, so the first of the run fill their last group.
        let full = start + (at - start).next_multiple_of(8);
        if end >= full + 8 {
            literal(&numbers[start..full], out);
            repeat(end - full, numbers[at], width, out);
            start = end;
        }
        at = end;
    }
    literal(&numbers[start..], out);
}

/// Appends numbers as packed differences to the number before. Returns the least and the greatest.
fn delta<N: Whole>(numbers: &[N], out: &mut Vec<u8>) -> Option<(i64, i64)> {
    let first = numbers.first().map(|number| number.wide().cast_signed());
    varint(BLOCK as u64, out);
    varint((BLOCK / PART) as u64, out);
    varint(numbers.len() as u64, out);
    zigzag(first.unwrap_or_default(), out);
    let first = first?;
    let (mut before, mut lowest, mut highest) = (first, first, first);
    let mut block = [0_i64; BLOCK];
    for part in numbers[1..].chunks(BLOCK) {
        for (place, &number) in block.iter_mut().zip(part) {
            let number = number.wide().cast_signed();
            (lowest, highest) = (lowest.min(number), highest.max(number));
            *place = number.wrapping_sub(before);
            before = number;
        }
        pack_block(&block[..part.len()], out);
    }
    Some((lowest, highest))
}

/// Appends a block of differences: their least, and in each part the bits of those above it.
fn pack_block(block: &[i64], out: &mut Vec<u8>) {
    let least = block.iter().copied().min().unwrap_or_default();
    zigzag(least, out);
    let above = |&number: &i64| number.wrapping_sub(least).cast_unsigned();
    let widths = out.len();
    out.extend_from_slice(&[0; BLOCK / PART]);
    for (i, part) in block.chunks(PART).enumerate() {
        let width = bits(part.iter().map(above).fold(0, |all, number| all | number));
        out[widths + i] = width as u8;
        if width > 0 {
            let padding = std::iter::repeat_n(0, PART - part.len());
            pack(part.iter().map(above).chain(padding), width, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that a decoder has not read.
    struct Reader<'a>(&'a [u8]);

    impl Reader<'_> {
        fn byte(&mut self) -> u8 {
            let (&first, rest) = self.0.split_first().unwrap();
            self.0 = rest;
            first
        }

        fn varint(&mut self) -> u64 {
            let (mut number, mut shift) = (0, 0);
            loop {
                let byte = self.byte();
                number |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    return number;
                }
            }
        }

        fn zigzag(&mut self) -> i64 {
            let number = self.varint();
            (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
        }

        fn packed(&mut self, count: usize, width: u32) -> Vec<u64> {
            let bytes: Vec<u8> = (0..count * width as usize / 8)
                .map(|_| self.byte())
                .collect();
            let bit = |at: usize| u64::from(bytes[at / 8] >> (at % 8) & 1);
            let width = width as usize;
            let number = |i: usize| (0..width).fold(0, |n, k| n | bit(i * width + k) << k);
            (0..count).map(number).collect()
        }

        fn hybrid(&mut self, count: usize, width: u32) -> Vec<u64> {
            let mut numbers = Vec::new();
            while numbers.len() < count {
                let head = self.varint();
                let length = (head >> 1) as usize;
                if head & 1 == 1 {
                    numbers.extend(self.packed(8 * length, width));
                } else {
                    let bytes = (0..width.div_ceil(8)).map(|i| u64::from(self.byte()) << (8 * i));
                    numbers.extend(std::iter::repeat_n(bytes.sum::<u64>(), length));
                }
            }
            numbers.truncate(count);
            numbers
        }

        fn delta(&mut self) -> Vec<i64> {
            let (block, parts) = (self.varint(), self.varint());
            let (count, mut last) = (self.varint() as usize, self.zigzag());
            let mut numbers = vec![last];
            while numbers.len() < count {
                let least = self.zigzag();
                let widths: Vec<u8> = (0..parts).map(|_| self.byte()).collect();
                for width in widths {
                    if numbers.len() >= count {
                        assert_eq!(width, 0);
                        continue;
                    }
                    for above in self.packed((block / parts) as usize, width.into()) {
                        last = last.wrapping_add(least).wrapping_add(above.cast_signed());
                        numbers.push(last);
                    }
                }
            }
            numbers.truncate(count);
            numbers
        }
    }

    /// Sequences of lengths around the borders of groups, parts and blocks, with runs and jumps.
    fn sequences() -> Vec<Vec<u64>> {
        let mut state = 1_u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 33
        };
        let mut all = Vec::new();
        for length in [
            0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 128, 129, 130, 160, 161, 257, 1000,
        ] {
            for kind in 0..4 {
                let mut numbers = Vec::new();
                while numbers.len() < length {
                    let number = [random() % 5, random(), random() << 33 | random(), 3][kind];
                    let run = [random() % 30, 1, 1, 500][kind].max(1) as usize;
                    numbers.extend(std::iter::repeat_n(number, run));
                }
                numbers.truncate(length);
                all.push(numbers);
            }
        }
        all
    }

    #[test]
    fn wholes_are_read_back() {
        for numbers in sequences() {
            let encoded = wholes(Numbers::U64(&numbers), None);
            let expected: Vec<i64> = numbers.iter().map(|n| n.cast_signed()).collect();
            let mut reader = Reader(&encoded.page);
            let read = reader.delta();
            assert_eq!(&read[..expected.len()], &expected[..]);
            assert!(reader.0.is_empty(), "{} bytes too many", reader.0.len());
            assert_eq!(encoded.nulls, 0);
            let (least, greatest) = (expected.iter().min(), expected.iter().max());
            assert_eq!(encoded.bounds, least.copied().zip(greatest.copied()));
        }
    }

    #[test]
    fn missing_wholes_have_no_value_and_level_0() {
        for mut numbers in sequences() {
            for number in numbers.iter_mut().step_by(3) {
                *number = u64::MAX;
            }
            let encoded = wholes(Numbers::U64(&numbers), Some(u64::MAX));
            let length = u32::from_le_bytes(encoded.page[..4].try_into().unwrap()) as usize;
            let (levels, values) = encoded.page[4..].split_at(length);
            let levels = Reader(levels).hybrid(numbers.len(), 1);
            assert!(
                levels
                    .iter()
                    .zip(&numbers)
                    .all(|(&level, &n)| (level == 0) == (n == u64::MAX))
            );
            let there: Vec<i64> = numbers
                .iter()
                .filter(|&&n| n != u64::MAX)
                .map(|n| n.cast_signed())
                .collect();
            assert_eq!(&Reader(values).delta()[..there.len()], &there[..]);
            assert_eq!(encoded.nulls, numbers.len() - there.len());
        }
    }

    #[test]
    fn indices_are_read_back_through_the_dictionary() {
        for numbers in sequences() {
            let numbers: Vec<u64> = numbers.iter().map(|n| n % 700).collect();
            let (encoded, used) = indices(Numbers::U64(&numbers), 700);
            let width = u32::from(encoded.page[0]);
            let codes = Reader(&encoded.page[1..]).hybrid(numbers.len(), width);
            let read: Vec<u64> = codes
                .iter()
                .map(|&code| used[code as usize] as u64)
                .collect();
            assert_eq!(read, numbers);
            assert!(used.len() <= 1 << width && (width == 1 || used.len() > 1 << (width - 1)));
        }
        // A number behind the list means its last entry.
        assert_eq!(indices(Numbers::U8(&[9, 255, 0]), 10).1, [9, 0]);
    }

    #[test]
    fn damaged_indices_are_refused() {
        let numbers: Vec<u64> = (0..1000).map(|n| n % 37 / 2).collect();
        let (encoded, _) = indices(Numbers::U64(&numbers), 37);
        let read = |page: &[u8], rows| read_indices(page, rows, &mut Vec::new());
        for length in 0..encoded.page.len() {
            assert_eq!(read(&encoded.page[..length], 1000), None, "{length}");
        }
        assert_eq!(read(&encoded.page, 1000), Some(()));
        assert_eq!(read(&encoded.page, 1 << 20), None);
        assert_eq!(read(&[33, 2, 0, 0, 0, 0, 0], 1), None);
        assert_eq!(read(&[1, 0, 0], 1), None);
        assert_eq!(
            read(&[1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1], 1),
            None
        );
        // No run is longer than the rows that are asked for.
        let mut out = Vec::new();
        read_indices(&[1, 0xfe, 255, 255, 255, 15, 1], 3, &mut out).unwrap();
        assert_eq!(out, [1, 1, 1]);
        // A dictionary of one text may take no bits.
        let mut out = Vec::new();
        read_indices(&[0, 6], 3, &mut out).unwrap();
        assert_eq!(out, [0, 0, 0]);
    }

    #[test]
    fn numbers_are_decoded_as_they_were_encoded() {
        for numbers in sequences() {
            let encoded = wholes(Numbers::U64(&numbers), None);
            let expected: Vec<i64> = numbers.iter().map(|n| n.cast_signed()).collect();
            for rows in [numbers.len(), numbers.len() / 2, 0] {
                let mut read = vec![7];
                read_wholes(&encoded.page, rows, &mut read).unwrap();
                assert_eq!(read[1..], expected[..rows]);
            }
            for length in 0..encoded.page.len() {
                read_wholes(&encoded.page[..length], numbers.len(), &mut Vec::new());
            }
            let more = read_wholes(&encoded.page, numbers.len() + 1, &mut Vec::new());
            assert_eq!(more, None);
            let reals_of: Vec<f64> = numbers.iter().map(|&n| n as f64 / 3.0).collect();
            check_reals(&reals_of);
            let holes = reals_of.iter().enumerate();
            let holes = holes.map(|(i, &x)| if i % 3 == 1 { f64::NAN } else { x });
            check_reals(&holes.collect::<Vec<_>>());
        }
        for page in [[0; 4], [0x80, 0, 4, 0], [0x80, 1, 200, 1], [16, 1, 2, 0]] {
            assert_eq!(read_wholes(&page, 2, &mut Vec::new()), None);
        }
        // Three parts of 32 bits in a block of 96 numbers.
        assert_eq!(read_wholes(&[96, 3, 1, 6], 1, &mut Vec::new()), Some(()));
    }

    fn check_reals(numbers: &[f64]) {
        let page = reals(numbers).page;
        let bits = |numbers: &[f64]| numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
        let mut read = Vec::new();
        read_reals(&page, numbers.len(), true, &mut read).unwrap();
        assert_eq!(bits(&read), bits(numbers));
        for length in 0..page.len() {
            let part = read_reals(&page[..length], numbers.len(), true, &mut Vec::new());
            assert!(part.is_none() || numbers.is_empty(), "{length}");
        }
        // The same numbers one after another.
        let length = u32::from_le_bytes(page[..4].try_into().unwrap()) as usize;
        let mut plain = page[..4 + length].to_vec();
        let there = numbers.iter().filter(|number| !number.is_nan());
        plain.extend(there.flat_map(|number| number.to_le_bytes()));
        let mut read = Vec::new();
        read_reals(&plain, numbers.len(), false, &mut read).unwrap();
        assert_eq!(bits(&read), bits(numbers));
    }

    #[test]
    fn long_runs_take_few_bytes() {
        let mut numbers = vec![1, 2, 3];
        numbers.extend([4; 1000]);
        let mut out = Vec::new();
        let codes: Vec<u32> = numbers.clone();
        hybrid(&codes, 3, &mut out);
        // A group of 8 literals (3 + 5 of the run) and a run of 995.
        assert_eq!(out[0], 1 << 1 | 1);
        assert_eq!(Reader(&out[4..]).varint(), 995 << 1);
        assert_eq!(out.len(), 1 + 3 + 2 + 1);
    }

    #[test]
    fn reals_have_bounds_and_levels() {
        let encoded = reals(&[2.5, f64::NAN, -1.0]);
        assert_eq!(encoded.page[..4], 2_u32.to_le_bytes());
        assert_eq!(Reader(&encoded.page[4..6]).hybrid(3, 1), [1, 0, 1]);
        let (first, second) = (2.5_f64.to_le_bytes(), (-1.0_f64).to_le_bytes());
        let streams = first.into_iter().zip(second);
        let streams: Vec<u8> = streams.flat_map(|pair| [pair.0, pair.1]).collect();
        assert_eq!(encoded.page[6..], streams);
        assert_eq!((encoded.nulls, encoded.bounds), (1, Some((-1.0, 2.5))));
        assert_eq!(reals(&[f64::NAN]).bounds, None);
        let (least, greatest) = reals(&[0.0]).bounds.unwrap();
        assert!(least.is_sign_negative() && greatest.is_sign_positive());
        assert_eq!(
            seconds(Numbers::U64(&[1_500_000_000, 0]), Some(0)),
            reals(&[1.5, f64::NAN])
        );
        assert_eq!(seconds(Numbers::I64(&[0]), None), reals(&[0.0]));
        assert_eq!(
            limits(Numbers::U64(&[7, u64::MAX]), u64::MAX),
            reals(&[7.0, f64::INFINITY])
        );
    }

    #[test]
    fn narrow_numbers_are_encoded_as_wide_ones() {
        let narrow: Vec<u8> = (0..300_u32).map(|n| (n * n % 251) as u8).collect();
        let wide: Vec<u64> = narrow.iter().map(|&n| n.into()).collect();
        let middle: Vec<u32> = narrow.iter().map(|&n| n.into()).collect();
        for other in [Numbers::U8(&narrow), Numbers::U32(&middle)] {
            assert_eq!(wholes(other, None), wholes(Numbers::U64(&wide), None));
            assert_eq!(flags(other), flags(Numbers::U64(&wide)));
            assert_eq!(indices(other, 251), indices(Numbers::U64(&wide), 251));
            assert_eq!(other.len(), 300);
        }
    }

    #[test]
    fn one_name_in_all_rows_is_one_run() {
        for rows in [7, 8, 1000] {
            let (encoded, used) = indices(Numbers::U32(&vec![5; rows]), 6);
            assert_eq!(used, [5]);
            assert_eq!(
                Reader(&encoded.page[1..]).hybrid(rows, 1),
                vec![0; rows],
                "{rows}"
            );
        }
    }

    #[test]
    fn flags_are_bits() {
        let encoded = flags(Numbers::U8(&[1, 0, 1, 0, 0, 0, 0, 0, 2]));
        assert_eq!(encoded.page, [0b101, 1]);
        assert_eq!(encoded.bounds, Some((false, true)));
        assert_eq!(flags(Numbers::U8(&[1])).bounds, Some((true, true)));
        assert_eq!(flags(Numbers::U8(&[0])).bounds, Some((false, false)));
        assert_eq!(flags(Numbers::U8(&[])).bounds, None);
    }
}
