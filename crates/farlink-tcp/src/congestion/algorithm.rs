//! Description of an algorithm: name, parameters, constructor.
//!
//! The scenario reader, the printed tables and the schema are built from these descriptions. A new
//! algorithm needs its own file and one line in the list.

use super::{ByteCounting, CongestionControl, Extras, Metric};
pub use crate::key::{Kind as Range, Value as Setting};
use crate::time::Interval;
use std::fmt;

/// A congestion-control algorithm.
pub struct Algorithm {
    /// Name in scenarios, in lower case without spaces.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Parameters with their defaults.
    pub parameters: &'static [Parameter],
    /// Metrics of the algorithm's internal state.
    pub metrics: &'static [Metric],
    /// Parts of [`Config`](crate::Config) that the algorithm uses; it ignores the others.
    pub inputs: &'static [Input],
    /// Function from parameters to the owner of cwnd during recovery.
    pub recovery_window: fn(&Control) -> RecoveryWindow,
    /// Optional abilities of the algorithm.
    pub extras: Extras,
    /// Constructor of a controller.
    pub build: fn(&Control, Start) -> Box<dyn CongestionControl>,
}

/// A part of [`crate::config::Config`] that an algorithm may use or ignore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// Congestion window, which every algorithm with a window lists.
    Window,
    /// [`WindowConfig::initial`](crate::config::WindowConfig::initial).
    InitialWindow,
    /// [`WindowConfig::initial_ssthresh`](crate::config::WindowConfig::initial_ssthresh).
    InitialSsthresh,
    /// [`WindowConfig::byte_counting`](crate::config::WindowConfig::byte_counting), for algorithms
    /// whose window grows by ACKs.
    ByteCounting,
    /// Growth only while cwnd is used
    /// ([`WindowConfig::cwnd_validation`](crate::config::WindowConfig::cwnd_validation),
    /// [`WindowConfig::cwnd_limit`](crate::config::WindowConfig::cwnd_limit)).
    WindowUse,
    /// [`WindowConfig::idle_restart`](crate::config::WindowConfig::idle_restart).
    IdleRestart,
    /// [`WindowConfig::pacing`](crate::config::WindowConfig::pacing), for algorithms without a
    /// pacing rate of their own.
    Pacing,
    /// Bytes in flight when a loss is detected
    /// ([`Config::reduce_from`](crate::Config::reduce_from)).
    FlightAtLoss,
    /// Bytes in flight at a time-out.
    FlightAtTimeout,
    /// Window at the end of a recovery ([`crate::config::NewRenoExit`]).
    RecoveryExit,
}

impl Input {
    /// List of all inputs.
    pub const ALL: &'static [Self] = &[
        Self::Window,
        Self::InitialWindow,
        Self::InitialSsthresh,
        Self::ByteCounting,
        Self::WindowUse,
        Self::IdleRestart,
        Self::Pacing,
        Self::FlightAtLoss,
        Self::FlightAtTimeout,
        Self::RecoveryExit,
    ];
}

/// Owner of cwnd during loss recovery.
///
/// PRR ([`Recovery::Sack`](crate::config::Recovery::Sack)) reduces cwnd to the ssthresh that a loss
/// set. If a controller's ssthresh has another meaning, PRR would limit cwnd to the bytes that each
/// ACK delivers, and cwnd would never recover. The owner is fixed by the algorithm; no profile or
/// key changes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryWindow {
    /// Recovery reduces cwnd to the controller's ssthresh, with PRR if it is on.
    Ssthresh,
    /// Only the controller sets cwnd. Linux: `tcp_cong_control` calls the controller's
    /// `cong_control` instead of `tcp_cwnd_reduction`.
    Controller,
}

/// A parameter of an algorithm.
#[derive(Debug)]
pub struct Parameter {
    /// Key in scenarios.
    pub name: &'static str,
    /// Meaning, with its source.
    pub doc: &'static str,
    /// Default value, which also determines the kind of the parameter.
    pub default: Setting,
    /// Range of values.
    pub range: Range,
}

/// An algorithm with a value for each parameter.
#[derive(Clone)]
pub struct Control {
    algorithm: &'static Algorithm,
    settings: Vec<Setting>,
}

/// Initial state of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// Initial window in bytes.
    pub window: u64,
    /// Initial slow-start threshold in bytes; `u64::MAX` is unlimited.
    pub ssthresh: u64,
    /// Rule for the growth of the window per ACK.
    pub byte_counting: ByteCounting,
    /// Set if segments are spread over the RTT instead of being clocked by ACKs
    /// ([`crate::config::WindowConfig::pacing`]).
    pub paced: bool,
}

impl Default for Start {
    fn default() -> Self {
        Self {
            window: 1,
            ssthresh: 1,
            byte_counting: ByteCounting::Off,
            paced: false,
        }
    }
}

/// Reason why a setting was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingError {
    /// The algorithm has no parameter of this name.
    Unknown,
    /// The value is of another kind or out of range.
    OutOfRange,
}

impl Control {
    /// Returns the algorithm with default values.
    pub fn new(algorithm: &'static Algorithm) -> Self {
        let settings = algorithm.parameters.iter().map(|p| p.default).collect();
        Self {
            algorithm,
            settings,
        }
    }

