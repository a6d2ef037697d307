//! Decoders of data pages.

/// Decodes the first `rows` numbers of a page that [`super::indices`] wrote, and appends them to `out`.
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
/// `out`, NaN for a row without a value. The values are in streams of bytes as [`super::reals`] writes
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

/// Decodes the first `rows` numbers of a page of a required column that [`super::wholes`] wrote, and
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

/// Reads a number of [`super::zigzag`].
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
