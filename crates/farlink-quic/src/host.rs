//! A host that real programs of QUIC talk to: a server of many connections, or a client of one.
//!
//! As an [`End`](crate::End) it has no socket and no clock. The caller passes datagrams and the time.

use crate::config::Config;
use crate::control::ControlStats;
use crate::counters::Counters;
use crate::download::{Download, Fetched};
use crate::end::Transmitted;
use crate::random::drawing;
use crate::request::Request;
use crate::setup::{self, at, draw, nanos, transport};
use crate::tap::Tap;
use crate::tls::{self, AnyCertificate, Secrets};
use bytes::{Bytes, BytesMut};
use quinn_proto::{
    Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    Event, Incoming, ServerConfig, StreamEvent, StreamId, VarInt,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// Maximum number of connections. Further ones are refused.
const MAX_CONNECTIONS: usize = 1024;

/// A datagram, and the address for which it is.
pub type Addressed = (SocketAddr, Transmitted);

/// State of a connection of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Address of the peer.
    pub peer: SocketAddr,
    /// Counters of the packets.
    pub counters: Counters,
    /// Counters of the congestion control.
    pub control_stats: ControlStats,
}

/// A connection and its application.
struct Open {
    connection: Connection,
    peer: SocketAddr,
    control_stats: Arc<Mutex<ControlStats>>,
    /// Requests of the peer by stream.
    requests: BTreeMap<StreamId, Request>,
    with_data: u64,
    without_data: u64,
    bytes: u64,
    drained: bool,
}

/// A host on one local port.
pub struct Host {
    config: Config,
    random: Xoshiro256PlusPlus,
    /// Seeds of congestion controls.
    seeds: Xoshiro256PlusPlus,
    endpoint: Endpoint,
    server: Option<ServerConfig>,
    /// Bytes of the answer to a request for `/`.
    whole: u64,
    open: BTreeMap<usize, Open>,
    /// Answers that belong to no connection.
    answers: VecDeque<Addressed>,
    download: Option<Download>,
    secrets: Arc<Secrets>,
    /// State of closed connections, until the caller takes it.
    closed: Vec<Seen>,
    accepted: u64,
    refused: u64,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Host");
        shown.field("config", &self.config);
        shown.field("open", &self.open.len());
        shown.field("download", &self.download);
        shown.finish_non_exhaustive()
    }
}

impl Host {
    /// Creates a server. A request for `/N` is answered by N bytes, a request for `/` by `whole`.
    ///
    /// # Errors
    /// Fails if the TLS library refuses the configuration.
    pub fn server(config: Config, whole: u64) -> Result<Self, String> {
        let mut host = Self::new(config, whole);
        let transport = Arc::new(transport(&config, [0; 16], &Arc::default()));
        let tls = tls::server().map(|mut tls| {
            tls.key_log = Arc::clone(&host.secrets) as Arc<dyn rustls::KeyLog>;
            tls
        });
        let server = setup::server(tls, transport, &mut host.random, Tap::default())?;
        let shared = Some(Arc::new(server.clone()));
        host.endpoint.set_server_config(shared);
        host.server = Some(server);
        Ok(host)
    }

    /// Creates a client that downloads `/size` from the server `name` at `to`. With `known` the
    /// server is a [`Host`] too, and the client compares the bytes.
    ///
    /// # Errors
    /// Fails if the TLS library refuses the configuration, or the connection cannot begin.
    pub fn client(
        config: Config,
        now: u64,
        (to, name): (SocketAddr, &str),
        size: u64,
        known: bool,
    ) -> Result<Self, String> {
        let mut host = Self::new(config, 0);
        let control_stats = Arc::default();
        let transport = transport(&config, draw(&mut host.seeds), &control_stats);
        let tls = tls::client(&host.secrets, Arc::new(AnyCertificate));
        let (transport, tap) = (Arc::new(transport), Tap::default());
        let client = setup::client(tls, transport, &mut host.random, tap)?;
        let endpoint = &mut host.endpoint;
        let opened = drawing(&mut host.random, || {
            endpoint.connect(at(now), client, to, name)
        });
        let (handle, connection) = opened.map_err(|error| error.to_string())?;
        host.download = Some(Download::new(size, known, config.receive_window));
        host.open
            .insert(handle.0, Open::new(connection, to, control_stats));
        Ok(host)
    }

