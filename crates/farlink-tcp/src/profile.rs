//! Profiles: families of stacks whose behavior a row of the table of variants can adopt.
//!
//! A row of [`crate::variant`] names a TCP. Parameters that the name leaves open follow today's
//! standards, or the study that defines the row. A profile replaces their values by those of a
//! kernel. Each value is stated once, in the tables below, with its source file or setting.

mod freebsd;
mod linux;
mod quic;
mod table;

pub use freebsd::FREEBSD;
pub use linux::LINUX;
pub use quic::QUIC;
pub use table::{Member, Profile, Value};

/// Rows without changes, as the standards and studies define them.
pub static RFC: Profile = Profile {
    name: "rfc",
    summary: "the rows as they are: the letter of the standards and of the studies",
    source: "the source of the row",
    members: None,
    usual: "sack",
    values: &[],
};

/// Profiles of TCPs.
pub static PROFILES: &[&Profile] = &[&RFC, &LINUX, &FREEBSD];

/// Returns all profiles: those of TCPs, and QUIC.
pub fn all() -> impl Iterator<Item = &'static Profile> {
    PROFILES.iter().copied().chain([&QUIC])
}

/// Returns the profile with this name.
pub fn lookup(name: &str) -> Option<&'static Profile> {
    all().find(|p| p.name == name)
}

/// Returns profile and TCP of a name such as "linux-cubic"; `None` without the prefix of a profile.
/// The name "quic" alone is its usual congestion control.
pub fn split(name: &str) -> Option<(&'static Profile, &str)> {
    if name == QUIC.name {
        return Some((&QUIC, QUIC.usual));
    }
    let (prefix, tcp) = name.split_once('-')?;
    Some((lookup(prefix)?, tcp))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{self, Control};
    use crate::{key, variant};

    #[test]
    fn every_member_has_a_row_and_every_parameter_exists() {
        for profile in all() {
            assert!(std::ptr::eq(lookup(profile.name).unwrap(), profile));
            assert!(profile.names().contains(&profile.usual), "{}", profile.name);
            for name in profile.names() {
                assert!(profile.config(name).is_some(), "{}-{name}", profile.name);
            }
            for value in profile.values {
                if let Some((algorithm, parameter)) = value.parameter() {
                    let algorithm = congestion::lookup(algorithm).unwrap();
                    let _ = Control::new(algorithm).with(parameter, value.value);
                } else {
                    assert!(key::lookup(value.key).is_some(), "{}", value.key);
                }
            }
        }
    }

    #[test]
    fn profile_rfc_changes_no_row() {
        for row in variant::VARIANTS {
            assert_eq!(RFC.config(row.name), Some((row.config)()));
        }
    }

    #[test]
    fn split_finds_the_profile_prefix_and_no_row_has_one() {
        let (profile, tcp) = split("linux-cubic").unwrap();
        assert_eq!((profile.name, tcp), ("linux", "cubic"));
        assert!(split("p-tcp").is_none() && split("cubic").is_none());
        let of_quic = ["quic", "quic-cubic", "quic-bbr"].map(|name| split(name).unwrap().1);
        assert_eq!(of_quic, ["cubic", "cubic", "bbr"]);
        for row in variant::VARIANTS {
            assert!(split(row.name).is_none(), "{}", row.name);
        }
    }

    /// Both kernels use PRR, but only where recovery sets the window.
    #[test]
    fn profiles_use_prr_where_recovery_owns_the_window() {
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

    /// Linux's tcp_westwood.c takes one rate sample per RTT.
    #[test]
    fn the_westwood_of_linux_is_westwood_plus() {
        let linux = lookup("linux").unwrap();
        assert_eq!(linux.row("westwood").unwrap().name, "westwood+");
        assert!(linux.row("tahoe").is_none());
    }
}
