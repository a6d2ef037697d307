//! Keys of CAKE, a queue discipline with a shaper.

use farlink_channel::rng::Stream;
use farlink_link::LinkConfig;
use farlink_link::discipline::{
    AckFilter, Cake, CakeConfig, Discipline, Framing, Isolation, Overhead, Tins,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::discipline::DisciplineTable;

/// Units between which CAKE shares the rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationName {
    /// Flows.
    Flows,
    /// Source hosts, with one queue each.
    Srchost,
    /// Destination hosts, with one queue each.
    Dsthost,
    /// Pairs of hosts, with one queue each.
    Hosts,
    /// Source hosts, and the flows of each of them.
    DualSrchost,
    /// Destination hosts, and the flows of each of them.
    DualDsthost,
    /// Source hosts and destination hosts, and the flows of each of them.
    TripleIsolate,
}

/// Classes of traffic ("tins") by Diffserv codepoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TinsName {
    /// Single class.
    Besteffort,
    /// Bulk (CS1, LE), best effort, and voice (CS6, CS7, EF, VA).
    Diffserv3,
    /// Bulk (CS1, LE), best effort, video (AF2x to AF4x, CS2, CS3), and voice (CS4 to CS7, EF, VA).
    Diffserv4,
    /// Eight classes.
    Diffserv8,
}

/// ACKs that CAKE drops as redundant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckFilterName {
    /// None.
    No,
    /// The first of two pure ACKs that a newer packet makes redundant.
    Conservative,
    /// Also the only one, directly before the newer packet.
    Aggressive,
}

/// Framing of the medium behind CAKE's shaper.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FramingName {
    /// Packets are sent as they are.
    Packets,
    /// ATM: cells of 53 bytes that carry 48 bytes each (ADSL).
    Atm,
    /// PTM: a byte more for each 64 bytes or part thereof (VDSL2).
    Ptm,
}

impl DisciplineTable {
    /// Builds CAKE from a table with all defaults.
    pub(super) fn cake(&self, link: &LinkConfig, seed: u64, random: Stream) -> Discipline {
        let usual = farlink_link::discipline::CodelConfig::default();
        let config = CakeConfig {
            rate: self.rate.map(|rate| rate.0),
            overhead: Overhead {
                bytes: self.overhead.unwrap_or(0),
                mpu: self.mpu.map_or(0, |size| size.0 as u32),
                framing: match self.framing.unwrap_or(FramingName::Packets) {
                    FramingName::Packets => Framing::Packets,
                    FramingName::Atm => Framing::Atm,
                    FramingName::Ptm => Framing::Ptm,
                },
            },
            tins: match self.tins() {
                TinsName::Besteffort => Tins::Besteffort,
                TinsName::Diffserv3 => Tins::Diffserv3,
                TinsName::Diffserv4 => Tins::Diffserv4,
                TinsName::Diffserv8 => Tins::Diffserv8,
            },
            isolation: match self.isolation() {
                IsolationName::Flows => Isolation::Flows,
                IsolationName::Srchost => Isolation::SourceHosts,
                IsolationName::Dsthost => Isolation::DestinationHosts,
                IsolationName::Hosts => Isolation::HostPairs,
                IsolationName::DualSrchost => Isolation::DualSource,
                IsolationName::DualDsthost => Isolation::DualDestination,
                IsolationName::TripleIsolate => Isolation::Triple,
            },
            ack_filter: match self.ack_filter() {
                AckFilterName::No => AckFilter::No,
                AckFilterName::Conservative => AckFilter::Conservative,
                AckFilterName::Aggressive => AckFilter::Aggressive,
            },
            target: self.target.map_or(usual.target, |time| time.0),
            interval: self.interval.map_or(usual.interval, |time| time.0),
            seed,
        };
        Discipline::Cake(Box::new(Cake::new(config, link.queue, random)))
    }
}

#[cfg(test)]
mod tests {
    /// Returns the error of a discipline in a table with these keys.
    fn refusal(keys: &str) -> String {
        let text = format!(
            "duration = \"1 s\"\n[[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 MB\"\n\
             [[links]]\nbetween = [\"a\", \"b\"]\n\
             down = {{ rate = \"2 Mbit/s\", delay = \"1 ms\", discipline = {{ {keys} }} }}\n"
        );
        let loaded = crate::load(&text, "cake.toml", &[]).and_then(|scenario| scenario.expand());
        loaded.map_or_else(|error| error.to_string(), |_| "no fault".to_owned())
    }

    #[test]
    fn keys_without_effect_and_values_out_of_range_are_refused() {
        for (keys, message) in [
            (
                "method = \"cake\", overhead = 44",
                "discipline.overhead would be ignored; it needs rate",
            ),
            (
                "method = \"cake\", mpu = \"64 B\"",
                "discipline.mpu would be ignored; it needs rate",
            ),
            (
                "method = \"cake\", framing = \"atm\"",
                "discipline.framing would be ignored; it needs rate",
            ),
            (
                "method = \"cake\", rate = \"1 Mbit/s\", overhead = -65",
                "discipline.overhead = -65 is out of range; write -64 to 256",
            ),
            (
                "method = \"cake\", rate = \"1 Mbit/s\", mpu = \"257 B\"",
                "discipline.mpu = \"257 B\" is out of range; write \"0 B\" to \"256 B\"",
            ),
            (
                "method = \"cake\", rate = \"0 bit/s\"",
                "discipline.rate = \"0 bit/s\" is out of range; write \"1 bit/s\" to \"1000 Gbit/s\"",
            ),
            (
                "method = \"cake\", isolation = \"srchosts\"",
                "discipline.isolation = \"srchosts\" is unknown; did you mean \"srchost\"?",
            ),
            (
                "method = \"cake\", tins = \"diffserv5\"",
                "discipline.tins = \"diffserv5\" is unknown; did you mean \"diffserv3\"?",
            ),
            (
                "method = \"cake\", ack_filter = \"yes\"",
                "discipline.ack_filter = \"yes\" is unknown; the choices are \"no\", \"conservative\", \"aggressive\"",
            ),
            (
                "method = \"fq-cobalt\", isolation = \"hosts\"",
                "discipline.isolation would be ignored; it needs method = \"cake\"",
            ),
            (
                "method = \"cake\", quantum = \"1514 B\"",
                "discipline.quantum would be ignored; it needs method = \"drr\", \"fq-codel\", \"fq-pie\" or \"fq-cobalt\"",
            ),
        ] {
            let got = refusal(keys);
            assert!(got.ends_with(message), "{got}");
        }
    }
}
