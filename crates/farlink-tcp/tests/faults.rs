//! Properties of whole connections under random faults, for every row of the table with every
//! option. Each byte arrives once and in order, or the application gets an error. Nothing panics,
//! stalls or livelocks.
//!
//! A fault drops, corrupts (the checksum drops it), duplicates, reorders or truncates a segment.
//! `make test-long` makes half a million faults for every row.

mod faulty;

use farlink_tcp::variant::VARIANTS;
use faulty::hostile;
use faulty::path::Fate;
use faulty::session::{self, Outcome};
use faulty::twins;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Number of faults in the run of every `cargo test`, and in the long run for each row of the
/// table.
const SHORT: u64 = 100_000;
const LONG: u64 = 500_000;

/// Plays sessions of all rows in turn until `least_faults` faults have happened.
fn inject(least_faults: u64, first_seed: u64) {
    let (mut faults, mut segments, mut delivered, mut errors) = (0, 0, 0_u64, 0_u64);
    for seed in first_seed.. {
        let row = seed as usize % VARIANTS.len();
        let name = VARIANTS[row].name;
        let report =
            catch_unwind(AssertUnwindSafe(|| session::random(seed, row))).unwrap_or_else(|panic| {
                report(&format!("the failing session: seed {seed} ({name})"));
                resume_unwind(panic)
            });
        faults += report.faults;
        segments += report.segments;
        match report.outcome {
            Outcome::Delivered => delivered += 1,
            Outcome::Error => errors += 1,
        }
        if faults >= least_faults {
            break;
        }
    }
    report(&format!(
        "{faults} faults on {segments} segments: {delivered} sessions delivered all, {errors} ended in an error"
    ));
    // Errors are allowed only on paths that may lose a segment as often as it may be sent.
    assert!(
        errors * 20 <= delivered,
        "{errors} errors against {delivered} deliveries"
    );
}

/// Returns a new seed for a long run and prints it; `FAULTS_SEED` sets one to repeat a run.
fn any_seed() -> u64 {
    let seed = match std::env::var("FAULTS_SEED") {
        Ok(again) => again.parse().expect("FAULTS_SEED has 32 bits"),
        Err(_) => RandomState::new().build_hasher().finish() as u32,
    };
    report(&format!("again with FAULTS_SEED={seed}"));
    seed.into()
}

#[allow(clippy::print_stderr, reason = "shown by `cargo test -- --nocapture`")]
fn report(text: &str) {
    eprintln!("{text}");
}

#[test]
fn every_byte_arrives_once_and_in_order() {
    inject(SHORT, 0);
}

#[test]
#[ignore = "takes a minute without optimisation: make test-long"]
fn half_a_million_faults_per_row() {
    inject(LONG * VARIANTS.len() as u64, any_seed() << 32);
}

/// Attacks connections of every row in every state.
fn attack(rounds: u64, first_seed: u64) {
    let mut segments = 0;
    for round in first_seed..first_seed + rounds {
        for (row, variant) in VARIANTS.iter().enumerate() {
            for state in hostile::STATES {
                segments +=
                    catch_unwind(|| hostile::attack(round, row, state)).unwrap_or_else(|panic| {
                        report(&format!(
                            "the failing attack: {round} on {} in {state:?}",
                            variant.name
                        ));
                        resume_unwind(panic)
                    });
            }
        }
    }
    report(&format!("{segments} hostile segments"));
}

#[test]
fn hostile_peer_causes_no_panic_or_livelock() {
    attack(100, 0);
}

#[test]
#[ignore = "takes a minute without optimisation: make test-long"]
fn hostile_peer_causes_no_panic_or_livelock_for_long() {
    attack(1_000, any_seed() << 32);
}

/// Compares the fast paths (header prediction, streams of full segments) with the general ones.
/// Every end exists twice, with and without fast paths, and both must give the same output to the
/// bit.
fn play_twins(sessions: u64, first_seed: u64) {
    let mut segments = 0;
    for seed in first_seed..first_seed + sessions {
        let row = seed as usize % VARIANTS.len();
        segments += catch_unwind(|| twins::play(seed, row)).unwrap_or_else(|panic| {
            report(&format!(
                "the failing twins: seed {seed} ({})",
                VARIANTS[row].name
            ));
            resume_unwind(panic)
        });
    }
    report(&format!("{segments} segments of twins"));
}

#[test]
fn fast_paths_equal_the_general_paths() {
    play_twins(8 * VARIANTS.len() as u64, 0);
}

#[test]
#[ignore = "takes a minute without optimisation: make test-long"]
fn fast_paths_equal_the_general_paths_for_long() {
    play_twins(1_000 * VARIANTS.len() as u64, any_seed() << 32);
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => Just(Fate::Fine),
        2 => Just(Fate::Drop),
        1 => Just(Fate::Duplicate),
        1 => Just(Fate::Reorder),
        1 => Just(Fate::Truncate),
        1 => Just(Fate::Corrupt),
    ]
}

/// Checks that everything arrives after any faults of the first segments, if the path is clean
/// after them. proptest shrinks a failing list of faults.
fn recovers(cases: u32, rng_seed: RngSeed) {
    let config = ProptestConfig {
        cases,
        rng_seed,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let fates = proptest::collection::vec(fate(), 0..60);
    let input = (any::<u64>(), 0..VARIANTS.len(), fates);
    let played = TestRunner::new(config).run(&input, |(seed, row, fates)| {
        let report = session::scripted(seed, row, &fates);
        prop_assert!(report.segments > 0);
        Ok(())
    });
    if let Err(failed) = played {
        panic!("{failed}"); // names the seed, the row and the shrunk list of faults
    }
}

/// Regression: the peer offers 1,460 bytes, and Vegas has a window of 10,000 or, after a time-out,
/// 3,000. With `loss_cut = "reno"` ssthresh is the window after the cut. The cut must start from the
/// peer's window, so ssthresh is two segments and not 5,000 or 3,000 bytes.
#[test]
fn vegas_cuts_from_the_peers_window_if_that_is_smaller() {
    use Fate::{Corrupt, Drop, Fine};
    let row = VARIANTS.iter().position(|v| v.name == "vegas").unwrap();
    let after_time_out = [Fine, Fine, Fine, Drop, Corrupt, Fine, Fine, Drop];
    for fates in [&[Corrupt, Fine, Fine, Corrupt][..], &after_time_out] {
        let report = session::scripted(6_920_386_729_581_557_880, row, fates);
        assert_eq!(report.outcome, Outcome::Delivered);
    }
}

#[test]
fn all_data_arrives_once_faults_end() {
    recovers(200, ProptestConfig::default().rng_seed);
}

#[test]
#[ignore = "takes minutes without optimisation: make test-long"]
fn all_data_arrives_once_faults_end_for_long() {
    recovers(100_000, RngSeed::Fixed(any_seed()));
}
