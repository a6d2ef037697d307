//! Queue discipline in a scenario.

use std::fmt;

use farlink_channel::rng::Stream;
use farlink_link::LinkConfig;
use farlink_link::discipline::{
    CobaltConfig, Codel, CodelConfig, Custom, Discipline, DualPi2, DualPi2Config, Fair, FairConfig,
    FairQueue, HeadDrop, LONGEST_PACKET, Pie, PieConfig, Red, RedConfig,
};
use farlink_tcp::Interval;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::cake::{AckFilterName, FramingName, IsolationName, TinsName};
use super::checks::fault;
use super::decode::Problem;
use super::python_class::PythonClass;
use super::table::table;
use super::units::{Probability, Rate, Size, Time};

const FORMS: &str = "\"fq-codel\" or { method = \"codel\", target = \"20 ms\" }";
/// Rest of the message on `method = "python"` without a class.
const PYTHON: &str = "= \"python\" has no class; name the class in the command: --set \
                      links.satellite.down.discipline=drop.py:Dropper";

const SHORTEST: Time = Time(Interval::from_micros(1));
const HOUR: Time = Time(Interval::from_secs(3600));

/// Length in bytes of a packet on Ethernet, which the disciplines' defaults are made for.
const MTU: u32 = LONGEST_PACKET;

/// Queue discipline of a direction: its method, or a table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DisciplineSpec(DisciplineTable);

table! {
    /// Queue discipline.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct DisciplineTable for method: DisciplineName {
        /// Method.
        method: DisciplineName;
        /// Class that decides on drops and marks.
        class?: PythonClass, of [Python];
        /// Queueing delay that may persist.
        target?: Time, in SHORTEST..=HOUR, of [
            Codel = Time(CodelConfig::default().target), FqCodel = Time(CodelConfig::default().target),
            Cobalt = Time(CodelConfig::default().target), FqCobalt = Time(CodelConfig::default().target),
            Cake = Time(CodelConfig::default().target),
            Pie = Time(PieConfig::default().target), FqPie = Time(PieConfig::default().target),
            Dualpi2 = Time(DualPi2Config::default().target)];
        /// Time above `target` before the first drop: the longest usual round trip.
        interval?: Time = Time(CodelConfig::default().interval), in SHORTEST..=HOUR, of [Codel, FqCodel, Cobalt, FqCobalt, Cake];
        /// Sojourn time above which every ECN-capable packet is marked.
        ce_threshold?: Time, in SHORTEST..=HOUR, of [Codel, FqCodel];
        /// Time between two updates of the probability.
        update?: Time, in SHORTEST..=HOUR, of [
            Pie = Time(PieConfig::default().update), FqPie = Time(PieConfig::default().update),
            Dualpi2 = Time(DualPi2Config::default().update)];
        /// Weight of the distance from `target`, in 1/s.
        alpha?: f64, in 0.0..=1000.0, of [
            Pie = PieConfig::default().alpha, FqPie = PieConfig::default().alpha,
            Dualpi2 = DualPi2Config::default().alpha];
        /// Weight of the change of the delay, in 1/s.
        beta?: f64, in 0.0..=1000.0, of [
            Pie = PieConfig::default().beta, FqPie = PieConfig::default().beta,
            Dualpi2 = DualPi2Config::default().beta];
        /// Time without drops after an idle queue.
        burst?: Time = Time(PieConfig::default().burst), in Time(Interval::ZERO)..=HOUR, of [Pie, FqPie];
        /// Mark ECN-capable packets instead of dropping them.
        ecn?: bool = true, of [Codel, FqCodel, Cobalt, FqCobalt, Pie, FqPie, Red];
        /// Number of queues that flows are hashed to.
        queues?: u32 = 1024, in 1..=65_536, of [Drr, FqCodel, FqPie, FqCobalt];
        /// Bytes that a queue may send in its turn.
        quantum?: Size = Size(1514), in Size(1)..=Size(1 << 30), of [Drr, FqCodel, FqPie, FqCobalt];
        /// Mean queue in packets below which nothing is dropped.
        min?: f64 = 5.0, in 0.0..=1e6, of [Red];
        /// Mean queue in packets at which `probability` is reached.
        max?: f64 = 15.0, in 1.0..=1e6, of [Red];
        /// Drop probability at `max`; with `adaptive`, its initial value.
        probability?: Probability = Probability(0.1), of [Red];
        /// Weight of a new length in the mean queue.
        weight?: f64 = 0.002, in 1e-9..=1.0, of [Red];
        /// Raise the probability from `probability` to 1 between `max` and twice `max`, instead of
        /// dropping all above `max`.
        gentle?: bool = true, of [Red];
        /// Change the probability every 500 ms so that the mean queue stays in the middle between
        /// `min` and `max`.
        adaptive?: bool = false, of [Red];
        /// Factor from the square root of the classic drop probability to the mark probability of
        /// L4S packets.
        coupling?: f64 = DualPi2Config::default().coupling, in 0.0..=100.0, of [Dualpi2];
        /// Sojourn time above which the L4S queue begins to mark by itself.
        ramp_from?: Time = Time(DualPi2Config::default().ramp.0), in Time(Interval::ZERO)..=HOUR, of [Dualpi2];
        /// Sojourn time from which on the L4S queue marks all packets.
        ramp_to?: Time = Time(DualPi2Config::default().ramp.1), in Time(Interval::ZERO)..=HOUR, of [Dualpi2];
        /// Share of the link that classic packets get at least while both queues wait.
        classic_share?: Probability = Probability(DualPi2Config::default().classic_share), of [Dualpi2];
        /// Rate of the shaper in front of the transmitter. By default there is no shaper.
        rate?: Rate, in Rate(1)..=Rate(1_000_000_000_000), of [Cake];
        /// Bytes that the shaper counts for each packet beside its IP length, as a plain number that
        /// may be negative.
        overhead?: i32 = 0, in -64..=256, of [Cake], needs rate;
        /// Bytes that the shaper counts for each packet at least.
        mpu?: Size = Size(0), in Size(0)..=Size(256), of [Cake], needs rate;
        /// Framing that the shaper counts.
        framing?: FramingName = FramingName::Packets, of [Cake], needs rate;
        /// Units that get equal shares of the rate.
        isolation?: IsolationName = IsolationName::TripleIsolate, of [Cake];
        /// Classes of traffic by Diffserv codepoint. Each precedes lower ones while it is within its
        /// threshold.
        tins?: TinsName = TinsName::Diffserv3, of [Cake];
        /// Pure ACKs of TCP to drop because a later packet of the connection makes them redundant.
        ack_filter?: AckFilterName = AckFilterName::No, of [Cake];
    }
}

