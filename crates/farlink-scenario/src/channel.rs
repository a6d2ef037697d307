//! Groups of stages of a channel: their order, their checks, and the stages without a file of their
//! own. The other stages are in `process`.

use std::fmt;

use farlink_channel::{ChannelError, Stage};
use farlink_tcp::time::Interval;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::burst::Burst;
use super::checks::{HOUR, ZERO, at_most, fault};
use super::decode::Problem;
use super::process::{
    ByteErrorsSpec, CongestionSpec, InternetDelaySpec, MobileSpec, OrbitSpec, OutageSpec, Place,
    ProcessSpec, RadioSpec, RayleighSpec, ReconfigurationSpec, SatelliteSpec, ScriptedLossSpec,
};
use super::table::table;
use super::trace::{DelayTraceSpec, LossTraceSpec};
use super::units::{Probability, Time};

/// Groups of stages of a channel, in the order in the scenario.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Channel(pub Vec<ChannelSpec>);

impl Serialize for Channel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [] => ChannelSpec::default().serialize(serializer),
            [table] => table.serialize(serializer),
            tables => tables.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Channel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Channel;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table such as { ber = 1e-6 }, or a list of such tables")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Channel, A::Error> {
                let table = ChannelSpec::deserialize(MapAccessDeserializer::new(map))?;
                let empty = table == ChannelSpec::default();
                Ok(Channel(if empty { Vec::new() } else { vec![table] }))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Channel, A::Error> {
                let mut tables = Vec::deserialize(SeqAccessDeserializer::new(list))?;
                tables.retain(|table| *table != ChannelSpec::default());
                Ok(Channel(tables))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl JsonSchema for Channel {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Stages".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<ChannelSpec>();
        json_schema!({
            "title": "table or list of tables",
            "anyOf": [table, { "type": "array", "items": table }],
        })
    }
}

table! {
    /// Stages of a channel in the standard order. Each key of the table adds a stage.
    #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
    pub struct ChannelSpec {
        /// Losses in bursts (Gilbert 1960, Elliott 1963), per packet or in time.
        gilbert?: GilbertSpec;
        /// Probability that a packet is lost, independent of its length.
        loss?: Probability;
        /// Bit error rate. A packet of n bytes, with `overhead`, is lost if more than
        /// `correctable_bits` of its 8n bits are wrong.
        ber?: Probability;
        /// Number of bit errors that are corrected in each packet. Needs `ber`.
        correctable_bits?: u32;
        /// States "clear sky" and "rain" of a satellite link, changing per packet (Leung 1998).
        satellite?: SatelliteSpec;
        /// Handoffs and fades of a mobile, in time (Leung 1998).
        mobile?: MobileSpec;
        /// Periods of congestion, in time (Wong 1998).
        congestion?: CongestionSpec;
        /// Errors at random distances in bytes, which make a checksum wrong (West and Vaidya 1997).
        byte_errors?: ByteErrorsSpec;
        /// Fades of a Rayleigh channel, in time or per packet.
        rayleigh?: RayleighSpec;
        /// A radio of IEEE 802.15.4, whose loss depends on distance and packet length.
        radio?: RadioSpec;
        /// Probability of loss from a trace.
        loss_trace?: LossTraceSpec;
        /// Outages: times at which no packet passes.
        outage?: OutageSpec;
        /// Loss of the packets with given numbers.
        scripted_loss?: ScriptedLossSpec;
        /// Probability that a packet arrives with changed bits.
        corrupt?: Probability;
        /// Probability that a packet arrives twice.
        duplicate?: Probability;
        /// Packets that are held so that later packets overtake them.
        reorder?: ReorderSpec;
        /// Random extra delay.
        jitter?: JitterSpec;
        /// Delay of the Internet part of the path (Leung 1998).
        internet_delay?: InternetDelaySpec;
        /// Extra delay from a trace.
        delay_trace?: DelayTraceSpec;
        /// Delay and handovers of satellites on circular orbits.
        orbit?: OrbitSpec;
        /// Changes of the path at a fixed interval, as on today's LEO services.
        reconfiguration?: ReconfigurationSpec;
    }
}

table! {
    /// Burst losses, by `loss` and `burst`, or by `p` and `r` with optional `h` and `k`.
    #[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
    pub struct GilbertSpec {
        /// Mean loss, as a probability below 1.
        loss?: Probability;
        /// Mean length of a burst. A number of packets (1 or more) makes a chain that changes per
        /// packet. A time makes a chain that changes in time, independent of the traffic.
        burst?: Burst;
        /// Probability of a change from the good to the bad state, per packet.
        p?: Probability;
        /// Probability of a change from the bad to the good state, per packet.
        r?: Probability;
        /// Probability of delivery in the bad state; 0 by default.
        h?: Probability;
        /// Probability of delivery in the good state; 1 by default.
        k?: Probability;
    }
}

table! {
    /// Reordering of packets.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct ReorderSpec {
        /// Probability that a packet is held.
        probability: Probability;
        /// Time for which a packet is held.
        delay: Time, in ZERO..=HOUR;
    }
}