    fn new(config: Config, whole: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::from_seed(config.seed);
        let own = Arc::new(setup::endpoint(&mut random));
        let seeds = Xoshiro256PlusPlus::from_seed(draw(&mut random));
        Self {
            config,
            random,
            seeds,
            endpoint: Endpoint::new(own, None, config.finds_mtu, None),
            server: None,
            whole,
            open: BTreeMap::new(),
            answers: VecDeque::new(),
            download: None,
            secrets: Arc::default(),
            closed: Vec::new(),
            accepted: 0,
            refused: 0,
        }
    }

    /// Handles a datagram that arrives from `from`.
    pub fn receive(&mut self, now: u64, from: SocketAddr, ecn: u8, bytes: &[u8]) {
        let mut random = self.random.clone();
        drawing(&mut random, || self.handle(now, from, ecn, bytes));
        self.random = random;
    }

    fn handle(&mut self, now: u64, from: SocketAddr, ecn: u8, bytes: &[u8]) {
        let (ecn, data) = (EcnCodepoint::from_bits(ecn), BytesMut::from(bytes));
        let mut answer = Vec::new();
        let event = self
            .endpoint
            .handle(at(now), from, None, ecn, data, &mut answer);
        match event {
            Some(DatagramEvent::ConnectionEvent(of, event)) => {
                if let Some(open) = self.open.get_mut(&of.0) {
                    open.connection.handle_event(event);
                    self.serve(now, of.0);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(now, from, incoming),
            Some(DatagramEvent::Response(response)) => {
                self.answer(from, &answer[..response.size]);
            }
            None => {}
        }
    }

    fn accept(&mut self, now: u64, from: SocketAddr, incoming: Incoming) {
        let mut answer = Vec::new();
        let Some(server) = self
            .server
            .as_ref()
            .filter(|_| self.open.len() < MAX_CONNECTIONS)
        else {
            self.refused += 1;
            let response = self.endpoint.refuse(incoming, &mut answer);
            self.answer(from, &answer[..response.size]);
            return;
        };
        let (mut own, control_stats) = (server.clone(), Arc::default());
        // Each connection has counters of its own.
        let seed = draw(&mut self.seeds);
        own.transport_config(Arc::new(transport(&self.config, seed, &control_stats)));
        let accepted = self
            .endpoint
            .accept(incoming, at(now), &mut answer, Some(Arc::new(own)));
        match accepted {
            Ok((handle, connection)) => {
                self.accepted += 1;
                self.open
                    .insert(handle.0, Open::new(connection, from, control_stats));
                self.serve(now, handle.0);
            }
            Err(error) => {
                if let Some(response) = error.response {
                    self.answer(from, &answer[..response.size]);
                }
            }
        }
    }

    fn answer(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.answers.push_back((
            to,
            Transmitted {
                bytes: bytes.to_vec(),
                ecn: 0,
                has_data: false,
            },
        ));
    }

    /// Handles the timers that are due.
    pub fn on_time(&mut self, now: u64) {
        let mut due = Vec::new();
        for (&number, open) in &mut self.open {
            if open.deadline().is_some_and(|deadline| deadline <= now) {
                due.push(number);
            }
        }
        let mut random = self.random.clone();
        drawing(&mut random, || {
            for number in due {
                if let Some(open) = self.open.get_mut(&number) {
                    open.connection.handle_timeout(at(now));
                }
                self.serve(now, number);
            }
        });
        self.random = random;
    }

    /// Returns the next datagram to send now.
    pub fn transmit(&mut self, now: u64) -> Option<Addressed> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        let mut random = self.random.clone();
        let numbers: Vec<usize> = self.open.keys().copied().collect();
        let sent = drawing(&mut random, || {
            numbers.into_iter().find_map(|number| {
                let sent = self.open.get_mut(&number)?.transmit(now)?;
                self.serve(now, number);
                Some(sent)
            })
        });
        self.random = random;
        sent
    }

    /// Returns the time of the next timer.
    pub fn deadline(&mut self) -> Option<u64> {
        self.open.values_mut().filter_map(Open::deadline).min()
    }

    /// Lets endpoint, connection and application react to what has happened.
    fn serve(&mut self, now: u64, number: usize) {
        let Some(open) = self.open.get_mut(&number) else {
            return;
        };
        loop {
            while let Some(event) = open.connection.poll_endpoint_events() {
                open.drained |= event.is_drained();
                let answer = self.endpoint.handle_event(ConnectionHandle(number), event);
                if let Some(answer) = answer {
                    open.connection.handle_event(answer);
                }
            }
            let Some(event) = open.connection.poll() else {
                break;
            };
            match &mut self.download {
                Some(download) => {
                    if let Event::ConnectionLost {
                        reason: ConnectionError::LocallyClosed,
                    } = event
                    {
                        continue;
                    }
                    if download.on_event(&mut open.connection, event) {
                        let none = VarInt::from_u32(0);
                        open.connection.close(at(now), none, Bytes::new());
                    }
                }
                None => open.on_event(&event, self.whole),
            }
        }
        if open.drained {
            self.closed.push(open.seen());
            self.open.remove(&number);
        }
    }

    /// Returns the result of the download, once it has ended.
    pub fn fetched(&self) -> Option<&Fetched> {
        self.download.as_ref().and_then(|download| download.done())
    }

    /// Returns whether the handshake of a client has ended.
    pub fn is_connected(&self) -> bool {
        self.download.as_ref().is_some_and(Download::is_connected)
    }

    /// Returns whether all connections have been closed, and nothing is left to send.
    pub fn is_idle(&self) -> bool {
        self.open.is_empty() && self.answers.is_empty()
    }

    /// Returns the number of connections that were accepted, and of those that were refused.
    pub fn accepted(&self) -> (u64, u64) {
        (self.accepted, self.refused)
    }

    /// Returns the state of all connections that are open.
    pub fn seen(&self) -> impl Iterator<Item = Seen> {
        self.open.values().map(Open::seen)
    }

    /// Returns the state of the connections that have ended since the last call.
    pub fn take_closed(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.closed)
    }