/// Queue disciplines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DisciplineName {
    /// FIFO queue that drops the arriving packet when full, as without a discipline.
    DropTail,
    /// FIFO queue that drops its first packet when full.
    HeadDrop,
    /// Random early detection (Floyd and Jacobson 1993).
    Red,
    /// CoDel (RFC 8289).
    Codel,
    /// PIE (RFC 8033).
    Pie,
    /// COBALT: CoDel with BLUE, the law of CAKE's queues.
    Cobalt,
    /// A queue per flow, served by deficit round robin (Shreedhar and Varghese 1995).
    Drr,
    /// A queue per flow with CoDel (RFC 8290).
    FqCodel,
    /// A queue per flow with PIE.
    FqPie,
    /// A queue per flow with COBALT.
    FqCobalt,
    /// Two coupled queues, for L4S and for classic packets (RFC 9332).
    Dualpi2,
    /// CAKE: a shaper, classes by Diffserv codepoint, and a queue per flow with COBALT and a fair
    /// share for each host (Hoeiland-Joergensen, Taht and Morton 2018).
    Cake,
    /// FIFO queue under a class in Python.
    Python,
}

impl DisciplineSpec {
    /// Returns the method.
    pub fn method(&self) -> DisciplineName {
        self.0.method
    }

    /// Refuses keys that the method does not have, and values that contradict each other. Paths in
    /// errors begin with the key.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let table = &self.0;
        table.check_keys()?;
        match table.class {
            Some(class) => class.check().map_err(|problem| problem.within("class"))?,
            None if table.method == DisciplineName::Python => return Err(fault("method", PYTHON)),
            None => {}
        }
        if table.max() <= table.min() {
            let message = format!(
                "= {} is not above min = {}; write a larger max",
                table.max(),
                table.min()
            );
            return Err(fault("max", message));
        }
        if table.ramp_to() < table.ramp_from() {
            let message = format!(
                "= \"{}\" is below ramp_from = \"{}\"; write a later ramp_to",
                table.ramp_to(),
                table.ramp_from()
            );
            return Err(fault("ramp_to", message));
        }
        Ok(())
    }

    /// Writes all defaults into the keys.
    pub(super) fn spell_out(&mut self) {
        self.0.fill();
    }

    /// Builds the discipline of a direction with these parameters; `None` for "drop-tail", which the
    /// link's own queue is. Only RED, PIE, COBALT and the hash of flows draw from `random`.
    pub fn build(&self, link: &LinkConfig, mut random: Stream) -> Option<Discipline> {
        let mut table = self.0;
        table.fill();
        let limit = link.queue;
        let packet_time = link.packet_time(MTU);
        let time = |time: Option<Time>| time.map_or(Interval::ZERO, |time| time.0);
        let codel = CodelConfig {
            target: time(table.target),
            interval: time(table.interval),
            mtu: MTU,
            ecn: table.ecn(),
            ce_threshold: table.ce_threshold.map(|time| time.0),
        };
        let pie = PieConfig {
            target: time(table.target),
            update: time(table.update),
            alpha: table.alpha.unwrap_or_default(),
            beta: table.beta.unwrap_or_default(),
            burst: time(table.burst),
            ecn: table.ecn(),
        };
        let cobalt = CobaltConfig {
            target: codel.target,
            interval: codel.interval,
            packet_time,
            ecn: table.ecn(),
        };
        let seed = random.next_u64();
        let fair = |law, sparse_first, queues, random| {
            let config = FairConfig {
                queues,
                quantum: table.quantum().0 as u32,
                sparse_first,
                law,
                seed,
            };
            Discipline::Fair(Fair::new(config, limit, random))
        };
        let queues = table.queues();
        Some(match table.method {
            DisciplineName::DropTail => return None,
            DisciplineName::HeadDrop => Discipline::HeadDrop(HeadDrop::new(limit)),
            DisciplineName::Red => Discipline::Red(Red::new(table.red(packet_time), limit, random)),
            DisciplineName::Codel => Discipline::Codel(Codel::new(codel, limit)),
            DisciplineName::Pie => Discipline::Pie(Pie::new(pie, limit, random)),
            DisciplineName::Cobalt => fair(FairQueue::Cobalt(cobalt), false, 1, random),
            DisciplineName::Drr => fair(FairQueue::Plain, false, queues, random),
            DisciplineName::FqCodel => fair(FairQueue::Codel(codel), true, queues, random),
            DisciplineName::FqPie => fair(FairQueue::Pie(pie), true, queues, random),
            DisciplineName::FqCobalt => fair(FairQueue::Cobalt(cobalt), true, queues, random),
            DisciplineName::Dualpi2 => Discipline::DualPi2(DualPi2::new(table.dual_pi2(), limit)),
            DisciplineName::Cake => table.cake(link, seed, random),
            DisciplineName::Python => {
                let dropper = table.class?.dropper(seed)?;
                Discipline::Custom(Box::new(Custom::new(dropper, limit)))
            }
        })
    }
}

