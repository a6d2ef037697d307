//! Keys of a TCP: one entry for each parameter of [`Config`] that a user can choose.
//!
//! An entry has the key's name, meaning, range, place in [`Config`] and conditions. The readers of
//! scenarios and packet scripts, the printed tables, the schema and random tests use these entries.
//! A new key therefore needs only its entry and its use.
//!
//! The variant ([`crate::variant`]), the profile ([`crate::profile`]) and the congestion control
//! with its parameters ([`crate::congestion`]) are chosen by name from their own tables, and have
//! no entries here.

mod entry;
mod lifetime;
mod notices;
mod receiver;
mod recovery;
mod segments;
mod timer;
mod value;
mod window;

pub use entry::{Idle, Key};
pub(crate) use recovery::{UNDO, reduces_by_prr};
pub use value::{Field, Kind, Value, Word};

use crate::config::{
    ByteCounting, Config, EcnEcho, EcnMode, PrrBound, Recovery, RtoAlgorithm, Undo,
};
use crate::congestion::{self, Input, uses_input};
use std::sync::OnceLock;

/// Keys by subject, in the order in which they are set and printed.
pub static SUBJECTS: [(&str, &[Key]); 7] = [
    ("segments", segments::KEYS),
    ("receiver", receiver::KEYS),
    ("recovery", recovery::KEYS),
    ("window", window::KEYS),
    ("timer", timer::KEYS),
    ("notices", notices::KEYS),
    ("lifetime", lifetime::KEYS),
];

/// Returns all keys in order.
pub fn all() -> impl Iterator<Item = &'static Key> {
    SUBJECTS.iter().flat_map(|(_, keys)| *keys)
}

/// Returns the key with this name.
pub fn lookup(name: &str) -> Option<&'static Key> {
    place(name).and_then(at)
}

/// Returns the key at this place of [`all`].
pub fn at(place: usize) -> Option<&'static Key> {
    index().keys.get(place).copied()
}

/// Returns the place of a key in [`all`].
pub fn place(name: &str) -> Option<usize> {
    let Index { keys, by_name } = index();
    let rank = by_name.binary_search_by_key(&name, |&place| keys[place].name);
    rank.ok().map(|rank| by_name[rank])
}

/// Keys by place and by name, because a sweep looks up each key of ten thousand scenarios.
struct Index {
    keys: Vec<&'static Key>,
    /// Places in the order of the keys' names.
    by_name: Vec<usize>,
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let keys: Vec<_> = all().collect();
        let mut by_name: Vec<usize> = (0..keys.len()).collect();
        by_name.sort_unstable_by_key(|&place| keys[place].name);
        Index { keys, by_name }
    })
}

/// Switches off a row's or profile's settings that no longer work because keys chose another
/// recovery or receiver.
pub fn normalize(config: &mut Config) {
    let sack = matches!(config.recovery, Recovery::Sack { .. });
    config.window.idle_decay &= config.window.idle_restart;
    config.restart_on_sack &= sack;
    config.rto.from_sack &= sack;
    let receiver = &mut config.receiver;
    receiver.dsack &= receiver.sack;
    let delays = !receiver.delayed_ack.max_delay.is_zero();
    receiver.delay_gap_fill &= delays;
    receiver.delay_dup_acks &= delays;
    if !matches!(config.rto.algorithm, RtoAlgorithm::Jacobson { .. }) {
        config.rto.start = None;
    }
    let ecn = &mut config.ecn;
    if ecn.mode == EcnMode::Off {
        ecn.echo = EcnEcho::UntilCwr;
    }
    if ecn.mode != EcnMode::Accurate {
        (ecn.ect1, ecn.option) = (false, true);
    }
    config.notices.ackp_karn &= config.notices.ackp.is_some();
    if !uses_input(&config.congestion, Input::ByteCounting) {
        config.window.byte_counting = ByteCounting::default();
    }
}

/// Returns the PRR bound of a configuration, or `None` if the congestion control owns the recovery
/// window.
pub fn prr_in_use(config: &Config) -> Option<PrrBound> {
    match config.recovery {
        Recovery::Sack { prr, .. } => prr.filter(|_| reduces_by_prr(config)),
        _ => None,
    }
}

/// Returns the methods of [`Config::undo`] that can work. Their option must be on, the timer must
/// not be Vegas' fine time-out, and the congestion control must support undo.
pub fn able_to_undo(config: &Config) -> Undo {
    let able = congestion::can_undo(&config.congestion);
    Undo {
        dsack: able && config.undo.dsack && config.receiver.dsack,
        eifel: able && config.undo.eifel && config.timestamps,
        frto: able && config.undo.frto && recovery::coarse_timeout(config),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variant::VARIANTS;
    use std::collections::BTreeSet;

    #[test]
    fn key_names_are_unique_and_docs_end_with_a_period() {
        let names: BTreeSet<_> = all().map(|key| key.name).collect();
        assert_eq!(names.len(), all().count());
        for (i, key) in all().enumerate() {
            assert!(key.doc.trim_end().ends_with('.'), "{}", key.name);
            assert!(std::ptr::eq(lookup(key.name).unwrap(), key));
            assert_eq!(place(key.name), Some(i));
            assert!(std::ptr::eq(at(i).unwrap(), key));
        }
        assert!(lookup("variant").is_none());
        assert!(at(all().count()).is_none());
    }

    /// For each row and key: the value is within the range, and setting it again changes nothing.
    #[test]
    fn setting_the_values_of_a_row_again_changes_nothing() {
        for row in VARIANTS {
            let config = (row.config)();
            let mut again = config.clone();
            for key in all() {
                if let Some(value) = key.get(&config) {
                    key.set(&mut again, value);
                } else {
                    assert!(key.needs.is_some() || optional(key), "{}", key.name);
                }
            }
            normalize(&mut again);
            assert_eq!(again, config, "{}", row.name);
        }
    }

    /// Returns whether a key may have no value although it applies.
    fn optional(key: &Key) -> bool {
        let names = [
            "receive_window_max",
            "keepalive",
            "user_timeout",
            "fin_wait_2_timeout",
        ];
        names.contains(&key.name)
    }
}
