//! Entry of a key, and the macro that makes a list of them.

use super::value::{Kind, Value};
use crate::config::Config;

/// A key.
#[derive(Debug)]
pub struct Key {
    /// Name in scenarios: a bare word.
    pub name: &'static str,
    /// Meaning, with its source; a line for each line of the entry.
    pub doc: &'static str,
    /// Range of values.
    pub kind: Kind,
    /// Condition of the key where [`Self::get`] may find nothing.
    pub needs: Option<&'static str>,
    /// Configurations that ignore the key although it is present.
    pub idle: Option<Idle>,
    pub(super) get: fn(&Config) -> Option<Value>,
    pub(super) set: fn(&mut Config, Value),
}

/// A recovery or a congestion control that has no use for a key. Others have: a
/// scenario that is run with several TCPs may hold it.
#[derive(Debug)]
pub struct Idle {
    /// Returns whether this configuration uses the key.
    pub counts: fn(&Config) -> bool,
    /// Configurations that use the key.
    pub needs: &'static str,
}

impl Key {
    /// The value in a configuration; `None` where it means nothing.
    pub fn get(&self, config: &Config) -> Option<Value> {
        (self.get)(config)
    }

    /// Puts a value into a configuration; where it means nothing, nothing changes.
    /// Keys are set in the order of [`all`](super::all): what others depend on comes first.
    ///
    /// # Panics
    /// If [`Self::kind`] does not allow the value, which whoever reads one asks first.
    pub fn set(&self, config: &mut Config, value: Value) {
        assert!(self.kind.allows(value), "{} = {value:?}", self.name);
        (self.set)(config, value);
    }
}

/// Makes the list of the keys of a subject. An entry is
///
/// ```text
/// /// What it is.
/// name: kind => field, needs "what", idle IDLE;
/// ```
///
/// where the last two are left out if there is nothing to say. The field is `[path]`
/// of a field of [`Config`]; or `(|c| place)`, where the place is an
/// `Option<&mut Field>`, none where the key means nothing; or `{ get |c| value; set
/// |c, v| ...; }`, where the value is an `Option<Value>`.
macro_rules! keys {
    ($($(#[doc = $doc:literal])* $name:ident: $kind:expr => $field:tt
        $(, needs $needs:expr)? $(, idle $idle:expr)?;)*) => {
        pub(super) const KEYS: &[$crate::key::Key] = &[$($crate::key::Key {
            name: stringify!($name),
            doc: concat!($($doc, "\n"),*),
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
            // A place to read from is also one to write to, which here is a copy.
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
