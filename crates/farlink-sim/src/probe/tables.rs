//! Registry of traces: each table with its columns, their units and definitions, and the event that
//! adds a row.

use farlink_agent::Act;
use farlink_channel::DropCause;
use farlink_link::arq::FrameKind;
use farlink_link::discipline::Reason as DropReason;
use farlink_tcp::congestion::{self, ALGORITHMS};
use farlink_tcp::{Instant, Limit, Mark, Reason};
use serde::{Serialize, Serializer};
use std::sync::LazyLock;

/// A column of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Signed 64-bit numbers: times in nanoseconds.
    I64(Vec<i64>),
    /// Unsigned 64-bit numbers.
    U64(Vec<u64>),
    /// Unsigned 32-bit numbers.
    U32(Vec<u32>),
    /// Unsigned 8-bit numbers.
    U8(Vec<u8>),
    /// Real numbers; NaN where there is no value.
    F64(Vec<f64>),
}

impl Column {
    /// Returns the number of rows.
    #[allow(clippy::len_without_is_empty)] // no caller asks that
    pub fn len(&self) -> usize {
        match self {
            Self::I64(v) => v.len(),
            Self::U64(v) => v.len(),
            Self::U32(v) => v.len(),
            Self::U8(v) => v.len(),
            Self::F64(v) => v.len(),
        }
    }

    /// Returns the values as whole numbers. Negative values become 0.
    pub fn numbers(&self) -> Vec<u64> {
        match self {
            Self::I64(v) => v.iter().map(|&n| n as u64).collect(),
            Self::U64(v) => v.clone(),
            Self::U32(v) => v.iter().map(|&n| n.into()).collect(),
            Self::U8(v) => v.iter().map(|&n| n.into()).collect(),
            Self::F64(v) => v.iter().map(|&x| x as u64).collect(),
        }
    }
}

/// A table of columns of equal length, in order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name.
    pub name: &'static str,
    /// Columns with their names; the first is `time`.
    pub columns: Vec<(&'static str, Column)>,
}

/// Meaning of the numbers of a column.
#[derive(Clone, Copy, Debug)]
pub enum Holds {
    /// Time in nanoseconds, shown in seconds.
    Time,
    /// Time in nanoseconds, shown in seconds; 0 means no value.
    TimeOrNone,
    /// Time in nanoseconds, shown in seconds; the largest of the type means no value.
    TimeOrNever,
    /// Whole numbers.
    Whole,
    /// Whole numbers; the largest of the type means no value.
    WholeOrNone,
    /// Whole numbers; the largest of the type means no limit.
    Window,
    /// Real numbers; NaN means no value.
    Real,
    /// Flag.
    Flag,
    /// Indices into the scenario's flows.
    Flow,
    /// Indices into the scenario's links.
    Link,
    /// Indices into this list of names.
    Name(fn() -> Vec<&'static str>),
    /// Indices into this list of names; the largest of the type means none.
    NameOrNone(fn() -> Vec<&'static str>),
}

/// A column of a trace.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TraceColumn {
    /// Name.
    pub name: &'static str,
    /// Unit; empty for numbers without one, names and flags.
    pub unit: &'static str,
    /// Meaning of the stored numbers.
    #[serde(rename = "names", serialize_with = "names_of")]
    pub holds: Holds,
    /// Definition; empty if the name is clear enough.
    pub definition: &'static str,
}

/// Serializes the list of names that may occur in a column.
fn names_of<S: Serializer>(holds: &Holds, serializer: S) -> Result<S::Ok, S::Error> {
    let names = match holds {
        Holds::Name(names) | Holds::NameOrNone(names) => names(),
        _ => Vec::new(),
    };
    serializer.collect_seq(names)
}

/// A trace.
#[derive(Clone, Debug, Serialize)]
pub struct TraceKind {
    /// Name.
    pub name: &'static str,
    /// Name of the engine's table that has the columns.
    pub table: &'static str,
    /// Columns in order.
    pub columns: Vec<TraceColumn>,
    /// Event that adds a row.
    pub when: &'static str,
}

/// A quantity of the trace `control`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantity {
    /// Congestion control that reports the quantity.
    pub algorithm: &'static str,
    /// Name.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Definition.
    pub definition: &'static str,
}

const fn column(
    name: &'static str,
    unit: &'static str,
    holds: Holds,
    definition: &'static str,
) -> TraceColumn {
    TraceColumn {
        name,
        unit,
        holds,
        definition: farlink_small::reference(definition),
    }
}