table! {
    /// Random extra delay, drawn for each packet.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct JitterSpec {
        /// Distribution of the extra delay.
        distribution: Distribution;
        /// Mean of the extra delay. For "normal" the mean before values below 0 s are drawn again.
        mean: Time, in ZERO..=HOUR;
        /// Width parameter: for "uniform" half the width, at most the mean; for "normal" the
        /// standard deviation.
        spread?: Time, in ZERO..=HOUR;
        /// Keep packets in order: a packet waits for earlier packets.
        #[serde(default = "crate::defaults::on")]
        keep_order: bool;
    }
}

/// Distributions of jitter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// From mean - spread to mean + spread.
    Uniform,
    /// Normal distribution; values below 0 are drawn again.
    Normal,
    /// Exponential.
    Exponential,
}

/// A key of [`ChannelSpec`], and its process if the scenario has the key.
type Entry<'a> = (&'static str, Option<&'a dyn ProcessSpec>);

/// Builds the entry of a key.
fn entry<'a, T: ProcessSpec>(key: &'static str, spec: Option<&'a T>) -> Entry<'a> {
    (key, spec.map(|spec| spec as &dyn ProcessSpec))
}

/// Adds the stage of each process that the scenario has.
fn add(
    entries: &[Entry<'_>],
    place: &Place<'_>,
    stages: &mut Vec<Stage>,
) -> Result<(), ChannelError> {
    for spec in entries.iter().filter_map(|(_, spec)| *spec) {
        stages.push(Stage::Process(spec.build(place)?));
    }
    Ok(())
}

/// Returns whether a process is shared and differs from the process of the opposite direction.
fn differs<T: Copy + PartialEq>(here: Option<T>, there: Option<T>, shared: fn(T) -> bool) -> bool {
    here.is_some_and(shared) && here != there
}

impl ChannelSpec {
    /// Lists the processes that lose or damage packets, in the standard order.
    fn loss_entries(&self) -> [Entry<'_>; 9] {
        [
            entry("satellite", self.satellite.as_ref()),
            entry("mobile", self.mobile.as_ref()),
            entry("congestion", self.congestion.as_ref()),
            entry("byte_errors", self.byte_errors.as_ref()),
            entry("rayleigh", self.rayleigh.as_ref()),
            entry("radio", self.radio.as_ref()),
            entry("loss_trace", self.loss_trace.as_ref()),
            entry("outage", self.outage.as_ref()),
            entry("scripted_loss", self.scripted_loss.as_ref()),
        ]
    }

    /// Lists the processes that delay packets, in the standard order.
    fn delay_entries(&self) -> [Entry<'_>; 4] {
        [
            entry("internet_delay", self.internet_delay.as_ref()),
            entry("delay_trace", self.delay_trace.as_ref()),
            entry("orbit", self.orbit.as_ref()),
            entry("reconfiguration", self.reconfiguration.as_ref()),
        ]
    }

    /// Adds the processes that lose or damage packets.
    ///
    /// # Errors
    /// Values that are invalid together with those of the link.
    pub fn losses(&self, place: &Place<'_>, stages: &mut Vec<Stage>) -> Result<(), ChannelError> {
        add(&self.loss_entries(), place, stages)
    }

    /// Adds the processes that delay packets.
    ///
    /// # Errors
    /// Values that are invalid together with those of the link.
    pub fn delays(&self, place: &Place<'_>, stages: &mut Vec<Stage>) -> Result<(), ChannelError> {
        add(&self.delay_entries(), place, stages)
    }

    /// Checks the keys of each process.
    fn check_processes(&self) -> Result<(), Problem> {
        for (key, spec) in self.loss_entries().into_iter().chain(self.delay_entries()) {
            if let Some(spec) = spec {
                spec.check().map_err(|problem| problem.within(key))?;
            }
        }
        Ok(())
    }

    /// Returns the key of the first process with `shared = true` that differs from the process with
    /// the same key in `other`, the table of the opposite direction.
    fn not_shared(&self, other: Option<&Self>) -> Option<&'static str> {
        let none = Self::default();
        let other = other.unwrap_or(&none);
        if differs(self.congestion, other.congestion, |spec| spec.shared) {
            Some("congestion")
        } else if differs(self.mobile, other.mobile, |spec| spec.shared) {
            Some("mobile")
        } else if differs(self.rayleigh, other.rayleigh, |spec| spec.shared) {
            Some("rayleigh")
        } else if differs(self.reconfiguration, other.reconfiguration, |spec| {
            spec.shared
        }) {
            Some("reconfiguration")
        } else {
            None
        }
    }
}

/// Checks that both directions have every shared process, with the same values.
pub(super) fn check_shared(down: &[ChannelSpec], up: &[ChannelSpec]) -> Result<(), Problem> {
    for (key, here, there, other) in [("down", down, up, "up"), ("up", up, down, "down")] {
        for (i, table) in here.iter().enumerate() {
            let Some(process) = table.not_shared(there.get(i)) else {
                continue;
            };
            let message = format!(
                "= true, but {other} has no such stage with the same values; write it there too"
            );
            let problem = fault("shared", message).within(process);
            return Err(in_table(problem, i, here).within(key));
        }
    }
    Ok(())
}

