//! Status words of the TCPs, as the matrix of docs/validation.md has them.
//!
//! `make validate` writes this file; a test compares it with the record.

/// Words by the name of a row, or of a profile and a row.
pub(crate) static WORDS: &[(&str, &str)] = &[
    ("rfc793", "unvalidated"),
    ("tcp-rfc", "checked against closed form"),
    ("tahoe", "checked against closed form"),
    ("reno", "checked against closed form"),
    ("vegas", "differs at 3 of 13"),
    ("p-tcp", "differs at 3 of 12"),
    ("scps", "differs at 3 of 12"),
    ("newreno", "checked against closed form"),
    ("eln", "checked against closed form"),
    ("sack", "validated"),
    ("cubic", "checked against closed form"),
    ("westwood", "checked against closed form"),
    ("westwood+", "checked against closed form"),
    ("hybla", "checked against closed form"),
    ("adalr-sack", "differs at 1 of 12"),
    ("adalr-newreno", "differs at 1 of 12"),
    ("peach", "checked against closed form"),
    ("peach-sack", "checked against closed form"),
    ("bbr", "differs at 2 of 49"),
    ("linux-cubic", "validated"),
    ("linux-reno", "validated"),
    ("linux-bbr", "differs at 2 of 48"),
    ("linux-vegas", "differs at 3 of 12"),
    ("linux-westwood", "differs at 6 of 12"),
    ("linux-hybla", "differs at 5 of 28"),
    ("freebsd-cubic", "checked against closed form"),
    ("freebsd-newreno", "checked against closed form"),
    ("freebsd-vegas", "differs at 2 of 12"),
];