const TIME: TraceColumn = column("time", "s", Holds::Time, "");
const FLOW: TraceColumn = column("flow", "", Holds::Flow, "");
const SIDE: TraceColumn = column("side", "", Holds::Name(sides), "");
const AGENT: TraceColumn = column("agent", "", Holds::Whole, "its place in the list");
const LINK: TraceColumn = column("link", "", Holds::Link, "");
const DIRECTION: TraceColumn = column("direction", "", Holds::Name(directions), "");

/// Returns the names of the ends of a flow; data goes from `from` to `to`.
fn sides() -> Vec<&'static str> {
    vec!["from", "to"]
}

fn directions() -> Vec<&'static str> {
    vec!["down", "up"]
}

/// Returns the names of the drop causes, in the order of their numbers in traces.
pub fn drop_causes() -> Vec<&'static str> {
    DropCause::ALL.iter().map(|cause| cause.name()).collect()
}

/// Returns the names of the reasons of drops by queues, in the order of their numbers in traces.
fn drop_reasons() -> Vec<&'static str> {
    DropReason::ALL.map(DropReason::name).to_vec()
}

/// Returns the names of the ECN codepoints, in the order of their bits.
fn codepoints() -> Vec<&'static str> {
    vec!["not_ect", "ect1", "ect0", "ce"]
}

/// Returns the names of the sender's limits, in the order of their numbers in traces.
pub fn limits() -> Vec<&'static str> {
    Limit::ALL.map(Limit::name).to_vec()
}

/// Returns the names of the frame kinds, in the order of their numbers in traces.
pub fn frame_kinds() -> Vec<&'static str> {
    FrameKind::NAMES.to_vec()
}

/// Returns the names of the reasons for which packets are sent, in the order of their numbers in
/// traces.
pub fn reasons() -> Vec<&'static str> {
    Reason::ALL.iter().map(|reason| reason.name()).collect()
}

fn acts() -> Vec<&'static str> {
    Act::ALL.map(Act::name).to_vec()
}

fn places() -> Vec<&'static str> {
    vec!["from", "wired", "wireless", "to"]
}

fn marks() -> Vec<&'static str> {
    Mark::ALL.map(Mark::name).to_vec()
}

/// Returns each quantity that a congestion control reports to the trace `control`.
pub fn quantities() -> Vec<Quantity> {
    let of = |algorithm: &&'static congestion::Algorithm| {
        let metrics = algorithm.metrics.iter();
        let algorithm = algorithm.name;
        metrics.map(move |metric| Quantity {
            algorithm,
            name: metric.name,
            unit: metric.unit,
            definition: metric.doc,
        })
    };
    ALGORITHMS.iter().flat_map(of).collect()
}

/// Names of all quantities without repetition, in the order of their numbers in traces.
pub(crate) static QUANTITIES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut names: Vec<_> = quantities().iter().map(|quantity| quantity.name).collect();
    names.sort_unstable();
    names.dedup();
    names
});

/// Returns the names of all quantities, with those of added algorithms at the end.
fn quantity_names() -> Vec<&'static str> {
    let mut names = QUANTITIES.clone();
    names.extend(congestion::metric_names());
    names
}

/// Returns the number of a quantity in traces. Only an added algorithm needs the registry.
pub(crate) fn quantity_number(name: &str) -> u8 {
    let same = |other: &&str| *other == name;
    // Most names are those of the table itself, which need no comparison of texts.
    let is_it = |other: &&str| std::ptr::eq(*other, name);
    let own = QUANTITIES.iter().position(is_it);
    let own = own.or_else(|| QUANTITIES.iter().position(same));
    let number = own.or_else(|| quantity_names().iter().position(same));
    number
        .and_then(|n| u8::try_from(n).ok())
        .unwrap_or_default()
}

/// Time, flow and side of a row of an end.
pub(super) type AtEnd = (Instant, u32, u8);

/// Row of a table.
pub(super) trait Row: Copy + Send + 'static {
    /// Name of the table.
    const NAME: &'static str;

    /// Returns the time of the row's event.
    fn time(&self) -> Instant;

    /// Returns the number of the link direction of the row, 0 for a row of a flow.
    fn lane(&self) -> usize;

    /// Returns rows as columns.
    fn columns(rows: &[Self]) -> Table;
}

