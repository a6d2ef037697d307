//! Story of a run: a sentence for each event that explains what TCP did.
//!
//! Each sentence takes its numbers from the tables of the run. Segments are counted from 1, in
//! units of the longest segment of their direction.

mod events;
mod rows;

use crate::probe::Table;
use crate::scenario::Expanded;
use events::{End, Words};
use farlink_tcp::Instant;
use rows::Rows;

/// Sentence about an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoryLine {
    /// Time of the event.
    pub time: Instant,
    /// Index of the flow in the scenario.
    pub flow: u32,
    /// End of the flow: 0 is the source of its data, 1 the receiver.
    pub side: u8,
    /// Sentence.
    pub text: String,
    /// Number of the packet in the table `packets`, if the event has one.
    pub packet: Option<u32>,
}

/// Names of the tables that [`story`] reads.
pub const STORY_TABLES: [&str; 7] = [
    "packets", "state", "control", "acks", "sacks", "marks", "agent",
];

/// Describes the run with these tables, in order of time. Tables other than [`STORY_TABLES`] are
/// ignored, and missing tables are treated as empty.
pub fn story(scenario: &Expanded, tables: &[Table]) -> Vec<StoryLine> {
    let rows = |name| Rows::of(tables, name);
    let packets = rows("packets");
    let words = Words::new(scenario, &packets);
    let mut lines = words.losses(&packets);
    lines.extend(words.agents(&rows("agent"), &packets));
    let (state, acks, sacks, marks) = (rows("state"), rows("acks"), rows("sacks"), rows("marks"));
    let control = rows("control");
    for flow in 0..scenario.flows.len() as u64 {
        for side in [0, 1] {
            let of_end = |all: &Rows| all.only(&[("flow", flow), ("side", side)]);
            let forward = 1 - side;
            let end = End {
                words: &words,
                flow: flow as u32,
                side: side as u8,
                packets: packets
                    .only(&[("flow", flow), ("forward", forward)])
                    .first_of_each(),
                state: of_end(&state),
                acks: of_end(&acks),
                sacks: of_end(&sacks),
                marks: of_end(&marks),
                control: of_end(&control),
            };
            lines.extend(end.lines());
        }
    }
    lines.sort_by_key(|line| line.time);
    lines
}

#[cfg(test)]
mod tests;