impl DisciplineTable {
    fn red(&self, packet_time: Interval) -> RedConfig {
        RedConfig {
            min: self.min(),
            max: self.max(),
            probability: self.probability().0,
            weight: self.weight(),
            gentle: self.gentle(),
            adaptive: self.adaptive(),
            ecn: self.ecn(),
            packet_time,
        }
    }

    fn dual_pi2(&self) -> DualPi2Config {
        let usual = DualPi2Config::default();
        DualPi2Config {
            target: self.target.map_or(usual.target, |time| time.0),
            update: self.update.map_or(usual.update, |time| time.0),
            alpha: self.alpha.unwrap_or(usual.alpha),
            beta: self.beta.unwrap_or(usual.beta),
            coupling: self.coupling(),
            ramp: (self.ramp_from().0, self.ramp_to().0),
            classic_share: self.classic_share().0,
        }
    }
}

impl Serialize for DisciplineSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DisciplineSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = DisciplineSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(FORMS)
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<DisciplineSpec, E> {
                if v.contains(".py:") {
                    return Err(E::custom(format!(
                        "= {v:?} in a file runs nothing; name the class in the command: --set \
                         links.0.down.discipline={v}"
                    )));
                }
                let method = DisciplineName::deserialize(StrDeserializer::<E>::new(v))?;
                Ok(DisciplineSpec(DisciplineTable::of(method)))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DisciplineSpec, A::Error> {
                DisciplineTable::deserialize(MapAccessDeserializer::new(map)).map(DisciplineSpec)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl DisciplineTable {
    /// Returns a table with nothing but the method.
    const fn of(method: DisciplineName) -> Self {
        Self {
            method,
            class: None,
            target: None,
            interval: None,
            ce_threshold: None,
            update: None,
            alpha: None,
            beta: None,
            burst: None,
            ecn: None,
            queues: None,
            quantum: None,
            min: None,
            max: None,
            probability: None,
            weight: None,
            gentle: None,
            adaptive: None,
            coupling: None,
            ramp_from: None,
            ramp_to: None,
            classic_share: None,
            rate: None,
            overhead: None,
            mpu: None,
            framing: None,
            isolation: None,
            tins: None,
            ack_filter: None,
        }
    }
}

impl JsonSchema for DisciplineSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Discipline".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let method = generator.subschema_for::<DisciplineName>();
        let table = generator.subschema_for::<DisciplineTable>();
        json_schema!({ "title": "method or table", "anyOf": [method, table] })
    }
}

/// Refuses keys that exclude a discipline or classes in a direction of a link.
pub(super) fn alone(
    excluded: &[(&str, bool)],
    discipline: Option<&DisciplineSpec>,
    has_classes: bool,
) -> Result<(), Problem> {
    let key = match discipline {
        Some(discipline) => {
            discipline
                .check()
                .map_err(|problem| problem.within("discipline"))?;
            "discipline"
        }
        None if has_classes => "classes",
        None => return Ok(()),
    };
    match excluded.iter().find(|(_, written)| *written) {
        None => Ok(()),
        Some((other, _)) => {
            let message = format!("does not go with {other}; write one of them");
            Err(fault(key, message))
        }
    }
}