/// Puts the path of table `i` before the path of a problem. A single table has no number.
fn in_table(problem: Problem, i: usize, tables: &[ChannelSpec]) -> Problem {
    let problem = if tables.len() > 1 {
        problem.within(i)
    } else {
        problem
    };
    problem.within("channel")
}

/// Checks each table of stages. Paths in errors begin with `channel`.
pub(super) fn check(stages: &[ChannelSpec]) -> Result<(), Problem> {
    for (i, stage) in stages.iter().enumerate() {
        one(stage).map_err(|problem| in_table(problem, i, stages))?;
    }
    Ok(())
}

fn one(stage: &ChannelSpec) -> Result<(), Problem> {
    if stage.correctable_bits.is_some() && stage.ber.is_none() {
        return Err(fault("correctable_bits", "would be ignored; it needs ber"));
    }
    if let Some(gilbert) = &stage.gilbert {
        check_gilbert(gilbert).map_err(|problem| problem.within("gilbert"))?;
    }
    if let Some(reorder) = &stage.reorder {
        let checked = reorder.check_keys();
        checked.map_err(|problem| problem.within("reorder"))?;
    }
    if let Some(jitter) = &stage.jitter {
        check_jitter(jitter).map_err(|problem| problem.within("jitter"))?;
    }
    stage.check_processes()
}

fn check_gilbert(gilbert: &GilbertSpec) -> Result<(), Problem> {
    const FORMS: &str = "write { loss = 0.05, burst = 4 } or { p = 0.01, r = 0.25 }";
    let means = gilbert.loss.is_some() || gilbert.burst.is_some();
    let chain = [
        ("p", gilbert.p),
        ("r", gilbert.r),
        ("h", gilbert.h),
        ("k", gilbert.k),
    ];
    if means {
        if let Some((key, _)) = chain.iter().find(|(_, value)| value.is_some()) {
            return Err(fault(
                key,
                format!("would be ignored beside loss and burst; {FORMS}"),
            ));
        }
        let (Some(loss), Some(burst)) = (gilbert.loss, gilbert.burst) else {
            let absent = if gilbert.loss.is_none() {
                "loss"
            } else {
                "burst"
            };
            return Err(Problem::new([], format!("has no {absent:?}; {FORMS}")));
        };
        let burst = match burst {
            Burst::Packets(packets) => packets,
            Burst::Time(time) => return check_burst_time(time, loss.0),
        };
        if !(1.0..=1e9).contains(&burst) {
            return Err(fault(
                "burst",
                format!("= {burst} is out of range; write 1 to 1e9 packets"),
            ));
        }
        // At least one packet must pass between two bursts, so p = r loss / (1 - loss) <= 1.
        let max = burst / (burst + 1.0);
        if loss.0 > max {
            let message = format!(
                "= {} cannot be reached with bursts of {burst} packets; write at most {:.4}, or \
                 longer bursts",
                loss.0,
                (max * 1e4).floor() / 1e4
            );
            return Err(fault("loss", message));
        }
        return Ok(());
    }
    match (gilbert.p, gilbert.r) {
        (Some(p), Some(r)) if p.0 == 0.0 && r.0 == 0.0 => Err(fault(
            "p",
            "= 0 with r = 0 never changes the state; write one of them above 0",
        )),
        (Some(_), Some(_)) => Ok(()),
        (None, None) => Err(Problem::new([], format!("says too little; {FORMS}"))),
        (None, _) => Err(Problem::new([], format!("has no \"p\"; {FORMS}"))),
        (_, None) => Err(Problem::new([], format!("has no \"r\"; {FORMS}"))),
    }
}

fn check_burst_time(time: Time, loss: f64) -> Result<(), Problem> {
    if time.0.is_zero() {
        return Err(fault(
            "burst",
            "= \"0 s\" is no burst; write a time, \"16.7 ms\"",
        ));
    }
    at_most("burst", time, Interval::from_secs(3600))?;
    if loss == 1.0 {
        let message = "= 1 leaves no time between bursts; write a loss below 1";
        return Err(fault("loss", message));
    }
    Ok(())
}

pub(super) fn check_jitter(jitter: &JitterSpec) -> Result<(), Problem> {
    jitter.check_keys()?;
    match (jitter.distribution, jitter.spread) {
        (Distribution::Exponential, Some(_)) => Err(fault(
            "spread",
            "would be ignored; the mean of an exponential distribution is its spread",
        )),
        (Distribution::Uniform | Distribution::Normal, None) => Err(Problem::new(
            [],
            "has no \"spread\"; write for example spread = \"5 ms\"",
        )),
        (Distribution::Uniform, Some(spread)) if spread > jitter.mean => Err(fault(
            "spread",
            format!(
                "= \"{spread}\" is above the mean, \"{}\"; a delay is not negative",
                jitter.mean
            ),
        )),
        (Distribution::Exponential, None) | (_, Some(_)) => Ok(()),
    }
}
