//! QUIC in place of TCP: the profile "quic".

use super::app::{App, HttpSpec, RepeatSpec, StreamSpec};
use super::checks::ignored;
use super::decode::Problem;
use super::quic_table::QuicTable;
use super::tcp::TcpSpec;
use super::traffic::{ConversationSpec, WebSpec};
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

/// Applications over one stream in each direction of a connection, as over TCP.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum QuicProgram {
    /// Repeated transfer of one file.
    Repeat(RepeatSpec),
    /// Messages.
    Stream(StreamSpec),
    /// Conversations.
    Conversation(ConversationSpec),
}

impl QuicProgram {
    /// Returns the application.
    pub fn app(self) -> App {
        match self {
            Self::Repeat(spec) => App::Repeat(spec),
            Self::Stream(spec) => App::Stream(spec),
            Self::Conversation(spec) => App::Conversation(spec),
        }
    }
}

/// Application over QUIC that is not one file in each direction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum QuicService {
    /// Requests from `to`.
    Pages(QuicPages),
    /// Application over one stream in each direction.
    Program(QuicProgram),
}

impl QuicSpec {
    /// Returns the requests, if the application has any.
    pub fn pages(&self) -> Option<QuicPages> {
        match self.service {
            Some(QuicService::Pages(pages)) => Some(pages),
            _ => None,
        }
    }

    /// Returns the application over one stream in each direction, if it is one.
    pub fn program(&self) -> Option<QuicProgram> {
        match self.service {
            Some(QuicService::Program(program)) => Some(program),
            _ => None,
        }
    }
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
    /// Application in place of a file.
    pub service: Option<QuicService>,
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
pub(super) fn over_or_not(app: &App, tcp: &TcpSpec) -> App {
    if !is(tcp) || matches!(app, App::Udp(_) | App::Xtp(_)) {
        return *app;
    }
    let (size, reverse) = match *app {
        App::File { size, reverse } => (Some(size), reverse),
        App::Bulk => (None, 0),
        _ => (Some(0), 0),
    };
    let service = match *app {
        App::Http(http) => Some(QuicService::Pages(QuicPages::Http(http))),
        App::Web(web) => Some(QuicService::Pages(QuicPages::Web(web))),
        App::Repeat(spec) => Some(QuicService::Program(QuicProgram::Repeat(spec))),
        App::Stream(spec) => Some(QuicService::Program(QuicProgram::Stream(spec))),
        App::Conversation(spec) => Some(QuicService::Program(QuicProgram::Conversation(spec))),
        _ => None,
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
    App::Quic(QuicSpec {
        control,
        size,
        reverse,
        service,
        receive_window: bytes("receive_window"),
        send_window: bytes("send_buffer"),
        transport: tcp.quic.unwrap_or_default(),
    })
}
