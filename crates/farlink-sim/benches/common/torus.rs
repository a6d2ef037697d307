//! Flows over a torus of routers, as satellites with four links each.

use std::fmt::Write;

/// Returns flows between random nodes of a torus. A path has 16 links on average. No link is full.
pub(crate) fn torus(flows: u32) -> String {
    const ROWS: u32 = 25;
    const COLUMNS: u32 = 40;
    const NODES: u64 = 1000;
    let mut text = "duration = \"500 ms\"\n[tcp]\nreceive_window = \"16 KiB\"\n".to_owned();
    let node = |row: u32, column: u32| (row % ROWS) * COLUMNS + column % COLUMNS;
    for (row, column) in (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| (row, column))) {
        for next in [node(row, column + 1), node(row + 1, column)] {
            let _ = write!(
                text,
                "[[links]]\nbetween = [\"n{}\", \"n{next}\"]\n\
                 down = {{ rate = \"1 Gbit/s\", delay = \"5 ms\" }}\n",
                node(row, column)
            );
        }
    }
    let mut random = generator();
    for _ in 0..flows {
        let from = random() % NODES;
        let to = (from + 1 + random() % (NODES - 1)) % NODES;
        let _ = write!(
            text,
            "[[flows]]\nfrom = \"n{from}\"\nto = \"n{to}\"\napp = \"bulk\"\n\
             duration = \"500 ms\"\nstart = \"{} us\"\n",
            random() % 50_000
        );
    }
    text
}

/// Returns a generator of whole numbers below a million (xorshift).
pub(crate) fn generator() -> impl FnMut() -> u64 {
    let mut state = 1_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % 1_000_000
    }
}
