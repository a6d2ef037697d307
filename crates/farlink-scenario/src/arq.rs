//! Link protocols in a scenario.

use farlink_link::arq::{
    ArqConfig, ArqError, Entity, GiveUp, LapbConfig, MdlpConfig, Protocol, RetryFrom, RlpConfig,
};
use farlink_link::mac::Access;
use farlink_tcp::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{HOUR, MICROSECOND, SHORTEST, ZERO, fault};
use super::decode::Problem;
use super::table::table;
use super::units::{Probability, Size, Time};

const SHORTEST_PERIOD: Time = Time(Interval::from_millis(1));
/// Default length of a header or a supervisory frame in bytes.
const HEADER: Size = Size(6);
const KIBIBYTE: Size = Size(1024);

table! {
    /// A link protocol at both ends of a link, which numbers, acknowledges and retransmits frames.
    /// Each packet is one frame. The defaults are the values of Wong 1998, section 4.4.2, where
    /// that section gives one.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct ArqSpec for protocol: ArqName {
        /// Protocol.
        protocol: ArqName;
        /// Medium access of frames; by default frames are sent at once, one after the other.
        mac?: MacSpec;
        /// Bytes of a frame in addition to its packet. The `overhead` of the direction is added to
        /// every frame.
        header?: Size = HEADER, in Size(0)..=KIBIBYTE;
        /// Bytes of the supervisory frames RR, REJ, SREJ, SABME and UA.
        supervisory?: Size = HEADER, in Size(1)..=KIBIBYTE, of [Lapb, Mdlp];
        /// Bytes of a status frame. The default is 6 bytes plus one bit for each frame of the
        /// window and for N(R), rounded up: 8 bytes for a window of 15.
        status?: Size, in Size(1)..=KIBIBYTE, of [Rlp];
        /// Modulus of the sequence numbers: 8 or 128.
        modulus?: u32 = LapbConfig::default().modulus.into(), in 8..=128, of [Lapb, Mdlp, Rlp];
        /// Most unacknowledged frames: at most the modulus minus one, and for "mdlp" and "rlp" less
        /// than half the modulus.
        window?: u32 = LapbConfig::default().window.into(), in 1..=127, of [Lapb, Mdlp, Rlp];
        /// Deliver packets in the order in which they were sent, as LAPB always does.
        in_sequence?: bool = true, of [Mdlp, Rlp];
        /// Time to the retransmission, from the event of `retry_from`.
        t1?: Time = Time(LapbConfig::default().t1), in SHORTEST..=HOUR, of [Lapb];
        /// Longest delay of an acknowledgment.
        t2?: Time = Time(LapbConfig::default().t2), in ZERO..=HOUR, of [Lapb];
        /// Send a poll with the first frame after T1 expires (ITU-T X.25, 2.4.5.9).
        poll?: bool = LapbConfig::default().poll, of [Lapb];
        /// Time to the poll, from the event of `retry_from`.
        t200?: Time = Time(MdlpConfig::default().t200), in SHORTEST..=HOUR, of [Mdlp];
        /// Longest delay of an acknowledgment.
        t205?: Time = Time(MdlpConfig::default().t205), in ZERO..=HOUR, of [Mdlp];
        /// Repeat an SREJ if a frame arrives first that a later SREJ requested.
        srej_repeat?: bool = MdlpConfig::default().srej_repeat, of [Mdlp];
        /// Event that starts the timer `t1` or `t200`.
        retry_from?: RetryFromName = RetryFromName::LastFrame, of [Lapb, Mdlp];
        /// Number of consecutive time-outs after which the link is re-established; by default the
        /// link is never re-established.
        n2?: u32, in 1..=1000, or "leave it out", of [Lapb, Mdlp];
        /// Keep the queue when the link is re-established, and give up only the frames that the
        /// receiver has not received (Wong 1998, 5.1.1).
        best_effort?: bool = false, of [Lapb, Mdlp], needs n2;
        /// Restart the count of `n2` at the answer to a poll. If false, the count runs until N(R)
        /// covers the frame that was sent as the first poll (both are readings of Wong 1998, 5.1.1).
        answer_ends_count?: bool = MdlpConfig::default().answer_ends_count, of [Mdlp];
        /// Time from one status frame to the next.
        status_period?: Time = Time(RlpConfig::default().status_period), in SHORTEST_PERIOD..=HOUR, of [Rlp];
        /// Least time from the end of a frame to its retransmission.
        min_interval?: Time = Time(RlpConfig::default().min_interval), in ZERO..=HOUR, of [Rlp];
        /// Longest time for which the receiver waits for a missing frame (Wong 1998, 5.1.2); by
        /// default without a limit.
        max_recovery_delay?: Time, in ZERO..=HOUR, of [Rlp];
    }
}

