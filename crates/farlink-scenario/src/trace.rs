//! Traces in a scenario: rate, delay and loss over time, from the text of a file.
//!
//! This module reads no files. The caller that loads the scenario reads the file, and its text
//! becomes part of the resolved scenario. A run is therefore a function of its scenario alone.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use farlink_channel::trace::{RateTrace, Timeline, TraceError};
use farlink_channel::{ChannelError, DelayTrace, LossTrace, Process, acm, rng};
use farlink_tcp::Interval;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::checks::LONGEST_DELAY;
use super::decode::Problem;
use super::process::{Place, ProcessSpec};
use super::table::table;
use super::tree::Step;
use super::units::{Probability, Rate, Scalar, SymbolRate, Time};

/// Maximum rate in a trace, in bit/s.
pub(super) const MAX_RATE: u64 = 1_000_000_000_000;

/// Rate of a transmitter over time: a table, or a constant rate such as "12 Mbit/s", which becomes
/// a packet-delivery trace with evenly spaced packets.
#[derive(Clone, PartialEq, Debug)]
pub enum RateTraceSpec {
    /// Opportunities of 1500 bytes at whole milliseconds, as evenly spaced as the rate allows.
    Even(Rate),
    /// A trace.
    Table(RateTraceTable),
}

table! {
    /// A trace of rates: a packet-delivery trace or a CSV file.
    #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
    pub struct RateTraceTable {
        /// File with the trace, in the scenario's folder. The file is a packet-delivery trace of
        /// Mahimahi (one line per opportunity of 1500 bytes, with its millisecond), or CSV with the
        /// columns `time` and `rate`. With `symbol_rate` it is CSV with the columns `time` and
        /// `esno`.
        file?: String;
        /// Text of the trace, instead of a file. A resolved scenario has this key.
        data?: String;
        /// Name of the file from which `data` was read; only in a resolved scenario.
        from?: String;
        /// Symbol rate of a DVB-S2 carrier with adaptive coding. At each Es/N0 (dB) of the trace,
        /// the rate is that of the most efficient modulation and code that this Es/N0 allows (EN
        /// 302 307-1, Table 13, normal frames without pilots), or 0 if there is none.
        symbol_rate?: SymbolRate;
        /// Margin of Es/N0 above the ideal threshold, in dB, 0 to 20; the default is 0. Needs
        /// `symbol_rate`.
        margin?: f64;
        /// Repeat a CSV trace from the time of its last row; otherwise its last row is valid
        /// forever. A packet-delivery trace always repeats.
        repeat?: bool;
        /// Position in the trace at which a run starts.
        offset?: Time;
        /// Start each run at a random position of a repeating trace. The traces of one direction
        /// start at the same share of their lengths.
        #[serde(default)]
        random_offset: bool;
    }
}

table! {
    /// Extra delay over time, in addition to the link's `delay`.
    #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
    pub struct DelayTraceSpec {
        /// File with the trace, in the scenario's folder: CSV with the columns `time` and `delay`.
        file?: String;
        /// Text of the trace, instead of a file. A resolved scenario has this key.
        data?: String;
        /// Name of the file from which `data` was read; only in a resolved scenario.
        from?: String;
        /// Interpolate linearly between rows; otherwise a row is valid until the next.
        #[serde(default)]
        interpolate: bool;
        /// Keep packets in order: a packet waits for earlier packets.
        #[serde(default = "crate::defaults::on")]
        keep_order: bool;
        /// Repeat the trace from the time of its last row; otherwise its last row is valid forever.
        #[serde(default)]
        repeat: bool;
        /// Position in the trace at which a run starts.
        offset?: Time;
        /// Start each run at a random position of a repeating trace. The traces of one direction
        /// start at the same share of their lengths.
        #[serde(default)]
        random_offset: bool;
    }
}

table! {
    /// Probability of loss over time, independent from packet to packet.
    #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
    pub struct LossTraceSpec {
        /// File with the trace, in the scenario's folder: CSV with the columns `time` and `loss`.
        file?: String;
        /// Text of the trace, instead of a file. A resolved scenario has this key.
        data?: String;
        /// Name of the file from which `data` was read; only in a resolved scenario.
        from?: String;
        /// Repeat the trace from the time of its last row; otherwise its last row is valid forever.
        #[serde(default)]
        repeat: bool;
        /// Position in the trace at which a run starts.
        offset?: Time;
        /// Start each run at a random position of a repeating trace. The traces of one direction
        /// start at the same share of their lengths.
        #[serde(default)]
        random_offset: bool;
    }
}

