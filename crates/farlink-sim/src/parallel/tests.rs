//! Random scenarios in several parts and threads, compared with runs in one part bit by bit.

use super::run::{Cores, run_with};
use crate::monitor::Monitor;
use crate::run::run;
use crate::scenario::{Expanded, load};
use crate::world::random;
use farlink_channel::rng::{Stream, Streams};
use std::fmt::Write;

fn expanded(text: &str) -> Option<Expanded> {
    let loaded = load(text, "", &[]).and_then(|scenario| scenario.expand());
    loaded.ok()
}

/// Compares runs in parts with a run in one part. Returns the account of the first.
fn compare(text: &str, scenario: &Expanded, sizes: &[(usize, usize)]) -> Option<Cores> {
    let monitor = Monitor::default();
    let whole = run(scenario, 0, &monitor).unwrap();
    let mut first = None;
    for &size in sizes {
        let (outcome, cores) = run_with(scenario, 0, size, 0.0, &monitor).unwrap();
        let (expected, actual) = (whole.to_json(scenario), outcome.to_json(scenario));
        assert_eq!(actual, expected, "{size:?}, {cores:?} of\n{text}");
        assert_eq!(crate::digest(&outcome, &[]), crate::digest(&whole, &[]));
        first = first.or(Some(cores));
    }
    first
}

#[test]
fn random_trees_are_equal_in_parts() {
    let (mut divided, mut rounds, mut broken) = (0, 0, 0);
    for number in 0..300 {
        let (text, Some(scenario)) = random::scenario(number) else {
            continue; // The random choices contradict each other.
        };
        let cores = compare(&text, &scenario, &[(2, 1), (2, 2), (4, 3)]).unwrap();
        divided += u32::from(cores.parts > 1);
        rounds += cores.rounds;
        broken += u32::from(cores.reason.is_some_and(|why| why.contains("affect")));
    }
    assert!(divided > 60 && rounds > 5_000, "{divided} {rounds}");
    assert!(broken < 10, "{broken}");
}
