//! Link protocols in a scenario.

use farlink_net::arq::{
    ArqConfig, ArqError, Entity, GiveUp, LapbConfig, MdlpConfig, Protocol, RetryFrom, RlpConfig,
};
use farlink_net::mac::Access;
use farlink_tcp::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{at_most, fault, out_of_range};
use super::decode::Problem;
use super::table::table;
use super::tree::Step;
use super::units::{Probability, Size, Time};

pub(super) const LONGEST: Interval = Interval::from_secs(3600);
const SHORTEST_PERIOD: Interval = Interval::from_millis(1);
/// Bytes of a header or a supervisory frame without another word.
const HEADER: u64 = 6;

table! {
    /// A link protocol that numbers frames, acknowledges them and sends them again,
    /// at both ends of a link, each packet in a frame of its own. The defaults are
    /// those of Wong 1998, section 4.4.2, where it has one.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct ArqSpec for protocol: ArqName {
        /// Protocol.
        protocol: ArqName;
        /// How a frame gets the medium; without it at once, one frame after the
        /// other.
        mac?: MacSpec;
        /// Bytes of a frame beyond its packet; "6 B" without it. `overhead` of the
        /// direction comes on top, for every frame.
        header?: Size;
        /// Bytes of RR, REJ, SREJ, SABME and UA, for "lapb" and "mdlp"; "6 B"
        /// without it.
        supervisory?: Size, of [Lapb, Mdlp];
        /// Bytes of a status frame, for "rlp"; without it 6 and a bit for each frame
        /// of the window and for N(R), in whole bytes: 8 for a window of 15.
        status?: Size, of [Rlp];
        /// Modulus of the sequence numbers: 8 or 128, which it is without it.
        modulus?: u32, of [Lapb, Mdlp, Rlp];
        /// Most unacknowledged frames; 15 without it. At most the modulus less one,
        /// and less than half the modulus for "mdlp" and "rlp".
        window?: u32, of [Lapb, Mdlp, Rlp];
        /// Whether packets are handed on in the order in which they were sent, for
        /// "mdlp" and "rlp"; true without it. LAPB cannot do otherwise.
        in_sequence?: bool, of [Mdlp, Rlp];
        /// Time to retransmission, for "lapb", from what `retry_from` says; "1 s"
        /// without it.
        t1?: Time, of [Lapb];
        /// Longest delay of an acknowledgment, for "lapb"; "300 ms" without it.
        t2?: Time, of [Lapb];
        /// Whether the first frame after T1 polls (ITU-T X.25, 2.4.5.9), for "lapb";
        /// true without it.
        poll?: bool, of [Lapb];
        /// Time to the poll, for "mdlp", from what `retry_from` says; "1 s" without
        /// it.
        t200?: Time, of [Mdlp];
        /// Longest delay of an acknowledgment, for "mdlp"; "300 ms" without it.
        t205?: Time, of [Mdlp];
        /// Whether an SREJ is repeated when what a later one asked for comes first,
        /// for "mdlp"; false without it.
        srej_repeat?: bool, of [Mdlp];
        /// From when `t1` or `t200` runs, for "lapb" and "mdlp"; "last-frame" without
        /// it.
        retry_from?: RetryFromName, of [Lapb, Mdlp];
        /// Time-outs in a row after which the link is re-established, for "lapb" and
        /// "mdlp", 1 to 1000; without it never.
        n2?: u32, of [Lapb, Mdlp];
        /// Whether re-establishing keeps what is queued, and only what the receiver
        /// misses is given up (Wong 1998, 5.1.1). Needs `n2`; false without it.
        best_effort?: bool, of [Lapb, Mdlp];
        /// Time from one status frame to the next, for "rlp", 1 ms or more; "200 ms"
        /// without it.
        status_period?: Time, of [Rlp];
        /// Least time from the end of a frame to its retransmission, for "rlp";
        /// "300 ms" without it.
        min_interval?: Time, of [Rlp];
        /// How long the receiver waits for a frame that it misses, for "rlp" (Wong
        /// 1998, 5.1.2); without it for ever.
        max_recovery_delay?: Time, of [Rlp];
    }
}

/// Link protocols.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArqName {
    /// No recovery: each frame is sent once, over the MAC.
    None,
    /// Go-back-N (ITU-T X.25).
    Lapb,
    /// Selective reject (CDPD).
    Mdlp,
    /// Selective, on periodic status of the receiver.
    Rlp,
}

/// Starts of the retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RetryFromName {
    /// The end of the last I frame (Wong 1998, 3.2.3.1).
    LastFrame,
    /// The end of the first I frame that is not acknowledged, and each
    /// acknowledgment that leaves others open (ITU-T Q.921, 5.6).
    FirstFrame,
}