const RATES: &str = "a rate such as \"12 Mbit/s\", { file = \"lte.trace\" } or { data = \"...\" }";

impl Serialize for RateTraceSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Even(rate) => rate.serialize(serializer),
            Self::Table(table) => table.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RateTraceSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = RateTraceSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(RATES)
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<RateTraceSpec, E> {
                Rate::from_str(v)
                    .map(RateTraceSpec::Even)
                    .map_err(|_| E::custom(format!("= {v:?} is no rate; write {RATES}")))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RateTraceSpec, A::Error> {
                RateTraceTable::deserialize(MapAccessDeserializer::new(map))
                    .map(RateTraceSpec::Table)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl JsonSchema for RateTraceSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RateTrace".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let rate = generator.subschema_for::<Rate>();
        let table = generator.subschema_for::<RateTraceTable>();
        json_schema!({ "title": "rate or table", "anyOf": [rate, table] })
    }
}

/// Start of a run in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    offset: Interval,
    /// Interval of which a random share is added to the offset; zero for a fixed start.
    random: Interval,
}

impl Start {
    /// Start at the beginning.
    pub(super) const BEGINNING: Self = Self {
        offset: Interval::ZERO,
        random: Interval::ZERO,
    };

    /// Returns the position of time 0 in the trace, for a run with the random number `share` in [0,
    /// 1).
    pub fn at(self, share: f64) -> Interval {
        let random = self.random.as_nanos() as f64 * share;
        self.offset + Interval::from_nanos(random as u64)
    }
}

/// Rate of a transmitter over time, read and checked.
#[derive(Clone, PartialEq, Debug)]
pub struct RatePlan {
    /// Rates.
    pub trace: Arc<RateTrace>,
    /// Position in the trace at which a run begins.
    pub start: Start,
}

impl RateTraceSpec {
    /// Reads the trace.
    pub(super) fn plan(&self) -> Result<RatePlan, Problem> {
        let table = match self {
            Self::Even(Rate(rate)) if *rate == 0 || *rate > MAX_RATE => {
                let message = format!(
                    "= \"{}\" is out of range; write \"1 bit/s\" to \"{}\"",
                    Rate(*rate),
                    Rate(MAX_RATE)
                );
                return Err(Problem::new([], message));
            }
            Self::Even(Rate(rate)) => {
                return Ok(RatePlan {
                    trace: Arc::new(RateTrace::Even(*rate)),
                    start: Start::BEGINNING,
                });
            }
            Self::Table(table) => table,
        };
        let text = Text::of(
            table.file.as_ref(),
            table.data.as_ref(),
            table.from.as_ref(),
        )?;
        let csv = is_csv(text.text);
        table.coding(csv)?;
        let trace = if csv {
            let (times, rates) = match table.symbol_rate {
                Some(symbols) => {
                    let (times, ratios) = text.columns("esno", decibels)?;
                    let margin = table.margin.unwrap_or(0.0);
                    let rate = |ratio: f64| acm::rate(symbols.0, ratio, margin);
                    (times, ratios.into_iter().map(rate).collect())
                }
                None => text.columns("rate", rate)?,
            };
            let repeats = table.repeat.unwrap_or(false);
            let line = Timeline::new(&times, repeats).map_err(|e| text.fault(&e))?;
            RateTrace::steps(line, rates).map_err(|e| text.fault(&e))?
        } else {
            if table.repeat.is_some() {
                let message = "would be ignored; a packet-delivery trace begins again at its end";
                return Err(Problem::new([Step::from("repeat")], message));
            }
            RateTrace::opportunities(text.milliseconds()?).map_err(|e| text.fault(&e))?
        };
        let repeats = match &trace {
            RateTrace::Steps { timeline, .. } => timeline.repeats(),
            _ => true,
        };
        let length = trace.length().unwrap_or(Interval::ZERO);
        Ok(RatePlan {
            trace: Arc::new(trace),
            start: start(table.offset, table.random_offset, repeats, length)?,
        })
    }
}

