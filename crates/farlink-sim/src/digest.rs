//! Digest of a run, by which results of different machines are compared.

use crate::probe::{Column, Table};
use crate::run::Outcome;

/// Returns the digest of all numbers of a run and of its tables, as 16 hexadecimal digits. Equal
/// digests mean equal bits. All NaNs count as equal, because their bits differ between machines.
pub fn digest(outcome: &Outcome, tables: &[Table]) -> String {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    digest.reals(&outcome.numbers());
    for table in tables {
        digest.text(table.name);
        for (name, column) in &table.columns {
            digest.text(name);
            match column {
                Column::I64(v) => digest.words(v.iter().map(|&n| n as u64)),
                Column::U64(v) => digest.words(v.iter().copied()),
                Column::U32(v) => digest.words(v.iter().map(|&n| n.into())),
                Column::U8(v) => digest.words(v.iter().map(|&n| n.into())),
                Column::F64(v) => digest.reals(v),
            }
        }
    }
    format!("{:016x}", digest.0)
}

/// FNV-1a over words of 64 bits, with the high bits of the hash folded into its low bits.
struct Digest(u64);

impl Digest {
    fn word(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x100_0000_01b3);
        self.0 = mixed ^ (mixed >> 32);
    }

    fn words(&mut self, words: impl ExactSizeIterator<Item = u64>) {
        self.word(words.len() as u64);
        for word in words {
            self.word(word);
        }
    }

    fn reals(&mut self, values: &[f64]) {
        let bits = |x: &f64| if x.is_nan() { f64::NAN } else { *x }.to_bits();
        self.words(values.iter().map(bits));
    }

    fn text(&mut self, text: &str) {
        self.words(text.bytes().map(u64::from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(values: Vec<f64>) -> Vec<Table> {
        vec![Table {
            name: "t",
            columns: vec![("x", Column::F64(values))],
        }]
    }

    fn outcome() -> Outcome {
        let text = "[[links]]\nbetween = [\"a\", \"b\"]\ndown = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n\
                    [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n";
        let scenario = crate::scenario::load(text, "", &[]).and_then(|s| s.expand());
        crate::run(&scenario.unwrap(), 0, &crate::Monitor::default()).unwrap()
    }

    #[test]
    fn differs_if_one_bit_differs_and_ignores_the_bits_of_nan() {
        let outcome = outcome();
        let of = |values: &[f64]| digest(&outcome, &table(values.to_vec()));
        assert_ne!(
            of(&[1.0, 2.0]),
            of(&[1.0, f64::from_bits(2.0_f64.to_bits() + 1)])
        );
        assert_ne!(of(&[0.0]), of(&[-0.0]));
        assert_ne!(of(&[1.0, 2.0]), of(&[2.0, 1.0]));
        assert_ne!(of(&[0.0]), of(&[0.0, 0.0]));
        assert_eq!(of(&[f64::NAN]), of(&[-f64::NAN]));
    }
}