/// Link protocols.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArqName {
    /// No recovery: each frame is sent once, over the MAC.
    None,
    /// Go-back-N: LAPB (ITU-T X.25).
    Lapb,
    /// Selective reject: MDLP (CDPD).
    Mdlp,
    /// Selective retransmission after the periodic status frames of the receiver.
    Rlp,
}

/// Events that start the retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RetryFromName {
    /// End of the last I frame (Wong 1998, 3.2.3.1).
    LastFrame,
    /// End of the first unacknowledged I frame, and each acknowledgment that leaves frames
    /// unacknowledged (ITU-T Q.921, 5.6).
    FirstFrame,
}

table! {
    /// Medium access.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct MacSpec for access: AccessName {
        /// Distribution of the time that a frame waits for the medium.
        access: AccessName;
        /// Access time or its mean. Required.
        delay?: Time, in ZERO..=HOUR, of [Constant, Exponential];
        /// Directions in which frames wait.
        #[serde(default)]
        direction: Directions;
        /// Load of all other stations together: in frames per frame time for "csma-ca", in frames
        /// per slot for "aloha". The channel is free with the probability e^-load.
        load?: f64, in 0.0..=100.0, of [CsmaCa, Aloha];
        /// Number of other stations that share `load`. The channel is then free with the
        /// probability (1 - load / stations)^stations. The default is infinitely many.
        stations?: u32, in 1..=1_000_000, of [CsmaCa, Aloha];
        /// Probability that the channel is busy, drawn each time that the station senses it.
        /// Replaces `load`.
        busy?: Probability, of [CsmaCa];
        /// Duration of a symbol; the default is that of the 2450 MHz band. A backoff period has 20
        /// symbols, sensing 8, turnaround 12 (IEEE 802.15.4-2006, table 86).
        symbol?: Time = Time(Interval::from_micros(16)), in MICROSECOND..=HOUR, of [CsmaCa];
        /// macMinBE.
        min_be?: u32 = 3, in 0..=8, of [CsmaCa];
        /// macMaxBE, at least `min_be`. The default is 5, or `min_be` if that is more.
        max_be?: u32, in 0..=8, of [CsmaCa];
        /// macMaxCSMABackoffs: number of further tries after the first busy channel. If the channel
        /// is busy at the last try too, the frame is given up.
        max_backoffs?: u32 = 4, in 0..=5, of [CsmaCa];
        /// Length of a slot. A longer frame takes several slots.
        slot?: Time, in MICROSECOND..=HOUR, of [Aloha];
        /// Number of slots from which the slot of the next try is drawn after a collision.
        backoff?: u32 = 8, in 1..=65_536, of [Aloha];
        /// Number of transmissions of a frame, after which it is given up.
        attempts?: u32 = 16, in 1..=1000, of [Aloha];
        /// Length of a frame of slots. Frames begin at multiples of it. Required.
        frame?: Time, in MICROSECOND..=HOUR, of [Dama];
        /// Number of slots of a frame. Each has the bytes that `rate` sends in its time. Required.
        slots?: u32, in 1..=65_536, of [Dama];
        /// Slots of each frame that the station always has (CRA).
        constant?: u32 = 0, in 0..=65_536, of [Dama];
        /// Most slots of a frame that the station gets, `constant` included; by default all.
        max_slots?: u32, in 1..=65_536, of [Dama];
        /// Probability that a slot, of the first `max_slots`, that is not assigned is free, and
        /// assigned without a request (FCA).
        free?: Probability = Probability(0.0), of [Dama];
        /// Frames from one request slot of the station to the next.
        request_every?: u32 = 1, in 1..=65_536, of [Dama];
        /// Send requests in data slots, too.
        piggyback?: bool = true, of [Dama];
        /// Time from a request to its grant; by default the delays of both directions of the link.
        grant_delay?: Time, in ZERO..=HOUR, of [Dama];
    }
}

