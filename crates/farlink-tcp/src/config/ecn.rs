//! Settings of Explicit Congestion Notification.

/// ECN that an end asks for and agrees to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum EcnMode {
    /// None.
    #[default]
    Off,
    /// Classic ECN (RFC 3168).
    Classic,
    /// Accurate ECN (RFC 9768), or classic ECN with a peer that has only that.
    Accurate,
}

/// Rule by which a receiver echoes marks with classic ECN.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum EcnEcho {
    /// From a mark until CWR arrives (RFC 3168, 6.1.3).
    #[default]
    UntilCwr,
    /// For marked data only (RFC 8257, 3.2).
    Dctcp,
}

/// Settings of ECN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EcnConfig {
    /// ECN that is asked for and agreed to.
    pub mode: EcnMode,
    /// Rule by which marks are echoed with classic ECN.
    pub echo: EcnEcho,
    /// Sends data as ECT(1) instead of ECT(0).
    pub ect1: bool,
    /// Sends the AccECN option with Accurate ECN.
    pub option: bool,
}

impl Default for EcnConfig {
    fn default() -> Self {
        Self {
            mode: EcnMode::Off,
            echo: EcnEcho::UntilCwr,
            ect1: false,
            option: true,
        }
    }
}