table! {
    /// Medium access.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct MacSpec {
        /// Distribution of the time that a frame waits for the medium.
        access: AccessName;
        /// That time, or its mean; up to 1 h. Required for "constant" and
        /// "exponential".
        delay?: Time;
        /// Directions in which frames wait.
        #[serde(default)]
        direction: Directions;
        /// What other stations offer together, 0 to 100: in frames per frame time for
        /// "csma-ca", per slot for "aloha". They are silent with e^-load.
        load?: f64;
        /// How many other stations share `load`, 1 to 1000000: silent with
        /// (1 - load / stations)^stations. Without it as many as one likes.
        stations?: u32;
        /// Probability that the channel is busy each time that it is sensed, for
        /// "csma-ca" instead of `load`.
        busy?: Probability;
        /// Length of a symbol, for "csma-ca"; "16 us" without it, that of 2450 MHz.
        /// Periods of backoff are 20, sensing 8, turning round 12 symbols.
        symbol?: Time;
        /// macMinBE, for "csma-ca", 0 to 8; 3 without it.
        min_be?: u32;
        /// macMaxBE, for "csma-ca", `min_be` to 8; 5 without it.
        max_be?: u32;
        /// macMaxCSMABackoffs, for "csma-ca", 0 to 5; 4 without it. A channel that is
        /// busy once more gives the frame up.
        max_backoffs?: u32;
        /// Length of a slot, for "aloha", 1 us to 1 h. A longer frame takes several.
        slot?: Time;
        /// Slots to choose the next try from after a collision, for "aloha", 1 to
        /// 65536; 8 without it.
        backoff?: u32;
        /// Times that a frame is sent before it is given up, for "aloha", 1 to 1000;
        /// 16 without it.
        attempts?: u32;
    }
}

/// Distributions of the access delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AccessName {
    /// No time.
    None,
    /// Always the same time.
    Constant,
    /// Exponential, each frame alone.
    Exponential,
    /// Unslotted CSMA/CA (IEEE 802.15.4): backoff, and sense the channel.
    #[serde(rename = "csma-ca")]
    CsmaCa,
    /// Slotted ALOHA: in the next slot, and again after a collision.
    Aloha,
}

/// Directions of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Directions {
    /// Down and up.
    #[default]
    Both,
    /// From the first node to the second.
    Down,
    /// From the second node to the first.
    Up,
}

/// What a link protocol is built from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ArqLink {
    /// Protocol and lengths of its frames.
    pub config: ArqConfig,
    /// Access delay down and up.
    pub access: [Access; 2],
}

impl ArqSpec {
    /// What is to be built; paths begin with the key.
    pub(super) fn resolve(&self) -> Result<ArqLink, Problem> {
        self.check_keys()?;
        self.refuse_ignored()?;
        for (key, time) in self.times() {
            if let Some(time) = time {
                at_most(key, time, LONGEST)?;
                let may_be_zero = [
                    "t2",
                    "t205",
                    "status_period",
                    "min_interval",
                    "max_recovery_delay",
                ];
                if time.0.is_zero() && !may_be_zero.contains(&key) {
                    return Err(out_of_range(
                        [key.into()],
                        "\"0 s\" is out of range; write a time above it",
                    ));
                }
            }
        }
        if let Some(period) = self.status_period
            && period.0 < SHORTEST_PERIOD
        {
            let says = format!("\"{period}\" is out of range; write \"1 ms\" to \"1 h\"");
            return Err(out_of_range(["status_period".into()], &says));
        }
        for (key, size) in [
            ("header", self.header),
            ("supervisory", self.supervisory),
            ("status", self.status),
        ] {
            if let Some(size) = size
                && (size.0 > 1024 || size.0 == 0 && key != "header")
            {
                let least = u8::from(key != "header");
                let says = format!("\"{size}\" is out of range; write \"{least} B\" to \"1 KiB\"");
                return Err(out_of_range([key.into()], &says));
            }
        }
        if let Some(n2) = self.n2
            && !(1..=1000).contains(&n2)
        {
            let says = format!("{n2} is out of range; write 1 to 1000, or leave it out");
            return Err(out_of_range(["n2".into()], &says));
        }
        let protocol = self.protocol()?;
        Entity::new(&protocol).map_err(|error| {
            let key = match error {
                ArqError::Modulus(_) => "modulus",
                _ => "window",
            };
            fault(key, format!("is wrong: {error}"))
        })?;
        let bytes = |size: Option<Size>, usual| size.map_or(usual, |size| size.0) as u32;
        Ok(ArqLink {
            config: ArqConfig {
                protocol,
                header: bytes(self.header, HEADER),
                supervisory: bytes(self.supervisory, HEADER),
                status: bytes(self.status, self.usual_status()),
            },
            access: self.access()?,
        })
    }

    fn usual_status(&self) -> u64 {
        HEADER + (u64::from(self.window.unwrap_or(15)) + 1).div_ceil(8)
    }

