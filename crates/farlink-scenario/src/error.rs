//! Errors in scenarios.

use super::decode::Problem;
use super::tree::{At, Step};

/// Error in a scenario, in one line: the place, the fault, and the correction.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}{text}")]
pub struct ScenarioError {
    /// File and line such as `geo.toml:14: `, or empty.
    place: String,
    text: String,
    line: Option<usize>,
    key: Option<String>,
}

impl ScenarioError {
    /// Returns the number of the text's line with the error, from 1. `None` if the error is not in
    /// a line.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// Returns the path of the key (`links.0.down.delay`), if the error concerns one.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Returns the error without its place.
    pub fn text(&self) -> &str {
        &self.text
    }

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
            line: match at {
                At::Line(line) => Some(*line),
                _ => None,
            },
            key: match at {
                At::Set(set) => set.split_once('=').map(|(path, _)| brief(path)),
                _ => None,
            },
        }
    }

    /// Returns the error of a problem at its place.
    pub(super) fn of(origin: &str, at: &At, problem: &Problem) -> Self {
        let path = problem.path.iter().map(|step| match step {
            Step::Key(key) => key.clone(),
            Step::Index(i) => i.to_string(),
        });
        let key = path.collect::<Vec<_>>().join(".");
        Self {
            key: (!key.is_empty()).then(|| brief(&key)),
            ..Self::new(origin, at, problem)
        }
    }

    /// Builds an error without a place, for a value that was not read from a text.
    pub(super) fn bare(problem: &Problem) -> Self {
        Self::of("", &At::Nowhere, problem)
    }
}

/// Maximum length of a quoted value, a word and a message, in characters.
const LONGEST: [usize; 3] = [120, 300, 2000];

/// Shortens long values in a message, because a value can be a whole file.
fn brief(text: &str) -> String {
    let [value, word, all] = LONGEST;
    let text = quoted(text, |value_of| cut(value_of, value, 60, 40));
    let words: Vec<_> = text
        .split(' ')
        .map(|part| cut(part, word, 80, 40))
        .collect();
    cut(&words.join(" "), all, 1000, 600)
}

/// Returns the first and the last characters of a text longer than `most`, otherwise the text.
fn cut(text: &str, most: usize, first: usize, last: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(first).collect();
    let tail: String = text.chars().skip(count - last).collect();
    format!("{head}...{tail}")
}

/// Changes each text between quotation marks. A quotation mark after a backslash is part of the
/// text.
fn quoted(text: &str, change: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut from = 0;
    let mut inside = false;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '\\' if inside => escaped = !escaped,
            '"' if !escaped => {
                let part = &text[from..at];
                out += &if inside {
                    change(part)
                } else {
                    part.to_owned()
                };
                out.push('"');
                (from, inside) = (at + 1, !inside);
            }
            _ => escaped = false,
        }
    }
    out + &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_and_short_ones_are_not() {
        let long = "a b ".repeat(100);
        let message =
            format!("flows[0].name = {long:?} is not a name; write 1 to 100 letters, \".\"");
        let cut = ScenarioError::new("x.toml", &At::Line(3), &message).to_string();
        assert_eq!(
            cut,
            format!(
                "x.toml:3: flows[0].name = \"{}...{}\" is not a name; write 1 to 100 letters, \".\"",
                &long[..60],
                &long[360..]
            )
        );
        let escaped = format!("= {:?} is unknown", "\"".repeat(80));
        let cut = brief(&escaped);
        assert!(
            cut.starts_with("= \"\\\"") && cut.ends_with("\\\"\" is unknown"),
            "{cut}"
        );
        assert!(cut.len() < 130, "{cut}");
        for short in ["= \"lossy\" is unknown", "a \" alone", &"word ".repeat(200)] {
            assert_eq!(brief(short), short);
        }
        assert_eq!(brief(&"9".repeat(1000)).len(), 123);
    }
}
