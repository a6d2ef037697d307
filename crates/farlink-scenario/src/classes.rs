//! Classes of a direction by Diffserv codepoint.

use farlink_channel::rng::Stream;
use farlink_link::discipline::{ClassConfig, Classes, Discipline};
use farlink_link::{LinkConfig, QueueLimit};
use farlink_tcp::Dscp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::fault;
use super::decode::Problem;
use super::discipline::{DisciplineName, DisciplineSpec};
use super::dscp::DscpList;
use super::queue::QueueSpec;
use super::table::table;
use super::tree::Step;

/// Maximum number of classes: one for each codepoint, and one for all others.
const MOST: usize = Dscp::COUNT + 1;

table! {
    /// Class of packets with a queue of its own.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct ClassSpec {
        /// Diffserv codepoint of the class, or a list of them: names ("EF", "AF41", "CS1", "LE") or
        /// numbers. One class has no `dscp`, and takes all other packets.
        dscp?: DscpList;
        /// Share of the rate among neighbours in the list that have a `weight` too. A class without
        /// one is sent before all later classes, and only while all earlier ones are empty.
        weight?: u32, in 1..=1000;
        /// Limit of this class alone. By default all classes share the direction's `queue`, in
        /// which the last packets of later classes make room for earlier classes.
        #[serde(default, skip_serializing_if = "QueueSpec::is_unlimited")]
        queue: QueueSpec;
        /// Discipline of the class; by default the direction's. Its limit is the `queue` of the
        /// class, or that of the direction. Not "cake".
        discipline?: DisciplineSpec;
    }
}

/// Checks the classes of a direction with this discipline.
pub(super) fn check(
    classes: &[ClassSpec],
    discipline: Option<&DisciplineSpec>,
) -> Result<(), Problem> {
    let at = |number: usize, key: &str, message: String| {
        Problem::new(
            [Step::from("classes"), Step::from(number), Step::from(key)],
            message,
        )
    };
    if classes.is_empty() {
        return Ok(());
    }
    if classes.len() > MOST {
        let message = format!("has {} classes; write at most {MOST}", classes.len());
        return Err(fault("classes", message));
    }
    let is_cake = |spec: &&DisciplineSpec| spec.method() == DisciplineName::Cake;
    if discipline.as_ref().is_some_and(is_cake) {
        let message = "does not go with discipline = \"cake\", which has classes of its own; write \
                       its tins";
        return Err(fault("classes", message.to_owned()));
    }
    let rest = classes.iter().filter(|class| class.dscp.is_none()).count();
    if rest != 1 {
        let message = format!(
            "has {rest} classes without dscp; write one, for the packets of all other codepoints"
        );
        return Err(fault("classes", message));
    }
    let mut taken = [None; Dscp::COUNT];
    for (number, class) in classes.iter().enumerate() {
        class
            .check_keys()
            .map_err(|problem| problem.within(number).within("classes"))?;
        for codepoint in class.dscp.iter().flat_map(|list| &list.0) {
            let place = &mut taken[usize::from(codepoint.0.bits())];
            if let Some(first) = place.replace(number) {
                let message =
                    format!("names {codepoint}, as does class {first}; name each codepoint once");
                return Err(at(number, "dscp", message));
            }
        }
        if class.dscp.as_ref().is_some_and(|list| list.0.is_empty()) {
            let message = "is empty; name a codepoint, such as \"EF\"".to_owned();
            return Err(at(number, "dscp", message));
        }
        if let Some(discipline) = &class.discipline {
            let within = |problem: Problem| problem.within(number).within("classes");
            discipline
                .check()
                .map_err(|problem| within(problem.within("discipline")))?;
            if is_cake(&discipline) {
                let message =
                    "= \"cake\" has classes of its own; write another discipline".to_owned();
                return Err(at(number, "discipline", message));
            }
        }
    }
    Ok(())
}

/// Builds the classes of a direction with this discipline. `limit_of` converts limits, and `random`
/// returns the stream of a class.
pub fn build(
    classes: &[ClassSpec],
    discipline: Option<&DisciplineSpec>,
    link: &LinkConfig,
    limit_of: impl Fn(QueueSpec) -> QueueLimit,
    random: impl Fn(usize) -> Stream,
) -> Option<Discipline> {
    if classes.is_empty() {
        return None;
    }
    let class = |(number, class): (usize, &ClassSpec)| {
        let limit = (!class.queue.is_unlimited()).then(|| limit_of(class.queue));
        let own = LinkConfig {
            queue: limit.unwrap_or(link.queue),
            ..*link
        };
        let spec = class.discipline.as_ref().or(discipline);
        ClassConfig {
            codepoints: class
                .dscp
                .as_ref()
                .map(|list| list.0.iter().map(|codepoint| codepoint.0).collect()),
            weight: class.weight,
            limit,
            discipline: spec.and_then(|spec| spec.build(&own, random(number))),
        }
    };
    let classes = classes.iter().enumerate().map(class).collect();
    Some(Discipline::Classes(Box::new(Classes::new(
        classes, link.queue,
    ))))
}