    /// Returns the control with one parameter changed, for rows of the table of variants.
    ///
    /// # Panics
    /// Panics if there is no parameter `name` or the value is out of range. The rows are constants,
    /// and a test builds each.
    #[must_use]
    pub fn with(mut self, name: &str, setting: Setting) -> Self {
        if let Err(error) = self.set(name, setting) {
            panic!("{} of {}: {error:?}", name, self.algorithm.name);
        }
        self
    }

    /// Changes a parameter.
    ///
    /// # Errors
    /// See [`SettingError`].
    pub fn set(&mut self, name: &str, setting: Setting) -> Result<(), SettingError> {
        let i = self.index(name).ok_or(SettingError::Unknown)?;
        if !self.algorithm.parameters[i].range.allows(setting) {
            return Err(SettingError::OutOfRange);
        }
        self.settings[i] = setting;
        Ok(())
    }

    /// Returns the algorithm.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.algorithm
    }

    /// Returns the parameters with their values.
    pub fn settings(&self) -> impl Iterator<Item = (&'static Parameter, Setting)> + '_ {
        self.algorithm
            .parameters
            .iter()
            .zip(self.settings.iter().copied())
    }

    /// Builds the controller.
    pub fn build(&self, start: Start) -> Box<dyn CongestionControl> {
        (self.algorithm.build)(self, start)
    }

    /// Returns the value of a number parameter. This getter and those below panic if the algorithm
    /// has no parameter `name` of that kind, which is an error in its file.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Setting::Number(x) => x,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// Returns the value of a whole-number parameter.
    pub fn count(&self, name: &str) -> u32 {
        match self.get(name) {
            Setting::Count(n) => n,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// Returns the value of a switch parameter.
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Setting::Flag(on) => on,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// Returns the value of a time parameter.
    pub fn time(&self, name: &str) -> Interval {
        match self.get(name) {
            Setting::Time(t) => t,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// Returns the value of a choice parameter.
    pub fn choice(&self, name: &str) -> &'static str {
        match self.get(name) {
            Setting::Choice(word) => word,
            other => panic!("{name} is {other:?}"),
        }
    }

    fn get(&self, name: &str) -> Setting {
        match self.index(name) {
            Some(i) => self.settings[i],
            None => panic!("{} has no parameter {name}", self.algorithm.name),
        }
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.algorithm
            .parameters
            .iter()
            .position(|p| p.name == name)
    }
}

impl PartialEq for Control {
    fn eq(&self, other: &Self) -> bool {
        self.algorithm.name == other.algorithm.name && self.settings == other.settings
    }
}

#[allow(clippy::missing_fields_in_debug)] // Each parameter is a field.
impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct(self.algorithm.name);
        for (parameter, setting) in self.settings() {
            out.field(parameter.name, &setting);
        }
        out.finish()
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ALGORITHMS, Input, Reno, lookup, sends_dummies, uses_input};
    use super::*;

    #[test]
    fn every_default_is_within_its_range_and_every_algorithm_builds() {
        for algorithm in ALGORITHMS {
            assert!(std::ptr::eq(lookup(algorithm.name).unwrap(), *algorithm));
            for p in algorithm.parameters {
                assert!(p.range.allows(p.default), "{} {}", algorithm.name, p.name);
                assert!(!p.doc.is_empty() && !p.doc.ends_with('.'), "{}", p.name);
            }
            let start = Start {
                window: 2920,
                ssthresh: u64::MAX,
                byte_counting: ByteCounting::Off,
                paced: false,
            };
            let built = Control::new(algorithm).build(start);
            assert!(built.cwnd() >= 2920, "{}", algorithm.name);
        }
    }

    #[test]
    fn settings_are_checked() {
        let mut control = Control::new(&Reno::ALGORITHM);
        assert_eq!(
            control.set("mss_over_9", Setting::Flag(true)),
            Err(SettingError::Unknown)
        );
        assert_eq!(
            control.set("mss_over_8", Setting::Count(1)),
            Err(SettingError::OutOfRange)
        );
        assert_eq!(control.set("mss_over_8", Setting::Flag(true)), Ok(()));
        assert!(control.flag("mss_over_8"));
    }

    #[test]
    fn controls_with_equal_algorithm_and_settings_are_equal() {
        let reno = Control::new(&Reno::ALGORITHM);
        assert_eq!(reno, reno.clone());
        assert_ne!(reno, Control::new(lookup("none").unwrap()));
        assert_ne!(reno, reno.clone().with("mss_over_8", Setting::Flag(true)));
    }

    /// Only algorithms whose window grows by ACKs use byte counting; only TCP-Peach sends dummy
    /// segments.
    #[test]
    fn only_listed_algorithms_use_byte_counting_and_dummies() {
        let those = |what: fn(&Control) -> bool| -> Vec<_> {
            let all = ALGORITHMS.iter().map(|a| (a.name, Control::new(a)));
            all.filter(|(_, control)| what(control))
                .map(|(name, _)| name)
                .collect()
        };
        assert_eq!(
            those(|control| uses_input(control, Input::ByteCounting)),
            [
                "reno",
                "cubic",
                "westwood",
                "westwood_plus",
                "hybla",
                "adalr",
                "peach",
                "dctcp",
                "prague",
                "illinois",
                "htcp",
                "ledbat_plus_plus"
            ]
        );
        assert_eq!(those(sends_dummies), ["peach"]);
    }
}
