//! Lookup of algorithms by name, and algorithms that a program adds while it runs.

use super::{ALGORITHMS, Algorithm};
use std::sync::{PoisonError, RwLock};

/// Algorithms that [`register`] added.
#[derive(Debug)]
struct Registry {
    algorithms: Vec<&'static Algorithm>,
    /// Names of metrics that no built-in algorithm has, in the order of registration. Traces hold
    /// indices, so that a name never leaves the list.
    metrics: Vec<&'static str>,
}

static REGISTRY: RwLock<Registry> = RwLock::new(Registry {
    algorithms: Vec::new(),
    metrics: Vec::new(),
});

/// Payload of the panic with which an added algorithm ends a run: a message for the user. The
/// panic unwinds the run, so that the hooks of the engine need no way back for errors.
#[derive(Debug)]
pub struct Abort(pub String);

/// Adds an algorithm. An algorithm of the same name that was added before is replaced.
///
/// # Errors
/// Fails if a built-in algorithm has the name.
pub fn register(algorithm: &'static Algorithm) -> Result<(), &'static Algorithm> {
    if let Some(own) = built_in(algorithm.name) {
        return Err(own);
    }
    let mut all = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    all.algorithms.retain(|old| old.name != algorithm.name);
    all.algorithms.push(algorithm);
    for metric in algorithm.metrics {
        let mut own = ALGORITHMS.iter().flat_map(|a| a.metrics);
        if !own.any(|m| m == metric) && !all.metrics.contains(&metric.name) {
            all.metrics.push(metric.name);
        }
    }
    Ok(())
}

/// Returns the algorithm with this name, built in or added.
pub fn lookup(name: &str) -> Option<&'static Algorithm> {
    built_in(name).or_else(|| {
        let all = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
        all.algorithms.iter().copied().find(|a| a.name == name)
    })
}

/// Returns whether a program has added the algorithm with this name.
pub fn is_added(name: &str) -> bool {
    built_in(name).is_none() && lookup(name).is_some()
}

/// Returns the names of metrics that only added algorithms have.
pub fn metric_names() -> Vec<&'static str> {
    let all = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    all.metrics.clone()
}

fn built_in(name: &str) -> Option<&'static Algorithm> {
    ALGORITHMS.iter().copied().find(|a| a.name == name)
}

#[cfg(test)]
mod tests {
    use super::super::{Extras, Metric, RecoveryWindow, Unlimited};
    use super::*;

    const fn added(name: &'static str, summary: &'static str) -> Algorithm {
        Algorithm {
            name,
            summary,
            parameters: &[],
            metrics: &[Metric {
                name: "registry_test",
                unit: "",
                doc: "value of a test",
                read: |_, _| Some(1.0),
            }],
            inputs: &[],
            recovery_window: |_| RecoveryWindow::Ssthresh,
            extras: Extras::NONE,
            build: Unlimited::ALGORITHM.build,
        }
    }

    static FIRST: Algorithm = added("RegistryTest", "first");
    static SECOND: Algorithm = added("RegistryTest", "second");
    static TAKEN: Algorithm = added("reno", "taken");

    #[test]
    fn an_added_algorithm_is_found_replaced_and_never_hides_a_built_in() {
        assert!(lookup("RegistryTest").is_none());
        register(&FIRST).unwrap();
        register(&SECOND).unwrap();
        assert_eq!(lookup("RegistryTest").unwrap().summary, "second");
        assert_eq!(metric_names(), ["registry_test"]);
        assert!(is_added("RegistryTest") && !is_added("reno") && !is_added("nothing"));
        assert_eq!(register(&TAKEN).unwrap_err().name, "reno");
        assert_ne!(lookup("reno").unwrap().summary, "taken");
    }
}
