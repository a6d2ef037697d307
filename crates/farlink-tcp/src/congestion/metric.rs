//! Metrics of an algorithm's internal state.

use super::{CongestionControl, Context};
use std::fmt;

/// A traced quantity of an algorithm's internal state. An entry in the algorithm's file is enough
/// to trace it.
pub struct Metric {
    /// Name in traces, unique in its algorithm.
    pub name: &'static str,
    /// Unit of the value: "B", "s", "bit/s", "segments", or "" for a plain number.
    pub unit: &'static str,
    /// Meaning, and the name in the paper or source of the algorithm.
    pub doc: &'static str,
    /// Function from controller and context to the value.
    pub read: fn(&dyn CongestionControl, &Context<'_>) -> Option<f64>,
}

impl Metric {
    /// Returns the value for a controller of this algorithm. Returns `None` before the first value,
    /// and for a controller of another algorithm.
    pub fn value(&self, control: &dyn CongestionControl, cx: &Context<'_>) -> Option<f64> {
        (self.read)(control, cx)
    }
}

/// Metrics of one algorithm have unique names, so equal names mean equal metrics.
impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Metric of a controller type: name, unit, doc, and a function from controller and context to the
/// value.
macro_rules! metric {
    ($name:literal, $unit:literal, $doc:literal, $read:expr) => {
        $crate::congestion::Metric {
            name: $name,
            unit: $unit,
            doc: farlink_small::reference($doc),
            read: |control, cx| {
                let control: &dyn std::any::Any = control;
                control
                    .downcast_ref()
                    .and_then(|control| ($read)(control, cx))
            },
        }
    };
}
pub(super) use metric;

#[cfg(test)]
mod tests {
    use super::super::{ALGORITHMS, Context, Control, Reno, Start};
    use crate::config::RtoConfig;
    use crate::rto::RttEstimator;
    use crate::time::Instant;

    /// Metric names are unique valid column names. Each metric has a value for controllers of its
    /// algorithm, and none for others.
    #[test]
    fn metrics_have_values_only_for_their_algorithm() {
        let rtt = RttEstimator::new(RtoConfig::default());
        let cx = Context {
            now: Instant::ZERO,
            mss: 1000,
            flight: 0,
            snd_una: 1,
            snd_max: 1,
            rtt: &rtt,
        };
        for algorithm in ALGORITHMS {
            let own = Control::new(algorithm).build(Start::default());
            let other = Control::new(&Reno::ALGORITHM).build(Start::default());
            for (i, metric) in algorithm.metrics.iter().enumerate() {
                let name = metric.name;
                assert!(!algorithm.metrics[..i].contains(metric), "{name} twice");
                assert!(
                    name.bytes()
                        .all(|b| b.is_ascii_lowercase() || b"_0123456789".contains(&b)),
                    "{name}"
                );
                assert!(
                    !metric.doc.is_empty() && !metric.doc.ends_with('.'),
                    "{name}"
                );
                let value = metric.value(&*own, &cx);
                assert!(value.is_none_or(f64::is_finite), "{name} {value:?}");
                assert_eq!(metric.value(&*other, &cx), None, "{name}");
            }
            let shows = algorithm
                .metrics
                .iter()
                .any(|m| m.value(&*own, &cx).is_some());
            let plain = ["none", "reno"].contains(&algorithm.name);
            let needs_losses = ["vegas", "cubic"].contains(&algorithm.name);
            assert!(
                shows || plain || needs_losses,
                "{} shows nothing",
                algorithm.name
            );
        }
    }
}
