//! Comparison of a process with its closed form over a million packets.

use super::closed_form::{Sampling, Theory};
use super::passage::{Passage, Verdict};
use super::process::Process;
use super::testing::N;
use farlink_tcp::{Instant, Interval};

/// Number of batches from which standard errors are estimated.
const BATCHES: usize = 100;

/// Returns the traffic of packets of `bytes`, `spacing` nanoseconds apart.
pub(super) fn sampling(bytes: u32, spacing: u64) -> Sampling {
    Sampling {
        bytes,
        spacing: Interval::from_nanos(spacing),
    }
}

/// Fates of `N` packets.
pub(super) struct PacketFates {
    /// Set for each packet that was lost or damaged.
    pub(super) lost: Vec<bool>,
    /// Extra delay of the packets that arrived, in seconds.
    pub(super) delays: Vec<f64>,
    /// Mean loss.
    pub(super) loss: f64,
}

impl PacketFates {
    /// Sends packets through a process; `packet` returns the bytes and the time (ns) of each.
    pub(super) fn of(process: &mut dyn Process, packet: impl Fn(usize) -> (u32, u64)) -> Self {
        let (mut lost, mut delays) = (Vec::with_capacity(N), Vec::new());
        for i in 0..N {
            let (bytes, nanos) = packet(i);
            let mut passage = Passage::CLEAN;
            process.pass(Instant::from_nanos(nanos), bytes, &mut passage);
            lost.push(passage.verdict != Verdict::Pass);
            if passage.verdict == Verdict::Pass {
                delays.push(passage.hold.as_secs_f64());
            }
        }
        Self::new(lost, delays)
    }

    fn new(lost: Vec<bool>, delays: Vec<f64>) -> Self {
        let loss = super::testing::rate(&lost);
        Self { lost, delays, loss }
    }

    /// Returns every `step`-th packet, from number `first` on.
    pub(super) fn every(&self, step: usize, first: usize) -> Self {
        let lost = self.lost.iter().skip(first).step_by(step).copied();
        Self::new(lost.collect(), Vec::new())
    }

    /// Returns the ratio of two counts over batches of packets, and its standard error from the
    /// residuals of the batches.
    fn ratio(&self, counts: impl Fn(&[bool]) -> (f64, f64)) -> (f64, f64) {
        let batches: Vec<_> = self
            .lost
            .chunks_exact(self.lost.len() / BATCHES)
            .map(counts)
            .collect();
        let total = |f: fn(&(f64, f64)) -> f64| batches.iter().map(f).sum::<f64>();
        let ratio = total(|b| b.0) / total(|b| b.1);
        let left: f64 = batches.iter().map(|b| (b.0 - ratio * b.1).powi(2)).sum();
        (ratio, left.sqrt() / total(|b| b.1))
    }

    /// Fails unless the mean loss is `expected` within 4 standard errors.
    #[track_caller]
    pub(super) fn near_loss(&self, expected: f64) {
        let measured = self.ratio(|batch| {
            let lost = batch.iter().filter(|&&lost| lost).count();
            (lost as f64, batch.len() as f64)
        });
        near("loss", measured, expected);
    }

    /// Fails unless loss, mean burst, mean gap and autocorrelation are those of
    /// the closed form within 4 standard errors.
    #[track_caller]
    pub(super) fn near(&self, theory: &Theory) {
        self.near_loss(theory.loss.expect("a closed form of the loss"));
        let ends = |batch: &[bool]| batch.windows(2).filter(|w| w[0] && !w[1]).count() as f64;
        let of = |batch: &[bool], kind: bool| {
            let inner = &batch[..batch.len() - 1];
            inner.iter().filter(|&&lost| lost == kind).count() as f64
        };
        if let Some(burst) = theory.burst {
            near("burst", self.ratio(|b| (of(b, true), ends(b))), burst);
        }
        if let Some(gap) = theory.gap {
            near("gap", self.ratio(|b| (of(b, false), ends(b))), gap);
        }
        let mean = theory.loss.unwrap();
        for (lag, &rho) in (1..).zip(theory.autocorrelation.iter().flatten().take(5)) {
            // With c the loss rate `lag` packets after a loss, the autocorrelation is rho = (c - m)
            // / (1 - m).
            let (rate, error) = self.ratio(|batch| {
                let both = batch.windows(lag + 1).filter(|w| w[0] && w[lag]).count();
                let inner = &batch[..batch.len() - lag];
                let losses = inner.iter().filter(|&&lost| lost).count();
                (both as f64, losses as f64)
            });
            let measured = ((rate - mean) / (1.0 - mean), error / (1.0 - mean));
            near("autocorrelation", measured, rho);
        }
    }
}

/// Runs a process under the traffic of `sampling` and compares it with its closed form.
#[track_caller]
pub(super) fn agrees(mut process: impl Process, sampling: Sampling) -> PacketFates {
    let theory = process.theory(sampling);
    let spacing = sampling.spacing.as_nanos();
    let measured = PacketFates::of(&mut process, |i| (sampling.bytes, (i as u64 + 1) * spacing));
    measured.near(&theory);
    measured
}

/// Fails unless a value is within 4 standard errors of `expected`. A comparison also fails if its
/// standard error is too large for a meaningful test.
#[track_caller]
pub(super) fn near(what: &str, (measured, error): (f64, f64), expected: f64) {
    assert!(
        error <= 0.2 * expected.abs().max(0.05),
        "{what}: the bound says nothing: {measured} +- {error}"
    );
    assert!(
        (measured - expected).abs() <= 4.0 * error.max(1e-12),
        "{what}: {measured} is not {expected} +- 4 * {error}"
    );
}
