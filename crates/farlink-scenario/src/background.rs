//! `background`: other traffic on a direction of a link.

use farlink_channel::rng::Streams;
use farlink_link::background::{Background, Distribution, Source};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::fault;
use super::decode::Problem;
use super::table::table;
use super::units::{Rate, Size};

table! {
    /// A kind of cross traffic: conversations that begin as a Poisson process, each with a number
    /// of bytes. They take transmission time and room in the queue, do not slow down when the queue
    /// is full, and skip the channel. Requires either `load` or `arrivals`.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct BackgroundSpec {
        /// Mean offered load in IP bits per second.
        load?: Rate, in Rate(1)..=Rate(1_000_000_000_000);
        /// Number of conversations that begin per second.
        arrivals?: f64, in 1e-9..=1e9;
        /// IP bytes of a packet; the last packet of a conversation is shorter if bytes remain.
        #[serde(default = "full")]
        packet: Size, in Size(21)..=Size(65_536);
        /// Mean IP bytes of a conversation. By default each conversation is one packet, so the
        /// packets are a Poisson process.
        size?: Size, in Size(21)..=Size(1 << 40);
        /// Distribution of the bytes of a conversation; the default is "constant". Needs `size`.
        size_law?: BackgroundDistribution;
        /// Shape of `size_law`. For "pareto" it is above 1; for "log-normal" it is the standard
        /// deviation of the natural logarithm.
        size_shape?: f64;
        /// Mean rate of a conversation, in IP bits per second. Required with `size`, and not
        /// allowed without it.
        rate?: Rate;
        /// Distribution of the time from packet to packet in a conversation; the default is
        /// "constant". Needs `size`.
        spacing_law?: BackgroundDistribution;
        /// Shape of `spacing_law`, as `size_shape`.
        spacing_shape?: f64;
    }
}

fn full() -> Size {
    Size(1500)
}

/// Distributions of background traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BackgroundDistribution {
    /// Always the mean.
    Constant,
    /// Exponential.
    Exponential,
    /// The logarithm has a normal distribution.
    LogNormal,
    /// P(X > x) = (m / x)^shape above a minimum m.
    Pareto,
}

/// Builds a distribution with its shape. `keys` are the names of both keys, for errors.
fn distribution(
    name: Option<BackgroundDistribution>,
    shape: Option<f64>,
    keys: [&str; 2],
) -> Result<Distribution, Problem> {
    let [distribution_key, shape_key] = keys;
    let within = |low: f64, high: f64, what: &str| match shape {
        Some(shape) if (low..=high).contains(&shape) => Ok(shape),
        Some(shape) => Err(fault(
            shape_key,
            format!("= {shape} is out of range; write {low} to {high} for \"{what}\""),
        )),
        None => Err(Problem::new(
            [],
            format!(
                "has no {shape_key:?}; {distribution_key} = \"{what}\" needs one, {low} to {high}"
            ),
        )),
    };
    match name.unwrap_or(BackgroundDistribution::Constant) {
        BackgroundDistribution::LogNormal => Ok(Distribution::LogNormal {
            sigma: within(0.01, 5.0, "log-normal")?,
        }),
        BackgroundDistribution::Pareto => Ok(Distribution::Pareto {
            shape: within(1.01, 100.0, "pareto")?,
        }),
        BackgroundDistribution::Constant | BackgroundDistribution::Exponential
            if shape.is_some() =>
        {
            Err(fault(
                shape_key,
                format!(
                    "would be ignored; it needs {distribution_key} = \"pareto\" or \"log-normal\""
                ),
            ))
        }
        BackgroundDistribution::Constant => Ok(Distribution::Constant),
        BackgroundDistribution::Exponential => Ok(Distribution::Exponential),
    }
}

impl BackgroundSpec {
    /// Builds the source of this cross traffic.
    fn source(&self) -> Result<Source, Problem> {
        self.check_keys()?;
        let size_law = distribution(self.size_law, self.size_shape, ["size_law", "size_shape"])?;
        let spacing = ["spacing_law", "spacing_shape"];
        let spacing_law = distribution(self.spacing_law, self.spacing_shape, spacing)?;
        let (size, rate) = match (self.size, self.rate) {
            (Some(size), Some(rate)) => {
                if rate == Rate(0) {
                    return Err(fault(
                        "rate",
                        "= \"0 bit/s\" never ends; write a rate above 0",
                    ));
                }
                (size.0, rate.0)
            }
            (Some(_), None) => {
                let message = "has no \"rate\"; write for example rate = \"1.5 Mbit/s\"";
                return Err(Problem::new([], message));
            }
            (None, _) => {
                let given = [
                    ("rate", self.rate.is_some()),
                    ("size_law", self.size_law.is_some()),
                    ("spacing_law", self.spacing_law.is_some()),
                ];
                if let Some((key, _)) = given.iter().find(|(_, given)| *given) {
                    return Err(fault(key, "would be ignored; it needs size"));
                }
                // A conversation of one packet has no time between packets, so any rate will do.
                (self.packet.0, 1_000_000_000)
            }
        };
        let arrivals = match (self.load, self.arrivals) {
            (Some(load), None) => load.0 as f64 / 8.0 / size as f64,
            (None, Some(arrivals)) => arrivals,
            (Some(_), Some(_)) => {
                return Err(fault("arrivals", "would be ignored beside load"));
            }
            (None, None) => {
                let message = "has no \"load\"; write for example load = \"30 Mbit/s\", or arrivals = \
                            42.3";
                return Err(Problem::new([], message));
            }
        };
        let source = Source {
            arrivals,
            size: size as f64,
            size_distribution: size_law,
            packet: self.packet.0 as u32,
            rate: rate as f64,
            spacing_distribution: spacing_law,
        };
        if source.active() > 1e6 {
            let message = format!(
                "has {:.0} conversations under way at a time; at most 1000000 are possible",
                source.active()
            );
            return Err(Problem::new([], message));
        }
        Ok(source)
    }
}

