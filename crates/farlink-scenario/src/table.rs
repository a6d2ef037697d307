//! Tables of keys: the structs that a scenario's tables become.

/// Declares a table of keys: a struct with what serde and the schema need. An entry is
///
/// ```text
/// /// What it is.
/// key: Type;
/// ```
///
/// for a key that has to be there, or has a default of its own, and `key?: Type` for
/// one that may be left out, which then is an `Option`. In a table `for` kinds, where a
/// key means something to some of them alone, `of [Kind, ...]` behind the type names
/// them, and `misplaced` finds a key that is written for another.
macro_rules! table {
    ($(#[$meta:meta])* pub struct $name:ident $(for $kind:ident)? { $($body:tt)* }) => {
        $crate::table::table! { @next [$(#[$meta])* $name $($kind)?] [] [] $($body)* }
    };
    (@next $head:tt [$($fields:tt)*] [$($of:tt)*]
        $(#[$meta:meta])* $key:ident ?: $type:ty $(, of [$($one:ident),*])?; $($rest:tt)*) => {
        $crate::table::table! { @next $head
            [$($fields)*
                $(#[$meta])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $key: Option<$type>,
            ]
            [$($of)* $(($key [$($one),*]))?]
            $($rest)*
        }
    };
    (@next $head:tt [$($fields:tt)*] $of:tt
        $(#[$meta:meta])* $key:ident : $type:ty; $($rest:tt)*) => {
        $crate::table::table! { @next $head [$($fields)* $(#[$meta])* pub $key: $type,] $of $($rest)* }
    };
    (@next [$(#[$meta:meta])* $name:ident] [$($fields:tt)*] [$($of:tt)*]) => {
        $(#[$meta])*
        #[serde(deny_unknown_fields)]
        pub struct $name { $($fields)* }
    };
    (@next [$(#[$meta:meta])* $name:ident $kind:ident] [$($fields:tt)*]
        [$(($key:ident [$($one:ident),*]))*]) => {
        $crate::table::table! { @next [$(#[$meta])* $name] [$($fields)*] [] }

        impl $name {
            /// The first key that is written and means nothing to this kind, with the
            /// kinds that it is for.
            pub(crate) fn misplaced(&self, kind: $kind) -> Option<(&'static str, &'static [$kind])> {
                let keys: &[(&'static str, bool, &'static [$kind])] =
                    &[$((stringify!($key), self.$key.is_some(), &[$($kind::$one),*])),*];
                let mut misplaced = keys.iter().filter(|(_, written, of)| *written && !of.contains(&kind));
                misplaced.next().map(|&(key, _, of)| (key, of))
            }
        }
    };
}

pub(crate) use table;