    /// Returns the lines of a key log file for all connections.
    pub fn secrets(&self) -> String {
        self.secrets.lines()
    }
}

impl Open {
    fn new(
        connection: Connection,
        peer: SocketAddr,
        control_stats: Arc<Mutex<ControlStats>>,
    ) -> Self {
        Self {
            connection,
            peer,
            control_stats,
            requests: BTreeMap::new(),
            with_data: 0,
            without_data: 0,
            bytes: 0,
            drained: false,
        }
    }

    fn deadline(&mut self) -> Option<u64> {
        self.connection.poll_timeout().map(nanos)
    }

    fn transmit(&mut self, now: u64) -> Option<Addressed> {
        let frames = self.connection.stats().frame_tx.stream;
        let mut bytes = Vec::new();
        let sent = self.connection.poll_transmit(at(now), 1, &mut bytes)?;
        bytes.truncate(sent.size);
        let has_data = self.connection.stats().frame_tx.stream > frames;
        if has_data {
            self.with_data += 1;
            self.bytes += bytes.len() as u64;
        } else {
            self.without_data += 1;
        }
        let ecn = sent.ecn.map_or(0, |ecn| ecn as u8);
        Some((
            sent.destination,
            Transmitted {
                bytes,
                ecn,
                has_data,
            },
        ))
    }

    /// Answers requests of the peer.
    fn on_event(&mut self, event: &Event, whole: u64) {
        match *event {
            Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                while let Some(id) = self.connection.streams().accept(Dir::Bi) {
                    let mut request = Request::new();
                    request.read(&mut self.connection, id, whole);
                    self.requests.insert(id, request);
                    self.settle(id);
                }
            }
            Event::Stream(StreamEvent::Readable { id }) => {
                if let Some(request) = self.requests.get_mut(&id) {
                    request.read(&mut self.connection, id, whole);
                    self.settle(id);
                }
            }
            Event::Stream(StreamEvent::Writable { id } | StreamEvent::Stopped { id, .. }) => {
                if let Some(request) = self.requests.get_mut(&id) {
                    request.write(&mut self.connection, id);
                    self.settle(id);
                }
            }
            _ => {}
        }
    }

    /// Forgets a request that has ended.
    fn settle(&mut self, id: StreamId) {
        if let Some(Request::Done) = self.requests.get(&id) {
            self.requests.remove(&id);
        }
    }

    fn seen(&self) -> Seen {
        let (path, metrics) = (
            self.connection.stats().path,
            self.connection.congestion_state().metrics(),
        );
        let control_stats = self.control_stats.lock();
        Seen {
            peer: self.peer,
            counters: Counters {
                with_data: self.with_data,
                bytes: self.bytes,
                without_data: self.without_data,
                lost: path.lost_packets,
                window: metrics.congestion_window,
                ssthresh: metrics.ssthresh.filter(|&threshold| threshold != u64::MAX),
                mtu: path.current_mtu,
            },
            control_stats: control_stats.map(|stats| *stats).unwrap_or_default(),
        }
    }
}
