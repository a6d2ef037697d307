//! Profiles: which family of stacks a row of the table of variants behaves as.
//!
//! A row of [`crate::variant`] names a TCP; what its name leaves open is today's
//! standards, or what the study says that it is from. A profile says it in the
//! manner of a kernel instead: each value is written once, in the tables below,
//! with the file or the setting of that kernel that it is from.

mod freebsd;
mod linux;

pub use freebsd::FREEBSD;
pub use linux::LINUX;

use crate::config::{Config, Undo};
use crate::congestion::{self, Control, Setting};
use crate::key;
use crate::variant::{self, Variant};

/// A family of TCPs that share everything but their window.
#[derive(Debug)]
pub struct Profile {
    /// Name to choose it by, and prefix of a TCP's name ("linux-cubic").
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// The versions that its values were read in.
    pub source: &'static str,
    /// The TCPs that the kernel has and the table too; `None` for every row.
    pub members: Option<&'static [Member]>,
    /// TCP that is meant where none is named.
    pub usual: &'static str,
    /// Values that differ from a row.
    pub values: &'static [Value],
}

/// A congestion control of a kernel.
#[derive(Debug)]
pub struct Member {
    /// Name in the kernel.
    pub name: &'static str,
    /// The row that has its window.
    pub row: &'static str,
}

/// A value that a profile sets.
#[derive(Debug)]
pub struct Value {
    /// Key of `[tcp]` that shows it.
    pub key: &'static str,
    /// Sets it.
    pub set: Set,
    /// Source: file or setting, and the remaining differences.
    pub source: &'static str,
}

/// Way in which a value is set.
#[derive(Debug)]
pub enum Set {
    /// In the configuration.
    Config(fn(&mut Config)),
    /// As a parameter of this congestion control.
    Control(&'static str, &'static str, Setting),
}

/// The rows as they are: the letter of the standards and of the studies.
pub static RFC: Profile = Profile {
    name: "rfc",
    summary: "the rows as they are: the letter of the standards and of the studies",
    source: "the source of the row",
    members: None,
    usual: "sack",
    values: &[],
};

/// Profiles.
pub static PROFILES: &[&Profile] = &[&RFC, &LINUX, &FREEBSD];

/// The profile of this name.
pub fn lookup(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().copied().find(|p| p.name == name)
}

/// Profile and TCP of a name such as "linux-cubic"; `None` without the prefix of
/// a profile.
pub fn split(name: &str) -> Option<(&'static Profile, &str)> {
    let (prefix, tcp) = name.split_once('-')?;
    Some((lookup(prefix)?, tcp))
}

impl Profile {
    /// The row that has the window of the TCP of this name; `None` if the family
    /// has no such TCP.
    pub fn row(&self, name: &str) -> Option<&'static Variant> {
        let Some(members) = self.members else {
            return variant::lookup(name);
        };
        let member = members.iter().find(|m| m.name == name)?;
        variant::lookup(member.row)
    }

    /// Names of its TCPs.
    pub fn names(&self) -> Vec<&'static str> {
        match self.members {
            Some(members) => members.iter().map(|m| m.name).collect(),
            None => variant::VARIANTS.iter().map(|row| row.name).collect(),
        }
    }

    /// The TCP of this name in full; `None` if the family has none.
    pub fn config(&self, name: &str) -> Option<Config> {
        let mut config = (self.row(name)?.config)();
        self.apply(&mut config);
        Some(config)
    }

    /// Sets every value over a row.
    pub fn apply(&self, config: &mut Config) {
        for value in self.values {
            if let Set::Config(set) = value.set {
                set(config);
            }
        }
        config.congestion = self.control(config.congestion.clone());
        if !congestion::can_undo(&config.congestion) {
            config.undo = Undo::OFF;
        }
        let prr = key::prr_in_use(config);
        set(config.recovery.prr_mut(), prr);
    }

    /// A congestion control with the parameters that the family gives it.
    #[must_use]
    pub fn control(&self, mut control: Control) -> Control {
        for value in self.values {
            if let Set::Control(algorithm, parameter, setting) = value.set
                && algorithm == control.algorithm().name
            {
                control = control.with(parameter, setting);
            }
        }
        control
    }
}

/// Sets what a recovery may have, where it may.
fn set<T>(place: Option<&mut T>, value: T) {
    if let Some(place) = place {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_has_a_row_and_every_parameter_exists() {
        for profile in PROFILES {
            assert!(std::ptr::eq(lookup(profile.name).unwrap(), *profile));
            assert!(profile.names().contains(&profile.usual), "{}", profile.name);
            for name in profile.names() {
                assert!(profile.config(name).is_some(), "{}-{name}", profile.name);
            }
            for value in profile.values {
                if let Set::Control(algorithm, parameter, setting) = value.set {
                    assert_eq!(value.key, format!("control.{algorithm}.{parameter}"));
                    let algorithm = congestion::lookup(algorithm).unwrap();
                    let _ = Control::new(algorithm).with(parameter, setting);
                }
            }
        }
    }

    #[test]
    fn the_letter_changes_no_row() {
        for row in variant::VARIANTS {
            assert_eq!(RFC.config(row.name), Some((row.config)()));
        }
    }

    #[test]
    fn a_prefix_names_a_profile_and_no_row_begins_with_one() {
        let (profile, tcp) = split("linux-cubic").unwrap();
        assert_eq!((profile.name, tcp), ("linux", "cubic"));
        assert!(split("p-tcp").is_none() && split("cubic").is_none());
        for row in variant::VARIANTS {
            assert!(split(row.name).is_none(), "{}", row.name);
        }
    }

    /// Both kernels reduce by PRR, each where recovery sets the window.
    #[test]
    fn a_profile_gives_prr_to_who_leaves_the_window_to_recovery() {
        for (profile, name, has) in [
            (&LINUX, "cubic", true),
            (&LINUX, "vegas", true),
            (&LINUX, "bbr", false),
            (&FREEBSD, "vegas", true),
        ] {
            let mut config = profile.config(name).unwrap();
            let prr = config.recovery.prr_mut().unwrap();
            assert_eq!(prr.is_some(), has, "{}-{name}", profile.name);
        }
    }

    /// Linux's tcp_westwood.c takes one sample of the rate for each round trip.
    #[test]
    fn the_westwood_of_linux_is_westwood_plus() {
        let linux = lookup("linux").unwrap();
        assert_eq!(linux.row("westwood").unwrap().name, "westwood+");
        assert!(linux.row("tahoe").is_none());
    }
}
