//! Encodings of column values in Parquet data pages (Apache Parquet, `Encodings.md`).
//!
//! The crate `parquet` has them too, for any type. These take the columns of traces as they are, and
//! are several times faster.

mod read;
#[cfg(test)]
mod tests;

pub use read::{read_indices, read_reals, read_wholes};

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