impl RateTraceTable {
    /// Checks the keys by which Es/N0 becomes a rate.
    fn coding(&self, csv: bool) -> Result<(), Problem> {
        let fault = |key: &str, message: String| Err(Problem::new([Step::from(key)], message));
        let Some(symbols) = self.symbol_rate else {
            return match self.margin {
                Some(_) => fault("margin", "would be ignored; it needs symbol_rate".into()),
                None => Ok(()),
            };
        };
        if symbols.0 == 0 || symbols.0 > MAX_RATE / 10 {
            let max = SymbolRate(MAX_RATE / 10);
            let message = format!("= \"{symbols}\" is out of range; write \"1 Bd\" to \"{max}\"");
            return fault("symbol_rate", message);
        }
        if !csv {
            let message = "would be ignored; it needs CSV with the columns time and esno";
            return fault("symbol_rate", message.into());
        }
        match self.margin {
            Some(margin) if !(0.0..=20.0).contains(&margin) => {
                let message = format!("= {margin} is out of range; write 0 to 20 (dB)");
                fault("margin", message)
            }
            _ => Ok(()),
        }
    }
}

impl DelayTraceSpec {
    fn read(&self, longest: Interval) -> Result<(Timeline, Vec<Interval>, Start), Problem> {
        let text = Text::of(self.file.as_ref(), self.data.as_ref(), self.from.as_ref())?;
        let (times, delays) = text.columns("delay", time)?;
        if let Some(delay) = delays.iter().find(|delay| **delay > longest) {
            let message = format!(
                "a delay of \"{}\" is out of range; write at most \"{}\"",
                Time(*delay),
                Time(longest)
            );
            return Err(text.fault(&message));
        }
        let line = Timeline::new(&times, self.repeat).map_err(|e| text.fault(&e))?;
        let start = start(self.offset, self.random_offset, self.repeat, line.length())?;
        Ok((line, delays, start))
    }
}

impl ProcessSpec for DelayTraceSpec {
    fn check(&self) -> Result<(), Problem> {
        self.read(LONGEST_DELAY).map(|_| ())
    }

    fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        let (line, delays, start) = self
            .read(Interval::MAX)
            .map_err(|_| ChannelError::Cannot("delay_trace was not checked"))?;
        Ok(Box::new(DelayTrace::new(
            line,
            delays,
            self.interpolate,
            start.at(place.trace_share()),
            self.keep_order,
        )))
    }
}

impl LossTraceSpec {
    fn read(&self) -> Result<(Timeline, Vec<rng::Probability>, Start), Problem> {
        let text = Text::of(self.file.as_ref(), self.data.as_ref(), self.from.as_ref())?;
        let (times, losses) = text.columns("loss", probability)?;
        let line = Timeline::new(&times, self.repeat).map_err(|e| text.fault(&e))?;
        let start = start(self.offset, self.random_offset, self.repeat, line.length())?;
        Ok((line, losses, start))
    }
}

impl ProcessSpec for LossTraceSpec {
    fn check(&self) -> Result<(), Problem> {
        self.read().map(|_| ())
    }

    fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        let (line, losses, start) = self
            .read()
            .map_err(|_| ChannelError::Cannot("loss_trace was not checked"))?;
        Ok(Box::new(LossTrace::new(
            line,
            losses,
            start.at(place.trace_share()),
            place.stream("loss_trace"),
        )))
    }
}

fn start(
    offset: Option<Time>,
    random: bool,
    repeats: bool,
    length: Interval,
) -> Result<Start, Problem> {
    if random && !repeats {
        let message = "needs a trace that repeats; write repeat = true";
        return Err(Problem::new([Step::from("random_offset")], message));
    }
    let offset = offset.map_or(Interval::ZERO, |time| time.0);
    if offset > length && !repeats {
        let message = format!(
            "= \"{}\" is behind the last row, at \"{}\"",
            Time(offset),
            Time(length)
        );
        return Err(Problem::new([Step::from("offset")], message));
    }
    Ok(Start {
        offset,
        random: if random { length } else { Interval::ZERO },
    })
}

/// Returns whether a trace is CSV; a packet-delivery trace consists of numbers alone.
fn is_csv(text: &str) -> bool {
    let first = rows(text).next().map_or("", |(_, line)| line);
    first.contains(|c: char| !c.is_ascii_digit())
}

