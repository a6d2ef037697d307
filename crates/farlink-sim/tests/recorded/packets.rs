//! Agreement of the table `packets` with the other tables, over all recorded runs.

use farlink_sim::{Column, Table, Trace};
use std::collections::BTreeMap;

/// Columns of a table, each as numbers.
pub(crate) struct Numbers(BTreeMap<&'static str, Vec<u64>>);

impl Numbers {
    pub(crate) fn of(traced: &Trace, name: &str) -> Self {
        let table: &Table = traced.tables.iter().find(|t| t.name == name).unwrap();
        let numbers = |(name, column): &(&'static str, Column)| (*name, column.numbers());
        Self(table.columns.iter().map(numbers).collect())
    }

    pub(crate) fn rows(&self) -> usize {
        self.0["time"].len()
    }

    pub(crate) fn at(&self, name: &str, row: usize) -> u64 {
        self.0[name][row]
    }

    /// Counts the rows that `which` selects, by the values of these columns.
    fn count(&self, by: &[&str], which: impl Fn(usize) -> bool) -> BTreeMap<Vec<u64>, usize> {
        let mut counts = BTreeMap::new();
        for row in (0..self.rows()).filter(|&row| which(row)) {
            let key = by.iter().map(|name| self.at(name, row)).collect();
            *counts.entry(key).or_insert(0) += 1;
        }
        counts
    }
}

const NONE: u64 = u64::MAX;

/// Checks the table of a run.
pub(crate) fn check(name: &str, traced: &Trace) {
    let packets = Numbers::of(traced, "packets");
    let drops = Numbers::of(traced, "drops");
    // A header that was decompressed wrongly is lost with another place in the stream.
    let by = |time| ["link", "direction", "flow", "bytes", "cause", time];
    let is_lost = |row| packets.at("cause", row) != u64::from(u8::MAX);
    let lost = packets.count(&by("lost"), is_lost);
    let dropped = drops.count(&by("time"), |_| true);
    let differ: Vec<_> = (lost.iter().filter(|(key, n)| dropped.get(*key) != Some(*n)))
        .chain(dropped.iter().filter(|(key, n)| lost.get(*key) != Some(*n)))
        .collect();
    assert!(differ.is_empty(), "{name}: {differ:?}");
    let deliveries = Numbers::of(traced, "deliveries");
    let by = ["link", "direction", "flow", "bytes"];
    let beyond = |row: usize| {
        // Lost behind the link, after its arrival.
        packets.at("lost", row) != NONE && packets.at("departure", row) != NONE
    };
    let arrived = packets.count(&by, |row| packets.at("arrival", row) != NONE);
    let most = packets.count(&by, |row| packets.at("arrival", row) != NONE || beyond(row));
    for (key, count) in deliveries.count(&by, |_| true) {
        let (least, most) = (arrived.get(&key), most.get(&key));
        let range = least.copied().unwrap_or(0)..=most.copied().unwrap_or(0);
        assert!(range.contains(&count), "{name}: {key:?} {count} {range:?}");
    }
    for row in 0..packets.rows() {
        let [time, departure, arrival, lost] =
            ["time", "departure", "arrival", "lost"].map(|name| packets.at(name, row));
        let sent = packets.at("transmissions", row);
        assert!(sent == 0 || departure != NONE, "{name}: {row}");
        assert!(departure >= time && lost >= time, "{name}: {row}");
        if arrival != NONE {
            assert!(departure <= arrival && lost == NONE, "{name}: {row}");
        }
    }
    check_segments(name, traced, &packets);
}

/// Each segment of an end is a packet, new or retransmitted as the table `segments` says.
fn check_segments(name: &str, traced: &Trace, packets: &Numbers) {
    let segments = Numbers::of(traced, "segments");
    let by = ["flow", "seq", "len", "retransmission"];
    let sent = segments.count(&by, |_| true);
    let mut seen = std::collections::BTreeSet::new();
    let mut first = BTreeMap::new();
    for row in 0..packets.rows() {
        if seen.insert(packets.at("number", row)) && packets.at("seq", row) != NONE {
            let key: Vec<_> = by.iter().map(|column| packets.at(column, row)).collect();
            *first.entry(key).or_insert(0) += 1;
        }
    }
    // Agents send segments of their own, and a flow without a route none.
    for (key, count) in sent {
        let packets = first.get(&key).copied().unwrap_or(0);
        assert!(packets >= count, "{name}: {key:?} {count} {packets}");
    }
}
