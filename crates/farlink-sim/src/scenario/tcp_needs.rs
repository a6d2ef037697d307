//! Keys of `[tcp]` that mean something only beside another.

use super::tcp::TcpSpec;
use farlink_tcp::Config;

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
        const NEEDS: [(&str, &str); 41] = [
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
            ("ackp_timer", "ackp = \"constant\""),
            ("ackp_karn", "ackp"),
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
            .filter(|(key, _)| self.has(key) && !shown.has(key))
            .collect()
    }
}
