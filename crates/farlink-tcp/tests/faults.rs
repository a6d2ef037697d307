//! Properties of whole connections under random faults, of every row of the
//! table with every option: each byte arrives once and in order, or the
//! application is told of the error; nothing panics, stalls or goes on for ever.
//!
//! Faults are counted by segment: dropped, corrupted (dropped by the checksum),
//! duplicated, reordered, truncated. `make test-long` makes it half a million for every row.

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

/// Faults of a run that every `cargo test` makes, and of the long one for each
/// row of the table.
const SHORT: u64 = 100_000;
const LONG: u64 = 500_000;

/// Plays sessions of all rows in turn until so many faults have happened.
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
    // Errors are for paths on which a segment is lost as often as it may be sent.
    assert!(
        errors * 20 <= delivered,
        "{errors} errors against {delivered} deliveries"
    );
}

/// A new seed for a long run, which it prints; `FAULTS_SEED` repeats one.
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
fn half_a_million_faults_of_every_row() {
    inject(LONG * VARIANTS.len() as u64, any_seed() << 32);
}

/// Attacks connections in every state, of every row.
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
fn a_hostile_peer_breaks_nothing() {
    attack(100, 0);
}

#[test]
#[ignore = "takes a minute without optimisation: make test-long"]
fn a_hostile_peer_breaks_nothing_for_long() {
    attack(1_000, any_seed() << 32);
}

/// Header prediction and the stream of full segments are short ways to what the general
/// ones do: every end is there twice, with and without them, and all that comes out is
/// the same to the bit.
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
fn short_ways_end_where_the_general_ones_do() {
    play_twins(8 * VARIANTS.len() as u64, 0);
}

#[test]
#[ignore = "takes a minute without optimisation: make test-long"]
fn short_ways_end_where_the_general_ones_do_for_long() {
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

/// Whatever happens to the first segments, when the path is fine after them everything
/// arrives. Failing lists shrink to the faults that matter.
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
        panic!("{failed}"); // with the seed, the row and the faults that are left
    }
}

#[test]
fn a_path_that_recovers_delivers() {
    recovers(200, ProptestConfig::default().rng_seed);
}

#[test]
#[ignore = "takes minutes without optimisation: make test-long"]
fn a_path_that_recovers_delivers_for_long() {
    recovers(100_000, RngSeed::Fixed(any_seed()));
}