#[cfg(test)]
mod tests {
    use crate::{QueueSpec, load};

    const TEXT: &str = "[[links]]\nbetween = [\"a\", \"b\"]\n\
        down = { rate = \"8 Mbit/s\", delay = \"25 ms\", queue = \"100 ms\", classes = [CLASSES] }\n\
        [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 MB\"\n";

    #[test]
    fn limits_and_codepoints_are_spelled_out() {
        let classes = "{ dscp = [\"EF\", 48], queue = \"20 ms\" }, { dscp = \"AF41\", weight = 3, \
                       queue = { bdp = 1 }, discipline = \"codel\" }, { weight = 1 }";
        let scenario = load(&TEXT.replace("CLASSES", classes), "test", &[]).unwrap();
        let json = scenario.to_json();
        assert_eq!(load(&json, "saved", &[]).unwrap(), scenario);
        assert!(json.contains("\"dscp\":[\"EF\",\"CS6\"]"), "{json}");
        let link = &scenario.expand().unwrap().links[0];
        for direction in [&link.down, &link.up] {
            let limits: Vec<_> = direction.classes.iter().map(|class| class.queue).collect();
            let bytes = [20_000, 50_000].map(QueueSpec::Bytes);
            assert_eq!(limits, [bytes[0], bytes[1], QueueSpec::Unlimited]);
        }
    }

    #[test]
    fn wrong_classes_are_refused() {
        for (classes, problem) in [
            (
                "{ dscp = \"EF\" }",
                "classes has 0 classes without dscp; write one, for the packets of all other codepoints",
            ),
            (
                "{}, { weight = 2 }",
                "classes has 2 classes without dscp; write one, for the packets of all other codepoints",
            ),
            (
                "{}, { dscp = [] }",
                "classes[1].dscp is empty; name a codepoint, such as \"EF\"",
            ),
            (
                "{}, { dscp = [\"EF\", 46] }",
                "classes[1].dscp names \"EF\", as does class 1; name each codepoint once",
            ),
            (
                "{ dscp = 5 }, {}, { dscp = 5 }",
                "classes[2].dscp names 5, as does class 0; name each codepoint once",
            ),
            (
                "{ weight = 0 }",
                "classes[0].weight = 0 is out of range; write 1 to 1000",
            ),
            (
                "{ queue = \"0 s\" }",
                "classes[0].queue.time = \"0 s\" at \"8 Mbit/s\" makes 0 bytes; write what makes 1 B to 1024 GiB, or queue = \"unlimited\"",
            ),
            (
                "{ queue = { packets = 0 } }",
                "classes[0].queue.packets = 0 is out of range; write 1 to 1000000, or queue = \"unlimited\"",
            ),
            (
                "{ discipline = \"cake\" }",
                "classes[0].discipline = \"cake\" has classes of its own; write another discipline",
            ),
            (
                "{ discipline = { method = \"codel\", min = 3 } }",
                "classes[0].discipline.min would be ignored",
            ),
            (
                "{ dscp = \"XF\" }",
                "classes[0].dscp = \"XF\" is unknown; write a name such as \"EF\"",
            ),
        ] {
            let loaded = load(&TEXT.replace("CLASSES", classes), "test", &[]);
            let error = loaded.and_then(|s| s.expand()).unwrap_err().to_string();
            let expected = format!("test:3: links[0].down.{problem}");
            assert!(error.starts_with(&expected), "{error}\n{expected}");
        }
        for (other, problem) in [
            (
                "discipline = \"cake\"",
                "classes does not go with discipline = \"cake\", which has classes of its own; write its tins",
            ),
            (
                "mark = { packets = 3 }",
                "classes does not go with mark; write one of them",
            ),
        ] {
            let text = TEXT.replace("classes = [CLASSES]", &format!("{other}, classes = [{{}}]"));
            let loaded = load(&text, "test", &[]);
            let error = loaded.and_then(|s| s.expand()).unwrap_err().to_string();
            assert_eq!(error, format!("test:3: links[0].down.{problem}"));
        }
    }
}