/// Checks the sources of a direction. Paths in errors begin with `background`.
pub(super) fn check(specs: &[BackgroundSpec]) -> Result<(), Problem> {
    for (i, spec) in specs.iter().enumerate() {
        let here = |problem: Problem| problem.within(i).within("background");
        spec.source().map_err(here)?;
    }
    Ok(())
}

/// Builds the cross traffic of the direction `name`, each source with its own random stream.
pub fn build(specs: &[BackgroundSpec], streams: &Streams, name: &str) -> Option<Background> {
    let sources = specs.iter().enumerate().filter_map(|(i, spec)| {
        let stream = streams.stream(&format!("{name}/background/{i}"));
        Some((spec.source().ok()?, stream))
    });
    (!specs.is_empty()).then(|| Background::new(sources.collect()))
}

#[cfg(test)]
mod tests {
    use super::super::load;

    const LINK: &str = "[[links]]\nbetween = [\"a\", \"b\"]\ndown = { rate = \"45 Mbit/s\", delay = \
                        \"1 ms\", background = SOURCES }\n[[flows]]\nfrom = \"a\"\nto = \
                        \"b\"\nsize = \"1 kB\"\n";

    /// Sources, and the end of the message after `x.toml:3: links[0].down.background[0]`.
    const FAULTS: &[(&str, &str)] = &[
        (
            "[{}]",
            " has no \"load\"; write for example load = \"30 Mbit/s\", or arrivals = 42.3",
        ),
        (
            "[{ load = \"1 Mbit/s\", arrivals = 3 }]",
            ".arrivals would be ignored beside load",
        ),
        (
            "[{ load = \"1 Mbit/s\", size = \"10 kB\" }]",
            " has no \"rate\"; write for example rate = \"1.5 Mbit/s\"",
        ),
        (
            "[{ load = \"1 Mbit/s\", size_law = \"exponential\" }]",
            ".size_law would be ignored; it needs size",
        ),
        (
            "[{ load = \"1 Mbit/s\", size = \"10 kB\", rate = \"1 Mbit/s\", size_law = \"pareto\" }]",
            " has no \"size_shape\"; size_law = \"pareto\" needs one, 1.01 to 100",
        ),
        (
            "[{ load = \"1 Mbit/s\", size = \"10 kB\", rate = \"1 Mbit/s\", size_law = \"pareto\", \
             size_shape = 1 }]",
            ".size_shape = 1 is out of range; write 1.01 to 100 for \"pareto\"",
        ),
        (
            "[{ load = \"1 Mbit/s\", size = \"10 kB\", rate = \"1 Mbit/s\", spacing_shape = 2 }]",
            ".spacing_shape would be ignored; it needs spacing_law = \"pareto\" or \"log-normal\"",
        ),
        (
            "[{ load = \"1 Mbit/s\", packet = \"20 B\" }]",
            ".packet = \"20 B\" is out of range; write \"21 B\" to \"64 KiB\"",
        ),
        (
            "[{ arrivals = 0 }]",
            ".arrivals = 0 is out of range; write 1e-9 to 1e9",
        ),
    ];

    #[test]
    fn bad_input_has_an_exact_message() {
        for (sources, message) in FAULTS {
            let error = load(&LINK.replace("SOURCES", sources), "x.toml", &[]).unwrap_err();
            let message = format!("x.toml:3: links[0].down.background[0]{message}");
            assert_eq!(error.to_string(), message, "{sources}");
        }
    }

    #[test]
    fn background_survives_a_round_trip() {
        let sources = "[{ load = \"30 Mbit/s\", packet = \"552 B\" }, { arrivals = 42.3, size = \
                       \"100 kB\", size_law = \"pareto\", size_shape = 1.2, rate = \"1.5 Mbit/s\", \
                       spacing_law = \"exponential\" }]";
        let scenario = load(&LINK.replace("SOURCES", sources), "x.toml", &[]).unwrap();
        let again = load(&scenario.to_json(), "again", &[]).unwrap();
        assert_eq!(again.links, scenario.links);
    }
}
