//! QUIC in place of TCP: the profile "quic".

use super::app::{App, HttpSpec};
use super::checks::ignored;
use super::decode::Problem;
use super::quic_table::QuicTable;
use super::tcp::TcpSpec;
use super::traffic::WebSpec;
use farlink_tcp::key::Value;
use farlink_tcp::profile::QUIC;

/// Checks that a table of QUIC's parameters has an effect: one of `tcps` is QUIC.
pub(super) fn refuse_idle<'a>(
    table: Option<&QuicTable>,
    mut tcps: impl Iterator<Item = &'a TcpSpec>,
) -> Result<(), Problem> {
    if table.is_some() && !tcps.any(is) {
        return Err(ignored("quic", "profile = \"quic\"").within("tcp"));
    }
    Ok(())
}

/// Congestion control of a flow over QUIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuicControl {
    /// CUBIC, the default.
    Cubic,
    /// NewReno.
    NewReno,
    /// BBR, version 1.
    Bbr,
}

/// Requests of a client over QUIC, each on a stream of its own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum QuicPages {
    /// Pages with inline objects.
    Http(HttpSpec),
    /// Files of random sizes.
    Web(WebSpec),
}

/// A flow over QUIC. What is not here has the defaults of the implementation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QuicSpec {
    /// Congestion control of both ends.
    pub control: QuicControl,
    /// Bytes from `from` to `to`; `None` for as many as `duration` allows.
    pub size: Option<u64>,
    /// Bytes from `to` to `from` at the same time.
    pub reverse: u64,
    /// Requests from `to`, in place of a file.
    pub pages: Option<QuicPages>,
    /// Receive window of a stream and of the connection, in bytes.
    pub receive_window: Option<u64>,
    /// Bytes that may wait for acknowledgment.
    pub send_window: Option<u64>,
    /// Parameters of the transport.
    pub transport: QuicTable,
}

/// Returns whether a TCP is QUIC.
pub(super) fn is(tcp: &TcpSpec) -> bool {
    tcp.profile == Some(QUIC.name)
}

/// Returns the keys from which agents take their TCPs: those of the scenario, without QUIC.
pub(super) fn of_agents(tcp: &TcpSpec) -> TcpSpec {
    let mut own = tcp.clone();
    if is(tcp) {
        (own.profile, own.variant) = (None, None);
    }
    own.quic = None;
    own
}

/// Returns an application of a flow with this TCP, over QUIC if the TCP is that.
pub(super) fn over_or_not(app: App, tcp: &TcpSpec) -> Result<App, Problem> {
    if !is(tcp) || matches!(app, App::Udp(_) | App::Xtp(_)) {
        return Ok(app);
    }
    let (size, reverse, pages) = match app {
        App::File { size, reverse } => (Some(size), reverse, None),
        App::Bulk => (None, 0, None),
        App::Http(http) => (Some(0), 0, Some(QuicPages::Http(http))),
        App::Web(web) => (Some(0), 0, Some(QuicPages::Web(web))),
        _ => {
            let message = "does not go with profile = \"quic\"; write \"file\", \"bulk\", \"http\" or \
                           \"web\", or another profile in the flow's tcp";
            return Err(Problem::new(["app".into()], message));
        }
    };
    let control = match tcp.variant_name() {
        "bbr" => QuicControl::Bbr,
        "newreno" => QuicControl::NewReno,
        _ => QuicControl::Cubic,
    };
    let bytes = |key| match tcp.value(key) {
        Some(Value::Size(bytes)) => Some(bytes),
        _ => None,
    };
    Ok(App::Quic(QuicSpec {
        control,
        size,
        reverse,
        pages,
        receive_window: bytes("receive_window"),
        send_window: bytes("send_buffer"),
        transport: tcp.quic.unwrap_or_default(),
    }))
}
