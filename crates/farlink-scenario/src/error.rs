//! The error of a scenario.

use super::decode::Problem;
use super::tree::At;

/// Error in a scenario, in one line: where, what, and what to write instead.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}{text}")]
pub struct ScenarioError {
    /// `geo.toml:14: `, or nothing.
    place: String,
    text: String,
}

impl ScenarioError {
    pub(super) fn new(origin: &str, at: &At, text: &impl ToString) -> Self {
        let place = match at {
            At::Nowhere if origin.is_empty() => String::new(),
            At::Nowhere => format!("{origin}: "),
            At::Line(line) => format!("{origin}:{line}: "),
            At::Set(set) => format!("override {set}: "),
            At::Preset(name) => format!("preset {name}: "),
        };
        Self {
            place: brief(&place),
            text: brief(&text.to_string()),
        }
    }

    /// Without a place, for what was not read from text.
    pub(super) fn bare(problem: &Problem) -> Self {
        Self::new("", &At::Nowhere, problem)
    }
}

/// A sentence with what is too long in it cut: a value can be a whole file.
fn brief(text: &str) -> String {
    let cut = |text: &str, most: usize, first: usize, last: usize| -> String {
        let count = text.chars().count();
        if count <= most {
            return text.to_owned();
        }
        let head: String = text.chars().take(first).collect();
        let tail: String = text.chars().skip(count - last).collect();
        format!("{head}...{tail}")
    };
    let words: Vec<_> = text.split(' ').map(|word| cut(word, 300, 80, 40)).collect();
    cut(&words.join(" "), 2000, 1000, 600)
}
