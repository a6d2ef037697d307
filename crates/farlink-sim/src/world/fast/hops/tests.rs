//! Runs random scenarios with and without fused hops, and compares the results bit by bit.

use crate::monitor::Monitor;
use crate::run::{run, run_unfused};
use crate::world::random::scenario;

#[test]
fn runs_with_and_without_fused_hops_are_equal() {
    let monitor = Monitor::default();
    let (mut runs, mut fewer) = (0, 0);
    for number in 0..200 {
        let (text, Some(scenario)) = scenario(number) else {
            continue; // The random choices contradict each other.
        };
        let fused = run(&scenario, 0, &monitor).unwrap();
        let (unfused, saved) = run_unfused(&scenario, 0, &monitor).unwrap();
        assert_eq!(
            fused.to_json(&scenario),
            unfused.to_json(&scenario),
            "{text}"
        );
        runs += 1;
        fewer += usize::from(saved);
    }
    assert!(
        runs > 100 && fewer > runs / 3,
        "{fewer} of {runs} runs have fused hops"
    );
}
