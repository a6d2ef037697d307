//! Contact plans in a scenario: the times at which a link exists, with its rate and delay.
//!
//! The text is CSV, or the commands `a contact` and `a range` of ION's `ionadmin` (ionrc(5)).

use std::sync::Arc;

use farlink_channel::trace::{Contact, ContactPlan, RateTrace};
use farlink_tcp::{Instant, Interval};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{LONGEST_DELAY, LONGEST_RUN, fault};
use super::decode::Problem;
use super::process::InterruptionName;
use super::table::table;
use super::trace::{MAX_RATE, RatePlan, Start, Text, column, rate, rows, time};
use super::units::{Rate, Time};

table! {
    /// Contact plan of a direction.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct ContactsSpec {
        /// File with the plan, in the scenario's folder. The file is CSV with the columns `start`,
        /// `end`, `rate` and `delay`, or it has the lines `a contact` and `a range` of
        /// an ionrc file of ION.
        file?: String;
        /// Text of the plan, instead of a file. A resolved scenario has this key.
        data?: String;
        /// Name of the file from which `data` was read; only in a resolved scenario.
        from?: String;
        /// Numbers of the sending and the receiving node in an ionrc file. Required if the file has
        /// contacts of several pairs of nodes.
        nodes?: [u64; 2];
        /// Fate of packets outside contacts. With "hold" a packet waits for the next contact into
        /// which it fits as a whole. With "drop" the transmitter always sends, and what it sends
        /// outside a contact is lost. After the last contact packets are lost in both cases.
        packets?: InterruptionName = InterruptionName::Hold;
    }
}

/// Rate, delay and times of a direction, read and checked.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Contacts {
    /// Plan.
    pub plan: Arc<ContactPlan>,
    /// Plan of `contacts` as rates of the transmitter.
    pub rates: RatePlan,
}

/// Line of a plan with its times.
#[derive(Clone, Copy)]
struct Span<T> {
    line: usize,
    start: Interval,
    end: Interval,
    value: T,
}

/// Rates of contacts, and delays.
type Spans = (Vec<Span<u64>>, Vec<Span<Interval>>);

impl ContactsSpec {
    /// Reads the plan.
    pub(super) fn plan(&self) -> Result<Contacts, Problem> {
        let text = Text::of(self.file.as_ref(), self.data.as_ref(), self.from.as_ref())?;
        let (contacts, delays) = if is_csv(text.text) {
            if self.nodes.is_some() {
                return Err(fault(
                    "nodes",
                    "would be ignored; the plan is CSV, without nodes",
                ));
            }
            csv(&text)?
        } else {
            ion::read(&text, self.nodes)?
        };
        if contacts.is_empty() {
            return Err(text.fault(&"the plan has no contact; write at least one"));
        }
        in_order(&text, &contacts, "contact")?;
        let end = |at: Interval| Instant::ZERO + at;
        let plan = ContactPlan::new(
            contacts
                .iter()
                .map(|contact| Contact {
                    start: end(contact.start),
                    end: end(contact.end),
                    rate: contact.value,
                })
                .collect(),
            delays
                .iter()
                .map(|delay| (end(delay.start), delay.value))
                .collect(),
            self.packets() == InterruptionName::Hold,
        );
        let plan = plan.map_err(|e| text.fault(&format!("contact {} overlaps", e.0 + 1)))?;
        let plan = Arc::new(plan);
        Ok(Contacts {
            rates: RatePlan {
                trace: Arc::new(RateTrace::Contacts(Arc::clone(&plan))),
                start: Start::BEGINNING,
            },
            plan,
        })
    }
}

/// Returns whether a plan is CSV: the first line with content has commas.
fn is_csv(text: &str) -> bool {
    rows(text)
        .next()
        .is_some_and(|(_, line)| line.contains(','))
}

/// Columns of a plan in CSV.
const COLUMNS: [&str; 4] = ["start", "end", "rate", "delay"];

