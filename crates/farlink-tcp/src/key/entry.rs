//! Entry of a key, and the macro for a list of entries.

use super::value::{Kind, Value};
use crate::config::Config;

/// A key.
#[derive(Debug)]
pub struct Key {
    /// Name in scenarios, in lower case without spaces.
    pub name: &'static str,
    /// Meaning of the key with its source, in the entry's line breaks.
    pub doc: &'static str,
    /// Range of values.
    pub kind: Kind,
    /// Condition under which [`Self::get`] returns a value.
    pub needs: Option<&'static str>,
    /// Configurations that have the key but ignore it.
    pub idle: Option<Idle>,
    pub(super) get: fn(&Config) -> Option<Value>,
    pub(super) set: fn(&mut Config, Value),
}

/// Condition for a key to have an effect. A scenario may set such a key anyway, because other TCPs
/// that run in it may use the key.
#[derive(Debug)]
pub struct Idle {
    /// Returns whether this configuration uses the key.
    pub counts: fn(&Config) -> bool,
    /// Description of the configurations that use the key.
    pub needs: &'static str,
}

impl Key {
    /// Returns the value in a configuration; `None` if the key does not apply.
    pub fn get(&self, config: &Config) -> Option<Value> {
        (self.get)(config)
    }

    /// Sets the value in a configuration; does nothing if the key does not apply. Keys must be set
    /// in the order of [`all`](super::all), because some depend on earlier ones.
    ///
    /// # Panics
    /// Panics if [`Self::kind`] does not allow the value. Readers check it first.
    pub fn set(&self, config: &mut Config, value: Value) {
        assert!(self.kind.allows(value), "{} = {value:?}", self.name);
        (self.set)(config, value);
    }
}

/// Defines the list of keys of a subject. The form of an entry is
///
/// ```text
/// /// Meaning.
/// name: kind => field, needs "what", idle IDLE;
/// ```
///
/// `needs` and `idle` are optional. The field has one of three forms: `[path]` of a field of
/// [`Config`]; `(|c| place)`, where the place is an `Option<&mut Field>` that is `None` if the key
/// does not apply; or `{ get |c| value; set |c, v| ...; }`, where the value is an `Option<Value>`.
macro_rules! keys {
    ($($(#[doc = $doc:literal])* $name:ident: $kind:expr => $field:tt
        $(, needs $needs:expr)? $(, idle $idle:expr)?;)*) => {
        pub(super) const KEYS: &[$crate::key::Key] = &[$($crate::key::Key {
            name: stringify!($name),
            doc: farlink_small::reference(concat!($($doc, "\n"),*)),
            kind: $kind,
            needs: keys!(@some $($needs)?),
            idle: keys!(@some $($idle)?),
            get: keys!(@get $field),
            set: keys!(@set $field),
        }),*];
    };
    (@some) => { None };
    (@some $some:expr) => { Some($some) };
    (@get [$($path:ident).+]) => { |config| Some($crate::key::Field::value(&config.$($path).+)) };
    (@get (|$c:ident| $place:expr)) => {
        |config| {
            // The place needs a mutable configuration, so reading uses a copy.
            let $c: &mut $crate::config::Config = &mut config.clone();
            $place.map(|field| $crate::key::Field::value(&*field))
        }
    };
    (@get { get |$c:ident| $get:expr; set |$d:ident, $v:ident| $set:expr; }) => { |$c| $get };
    (@set [$($path:ident).+]) => {
        |config, value| config.$($path).+ = $crate::key::Field::of(value)
    };
    (@set (|$c:ident| $place:expr)) => {
        |$c: &mut $crate::config::Config, value| {
            if let Some(field) = $place {
                *field = $crate::key::Field::of(value);
            }
        }
    };
    (@set { get |$c:ident| $get:expr; set |$d:ident, $v:ident| $set:expr; }) => {
        |$d: &mut $crate::config::Config, $v| $set
    };
}

pub(super) use keys;
