//! Samples a channel alone: packets of equal length and spacing are sent, and the fate of each is
//! returned.

use crate::build::channel;
use crate::probe::Column;
use crate::scenario::Expanded;
use farlink_channel::rng::Streams;
use farlink_channel::{Channel, Derived, Sampling, Theory, Verdict};
use farlink_tcp::{Instant, Interval};
use serde_json::{Value, json};

/// Maximum number of packets of a sample.
pub const MAX_PACKETS: u64 = 50_000_000;

/// Request for a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked<'a> {
    /// Name of the link.
    pub link: &'a str,
    /// Set for the direction down, otherwise the direction is up.
    pub down: bool,
    /// Number of packets, 1 to [`MAX_PACKETS`].
    pub packets: u64,
    /// IP length of each packet in bytes, without the link's overhead.
    pub bytes: u32,
    /// Time from the end of one packet to the end of the next; `None` for packets back to back.
    pub spacing: Option<Interval>,
}

/// Fate of the packets of a sample.
#[derive(Clone, Debug)]
pub struct Sample {
    /// `fate`: 0 delivered, 1 delivered corrupt, n >= 2 dropped for cause number n - 2. `delay`:
    /// nanoseconds in addition to the link's delay; for a lost packet the delay until its loss.
    /// `copies`: number of copies.
    pub columns: [(&'static str, Column); 3],
    /// Traffic of the sample, with the overhead of the link and the actual spacing.
    pub sampling: Sampling,
    /// Mean, minimum and maximum rate of the transmitter in bit/s.
    pub rate: [u64; 3],
    /// Closed-form results for this traffic.
    pub theory: Theory,
    /// Derived values, each with the index of its stage.
    pub derived: Vec<(usize, Derived)>,
}

/// Reason why a channel cannot be sampled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SampleError {
    /// No link has this name.
    #[error("link {0:?} is not there; there are {1}")]
    Link(String, String),
    /// The number of packets is outside of 1 to [`MAX_PACKETS`].
    #[error("packets = {0}: write 1 to {MAX_PACKETS}")]
    Packets(u64),
    /// The length is not that of an IP packet.
    #[error("bytes = {0}: write 20 to 65535, the length of an IP packet")]
    Bytes(u32),
    /// The channel cannot be built.
    #[error("{0}")]
    Channel(String),
}

/// Sends packets through the channel of a link, with the random streams of run number `run`.
///
/// # Errors
///
/// See [`SampleError`].
pub fn sample_channel(
    scenario: &Expanded,
    asked: Asked<'_>,
    run: u64,
) -> Result<Sample, SampleError> {
    if !(1..=MAX_PACKETS).contains(&asked.packets) {
        return Err(SampleError::Packets(asked.packets));
    }
    if !(20..=65_535).contains(&asked.bytes) {
        return Err(SampleError::Bytes(asked.bytes));
    }
    let entry = scenario.links.iter().find(|link| link.name == asked.link);
    let Some(link) = entry else {
        let names: Vec<_> = scenario.links.iter().map(|l| l.name.as_str()).collect();
        let names = names.join(", ");
        return Err(SampleError::Link(asked.link.to_owned(), names));
    };
    let (spec, direction) = if asked.down {
        (&link.down, "down")
    } else {
        (&link.up, "up")
    };
    let name = format!("link/{}/{direction}", link.name);
    let streams = Streams::new(scenario.seed, run);
    let mut channel =
        channel(spec, &streams, &name).map_err(|e| SampleError::Channel(e.to_string()))?;
    let wire = asked.bytes + spec.overhead;
    let sampling = Sampling {
        bytes: wire,
        spacing: asked.spacing.unwrap_or_else(|| {
            let coded = spec.fec.map_or(wire, |code| code.wire(wire));
            Interval::from_nanos(transmission(coded, spec.rate))
        }),
    };
    let theory = channel.theory(sampling);
    let derived = derived(&channel);
    let n = asked.packets as usize;
    let (mut fates, mut delays, mut copies) = (
        Vec::with_capacity(n),
        Vec::with_capacity(n),
        Vec::with_capacity(n),
    );
    let mut now = Instant::ZERO;
    for _ in 0..n {
        now += sampling.spacing;
        let passage = channel.pass(now, wire);
        fates.push(match passage.verdict {
            Verdict::Pass => 0,
            Verdict::Corrupt => 1,
            Verdict::Drop(cause) => 2 + cause as u8,
        });
        delays.push(passage.hold.as_nanos() as i64);
        copies.push(passage.copies);
    }
    Ok(Sample {
        columns: [
            ("fate", Column::U8(fates)),
            ("delay", Column::I64(delays)),
            ("copies", Column::U8(copies)),
        ],
        sampling,
        rate: spec.rate_trace.as_ref().map_or([spec.rate; 3], |plan| {
            let [least, most] = plan.trace.bounds();
            [spec.rate, least, most]
        }),
        theory,
        derived,
    })
}

/// Returns the transmission time of `bytes` at `rate` bit/s in nanoseconds, rounded up.
fn transmission(bytes: u32, rate: u64) -> u64 {
    (u64::from(bytes) * 8 * 1_000_000_000).div_ceil(rate)
}

/// Returns the values that follow from the parameters of a channel's stages.
pub(crate) fn derived(channel: &Channel) -> Vec<(usize, Derived)> {
    let stages = channel.stages().iter().enumerate();
    stages
        .flat_map(|(i, stage)| stage.derived().into_iter().map(move |item| (i, item)))
        .collect()
}

/// Formats derived values as JSON rows.
pub(crate) fn derived_json(derived: &[(usize, Derived)]) -> Value {
    let rows = derived.iter().map(|(stage, item)| {
        json!({
            "stage": stage, "name": item.name, "unit": item.unit, "value": item.value,
            "source": item.source,
        })
    });
    rows.collect()
}

impl Sample {
    /// Returns closed form, derived values and traffic as JSON. Delays are in seconds.
    pub fn to_json(&self) -> String {
        let theory = &self.theory;
        let delay = theory.delay.as_ref().map(|distribution| {
            json!({ "mean": distribution.mean, "deviation": distribution.deviation, "quantiles": distribution.quantiles })
        });
        json!({
            "bytes": self.sampling.bytes,
            "rate": self.rate,
            "spacing_s": self.sampling.spacing.as_secs_f64(),
            "theory": {
                "loss": theory.loss, "burst": theory.burst, "gap": theory.gap,
                "autocorrelation": theory.autocorrelation, "delay": delay,
            },
            "derived": derived_json(&self.derived),
            "causes": crate::drop_causes(),
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;
    use farlink_channel::DropCause;

    fn expanded(channel: &str) -> Expanded {
        let text = format!(
            "[[links]]\nname = \"far\"\nbetween = [\"a\", \"b\"]\n\
             down = {{ rate = \"12 Mbit/s\", delay = \"1 ms\", channel = {channel} }}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 MB\"\n"
        );
        scenario::load(&text, "test", &[])
            .unwrap()
            .expand()
            .unwrap()
    }

    fn asked(packets: u64) -> Asked<'static> {
        Asked {
            link: "far",
            down: true,
            packets,
            bytes: 1500,
            spacing: None,
        }
    }

    #[test]
    fn a_sample_equals_the_draws_of_a_run_at_line_rate() {
        let scenario = expanded("{ gilbert = { loss = 0.1, burst = 3 } }");
        let item = sample_channel(&scenario, asked(10_000), 0).unwrap();
        assert_eq!(item.sampling.spacing, Interval::from_millis(1));
        assert!((item.theory.loss.unwrap() - 0.1).abs() < 1e-12);
        let again = sample_channel(&scenario, asked(10_000), 0).unwrap();
        assert_eq!(item.columns, again.columns);
        let other = sample_channel(&scenario, asked(10_000), 1).unwrap();
        assert_ne!(item.columns, other.columns);
        let Column::U8(fates) = &item.columns[0].1 else {
            panic!("not a fate")
        };
        let lost: u32 = fates
            .iter()
            .map(|&fate| u32::from(fate == 2 + DropCause::Loss as u8))
            .sum();
        assert!((700..1300).contains(&lost), "{lost}");
    }

    #[test]
    fn sample_reports_theory_of_all_channel_keys() {
        let all = "{ gilbert = { loss = 0.02, burst = \"16.7 ms\" }, loss = 0.01, ber = 1e-7, \
                   corrupt = 0.01, duplicate = 0.01, reorder = { probability = 0.1, delay = \"5 \
                   ms\" }, jitter = { distribution = \"exponential\", mean = \"2 ms\" } }";
        let sample = sample_channel(&expanded(all), asked(1000), 0).unwrap();
        let report: Value = serde_json::from_str(&sample.to_json()).unwrap();
        assert!(report["theory"]["loss"].as_f64().unwrap() > 0.03);
        let names: Vec<_> = report["derived"].as_array().unwrap().iter().collect();
        assert!(
            names
                .iter()
                .any(|row| row["name"] == "mean_bad_time" && row["stage"] == 0)
        );
    }

    #[test]
    fn sampling_refuses_unknown_links_and_bad_sizes() {
        let scenario = expanded("{ loss = 0.1 }");
        let error = |asked| sample_channel(&scenario, asked, 0).unwrap_err().to_string();
        let link = Asked {
            link: "near",
            ..asked(1)
        };
        assert_eq!(error(link), "link \"near\" is not there; there are far");
        assert_eq!(error(asked(0)), "packets = 0: write 1 to 50000000");
        let short = Asked {
            bytes: 10,
            ..asked(1)
        };
        assert!(error(short).starts_with("bytes = 10: write 20 to 65535"));
    }
}
