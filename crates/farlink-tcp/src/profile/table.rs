//! Profile of a family of stacks: its TCPs and key values.

use crate::config::{Config, Undo};
use crate::congestion::{self, Control};
use crate::key;
use crate::variant::{self, Variant};

/// A family of TCPs that differ only in their congestion control.
#[derive(Debug)]
pub struct Profile {
    /// Name in scenarios, and prefix of a TCP's name ("linux-cubic").
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Software versions from which the values were read.
    pub source: &'static str,
    /// TCPs in the kernel and in the table of variants; `None` for all rows.
    pub members: Option<&'static [Member]>,
    /// Default TCP of the family.
    pub usual: &'static str,
    /// Values in which the family differs from a row.
    pub values: &'static [Value],
}

/// A congestion control of a kernel.
#[derive(Debug)]
pub struct Member {
    /// Name in the kernel.
    pub name: &'static str,
    /// Row with the same congestion control.
    pub row: &'static str,
}

/// A value that a profile sets.
#[derive(Debug)]
pub struct Value {
    /// Key of `[tcp]`, or `control.`, a congestion control, a dot and its parameter.
    pub key: &'static str,
    /// Value of the key.
    pub value: key::Value,
    /// Congestion control for which another value applies, and that value.
    pub except: Option<(&'static str, key::Value)>,
    /// Source (file or setting), and remaining differences.
    pub source: &'static str,
}

/// Builds an entry of a profile.
pub(super) const fn set(key: &'static str, value: key::Value, source: &'static str) -> Value {
    Value {
        key,
        value,
        except: None,
        source: farlink_small::reference(source),
    }
}

impl Value {
    /// Sets another value for one congestion control.
    pub(super) const fn but(mut self, control: &'static str, value: key::Value) -> Self {
        self.except = Some((control, value));
        self
    }

    /// Returns congestion control and parameter, if the entry sets a parameter.
    pub fn parameter(&self) -> Option<(&'static str, &'static str)> {
        self.key.strip_prefix("control.")?.split_once('.')
    }

    /// Sets the key.
    pub fn apply(&self, config: &mut Config) {
        let name = config.congestion.algorithm().name;
        let value = match self.except {
            Some((control, other)) if control == name => other,
            _ => self.value,
        };
        if let Some(key) = key::lookup(self.key) {
            key.set(config, value);
        }
    }
}

impl Profile {
    /// Returns the row with the congestion control of the TCP `name`; `None` if the family has no
    /// such TCP.
    pub fn row(&self, name: &str) -> Option<&'static Variant> {
        let Some(members) = self.members else {
            return variant::lookup(name);
        };
        let member = members.iter().find(|m| m.name == name)?;
        variant::lookup(member.row)
    }

    /// Returns the names of the profile's TCPs.
    pub fn names(&self) -> Vec<&'static str> {
        match self.members {
            Some(members) => members.iter().map(|m| m.name).collect(),
            None => variant::VARIANTS.iter().map(|row| row.name).collect(),
        }
    }

    /// Returns the complete configuration of the TCP `name`; `None` if the family has no such TCP.
    pub fn config(&self, name: &str) -> Option<Config> {
        let mut config = (self.row(name)?.config)();
        self.apply(&mut config);
        Some(config)
    }

    /// Sets every value of the profile in the configuration of a row.
    pub fn apply(&self, config: &mut Config) {
        for value in self.values {
            value.apply(config);
        }
        config.congestion = self.control(config.congestion.clone());
        if !congestion::can_undo(&config.congestion) {
            config.undo = Undo::OFF;
        }
        let in_use = key::prr_in_use(config);
        if let Some(prr) = config.recovery.prr_mut() {
            *prr = in_use;
        }
    }

    /// Returns a congestion control with the family's parameters.
    #[must_use]
    pub fn control(&self, mut control: Control) -> Control {
        for value in self.values {
            if let Some((algorithm, parameter)) = value.parameter()
                && algorithm == control.algorithm().name
            {
                control = control.with(parameter, value.value);
            }
        }
        control
    }
}
