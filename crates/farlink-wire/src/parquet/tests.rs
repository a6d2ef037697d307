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
    // The encoding PLAIN has the same numbers one after another.
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
