//! Text of a scenario that is parsed once and loaded with several sets of overrides, as a sweep does.

use serde::Deserialize;

use super::decode::Problem;
use super::expanded::Expanded;
use super::tree::{At, Node};
use super::{Reader, Scenario, ScenarioError, expand, files, whole};

/// Parsed text of a scenario.
#[derive(Clone, Debug)]
pub struct Template {
    tree: Node,
    origin: String,
}

impl Template {
    /// Parses JSON if the text begins with a brace, otherwise TOML.
    ///
    /// # Errors
    /// Fails for wrong syntax.
    pub fn parse(text: &str, origin: &str) -> Result<Self, ScenarioError> {
        let json = text.trim_start().starts_with('{');
        let parsed = if json {
            Node::from_json(text)
        } else {
            Node::from_toml(text)
        };
        let tree = parsed.map_err(|(at, fault)| ScenarioError::new(origin, &at, &fault))?;
        let origin = origin.to_owned();
        Ok(Self { tree, origin })
    }

    /// Returns the scenario with these overrides, as [`super::load_with`] does.
    ///
    /// # Errors
    /// Fails as [`super::load_with`] does.
    pub fn load(
        &self,
        overrides: &[(String, String)],
        read: &mut Reader<'_>,
    ) -> Result<Scenario, ScenarioError> {
        self.clone().load_once(overrides, read)
    }

    /// As [`Self::load`], without a copy of the tree.
    pub(super) fn load_once(
        self,
        overrides: &[(String, String)],
        read: &mut Reader<'_>,
    ) -> Result<Scenario, ScenarioError> {
        let Self { mut tree, origin } = self;
        // If `up` is absent, an override of `up` changes the copy of `down`. All other overrides
        // must be applied before, because they may change `down`.
        let (up, rest): (Vec<_>, Vec<_>) = overrides
            .iter()
            .partition(|(path, _)| path.contains(".up."));
        let mut mirrored = false;
        for (path, value) in rest.iter().chain(&up) {
            if !mirrored && path.contains(".up.") {
                tree.mirror_links();
                mirrored = true;
            }
            tree.set(path, value).map_err(|fault| {
                ScenarioError::new(&origin, &At::Set(format!("{path}={value}").into()), &fault)
            })?;
        }
        let scenario = files::inline(&mut tree, read).and_then(|()| whole(&mut tree, overrides));
        scenario
            .map_err(|problem| ScenarioError::of(&origin, &tree.locate(&problem.path), &problem))
    }
}

/// Expands a text of [`Scenario::to_json`] that this version has written, and therefore checked.
/// Skips the checks of [`super::load`] that take most of its time.
///
/// # Errors
/// Fails for a text that [`Scenario::to_json`] cannot have written.
pub fn expand_resolved(text: &str) -> Result<Expanded, ScenarioError> {
    let origin = "resolved scenario";
    // The last key repeats what the others say, and is most of the text.
    let whole = text
        .rsplit_once(",\"resolved_tcp\":[")
        .map(|(head, _)| format!("{head}}}"));
    let Template { tree, .. } = Template::parse(whole.as_deref().unwrap_or(text), origin)?;
    let expanded = || -> Result<Expanded, Problem> {
        let mut scenario = Scenario::deserialize(&tree)?;
        scenario.resolved_tcp = None;
        scenario.fill();
        expand::expand(&scenario)
    };
    expanded().map_err(|problem| ScenarioError::of(origin, &tree.locate(&problem.path), &problem))
}

#[cfg(test)]
mod tests {
    use super::super::{library, load};
    use super::*;

    fn sets(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = pairs
            .iter()
            .map(|&(path, value)| (path.into(), value.into()));
        owned.collect()
    }

    #[test]
    fn a_template_loads_each_set_of_overrides_as_the_text_does() {
        let all = [
            sets(&[]),
            sets(&[("tcp.variant", "cubic"), ("links.0.up.rate", "1 Mbit/s")]),
            sets(&[("links.0.down.delay", "77 ms")]),
            sets(&[("links.0.down.delay", "nothing")]),
            sets(&[("tcp.mss", "default"), ("seed", "7")]),
        ];
        for (name, text) in library() {
            let template = Template::parse(text, name).unwrap();
            for overrides in &all {
                let mut none = |_: &str| Err("no files".to_owned());
                let (several, alone) = (
                    template.load(overrides, &mut none),
                    super::super::load_with(text, name, overrides, &mut none),
                );
                let shown = |loaded: Result<Scenario, ScenarioError>| match loaded {
                    Ok(scenario) => scenario.to_json(),
                    Err(error) => error.to_string(),
                };
                assert_eq!(shown(several), shown(alone), "{name} {overrides:?}");
            }
        }
    }

    #[test]
    fn a_resolved_text_expands_as_with_all_checks() {
        for (name, text) in library() {
            for tcp in ["sack", "bbr", "hybla", "reno"] {
                let overrides = sets(&[("tcp.variant", tcp)]);
                let Ok(scenario) = load(text, name, &overrides) else {
                    continue;
                };
                let resolved = scenario.to_json();
                let checked = load(&resolved, name, &[]).unwrap().expand().unwrap();
                let trusted = expand_resolved(&resolved).unwrap();
                assert_eq!(
                    format!("{trusted:?}"),
                    format!("{checked:?}"),
                    "{name} {tcp}"
                );
            }
        }
    }

    #[test]
    fn a_text_that_was_not_resolved_is_no_panic() {
        for text in ["", "{", "{}", "{\"links\":3}", "x = ["] {
            assert!(expand_resolved(text).is_err(), "{text}");
        }
    }
}