    /// Writes out what is left to its default.
    pub(super) fn spell_out(&mut self) {
        self.fill();
        let time = |time: Interval| Some(Time(time));
        let status = self.usual_status();
        self.header.get_or_insert(Size(HEADER));
        if let Some(mac) = &mut self.mac {
            mac.fill();
        }
        let (lapb, mdlp, rlp) = (
            LapbConfig::default(),
            MdlpConfig::default(),
            RlpConfig::default(),
        );
        if self.protocol == ArqName::None {
            return;
        }
        self.modulus.get_or_insert(lapb.modulus.into());
        self.window.get_or_insert(lapb.window.into());
        match self.protocol {
            ArqName::None => {}
            ArqName::Lapb => {
                self.t1 = self.t1.or(time(lapb.t1));
                self.t2 = self.t2.or(time(lapb.t2));
                self.poll.get_or_insert(lapb.poll);
            }
            ArqName::Mdlp => {
                self.t200 = self.t200.or(time(mdlp.t200));
                self.t205 = self.t205.or(time(mdlp.t205));
                self.srej_repeat.get_or_insert(mdlp.srej_repeat);
            }
            ArqName::Rlp => {
                self.status.get_or_insert(Size(status));
                self.status_period = self.status_period.or(time(rlp.status_period));
                self.min_interval = self.min_interval.or(time(rlp.min_interval));
            }
        }
        if self.protocol != ArqName::Rlp {
            self.supervisory.get_or_insert(Size(HEADER));
            self.retry_from.get_or_insert(RetryFromName::LastFrame);
        }
        if self.protocol != ArqName::Lapb {
            self.in_sequence.get_or_insert(true);
        }
        if self.n2.is_some() {
            self.best_effort.get_or_insert(false);
        }
    }

    fn times(&self) -> [(&'static str, Option<Time>); 7] {
        [
            ("t1", self.t1),
            ("t2", self.t2),
            ("t200", self.t200),
            ("t205", self.t205),
            ("status_period", self.status_period),
            ("min_interval", self.min_interval),
            ("max_recovery_delay", self.max_recovery_delay),
        ]
    }

    /// Keys that mean nothing to the protocol.
    fn refuse_ignored(&self) -> Result<(), Problem> {
        if self.best_effort == Some(true) && self.n2.is_none() {
            return Err(fault("best_effort", "would be ignored; it needs n2"));
        }
        Ok(())
    }

    fn protocol(&self) -> Result<Protocol, Problem> {
        let small = |key, value: Option<u32>, usual| match value {
            None => Ok(usual),
            Some(n) => u8::try_from(n).map_err(|_| {
                let says = format!("{n} is out of range; write at most 128");
                out_of_range([Step::from(key)], &says)
            }),
        };
        let time = |time: Option<Time>, usual| time.map_or(usual, |time| time.0);
        let give_up = match (self.n2, self.best_effort) {
            (None, _) => GiveUp::Never,
            (Some(n2), Some(true)) => GiveUp::BestEffort(n2),
            (Some(n2), _) => GiveUp::Reset(n2),
        };
        let retry_from = match self.retry_from {
            Some(RetryFromName::FirstFrame) => RetryFrom::FirstFrame,
            Some(RetryFromName::LastFrame) | None => RetryFrom::LastFrame,
        };
        Ok(match self.protocol {
            ArqName::None => Protocol::Plain,
            ArqName::Lapb => {
                let usual = LapbConfig::default();
                Protocol::Lapb(LapbConfig {
                    modulus: small("modulus", self.modulus, usual.modulus)?,
                    window: small("window", self.window, usual.window)?,
                    t1: time(self.t1, usual.t1),
                    t2: time(self.t2, usual.t2),
                    poll: self.poll.unwrap_or(usual.poll),
                    retry_from,
                    give_up,
                })
            }
            ArqName::Mdlp => {
                let usual = MdlpConfig::default();
                Protocol::Mdlp(MdlpConfig {
                    modulus: small("modulus", self.modulus, usual.modulus)?,
                    window: small("window", self.window, usual.window)?,
                    t200: time(self.t200, usual.t200),
                    t205: time(self.t205, usual.t205),
                    in_sequence: self.in_sequence.unwrap_or(usual.in_sequence),
                    srej_repeat: self.srej_repeat.unwrap_or(usual.srej_repeat),
                    retry_from,
                    give_up,
                })
            }
            ArqName::Rlp => {
                let usual = RlpConfig::default();
                Protocol::Rlp(RlpConfig {
                    modulus: small("modulus", self.modulus, usual.modulus)?,
                    window: small("window", self.window, usual.window)?,
                    status_period: time(self.status_period, usual.status_period),
                    min_interval: time(self.min_interval, usual.min_interval),
                    in_sequence: self.in_sequence.unwrap_or(usual.in_sequence),
                    max_recovery_delay: self.max_recovery_delay.map(|time| time.0),
                })
            }
        })
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
