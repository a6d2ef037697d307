//! Bytes that link directions delivered, by bins of time.
//!
//! The width of the bins of the trace `throughput` depends on the end of the run. Until then, bytes
//! are kept in bins whose width divides the final one.

use crate::columns::{Columns, Values, names_of};
use farlink_sim::scenario::Expanded;
use farlink_sim::{Column, Table, columns_of};
use pyo3::PyResult;

/// Number of bins of a run at which bins become ten times as wide.
///
/// The final width is at least a thousandth of the run and 1, 2 or 5 times a power of ten. Bins of a
/// power of ten that are narrower than a thousandth therefore divide it.
const MOST: u64 = 10_000;

/// Sums of bytes.
pub(crate) struct Bins {
    /// Width in nanoseconds, a power of ten.
    width: u64,
    /// Bins with bytes of each link direction: number of the bin and bytes, in order of time.
    of: Vec<Vec<(u64, u64)>>,
}

impl Default for Bins {
    fn default() -> Self {
        Self {
            width: 1,
            of: Vec::new(),
        }
    }
}

impl Bins {
    /// Adds rows of the table `deliveries`.
    pub(crate) fn add(&mut self, table: &Table) {
        let column = |name| {
            let column = table.columns.iter().find(|(known, _)| *known == name);
            column.map(|(_, column)| column)
        };
        let (Some(Column::I64(time)), Some(Column::U32(bytes))) = (column("time"), column("bytes"))
        else {
            return;
        };
        let (Some(Column::U32(link)), Some(Column::U8(direction))) =
            (column("link"), column("direction"))
        else {
            return;
        };
        let Some(&last) = time.last() else {
            return;
        };
        while last.cast_unsigned() / self.width >= MOST {
            self.widen();
        }
        let links = link.iter().zip(direction);
        for (((&link, &direction), &time), &bytes) in links.zip(time).zip(bytes) {
            let (time, bytes) = (time.cast_unsigned(), u64::from(bytes));
            let bin = time / self.width;
            let at = 2 * link as usize + usize::from(direction);
            if self.of.len() <= at {
                self.of.resize_with(at + 1, Vec::new);
            }
            let bins = &mut self.of[at];
            match bins.last_mut() {
                Some((known, sum)) if *known == bin => *sum += bytes,
                _ => bins.push((bin, bytes)),
            }
        }
    }

    fn widen(&mut self) {
        self.width *= 10;
        for bins in &mut self.of {
            for (bin, _) in bins.iter_mut() {
                *bin /= 10;
            }
            bins.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1 += next.1;
                }
                same
            });
        }
    }

    /// Returns the width of bins in nanoseconds, and columns with a row for each bin with bytes.
    pub(crate) fn columns(self, scenario: &Expanded) -> PyResult<(u64, Columns)> {
        let (mut link, mut direction) = (Vec::new(), Vec::new());
        let (mut bin, mut bytes) = (Vec::new(), Vec::new());
        for (at, bins) in self.of.into_iter().enumerate() {
            for (number, sum) in bins {
                link.push((at / 2) as i32);
                direction.push((at % 2) as i32);
                bin.push(number as i64);
                bytes.push(sum as i64);
            }
        }
        let known = columns_of("deliveries");
        let names = |name| {
            let column = known.iter().find(|column| column.name == name);
            column.map_or_else(Vec::new, |column| names_of(column, scenario))
        };
        let columns = Columns::new(vec![
            ("link".to_owned(), Values::Text(link, names("link"))),
            (
                "direction".to_owned(),
                Values::Text(direction, names("direction")),
            ),
            ("bin".to_owned(), Values::I64(bin, Vec::new())),
            ("bytes".to_owned(), Values::I64(bytes, Vec::new())),
        ]);
        Ok((self.width, columns?))
    }
}
