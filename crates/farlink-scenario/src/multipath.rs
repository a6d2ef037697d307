//! `multipath = { ... }` of a flow: a connection over several paths (RFC 8684).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::table;

table! {
    /// A connection over several paths. The flow's own `from` and `to` are the first path.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct MultipathSpec {
        /// Further paths, 1 to 7. Each has a subflow of its own.
        paths: Vec<PathSpec>;
        /// Rule that chooses the subflow for the next data.
        scheduler?: SchedulerName = SchedulerName::MinRtt;
        /// Use the first path only while no other path works.
        backup?: bool = false;
        /// Send the oldest missing data again over a faster subflow when the receive window is
        /// full, and halve the window of the subflow that holds up the connection (Raiciu et al.
        /// 2012).
        opportunistic?: bool = false;
        /// Rule that couples the congestion windows of the subflows. The TCP of each path must have
        /// Reno's window, as "newreno" and "sack" do.
        coupling?: CouplingName = CouplingName::Off;
    }
}

table! {
    /// A further path of a connection.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct PathSpec {
        /// Name of the subflow in results, after the flow's name and a dot. The default is the
        /// number of the path.
        name?: String;
        /// Node that sends the data: the sender's interface on this path. The default is the flow's.
        from?: String;
        /// Node that receives the data: the receiver's interface on this path. The default is the
        /// flow's.
        to?: String;
        /// Variant of the TCP on this path. The default is the flow's.
        variant?: String;
        /// Use the path only while no other path works.
        backup?: bool = false;
    }
}

/// Schedulers of a connection over several paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerName {
    /// The subflow with the least smoothed RTT among those whose congestion window has room.
    #[default]
    #[serde(rename = "minrtt")]
    MinRtt,
    /// The subflows in turn.
    RoundRobin,
    /// Copies of all data over every subflow.
    Redundant,
    /// As "minrtt", but a slower subflow is left idle if its data would fill the receive window
    /// before it arrives (BLEST, Ferlin et al. 2016).
    Blest,
}

/// Rules that couple the congestion windows of the subflows of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CouplingName {
    /// Each subflow's congestion control is on its own.
    #[default]
    Off,
    /// Linked increases (RFC 6356).
    Lia,
    /// Opportunistic linked increases (Khalili et al. 2012).
    Olia,
}

/// Place of a TCP flow in a connection over several paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Subflow {
    /// Index of the path. Subflow 0 opens the connection, and the others follow it in the list of
    /// flows.
    pub path: usize,
    /// Number of paths.
    pub paths: usize,
    /// Rule that chooses the subflow for the next data.
    pub scheduler: SchedulerName,
    /// Set if the path is used only while no other path works.
    pub backup: bool,
    /// Set for opportunistic retransmission and penalisation.
    pub opportunistic: bool,
    /// Rule that couples the congestion windows of the subflows.
    pub coupling: CouplingName,
}
