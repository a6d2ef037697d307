//! Keys of `[tcp]` that mean something only beside another.

use super::tcp::TcpSpec;
use farlink_tcp::Config;
use farlink_tcp::config::Recovery;
use farlink_tcp::congestion::{self, Input};

const WINDOW: &str = "a congestion control that has a window, which \"none\" has not";
const SSTHRESH: &str = "a congestion control with a slow start that ends at a threshold, which \"none\" \
                        and bbr have not";
const USE: &str = "a congestion control that grows and ages by the use of its window, which \"none\" and bbr do not";
const PACED: &str = "a congestion control with a window and without a rate of its own, which \"none\" and bbr are not";
const PART: &str = "a congestion control that keeps a part of what is in flight, which \"none\", bbr \
                    and the westwoods do not, nor vegas without coarse_timeout";
const EXIT: &str = "a congestion control that takes the window of the recovery, which \"none\", bbr and vegas do not";
const DUPACKS: &str = "a recovery that counts duplicate ACKs: with \"snack\" limited transmit \
                       alone does, with \"go-back-n\" nothing";
const FAST: &str = "a recovery with fast retransmit, which \"go-back-n\" has not and which in \
                    \"tahoe\" always restarts the timer";
const AGENT: &str = "an agent at a base station, and a scenario has none yet";

/// Keys that wait for what no scenario has.
const WITHOUT_AGENT: [(&str, &str); 4] = [
    ("ebsn", AGENT),
    ("ackp", AGENT),
    ("ackp_timer", AGENT),
    ("ackp_karn", AGENT),
];

impl TcpSpec {
    /// Keys that are written and have no effect in this configuration, with
    /// what they need.
    pub(super) fn ignored(&self, config: &Config) -> Vec<(&'static str, &'static str)> {
        const NEWRENO: &str = "recovery = \"newreno\" or \"newreno-impatient\"";
        const SACK: &str = "recovery = \"sack\"";
        const RACK: &str = "rack = true";
        const TLP: &str = "tlp = true";
        const VEGAS: &str = "recovery = \"vegas\"";
        const FINE: &str = "recovery = \"vegas\" or \"snack\"";
        const RFC793: &str = "timer = \"rfc793\"";
        const JACOBSON: &str = "timer = \"jacobson\"";
        const RFC6298: &str = "timer = \"rfc6298\"";
        const COUNTED: &str =
            "a congestion control that grows by ACKs, which vegas, bbr and unlimited do not";
        const PACING: &str = "pacing = true";
        const DELAYED: &str = "delayed_ack";
        const NEEDS: [(&str, &str); 39] = [
            ("byte_counting", COUNTED),
            ("dsack", "sack = true"),
            ("gradual_window", "receive_window_max"),
            ("dummies", "congestion = \"peach\""),
            ("careful", NEWRENO),
            ("newreno_exit", NEWRENO),
            ("rescue", SACK),
            ("restart_on_sack", SACK),
            ("rtt_from_sack", SACK),
            ("prr", SACK),
            ("prr_bound", "prr = true"),
            ("rack", SACK),
            ("rack_reo_divisor", RACK),
            ("rack_reo_persist", RACK),
            ("rack_min_rtt_window", RACK),
            ("tlp", RACK),
            ("tlp_srtts", TLP),
            ("tlp_initial", TLP),
            ("tlp_max_ack_delay", TLP),
            ("fine_k", FINE),
            ("fine_granularity", FINE),
            ("coarse_timeout", VEGAS),
            ("pacing_ss_ratio", PACING),
            ("pacing_ca_ratio", PACING),
            ("ack_quick", DELAYED),
            ("rto_alpha", RFC793),
            ("rto_beta", RFC793),
            ("rto_gain", JACOBSON),
            ("rto_dev_gain", JACOBSON),
            ("rto_k", JACOBSON),
            ("rto_granularity", RFC6298),
            ("ack_every", DELAYED),
            ("ack_heartbeat", DELAYED),
            ("ack_gap_fill", DELAYED),
            ("dup_acks", DELAYED),
            ("rto_srtt_initial", JACOBSON),
            ("rto_dev_initial", JACOBSON),
            ("keepalive_interval", "keepalive"),
            ("keepalive_probes", "keepalive"),
        ];
        // The full text of the configuration has exactly the keys that count.
        let shown = Self::from_config("", config);
        NEEDS
            .into_iter()
            .filter(|(key, _)| !shown.has(key))
            .chain(WITHOUT_AGENT)
            .filter(|(key, _)| self.has(key))
            .collect()
    }

    /// Keys that are written and that this recovery and this congestion control have
    /// no use for, with what they need. Others have: a scenario that is run with
    /// several TCPs may hold them.
    pub(super) fn idle(&self, config: &Config) -> Vec<(&'static str, &'static str)> {
        let goes_by = |input| congestion::goes_by(&config.congestion, input);
        let (window, in_use) = (goes_by(Input::Window), goes_by(Input::WindowUse));
        let (go_back_n, snack) = (
            config.recovery == Recovery::GoBackN,
            matches!(config.recovery, Recovery::Snack { .. }),
        );
        let coarse = !matches!(
            config.recovery,
            Recovery::Vegas {
                coarse_timeout: false,
                ..
            }
        );
        let at_timeout = coarse && goes_by(Input::FlightAtTimeout);
        let own_restart = go_back_n || config.recovery == Recovery::Tahoe;
        let newreno = matches!(config.recovery, Recovery::NewReno { .. });
        let all = [
            ("assume_loss", window, WINDOW),
            ("limited_transmit", window, WINDOW),
            ("initial_window", goes_by(Input::InitialWindow), WINDOW),
            (
                "initial_ssthresh",
                goes_by(Input::InitialSsthresh),
                SSTHRESH,
            ),
            ("cwnd_validation", in_use, USE),
            ("cwnd_limit", in_use, USE),
            ("idle_restart", goes_by(Input::IdleRestart), USE),
            ("pacing", goes_by(Input::Pacing), PACED),
            ("pacing_ss_ratio", goes_by(Input::Pacing), PACED),
            ("pacing_ca_ratio", goes_by(Input::Pacing), PACED),
            (
                "reduce_from",
                at_timeout || goes_by(Input::FlightAtLoss),
                PART,
            ),
            (
                "newreno_exit",
                !newreno || goes_by(Input::RecoveryExit),
                EXIT,
            ),
            (
                "dupack_threshold",
                !go_back_n && (!snack || config.limited_transmit),
                DUPACKS,
            ),
            ("restart_on_retransmit", !own_restart, FAST),
            (
                "ack_gap_fill",
                config.receiver.reassembly,
                "reassembly = true",
            ),
        ];
        all.into_iter()
            .filter(|&(key, counts, _)| self.has(key) && !counts)
            .map(|(key, _, needs)| (key, needs))
            .collect()
    }
}