/// Reads a contact and its delay from each row of a CSV text.
fn csv(text: &Text<'_>) -> Result<Spans, Problem> {
    let mut lines = rows(text.text);
    let (number, head) = lines.next().unwrap_or((1, ""));
    let names: Vec<_> = head.split(',').map(column).collect();
    let mut places = [0; 4];
    for (place, wanted) in places.iter_mut().zip(COLUMNS) {
        let position = names
            .iter()
            .position(|(name, _)| name.eq_ignore_ascii_case(wanted));
        *place = position.ok_or_else(|| {
            let message = format!(
                "no column {wanted:?}; write a first line such as \"start (s),end (s),rate \
                 (Mbit/s),delay (s)\""
            );
            text.line(number, &message)
        })?;
    }
    let (mut contacts, mut delays) = (Vec::new(), Vec::new());
    for (line, content) in lines {
        let cells: Vec<&str> = content.split(',').map(str::trim).collect();
        if cells.len() != names.len() {
            let (values, columns) = (cells.len(), names.len());
            let message = format!("{values} values under {columns} names; write one for each");
            return Err(text.line(line, &message));
        }
        let [start, end, of_rate, of_delay] = places.map(|at| (cells[at], names[at].1));
        let fault = |name: &str, message: String| text.line(line, &format!("{name} {message}"));
        let start = time(start.0, start.1).map_err(|message| fault("start", message))?;
        let end = time(end.0, end.1).map_err(|message| fault("end", message))?;
        let value = rate(of_rate.0, of_rate.1).map_err(|message| fault("rate", message))?;
        let delay = time(of_delay.0, of_delay.1).map_err(|message| fault("delay", message))?;
        contacts.push(contact(text, line, start, end, value)?);
        delays.push(range(text, line, start, end, delay)?);
    }
    Ok((contacts, delays))
}

/// Checks the times and the rate of a contact.
fn contact(
    text: &Text<'_>,
    line: usize,
    start: Interval,
    end: Interval,
    rate: u64,
) -> Result<Span<u64>, Problem> {
    if rate == 0 || rate > MAX_RATE {
        let message = format!(
            "a rate of \"{}\" is out of range; write \"1 bit/s\" to \"{}\"",
            Rate(rate),
            Rate(MAX_RATE)
        );
        return Err(text.line(line, &message));
    }
    span(text, line, start, end, rate)
}

/// Checks the times and the value of a delay.
fn range(
    text: &Text<'_>,
    line: usize,
    start: Interval,
    end: Interval,
    delay: Interval,
) -> Result<Span<Interval>, Problem> {
    if delay > LONGEST_DELAY {
        let message = format!(
            "a delay of \"{}\" is out of range; write at most \"{}\"",
            Time(delay),
            Time(LONGEST_DELAY)
        );
        return Err(text.line(line, &message));
    }
    span(text, line, start, end, delay)
}

fn span<T>(
    text: &Text<'_>,
    line: usize,
    start: Interval,
    end: Interval,
    value: T,
) -> Result<Span<T>, Problem> {
    if end <= start {
        let message = format!(
            "the end \"{}\" is not after the start \"{}\"",
            Time(end),
            Time(start)
        );
        return Err(text.line(line, &message));
    }
    if end > LONGEST_RUN {
        let message = format!(
            "the end \"{}\" is out of range; write at most \"{}\"",
            Time(end),
            Time(LONGEST_RUN)
        );
        return Err(text.line(line, &message));
    }
    Ok(Span {
        line,
        start,
        end,
        value,
    })
}

/// Refuses spans that overlap or that are not in the order of their times.
fn in_order<T>(text: &Text<'_>, spans: &[Span<T>], what: &str) -> Result<(), Problem> {
    let pair = spans.windows(2).find(|two| two[1].start < two[0].end);
    let Some([before, after]) = pair else {
        return Ok(());
    };
    let message = format!(
        "the {what} begins at \"{}\", before that of line {} ends at \"{}\"; write {what}s in the \
         order of their times, without overlaps",
        Time(after.start),
        before.line,
        Time(before.end)
    );
    Err(text.line(after.line, &message))
}

/// Contacts and ranges of ION.
mod ion {
    use super::super::checks::fault;
    use super::super::decode::Problem;
    use super::super::trace::{Text, rows};
    use super::super::units::Time;
    use super::{Span, Spans, contact, in_order, range};
    use farlink_tcp::Interval;
    use farlink_tcp::time::NANOS_PER_SEC;

