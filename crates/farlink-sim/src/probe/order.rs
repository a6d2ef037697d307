//! Order of the rows of a table, and pieces of tables that any thread makes columns of.

use super::tables::{Row, Table};
use farlink_tcp::Instant;

/// Finished rows of a table. The thread that makes columns of them need not be that of the run.
pub struct Piece {
    name: &'static str,
    table: Box<dyn FnOnce() -> Table + Send>,
}

impl Piece {
    pub(super) fn of<R: Row>(rows: Vec<R>, ties: Ties) -> Self {
        Self {
            name: R::NAME,
            table: Box::new(move || R::columns(&in_order(rows, ties))),
        }
    }

    /// Returns the name of the table.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the rows as columns, in order of time.
    pub fn into_table(self) -> Table {
        (self.table)()
    }
}

/// Order of rows of one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ties {
    /// Rows keep their order.
    Kept,
    /// By link and direction.
    ByLink,
}

/// Sorts rows by time.
fn in_order<R: Row>(rows: Vec<R>, ties: Ties) -> Vec<R> {
    let by_link = |row: &R| (row.time(), row.lane());
    let is_sorted = match ties {
        Ties::Kept => rows.is_sorted_by_key(R::time),
        Ties::ByLink => rows.is_sorted_by_key(by_link),
    };
    if is_sorted {
        return rows;
    }
    let keys: Vec<_> = rows.iter().map(by_link).collect();
    order(&keys, ties).map(|row| rows[row]).collect()
}

/// Returns the places of rows with these times and link directions, in order. Sorts places, so that
/// the sort's code is not compiled once per table.
///
/// Rows of one link direction are nearly in order. One direction after the other, they are a few
/// long runs, which the stable sort merges.
fn order(keys: &[(Instant, usize)], ties: Ties) -> impl Iterator<Item = usize> + use<> {
    let lanes = keys.iter().map(|key| key.1 + 1).max().unwrap_or_default();
    let mut ends = vec![0; lanes];
    for &(_, lane) in keys {
        ends[lane] += 1;
    }
    let mut next = 0;
    for end in &mut ends {
        (*end, next) = (next, next + *end);
    }
    let mut places = vec![(Instant::ZERO, 0); keys.len()];
    for (row, &(time, lane)) in keys.iter().enumerate() {
        places[ends[lane]] = (time, row);
        ends[lane] += 1;
    }
    match ties {
        Ties::Kept => places.sort(),
        Ties::ByLink => places.sort_by_key(|place| place.0),
    }
    places.into_iter().map(|place| place.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_ordered_by_time_and_ties_by_place_or_link() {
        let mut state = 1_u64;
        let mut random = |most: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % most
        };
        for rows in [0, 1, 2, 50, 1000] {
            let row = |_| (Instant::from_nanos(random(60)), random(5) as usize);
            let keys: Vec<(Instant, usize)> = (0..rows).map(row).collect();
            let mut kept: Vec<usize> = (0..rows).collect();
            kept.sort_by_key(|&row| keys[row].0);
            assert!(order(&keys, Ties::Kept).eq(kept.iter().copied()), "{rows}");
            kept.sort_by_key(|&row| (keys[row], row));
            assert!(order(&keys, Ties::ByLink).eq(kept), "{rows}");
        }
    }
}