/// Declares the tables: the type of a row, and the columns that its fields are stored in. A row
/// belongs to an `end` of a flow, a `flow` or a `link`.
macro_rules! tables {
    ($($row:ident $name:literal $of:ident $when:literal {
        $($field:ident $ty:ident $column:ident $holds:expr, $unit:literal $doc:literal;)*
    })*) => {
        $(tables!(@$of $row $name { $($field $ty $column)* });)*

        /// Returns each table as (name, common columns, own columns, event that adds a row).
        fn all() -> Vec<(&'static str, &'static [TraceColumn], Vec<TraceColumn>, &'static str)> {
            vec![$((
                $name,
                tables!(@$of),
                vec![$(column(stringify!($field), $unit, $holds, $doc)),*],
                farlink_small::reference($when),
            )),*]
        }
    };
    (@end) => { &[TIME, FLOW, SIDE] };
    (@flow) => { &[TIME, FLOW] };
    (@agent) => { &[TIME, AGENT] };
    (@link) => { &[TIME, LINK, DIRECTION] };
    (@end $row:ident $name:literal { $($field:ident $ty:ident $column:ident)* }) => {
        tables!(@row $row $name |_| 0; { flow u32 U32 side u8 U8 $($field $ty $column)* });

        impl $row {
            pub(super) fn of((time, flow, side): AtEnd, $($field: $ty),*) -> Self {
                Self { time, flow, side, $($field),* }
            }
        }
    };
    (@flow $row:ident $name:literal { $($rest:tt)* }) => {
        tables!(@row $row $name |_| 0; { flow u32 U32 $($rest)* });
    };
    (@agent $row:ident $name:literal { $($rest:tt)* }) => {
        tables!(@row $row $name |_| 0; { agent u32 U32 $($rest)* });
    };
    (@link $row:ident $name:literal { $($rest:tt)* }) => {
        tables!(@row $row $name |row| 2 * row.link as usize + usize::from(row.direction); {
            link u32 U32 direction u8 U8 $($rest)*
        });
    };
    (@row $row:ident $name:literal $lane:expr; { $($field:ident $ty:ident $column:ident)* }) => {
        #[derive(Clone, Copy, Debug)]
        #[allow(clippy::struct_field_names)] // the field's names: `rtt` of an `Rtt`
        pub(crate) struct $row {
            pub(crate) time: Instant,
            $(pub(crate) $field: $ty,)*
        }

        impl Row for $row {
            const NAME: &'static str = $name;

            fn time(&self) -> Instant {
                self.time
            }

            fn lane(&self) -> usize {
                let of: fn(&Self) -> usize = $lane;
                of(self)
            }

            fn columns(rows: &[Self]) -> Table {
                let time = rows.iter().map(|r| r.time.as_nanos() as i64).collect();
                Table {
                    name: Self::NAME,
                    columns: vec![
                        ("time", Column::I64(time)),
                        $((stringify!($field), Column::$column(rows.iter().map(|r| r.$field).collect())),)*
                    ],
                }
            }
        }
    };
}