    /// Moment of a plan: seconds after its reference time, or seconds after 1970.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Moment {
        Relative(u64),
        Absolute(u64),
    }

    /// Contact or range of two nodes.
    struct Entry {
        line: usize,
        nodes: [u64; 2],
        start: Moment,
        end: Moment,
        value: u64,
    }

    /// Reads the contacts from one node to another, and their delays.
    pub(super) fn read(text: &Text<'_>, nodes: Option<[u64; 2]>) -> Result<Spans, Problem> {
        let (mut contacts, mut ranges) = (Vec::new(), Vec::new());
        for (line, content) in rows(text.text) {
            let words: Vec<&str> = content.split_whitespace().collect();
            match words.as_slice() {
                ["a", "contact", rest @ ..] => contacts.push(entry(text, line, rest, "contact")?),
                ["a", "range", rest @ ..] => ranges.push(entry(text, line, rest, "range")?),
                // Start of the node, reference of its clock, and commands without a contact.
                ["1" | "s" | "m" | "e" | "v" | "w", ..] => {}
                _ => {
                    let message = format!(
                        "{content:?} is not of a contact plan; write \"a contact +START +END FROM TO \
                         BYTES_PER_SECOND\" or \"a range +START +END FROM TO SECONDS\""
                    );
                    return Err(text.line(line, &message));
                }
            }
        }
        let zero = reference(text, contacts.iter().chain(&ranges))?;
        let nodes = pair(text, &contacts, nodes)?;
        let seconds = |moment| match moment {
            Moment::Relative(time) => time,
            Moment::Absolute(time) => time - zero,
        };
        let at = |moment| Interval::from_secs(seconds(moment).min(MOST_SECONDS));
        contacts.retain(|entry| entry.nodes == nodes);
        // A range of two nodes also holds the other way, unless that has ranges of its own.
        let other = [nodes[1], nodes[0]];
        let own = ranges.iter().any(|entry| entry.nodes == nodes);
        ranges.retain(|entry| entry.nodes == if own { nodes } else { other });
        for entries in [&mut contacts, &mut ranges] {
            entries.sort_by_key(|entry| seconds(entry.start));
        }
        let mut of_contacts = Vec::new();
        for e in &contacts {
            let rate = e.value.saturating_mul(8);
            of_contacts.push(contact(text, e.line, at(e.start), at(e.end), rate)?);
        }
        let mut of_ranges = Vec::new();
        for e in &ranges {
            let delay = Interval::from_secs(e.value.min(MOST_SECONDS));
            of_ranges.push(range(text, e.line, at(e.start), at(e.end), delay)?);
        }
        in_order(text, &of_ranges, "range")?;
        covered(text, &of_contacts, &of_ranges)?;
        Ok((of_contacts, of_ranges))
    }

    /// Largest number of seconds that does not overflow nanoseconds.
    const MOST_SECONDS: u64 = u64::MAX / NANOS_PER_SEC;

    /// Returns the pair of nodes of a direction.
    fn pair(
        text: &Text<'_>,
        contacts: &[Entry],
        nodes: Option<[u64; 2]>,
    ) -> Result<[u64; 2], Problem> {
        let mut known: Vec<[u64; 2]> = contacts.iter().map(|entry| entry.nodes).collect();
        known.sort_unstable();
        known.dedup();
        let listed: Vec<String> = known.iter().map(|[a, b]| format!("[{a}, {b}]")).collect();
        match nodes {
            Some(nodes) if !known.contains(&nodes) => {
                let [from, to] = nodes;
                let message = format!(
                    "= [{from}, {to}] has no contact in {:?}; its pairs are {}",
                    text.name,
                    listed.join(", ")
                );
                Err(fault("nodes", message))
            }
            Some(nodes) => Ok(nodes),
            None if known.len() > 1 => {
                let message = format!(
                    "has contacts of several pairs; write nodes = one of {}",
                    listed.join(", ")
                );
                Err(text.fault(&message))
            }
            None => known
                .first()
                .copied()
                .ok_or_else(|| text.fault(&"the plan has no contact; write at least one")),
        }
    }

    /// Returns time 0 of absolute moments: the earliest of them.
    fn reference<'a>(
        text: &Text<'_>,
        entries: impl Iterator<Item = &'a Entry>,
    ) -> Result<u64, Problem> {
        let (mut zero, mut first) = (u64::MAX, None);
        for entry in entries {
            for moment in [entry.start, entry.end] {
                let absolute = matches!(moment, Moment::Absolute(_));
                if *first.get_or_insert(absolute) != absolute {
                    let message = "mixes times such as +60 with times such as \
                                   2026/11/28-12:00:00; write all in one form";
                    return Err(text.line(entry.line, message));
                }
                if let Moment::Absolute(time) = moment {
                    zero = zero.min(time);
                }
            }
        }
        Ok(zero)
    }

    /// Refuses a contact without a delay.
    fn covered(
        text: &Text<'_>,
        contacts: &[Span<u64>],
        ranges: &[Span<Interval>],
    ) -> Result<(), Problem> {
        for contact in contacts {
            let mut until = contact.start;
            for range in ranges {
                if range.start <= until && range.end > until {
                    until = range.end;
                }
            }
            if until < contact.end {
                let message = format!(
                    "the contact has no range at \"{}\"; write \"a range\" for its whole time",
                    Time(until)
                );
                return Err(text.line(contact.line, &message));
            }
        }
        Ok(())
    }

    /// Reads the words after `a contact` or `a range`.
    fn entry(text: &Text<'_>, line: usize, words: &[&str], what: &str) -> Result<Entry, Problem> {
        let fault = |message: String| text.line(line, &message);
        let (words, confidence) = match words {
            [start, end, from, to, value] => ([*start, *end, *from, *to, *value], "1"),
            [start, end, from, to, value, confidence] if what == "contact" => {
                ([*start, *end, *from, *to, *value], *confidence)
            }
            _ => {
                return Err(fault(format!(
                    "a {what} has {} values; write start, end, two nodes and the {}",
                    words.len(),
                    if what == "contact" { "rate" } else { "delay" }
                )));
            }
        };
        if confidence.parse() != Ok(1.0) {
            return Err(fault(format!(
                "a confidence of {confidence:?} cannot be simulated; write 1"
            )));
        }
        let whole = |word: &str, name: &str| {
            word.parse()
                .map_err(|_| fault(format!("{name} {word:?} is not a whole number")))
        };
        let moment = |word: &str| {
            moment(word).ok_or_else(|| {
                fault(format!(
                    "time {word:?} is neither as +60 nor as 2026/11/28-12:00:00"
                ))
            })
        };
        let value = if what == "contact" { "rate" } else { "delay" };
        Ok(Entry {
            line,
            start: moment(words[0])?,
            end: moment(words[1])?,
            nodes: [whole(words[2], "node")?, whole(words[3], "node")?],
            value: whole(words[4], value)?,
        })
    }

    /// Parses `+60` or `2026/11/28-12:00:00`.
    fn moment(word: &str) -> Option<Moment> {
        if let Some(seconds) = word.strip_prefix('+') {
            return seconds.parse().ok().map(Moment::Relative);
        }
        let parts: Vec<&str> = word.split(['/', '-', ':']).collect();
        let digits = |part: &&str| part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit());
        if parts.len() != 6 || !parts.iter().all(digits) {
            return None;
        }
        let numbers: Vec<u64> = parts.iter().filter_map(|part| part.parse().ok()).collect();
        let [year, month, day, hour, minute, second] = numbers[..] else {
            return None;
        };
        let leap = |year: u64| {
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
        };
        let february = if leap(year) { 29 } else { 28 };
        let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let length = *months.get((month as usize).checked_sub(1)?)?;
        if year < 1970 || !(1..=length).contains(&day) || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let years: u64 = (1970..year).map(|y| 365 + u64::from(leap(y))).sum();
        let before: u64 = months[..month as usize - 1].iter().sum();
        let days = years + before + day - 1;
        Some(Moment::Absolute(
            ((days * 24 + hour) * 60 + minute) * 60 + second,
        ))
    }
}

#[cfg(test)]
#[path = "contacts_tests.rs"]
mod tests;