/// Iterates over lines with content, numbered from 1.
pub(super) fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..)
        .zip(text.trim_start_matches('\u{feff}').lines())
        .map(|(number, line)| (number, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Text of a trace, and its name in messages.
pub(super) struct Text<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl<'a> Text<'a> {
    pub(super) fn of(
        file: Option<&'a String>,
        data: Option<&'a String>,
        from: Option<&'a String>,
    ) -> Result<Self, Problem> {
        match (file, data) {
            (Some(_), Some(_)) => Err(Problem::new(
                [],
                "has both \"file\" and \"data\"; write one of them",
            )),
            (None, None) => Err(Problem::new(
                [],
                "has no trace; write file = \"NAME\" or data = \"...\"",
            )),
            (Some(name), None) => Err(Problem::new(
                [Step::from("file")],
                format!("= {name:?} was not read; write the trace itself as data = \"...\""),
            )),
            (None, Some(text)) => Ok(Self {
                name: from.map_or("data", String::as_str),
                text,
            }),
        }
    }

    pub(super) fn fault(&self, message: &impl ToString) -> Problem {
        Problem::new([], format!("from {:?}: {}", self.name, message.to_string()))
    }

    pub(super) fn line(&self, number: usize, message: &str) -> Problem {
        Problem::new(
            [],
            format!("from {:?}, line {number}: {message}", self.name),
        )
    }

    fn milliseconds(&self) -> Result<Vec<u32>, Problem> {
        rows(self.text)
            .map(|(number, line)| {
                line.parse().map_err(|_| {
                    let message = format!("{line:?} is not a whole number of milliseconds");
                    self.line(number, &message)
                })
            })
            .collect()
    }

    /// Returns the columns `time` and `wanted` of a CSV text.
    fn columns<T>(
        &self,
        wanted: &str,
        read: fn(&str, &str) -> Result<T, String>,
    ) -> Result<(Vec<Interval>, Vec<T>), Problem> {
        let mut lines = rows(self.text);
        let Some((number, head)) = lines.next() else {
            return Err(self.fault(&TraceError::Empty));
        };
        let names: Vec<_> = head.split(',').map(column).collect();
        let find = |name: &str| {
            names
                .iter()
                .position(|(known, _)| known.eq_ignore_ascii_case(name))
                .ok_or_else(|| {
                    let message = format!(
                        "no column {name:?}; write a first line such as \"{}\"",
                        match wanted {
                            "rate" => "time (s),rate (Mbit/s)",
                            "esno" => "time (s),esno (dB)",
                            "delay" => "time (s),delay (ms)",
                            _ => "time (s),loss",
                        }
                    );
                    self.line(number, &message)
                })
        };
        let (at, of) = (find("time")?, find(wanted)?);
        let (mut times, mut values) = (Vec::new(), Vec::new());
        for (number, line) in lines {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            if cells.len() != names.len() {
                let message = format!(
                    "{} values under {} names; write one for each",
                    cells.len(),
                    names.len()
                );
                return Err(self.line(number, &message));
            }
            let fault =
                |name: &str, message: String| self.line(number, &format!("{name} {message}"));
            times.push(time(cells[at], names[at].1).map_err(|message| fault("time", message))?);
            values.push(read(cells[of], names[of].1).map_err(|message| fault(wanted, message))?);
        }
        Ok((times, values))
    }
}

/// Splits the head of a column into name and unit: `rate (Mbit/s)`, `rate [Mbit/s]`, `rate_Mbit/s`.
pub(super) fn column(head: &str) -> (&str, &str) {
    let head = head.trim().trim_matches('"');
    let end = head
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(head.len());
    let unit = head[end..].trim_matches([' ', '(', ')', '[', ']', '_']);
    (&head[..end], unit)
}

/// Parses a quantity with the unit of its column or its own unit, rounded to a whole number of the
/// base unit.
fn quantity<Q: FromStr<Err = String>>(
    cell: &str,
    unit: &str,
    whole: fn(Q) -> u64,
) -> Result<u64, String> {
    if unit.is_empty() {
        return cell.parse().map(whole);
    }
    let exact = format!("{cell} {unit}").parse::<Q>();
    let Ok(number) = cell.parse::<f64>() else {
        return exact.map(whole);
    };
    match exact {
        Ok(value) => Ok(whole(value)),
        Err(fault) if number < 0.0 || !number.is_finite() => Err(fault),
        // The number has more digits than an exact value can have, as measurements do.
        Err(_) => {
            let worth = whole(format!("1 {unit}").parse()?) as f64;
            Ok((number * worth).round() as u64)
        }
    }
}

pub(super) fn time(cell: &str, unit: &str) -> Result<Interval, String> {
    quantity::<Time>(cell, unit, |time| time.0.as_nanos()).map(Interval::from_nanos)
}

pub(super) fn rate(cell: &str, unit: &str) -> Result<u64, String> {
    let rate = quantity::<Rate>(cell, unit, |rate| rate.0)?;
    if rate > MAX_RATE {
        return Err(format!("= {cell:?} is above \"{}\"", Rate(MAX_RATE)));
    }
    Ok(rate)
}

/// Parses a ratio in decibels, positive or negative.
fn decibels(cell: &str, unit: &str) -> Result<f64, String> {
    let number = cell.trim_end_matches("dB").trim().parse::<f64>();
    match number {
        Ok(number) if number.is_finite() && ["", "dB"].contains(&unit) => Ok(number),
        _ => Err(format!(
            "= {cell:?} is not a ratio in dB; write for example 10.5"
        )),
    }
}

fn probability(cell: &str, unit: &str) -> Result<rng::Probability, String> {
    let written = Scalar::Text(format!("{cell} {unit}"));
    let read = Probability::read(&written)?;
    rng::Probability::new(read.0).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(data: &str) -> RateTraceTable {
        RateTraceTable {
            data: Some(data.to_owned()),
            ..RateTraceTable::default()
        }
    }

    fn rates(table: RateTraceTable) -> Result<RatePlan, String> {
        RateTraceSpec::Table(table)
            .plan()
            .map_err(|e| e.to_string())
    }

    #[test]
    fn columns_are_found_by_name_and_units_are_of_column_or_cell() {
        let csv =
            "# measured\ntime (s),delay [ms],rate (Mbit/s)\n100.5,40,1.5\n\n101,41,0.0000015\n";
        let plan = rates(table(csv)).unwrap();
        let RateTrace::Steps { timeline, rates } = &*plan.trace else {
            panic!("a CSV trace")
        };
        // A rate of 1.5 bit/s is rounded. Time counts from the first row.
        assert_eq!(*rates, [1_500_000, 2]);
        assert_eq!(timeline.length(), Interval::from_millis(500));
        let cells = "time,rate\n0 s,1 Mbit/s\n10 ms,512 kbit/s\n";
        assert!(is_csv(cells));
        let plan = self::rates(table(cells)).unwrap();
        let RateTrace::Steps { rates, .. } = &*plan.trace else {
            panic!("a CSV trace")
        };
        assert_eq!(*rates, [1_000_000, 512_000]);
    }

    #[test]
    fn a_signal_to_noise_ratio_becomes_the_rate_of_the_best_code() {
        let csv = "time (s),esno (dB)\n0,10\n60,-3.5\n61,6.5\n90,12 dB\n";
        let adaptive = |margin| RateTraceTable {
            symbol_rate: Some(SymbolRate(30_000_000)),
            margin,
            ..table(csv)
        };
        let plan = rates(adaptive(Some(1.0))).unwrap();
        let RateTrace::Steps { rates: found, .. } = &*plan.trace else {
            panic!("a CSV trace")
        };
        // The modulations are 16APSK 2/3, none, 8PSK 3/5 and 16APSK 3/4, at 9.97, 5.5 + 1 and 10.21
        // + 1 dB.
        assert_eq!(*found, [79_116_030, 0, 53_399_730, 89_001_840]);
        let refused = |table: RateTraceTable| rates(table).unwrap_err();
        assert_eq!(
            refused(adaptive(Some(21.0))),
            "margin = 21 is out of range; write 0 to 20 (dB)"
        );
        let single = RateTraceTable {
            symbol_rate: None,
            ..adaptive(Some(1.0))
        };
        assert_eq!(
            refused(single),
            "margin would be ignored; it needs symbol_rate"
        );
        let counted = RateTraceTable {
            data: Some("1\n2\n".to_owned()),
            ..adaptive(None)
        };
        assert_eq!(
            refused(counted),
            "symbol_rate would be ignored; it needs CSV with the columns time and esno"
        );
        let named = RateTraceTable {
            data: Some("time (s),snr\n0,1\n".to_owned()),
            ..adaptive(None)
        };
        assert_eq!(
            refused(named),
            "the scenario from \"data\", line 1: no column \"esno\"; write a first line such as \
             \"time (s),esno (dB)\""
        );
        let worded = RateTraceTable {
            data: Some("time (s),esno (dB)\n0,good\n".to_owned()),
            ..adaptive(None)
        };
        assert!(refused(worded).contains("esno = \"good\" is not a ratio in dB"));
    }

    #[test]
    fn numbers_alone_are_a_packet_delivery_trace() {
        let plan = rates(table("1\n3\n3\n")).unwrap();
        assert_eq!(
            *plan.trace,
            RateTrace::Opportunities {
                times: vec![1, 3, 3]
            }
        );
        assert_eq!(plan.trace.mean(), 12_000_000);
    }

    #[test]
    fn messages_about_a_trace_have_its_line() {
        let with = |change: fn(&mut RateTraceTable), data: &str| {
            let mut table = table(data);
            change(&mut table);
            rates(table).map(|_| ()).unwrap_err()
        };
        let same = |_: &mut RateTraceTable| {};
        for (fault, message) in [
            (
                with(same, "1\n2.5\n"),
                "from \"data\", line 2: \"2.5\" is not a whole number of milliseconds",
            ),
            (
                with(same, "time,speed\n"),
                "from \"data\", line 1: no column \"rate\"; write a first line such as \"time \
                 (s),rate (Mbit/s)\"",
            ),
            (
                with(same, "time (s),rate\n0,5\n"),
                "from \"data\", line 2: rate = \"5\" has no unit; write for example \"5 kbit/s\"",
            ),
            (
                with(same, "time (s),rate (Mbit/s)\n0,5\n1\n"),
                "from \"data\", line 3: 1 values under 2 names; write one for each",
            ),
            (
                with(same, "time (s),rate (Mbit/s)\n0,5\n1,0\n"),
                "from \"data\": the rate is 0 at the end and the link would never send again; \
                 write a rate above 0 in the last row, or repeat = true",
            ),
            (
                with(same, "time (s),rate (Mbit/s)\n0,-5\n"),
                "from \"data\", line 2: rate = \"-5 Mbit/s\" is negative; write a rate of 0 bit/s \
                 or more",
            ),
            (
                with(same, ""),
                "from \"data\": the trace is empty; write at least one row",
            ),
            (
                with(|t| t.repeat = Some(true), "1\n2\n"),
                "repeat would be ignored; a packet-delivery trace begins again at its end",
            ),
            (
                with(
                    |t| t.random_offset = true,
                    "time (s),rate (Mbit/s)\n0,5\n1,6\n",
                ),
                "random_offset needs a trace that repeats; write repeat = true",
            ),
            (
                with(
                    |t| t.offset = Some(Time(Interval::from_secs(2))),
                    "time (s),rate (b/s)\n0,5\n",
                ),
                "offset = \"2 s\" is behind the last row, at \"0 s\"",
            ),
            (
                with(|t| t.file = Some("x".into()), "1\n"),
                "the scenario has both \"file\" and \"data\"; write one of them",
            ),
        ] {
            let fault = fault.replace("the scenario from", "from");
            assert_eq!(fault, message);
        }
    }

    #[test]
    fn a_loss_is_a_number_or_a_percentage() {
        let read = |data: &str| {
            let spec = LossTraceSpec {
                data: Some(data.to_owned()),
                ..LossTraceSpec::default()
            };
            spec.read()
                .map(|(_, losses, _)| losses)
                .map_err(|e| e.to_string())
        };
        let half = rng::Probability::new(0.5).unwrap();
        assert_eq!(read("time (s),loss\n0,0.5\n"), Ok(vec![half]));
        assert_eq!(read("time (s),loss (%)\n0,50\n"), Ok(vec![half]));
        assert!(
            read("time (s),loss\n0,1.5\n")
                .unwrap_err()
                .contains("line 2")
        );
    }

    #[test]
    fn a_random_offset_is_a_share_of_the_length() {
        let mut table = table("10\n");
        table.random_offset = true;
        table.offset = Some(Time(Interval::from_millis(3)));
        let plan = rates(table).unwrap();
        assert_eq!(plan.start.at(0.25), Interval::from_micros(5500));
    }
}