tables! {
    State "state" end "an ACK, a time-out or a loss changed the sender's state" {
        cwnd u64 U64 Holds::Window, "B" "congestion window with the inflation of recovery; infinite for a TCP without one";
        ssthresh u64 U64 Holds::Window, "B" "slow-start threshold, infinite while unlimited";
        flight u64 U64 Holds::Whole, "B" "data sent, and neither acknowledged nor presumed lost; retransmissions count again";
        srtt u64 U64 Holds::TimeOrNone, "s" "smoothed round-trip time; none before the first sample";
        rto u64 U64 Holds::Time, "s" "retransmission time-out in force";
    }
    Inner "control" end "a quantity of the congestion control has changed" {
        quantity u8 U8 Holds::Name(quantity_names), "" "name of the quantity (below)";
        value f64 F64 Holds::Real, "" "value in the unit below; none where it is unknown";
    }
    Rtt "rtt" end "a sample was taken" {
        rtt u64 U64 Holds::Time, "s" "a sample of the estimator";
    }
    Sent "segments" end "a segment with data, or a datagram, left" {
        seq u64 U64 Holds::Whole, "B" "";
        len u32 U32 Holds::Whole, "B" "";
        retransmission u8 U8 Holds::Flag, "" "true if some of its data was sent before";
    }
    Ack "acks" end "an ACK arrived" {
        ack u64 U64 Holds::Whole, "B" "";
        window u64 U64 Holds::Whole, "B" "the offered window ends at `ack` + `window`";
    }
    Sack "sacks" end "a block with new information arrived" {
        left u64 U64 Holds::Whole, "B" "first byte of a SACK block";
        right u64 U64 Holds::Whole, "B" "end of the block, behind its last byte";
    }
    Moment "marks" end "that happened" {
        kind u8 U8 Holds::Name(marks), "" "";
    }
    Limited "limits" end "the cause changed; it holds until the next row" {
        limit u8 U8 Holds::Name(limits), "" "cause that keeps the end from sending more, as the metrics `limited_...` define it. The \
         wait for an RTO begins before the timer expires, as in the metric";
    }
    Delivered "delivered" end "the application got data" {
        bytes u64 U64 Holds::Whole, "B" "bytes delivered in order so far";
    }
    Came "arrivals" end "a segment with data came to an open connection; `side` is the receiving end" {
        seq u64 U64 Holds::Whole, "B" "";
        len u32 U32 Holds::Whole, "B" "";
        duplicate u8 U8 Holds::Flag, "" "true if all of its data had arrived before";
        out_of_order u8 U8 Holds::Flag, "" "true if earlier data was missing";
    }
    Arrived "datagrams" flow "the first copy of a datagram arrived" {
        number u64 U64 Holds::Whole, "" "from 0";
        bytes u32 U32 Holds::Whole, "B" "";
        delay u64 U64 Holds::Time, "s" "one-way delay from the sending program";
    }
    Queue "queue" link "a packet joined or left" {
        packets u32 U32 Holds::Whole, "packets" "packets that wait for the transmitter, without the packet being sent";
        bytes u64 U64 Holds::Whole, "B" "the same";
    }
    Delivery "deliveries" link "a packet came to the far end" {
        flow u32 U32 Holds::Flow, "" "";
        bytes u32 U32 Holds::Whole, "B" "";
    }
    Lost "drops" link "a packet was lost" {
        flow u32 U32 Holds::Flow, "" "";
        bytes u32 U32 Holds::Whole, "B" "";
        seq u64 U64 Holds::WholeOrNone, "B" "none without data";
        cause u8 U8 Holds::Name(drop_causes), "" "";
        reason u8 U8 Holds::NameOrNone(drop_reasons), "" "reason of a drop by a queue: full, aqm (the control law) or redundant (the ACK filter); none \
         for other losses";
    }
    Sojourn "sojourns" link "a packet left the queue for the transmitter; not on a link with a protocol" {
        flow u32 U32 Holds::Flow, "" "";
        bytes u32 U32 Holds::Whole, "B" "";
        sojourn u64 U64 Holds::Time, "s" "time in the queue, up to the beginning of the transmission";
    }
    Marked "queue_marks" link "a queue marked a packet (CE)" {
        flow u32 U32 Holds::Flow, "" "";
        bytes u32 U32 Holds::Whole, "B" "";
        codepoint u8 U8 Holds::Name(codepoints), "" "codepoint before the mark: ect1 with L4S, ect0 otherwise";
    }
    Acted "agent" agent "an agent did something" {
        action u8 U8 Holds::Name(acts), "" "";
        flow u32 U32 Holds::Flow, "" "";
        seq u64 U64 Holds::WholeOrNone, "B" "place of its data in the stream";
    }
    Passage "passages" flow "a packet over TCP left or came to an end, or crossed the node of an agent, in a scenario with agents" {
        place u8 U8 Holds::Name(places), "" "an end of the flow, or the side of the agent's node: wireless is the link that it \
         serves, wired the others";
        tap u64 U64 Holds::WholeOrNone, "" "number of the agent's node and link, in the order of the scenario, each pair once";
        leaves u8 U8 Holds::Flag, "" "true if the packet leaves there, false if it arrives";
        forward u8 U8 Holds::Flag, "" "true if the packet goes in the direction of the flow's data";
        ident u32 U32 Holds::Whole, "" "identification in the IP header";
        flags u8 U8 Holds::Whole, "" "flags of the TCP header";
        seq u64 U64 Holds::WholeOrNone, "B" "none without data";
        len u32 U32 Holds::Whole, "B" "";
        ack u64 U64 Holds::WholeOrNone, "B" "acknowledged place in the stream of the other direction";
    }
    Crossed "packets" link "a packet was offered to the link, in a trace that was asked for packets" {
        flow u32 U32 Holds::Flow, "" "";
        number u32 U32 Holds::Whole, "" "of the packet, the same on all its links and for its copies and fragments";
        forward u8 U8 Holds::Flag, "" "true if the packet goes in the direction of the flow's data";
        seq u64 U64 Holds::WholeOrNone, "B" "none without data";
        len u32 U32 Holds::Whole, "B" "data; of the whole packet in a fragment";
        ack u64 U64 Holds::WholeOrNone, "B" "acknowledged place in the stream of the other direction";
        window u64 U64 Holds::Whole, "B" "offered window";
        flags u8 U8 Holds::Whole, "" "flags of the TCP header";
        sacks u8 U8 Holds::Whole, "" "number of SACK blocks";
        bytes u32 U32 Holds::Whole, "B" "IP length";
        fragment u64 U64 Holds::WholeOrNone, "B" "place of a fragment in its packet; none for a whole packet";
        retransmission u8 U8 Holds::Flag, "" "true if some of its data was sent before";
        reason u8 U8 Holds::Name(reasons), "" "why the packet was sent";
        departure u64 U64 Holds::TimeOrNever, "s" "its transmission began; none if it did not leave";
        transmissions u8 U8 Holds::Whole, "" "on this link: 0 if it did not leave, more than 1 with ARQ";
        arrival u64 U64 Holds::TimeOrNever, "s" "at the far end; none if it was lost or still on its way at the end";
        lost u64 U64 Holds::TimeOrNever, "s" "time of its loss; none if it was not lost here";
        cause u8 U8 Holds::NameOrNone(drop_causes), "" "cause of the loss; empty if it was not lost here";
    }
    Framed "frames" link "a frame of a link with a protocol had been sent" {
        frame u8 U8 Holds::Name(frame_kinds), "" "";
        ns u8 U8 Holds::Whole, "" "modulo the modulus";
        nr u8 U8 Holds::Whole, "" "modulo the modulus";
        poll u8 U8 Holds::Flag, "" "P or F";
        bytes u32 U32 Holds::Whole, "B" "on the wire";
        retransmission u8 U8 Holds::Flag, "" "";
        lost u8 U8 Holds::Flag, "" "";
    }
}

