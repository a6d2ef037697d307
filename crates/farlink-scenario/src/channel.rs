//! Checks of the stages of a channel.

use farlink_tcp::time::Interval;

use super::burst::Burst;
use super::checks::{at_most, fault};
use super::decode::Problem;
use super::process;
use super::spec::{ChannelSpec, Distribution, GilbertSpec, JitterSpec};
use super::units::Time;

/// Checks each table of stages; paths begin with `channel`.
pub(super) fn check(stages: &[ChannelSpec], longest: Interval) -> Result<(), Problem> {
    for (i, stage) in stages.iter().enumerate() {
        one(stage, longest).map_err(|problem| {
            let problem = if stages.len() > 1 {
                problem.within(i)
            } else {
                problem
            };
            problem.within("channel")
        })?;
    }
    Ok(())
}

fn one(stage: &ChannelSpec, longest: Interval) -> Result<(), Problem> {
    if stage.correctable_bits.is_some() && stage.ber.is_none() {
        return Err(fault("correctable_bits", "would be ignored; it needs ber"));
    }
    if let Some(gilbert) = &stage.gilbert {
        check_gilbert(gilbert).map_err(|problem| problem.within("gilbert"))?;
    }
    if let Some(reorder) = &stage.reorder {
        at_most("delay", reorder.delay, longest).map_err(|problem| problem.within("reorder"))?;
    }
    if let Some(jitter) = &stage.jitter {
        check_jitter(jitter, longest).map_err(|problem| problem.within("jitter"))?;
    }
    process::check(stage, longest)
}

fn check_gilbert(gilbert: &GilbertSpec) -> Result<(), Problem> {
    const FORMS: &str = "write { loss = 0.05, burst = 4 } or { p = 0.01, r = 0.25 }";
    let means = gilbert.loss.is_some() || gilbert.burst.is_some();
    let chain = [
        ("p", gilbert.p),
        ("r", gilbert.r),
        ("h", gilbert.h),
        ("k", gilbert.k),
    ];
    if means {
        if let Some((key, _)) = chain.iter().find(|(_, value)| value.is_some()) {
            return Err(fault(
                key,
                format!("would be ignored beside loss and burst; {FORMS}"),
            ));
        }
        let (Some(loss), Some(burst)) = (gilbert.loss, gilbert.burst) else {
            let absent = if gilbert.loss.is_none() {
                "loss"
            } else {
                "burst"
            };
            return Err(Problem::new([], format!("has no {absent:?}; {FORMS}")));
        };
        let burst = match burst {
            Burst::Packets(packets) => packets,
            Burst::Time(time) => return check_burst_time(time, loss.0),
        };
        if !(1.0..=1e9).contains(&burst) {
            return Err(fault(
                "burst",
                format!("= {burst} is out of range; write 1 to 1e9 packets"),
            ));
        }
        // One packet at least passes between two bursts: p = r loss / (1 - loss) <= 1.
        let most = burst / (burst + 1.0);
        if loss.0 > most {
            let says = format!(
                "= {} cannot be reached with bursts of {burst} packets; write at most {:.4}, or \
                 longer bursts",
                loss.0,
                (most * 1e4).floor() / 1e4
            );
            return Err(fault("loss", says));
        }
        return Ok(());
    }
    match (gilbert.p, gilbert.r) {
        (Some(p), Some(r)) if p.0 == 0.0 && r.0 == 0.0 => Err(fault(
            "p",
            "= 0 with r = 0 never changes the state; write one of them above 0",
        )),
        (Some(_), Some(_)) => Ok(()),
        (None, None) => Err(Problem::new([], format!("says too little; {FORMS}"))),
        (None, _) => Err(Problem::new([], format!("has no \"p\"; {FORMS}"))),
        (_, None) => Err(Problem::new([], format!("has no \"r\"; {FORMS}"))),
    }
}

fn check_burst_time(time: Time, loss: f64) -> Result<(), Problem> {
    if time.0.is_zero() {
        return Err(fault(
            "burst",
            "= \"0 s\" is no burst; write a time, \"16.7 ms\"",
        ));
    }
    at_most("burst", time, Interval::from_secs(3600))?;
    if loss == 1.0 {
        let says = "= 1 leaves no time between bursts; write a loss below 1";
        return Err(fault("loss", says));
    }
    Ok(())
}

fn check_jitter(jitter: &JitterSpec, longest: Interval) -> Result<(), Problem> {
    at_most("mean", jitter.mean, longest)?;
    match (jitter.distribution, jitter.spread) {
        (Distribution::Exponential, Some(_)) => Err(fault(
            "spread",
            "would be ignored; the mean of an exponential distribution is its spread",
        )),
        (Distribution::Exponential, None) => Ok(()),
        (Distribution::Uniform | Distribution::Normal, None) => Err(Problem::new(
            [],
            "has no \"spread\"; write for example spread = \"5 ms\"",
        )),
        (Distribution::Uniform, Some(spread)) if spread > jitter.mean => Err(fault(
            "spread",
            format!(
                "= \"{spread}\" is above the mean, \"{}\"; a delay is not negative",
                jitter.mean
            ),
        )),
        (_, Some(Time(spread))) => at_most("spread", Time(spread), longest),
    }
}