/// Distributions of the access delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AccessName {
    /// No delay.
    None,
    /// Constant delay of every frame.
    Constant,
    /// Exponential, drawn for each frame.
    Exponential,
    /// Unslotted CSMA/CA (IEEE 802.15.4): backoff, then sensing of the channel.
    #[serde(rename = "csma-ca")]
    CsmaCa,
    /// Slotted ALOHA: the frame is sent in the next slot, and again after a collision.
    Aloha,
    /// Demand assignment: a hub assigns slots a round trip after their request. Needs
    /// protocol = "none".
    Dama,
}

/// Directions of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Directions {
    /// Both directions.
    #[default]
    Both,
    /// From the first node to the second.
    Down,
    /// From the second node to the first.
    Up,
}

/// Link protocol with its medium access.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ArqLink {
    /// Protocol and lengths of its frames.
    pub config: ArqConfig,
    /// Access delay of the directions down and up.
    pub access: [Access; 2],
}

impl ArqSpec {
    /// Builds the link protocol. Paths in errors begin with the key.
    pub(super) fn resolve(&self) -> Result<ArqLink, Problem> {
        self.check_keys()?;
        let protocol = self.protocol();
        Entity::new(&protocol).map_err(|error| {
            let key = match error {
                ArqError::Modulus(_) => "modulus",
                _ => "window",
            };
            fault(key, format!("is wrong: {error}"))
        })?;
        Ok(ArqLink {
            config: ArqConfig {
                protocol,
                header: self.header().0 as u32,
                supervisory: self.supervisory().0 as u32,
                status: self.status.unwrap_or(self.usual_status()).0 as u32,
            },
            access: self.access()?,
        })
    }

    fn usual_status(&self) -> Size {
        Size(HEADER.0 + (u64::from(self.window()) + 1).div_ceil(8))
    }

    /// Writes out all defaults.
    pub(super) fn spell_out(&mut self) {
        self.fill();
        if self.protocol == ArqName::Rlp {
            self.status = self.status.or(Some(self.usual_status()));
        }
        if let Some(mac) = &mut self.mac {
            mac.spell_out();
        }
    }

    fn protocol(&self) -> Protocol {
        let give_up = match self.n2 {
            None => GiveUp::Never,
            Some(n2) if self.best_effort() => GiveUp::BestEffort(n2),
            Some(n2) => GiveUp::Reset(n2),
        };
        let retry_from = match self.retry_from() {
            RetryFromName::FirstFrame => RetryFrom::FirstFrame,
            RetryFromName::LastFrame => RetryFrom::LastFrame,
        };
        match self.protocol {
            ArqName::None => Protocol::Plain,
            ArqName::Lapb => Protocol::Lapb(LapbConfig {
                modulus: self.modulus() as u8,
                window: self.window() as u8,
                t1: self.t1().0,
                t2: self.t2().0,
                poll: self.poll(),
                retry_from,
                give_up,
            }),
            ArqName::Mdlp => Protocol::Mdlp(MdlpConfig {
                modulus: self.modulus() as u8,
                window: self.window() as u8,
                t200: self.t200().0,
                t205: self.t205().0,
                in_sequence: self.in_sequence(),
                srej_repeat: self.srej_repeat(),
                retry_from,
                give_up,
                answer_ends_count: self.answer_ends_count(),
            }),
            ArqName::Rlp => Protocol::Rlp(RlpConfig {
                modulus: self.modulus() as u8,
                window: self.window() as u8,
                status_period: self.status_period().0,
                min_interval: self.min_interval().0,
                in_sequence: self.in_sequence(),
                max_recovery_delay: self.max_recovery_delay.map(|time| time.0),
            }),
        }
    }

    fn access(&self) -> Result<[Access; 2], Problem> {
        let Some(mac) = self.mac else {
            return Ok([Access::None; 2]);
        };
        let access = mac.resolve().map_err(|problem| problem.within("mac"))?;
        Ok(match mac.direction {
            Directions::Both => [access, access],
            Directions::Down => [access, Access::None],
            Directions::Up => [Access::None, access],
        })
    }
}
