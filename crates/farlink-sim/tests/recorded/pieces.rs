//! Tables in pieces are the tables of a whole trace.

use crate::runs::Run;

use farlink_sim::{Column, Monitor, Piece, Table, TraceOptions, scenario, trace, trace_into};
use std::collections::BTreeMap;

/// Rows of a table, each with its numbers as bits, in the order of the table.
fn rows(table: &Table) -> Vec<Vec<u64>> {
    let columns: Vec<Vec<u64>> = table
        .columns
        .iter()
        .map(|(_, column)| match column {
            Column::F64(values) => values.iter().map(|value| value.to_bits()).collect(),
            other => other.numbers(),
        })
        .collect();
    let count = columns[0].len();
    (0..count)
        .map(|row| columns.iter().map(|column| column[row]).collect())
        .collect()
}

/// Compares a trace in pieces with a whole one. Returns the number of pieces.
pub(crate) fn check(run: &Run, piece: usize) -> usize {
    let expanded = scenario::load(&run.text, "pieces", &run.set).and_then(|s| s.expand());
    let expanded = expanded.unwrap();
    let options = TraceOptions {
        packets: true,
        ..TraceOptions::default()
    };
    let monitor = Monitor::default();
    let whole = trace(&expanded, 0, &options, &monitor).unwrap();
    let mut pieces: BTreeMap<&str, Vec<Vec<u64>>> = BTreeMap::new();
    let mut number = 0;
    let mut sink = |piece: Piece| {
        let table = piece.into_table();
        number += 1;
        pieces.entry(table.name).or_default().extend(rows(&table));
        Ok(())
    };
    let streamed = trace_into(&expanded, 0, &options, &monitor, piece, &mut sink).unwrap();
    assert_eq!(whole.outcome, streamed.outcome);
    assert_eq!(whole.captures, streamed.captures);
    assert_eq!(whole.tables.len(), pieces.len());
    for table in &whole.tables {
        let expected = rows(table);
        let streamed = &pieces[table.name];
        assert!(
            streamed.is_sorted_by_key(|row| row[0]),
            "{}: {}",
            run.name,
            table.name
        );
        if table.name == "queue" {
            assert!(streamed.is_sorted_by_key(|row| (row[0], row[1], row[2])));
            check_queue(&run.name, &expected, streamed);
        } else {
            assert_eq!(&expected, streamed, "{}: {}", run.name, table.name);
        }
    }
    number
}

/// Checks that the pieces have the rows of the whole table, link by link, and behind the last row
/// of a link only departures, each of which shortens the queue by a packet.
fn check_queue(name: &str, expected: &[Vec<u64>], streamed: &[Vec<u64>]) {
    let by_link = |rows: &[Vec<u64>]| {
        let mut links: BTreeMap<(u64, u64), Vec<Vec<u64>>> = BTreeMap::new();
        for row in rows {
            links.entry((row[1], row[2])).or_default().push(row.clone());
        }
        links
    };
    let (expected, streamed) = (by_link(expected), by_link(streamed));
    assert!(expected.keys().eq(streamed.keys()));
    for (link, rows) in &streamed {
        let (before, tail) = rows.split_at(expected[link].len());
        assert_eq!(&expected[link], before, "{name}: {link:?}");
        for (row, last) in tail.iter().zip(&rows[before.len() - 1..]) {
            assert_eq!(row[3] + 1, last[3], "{name}: {link:?}");
            assert!(row[4] < last[4], "{name}: {link:?}");
        }
    }
}

const TWO_FLOWS: &str = r#"
    duration = "3 s"
    [[links]]
    name = "slow"
    between = ["a", "r"]
    down = { rate = "2 Mbit/s", delay = "100 ms", queue = { packets = 30 }, channel = { loss = 0.02 } }
    up = { rate = "64 kbit/s", delay = "100 ms" }
    [[links]]
    between = ["r", "b"]
    down = { rate = "10 Mbit/s", delay = "1 ms" }
    [[flows]]
    from = "a"
    to = "b"
    size = "300 kB"
    [[flows]]
    from = "a"
    to = "b"
    start = "500 ms"
    size = "30 kB"
    "#;

#[test]
fn table_has_a_piece_whenever_it_is_long_enough() {
    let run = Run::new("two flows", TWO_FLOWS, "");
    let of = |piece| check(&run, piece);
    assert!(of(1) > of(10) && of(10) > of(100));
    // Longer than every table: one piece for each of the 20 tables.
    assert_eq!(of(1 << 20), 20);
}