/// Returns all columns of the table with this name.
pub fn columns_of(table: &str) -> Vec<TraceColumn> {
    let entry = all().into_iter().find(|item| item.0 == table);
    entry.map_or_else(Vec::new, |(_, common, own, _)| [common, &own].concat())
}

/// Returns all traces. Each table gives one trace, with two exceptions. The table `state` gives a
/// trace for each of its columns. The table `deliveries` gives the trace `throughput`, averaged
/// over bins of time.
pub fn traces() -> Vec<TraceKind> {
    let mut traces = Vec::new();
    for (table, common, own, when) in all() {
        let mut add = |name, own: &[TraceColumn], when| {
            let columns = [common, own].concat();
            traces.push(TraceKind {
                name,
                table,
                columns,
                when,
            });
        };
        match table {
            "state" => {
                for item in own {
                    add(item.name, &[item], when);
                }
            }
            "deliveries" => {
                let doc = "IP bytes that arrived at the far end during a bin, over the bin's width; `time` is the \
                 middle of the bin";
                let item = column("throughput", "bit/s", Holds::Real, doc);
                add(
                    item.name,
                    &[item],
                    "for each bin in which the link direction carried data",
                );
            }
            _ => add(table, &own, when),
        }
    }
    traces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Probes;

    /// The registry describes each column of a table, in the table's order.
    #[test]
    fn every_column_is_described() {
        for table in all_probes().into_tables() {
            let names: Vec<_> = table.columns.iter().map(|column| column.0).collect();
            let described: Vec<_> = columns_of(table.name).iter().map(|c| c.name).collect();
            assert_eq!(names, described, "{}", table.name);
        }
        assert_eq!(all_probes().into_tables().len(), all().len());
        assert_eq!(Probes::default().into_tables().len(), all().len() - 1);
    }

    fn all_probes() -> Probes {
        Probes {
            packets: Some(Box::default()),
            ..Probes::default()
        }
    }

    /// The number of a quantity fits 8 bits. A quantity has the same unit in all congestion
    /// controls, so its plot needs one axis.
    #[test]
    fn quantities_fit() {
        assert!(QUANTITIES.len() < 256);
        for quantity in quantities() {
            assert!(!quantity.definition.is_empty());
            let same = quantities();
            let mut same = same.iter().filter(|other| other.name == quantity.name);
            assert!(
                same.all(|other| other.unit == quantity.unit),
                "{}",
                quantity.name
            );
        }
    }
}
