//! An end of a connection, and its application.

use crate::app::App;
use crate::config::{Config, Control};
use crate::control::{ControlStats, open_window};
use crate::counters::{Counters, Side};
use crate::dialog::{Dialog, Exchange};
use crate::ledger::{Ledger, Progress};
use crate::qlog::Qlog;
use crate::random::drawing;
use crate::rescue::{Rescue, is_of_handshake};
use crate::sessions::Sessions;
use crate::setup::{self, at, draw, nanos, transport};
use crate::streams::{self, Incoming, Outgoing};
use crate::tap::Tap;
use crate::tls::{self, OneCertificate, Secrets};
use crate::watch::{Datagram, Watch};
use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, Event,
    VarInt,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::collections::VecDeque;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

/// A datagram to send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transmitted {
    /// Bytes after the UDP header.
    pub bytes: Vec<u8>,
    /// ECN field of its IP header.
    pub ecn: u8,
    /// Set if it carries data of the stream.
    pub has_data: bool,
}

/// An end of a connection.
pub struct End {
    config: Config,
    random: Xoshiro256PlusPlus,
    endpoint: Endpoint,
    client: Option<ClientConfig>,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Set once the connection needs no further calls.
    drained: bool,
    control_stats: Arc<Mutex<ControlStats>>,
    secrets: Arc<Secrets>,
    /// Probe timeout of a handshake that waits for the window.
    rescue: Rescue,
    /// Answers of the endpoint that belong to no connection.
    answers: VecDeque<Vec<u8>>,
    app: App,
    tap: Tap,
    /// Log and trace of what happens, if one is wanted.
    watch: Option<Box<Watch>>,
    /// Reason for which the connection was lost.
    lost: Option<String>,
    with_data: u64,
    without_data: u64,
    bytes: u64,
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("End");
        shown.field("config", &self.config);
        shown.field("app", &self.app);
        shown.field("lost", &self.lost);
        shown.finish_non_exhaustive()
    }
}

/// Address of the peer. One end talks to one peer, so one address is enough.
fn peer(side: Side) -> SocketAddr {
    let (host, port) = match side {
        Side::Client => (1, 443),
        Side::Server => (2, 50_000),
    };
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)), port)
}

/// Returns whether the handshake is confirmed (RFC 9001, 4.1.2), so that no packet of it is sent.
fn is_confirmed(connection: &Connection) -> bool {
    let is_server = connection.side().is_server();
    connection.is_closed()
        || !connection.is_handshaking()
            && (is_server || connection.stats().frame_rx.handshake_done > 0)
}

impl End {
    /// Creates an end that sends `len` bytes once the connection is open; `u64::MAX` for as much as
    /// it can, 0 for no stream.
    ///
    /// # Errors
    /// Fails if the TLS library refuses the configuration.
    pub fn new(side: Side, config: Config, len: u64) -> Result<Self, String> {
        Self::resuming(side, config, len, None)
    }

    /// Creates an end as [`End::new`] does, which resumes one of the sessions. A client with a ticket
    /// sends data in its first flight (0-RTT).
    ///
    /// # Errors
    /// Fails if the TLS library refuses the configuration.
    pub fn resuming(
        side: Side,
        config: Config,
        len: u64,
        sessions: Option<&Sessions>,
    ) -> Result<Self, String> {
        let mut random = Xoshiro256PlusPlus::from_seed(config.seed);
        let (control_stats, secrets) = (Arc::default(), Arc::new(Secrets::default()));
        let own = setup::endpoint(&mut random);
        let transport = Arc::new(transport(&config, draw(&mut random), &control_stats));
        let (mut client, mut server, tap) = (None, None, Tap::default());
        match side {
            Side::Client => {
                let tls = match sessions {
                    Some(sessions) => Ok(tls::with_log(sessions.client.clone(), &secrets)),
                    None => tls::client(&secrets, Arc::new(OneCertificate)),
                };
                client = Some(setup::client(tls, transport, &mut random, tap.clone())?);
            }
            Side::Server => {
                let tls = sessions.map_or_else(tls::server, |known| Ok(known.server.clone()));
                let made = setup::server(tls, transport, &mut random, tap.clone())?;
                server = Some(Arc::new(made));
            }
        }
        Ok(Self {
            config,
            random,
            endpoint: Endpoint::new(Arc::new(own), server, config.finds_mtu, None),
            client,
            connection: None,
            drained: false,
            control_stats,
            secrets,
            rescue: Rescue::Idle,
            answers: VecDeque::new(),
            app: App {
                outgoing: Outgoing::new(len, config.streams),
                incoming: Incoming::new(config.streams, config.receive_window),
                dialog: Dialog::default(),
            },
            tap,
            watch: None,
            lost: None,
            with_data: 0,
            without_data: 0,
            bytes: 0,
        })
    }

    /// Starts a log in the format of qlog. `group` is the number of the connection in its file.
    pub fn log(&mut self, group: u64) {
        let side = match self.client {
            Some(_) => Side::Client,
            None => Side::Server,
        };
        self.watch().qlog = Some(Qlog::new(side, group));
    }

    /// Starts a trace. The first byte that the connection sends has position `base`.
    pub fn trace(&mut self, base: u64) {
        let windows = streams::windows(self.config.receive_window);
        self.watch().ledger = Ledger::new(base, windows);
        self.watch().traced = true;
    }

    fn watch(&mut self) -> &mut Watch {
        self.tap.start();
        let windows = streams::windows(self.config.receive_window);
        let has_states = self.config.control != Control::Bbr;
        self.watch
            .get_or_insert_with(|| Box::new(Watch::new(windows, has_states)))
    }

    /// Returns the records of the log so far.
    pub fn qlog(&self) -> &str {
        self.watch.as_ref().map_or("", |watch| watch.text())
    }

    /// Returns the changes of the data that this end has sent, since the last call.
    pub fn progress(&mut self) -> Vec<Progress> {
        let watch = self.watch.as_mut().filter(|watch| watch.traced);
        watch.map_or_else(Vec::new, |watch| watch.ledger.take())
    }

    /// Returns the position of the next new byte that this end sends; 0 without a trace.
    pub fn position(&self) -> u64 {
        self.watch.as_ref().map_or(0, |watch| watch.ledger.next())
    }

    /// Adds what has happened to log and trace.
    fn observe(&mut self, now: u64, datagram: Datagram<'_>) {
        if self.watch.is_some() {
            let (counters, control, plain) =
                (self.counters(), self.control_stats(), self.tap.take());
            if let Some(watch) = &mut self.watch {
                watch.add(now, datagram, &plain, (&counters, &control));
            }
        }
    }

    /// Opens the connection of a client; does nothing at a server.
    pub fn open(&mut self, now: u64) {
        let Some(config) = self.client.take() else {
            return;
        };
        let (endpoint, to) = (&mut self.endpoint, peer(Side::Client));
        let opened = drawing(&mut self.random, || {
            endpoint.connect(at(now), config, to, tls::SERVER_NAME)
        });
        match opened {
            Ok(connection) => self.connection = Some(connection),
            Err(error) => self.lost = Some(error.to_string()),
        }
        if let Some((_, connection)) = &mut self.connection
            && connection.has_0rtt()
        {
            self.app.on_event(connection, &Event::Connected);
        }
    }

    /// Returns whether the handshake has ended.
    pub(crate) fn is_connected(&self) -> bool {
        let connection = self.connection.as_ref();
        connection.is_some_and(|(_, connection)| !connection.is_handshaking())
    }

    /// Returns whether the server accepted data in the first flight of this client.
    pub fn resumed(&self) -> bool {
        let connection = self.connection.as_ref();
        connection.is_some_and(|(_, connection)| connection.accepted_0rtt())
    }

    /// Handles an arriving datagram.
    pub fn receive(&mut self, now: u64, ecn: u8, bytes: &[u8]) {
        let mut random = self.random.clone();
        drawing(&mut random, || self.handle(now, ecn, bytes));
        self.random = random;
        self.observe(now, Datagram::Arrived(bytes));
    }

    fn handle(&mut self, now: u64, ecn: u8, bytes: &[u8]) {
        let from = match self.client_or_server() {
            Side::Client => peer(Side::Client),
            Side::Server => peer(Side::Server),
        };
        let ecn = EcnCodepoint::from_bits(ecn);
        let mut answer = Vec::new();
        let data = BytesMut::from(bytes);
        let event = self
            .endpoint
            .handle(at(now), from, None, ecn, data, &mut answer);
        match event {
            Some(DatagramEvent::ConnectionEvent(of, event)) => {
                if let Some((handle, connection)) = &mut self.connection
                    && *handle == of
                {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                // A late copy of the first packet must not open a second connection.
                if self.connection.is_some() {
                    self.endpoint.ignore(incoming);
                } else {
                    match self.endpoint.accept(incoming, at(now), &mut answer, None) {
                        Ok(connection) => self.connection = Some(connection),
                        Err(error) => {
                            let size = error.response.map(|response| response.size);
                            self.answers
                                .extend(size.map(|size| answer[..size].to_vec()));
                        }
                    }
                }
            }
            Some(DatagramEvent::Response(response)) => {
                self.answers.push_back(answer[..response.size].to_vec());
            }
            None => {}
        }
        self.serve();
    }

    fn client_or_server(&self) -> Side {
        match &self.connection {
            Some((_, connection)) if connection.side().is_client() => Side::Client,
            _ => Side::Server,
        }
    }

    /// Handles the timers that are due.
    pub fn on_time(&mut self, now: u64) {
        if self.deadline().is_none_or(|due| due > now) {
            return;
        }
        let mut random = self.random.clone();
        drawing(&mut random, || {
            if let Some((_, connection)) = &mut self.connection {
                connection.handle_timeout(at(now));
                if self.rescue.on_time(now, connection.rtt()) {
                    open_window(&self.control_stats, true);
                }
            }
            self.serve();
        });
        self.random = random;
        self.observe(now, Datagram::None);
    }

    /// Returns the next datagram to send now.
    pub fn transmit(&mut self, now: u64) -> Option<Transmitted> {
        if let Some(bytes) = self.answers.pop_front() {
            self.observe(now, Datagram::Sent(&bytes));
            return Some(self.count(bytes, 0, false));
        }
        if self.drained {
            return None;
        }
        let mut random = self.random.clone();
        let sent = drawing(&mut random, || self.poll(now));
        self.random = random;
        if let Some(sent) = &sent {
            self.observe(now, Datagram::Sent(&sent.bytes));
        }
        sent
    }

    fn poll(&mut self, now: u64) -> Option<Transmitted> {
        let (_, connection) = self.connection.as_mut()?;
        let frames = connection.stats().frame_tx.stream;
        let mut bytes = Vec::new();
        let transmit = connection.poll_transmit(at(now), 1, &mut bytes);
        if self.rescue.due().is_some() || is_of_handshake(&bytes) {
            open_window(&self.control_stats, false);
            self.rescue.on_sent(now, &bytes, connection.rtt());
        }
        let transmit = transmit?;
        bytes.truncate(transmit.size);
        let has_data = connection.stats().frame_tx.stream > frames;
        self.serve();
        let ecn = transmit.ecn.map_or(0, |ecn| ecn as u8);
        Some(self.count(bytes, ecn, has_data))
    }

    fn count(&mut self, bytes: Vec<u8>, ecn: u8, has_data: bool) -> Transmitted {
        if has_data {
            self.with_data += 1;
            self.bytes += bytes.len() as u64;
        } else {
            self.without_data += 1;
        }
        Transmitted {
            bytes,
            ecn,
            has_data,
        }
    }

    /// Returns the time of the next timer.
    pub fn deadline(&mut self) -> Option<u64> {
        if self.drained {
            return None;
        }
        let (_, connection) = self.connection.as_mut()?;
        let due = connection.poll_timeout()?;
        if is_confirmed(connection) {
            self.rescue = Rescue::Idle;
        }
        Some(
            self.rescue
                .due()
                .map_or(nanos(due), |rescue| nanos(due).min(rescue)),
        )
    }

    /// Makes the end send one stream, to which [`End::write`] adds data until [`End::finish`].
    /// For an end that is not open yet.
    pub fn hold(&mut self) {
        self.app.outgoing = Outgoing::held();
    }

    /// Adds `len` bytes to the stream of [`End::hold`].
    pub fn write(&mut self, len: u64) {
        self.app.outgoing.add(len);
        self.write_out();
    }

    /// Ends the stream of [`End::hold`].
    pub fn finish(&mut self) {
        self.app.outgoing.end();
        self.write_out();
    }

    fn write_out(&mut self) {
        if let Some((_, connection)) = &mut self.connection {
            self.app.outgoing.write(connection);
        }
    }

    /// Sends a request of `len` bytes from a client. Requests have numbers from 0 on.
    pub fn request(&mut self, len: u64) {
        self.app.dialog.request(len);
        if let Some((_, connection)) = &mut self.connection {
            self.app.dialog.write(connection);
        }
    }

    /// Sends the answer of `len` bytes to a request from a server.
    pub fn answer(&mut self, number: u64, len: u64) {
        self.app.dialog.answer(number, len);
        if let Some((_, connection)) = &mut self.connection {
            self.app.dialog.write(connection);
        }
    }

    /// Returns the next event of the requests and answers.
    pub fn exchange(&mut self) -> Option<Exchange> {
        self.app.dialog.next()
    }

    /// Closes the connection. The peer learns of it by a packet.
    pub fn close(&mut self, now: u64) {
        if let Some((_, connection)) = &mut self.connection {
            connection.close(at(now), VarInt::from_u32(0), Bytes::new());
            self.serve();
        }
    }

    /// Lets endpoint, connection and application react to what has happened.
    fn serve(&mut self) {
        let Some((handle, connection)) = &mut self.connection else {
            return;
        };
        if self.drained {
            return;
        }
        loop {
            while let Some(event) = connection.poll_endpoint_events() {
                self.drained |= event.is_drained();
                if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(answer);
                }
            }
            let Some(event) = connection.poll() else {
                break;
            };
            match event {
                Event::ConnectionLost { reason } => self.lost = Some(reason.to_string()),
                event => self.app.on_event(connection, &event),
            }
        }
    }

    /// Returns the number of bytes that arrived without a gap in their streams.
    pub fn read(&self) -> u64 {
        self.app.incoming.bytes()
    }

    /// Returns whether the application has read all streams of the peer.
    pub fn has_all(&self) -> bool {
        self.app.incoming.has_all()
    }

    /// Returns whether the peer has acknowledged all streams of this end.
    pub fn is_acknowledged(&self) -> bool {
        self.app.outgoing.is_acknowledged()
    }

    /// Returns the reason for which the connection was lost, or for which its data is wrong.
    pub fn fault(&self) -> Option<&str> {
        if self.app.incoming.wrong {
            return Some("data arrived that was not sent");
        }
        self.lost.as_deref()
    }

    /// Returns the lines of a key log file for the connection; empty at a server.
    pub fn secrets(&self) -> String {
        self.secrets.lines()
    }

    /// Returns the counters of the congestion control.
    pub fn control_stats(&self) -> ControlStats {
        self.control_stats
            .lock()
            .map(|control_stats| *control_stats)
            .unwrap_or_default()
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        let mut counters = Counters {
            with_data: self.with_data,
            bytes: self.bytes,
            without_data: self.without_data,
            ..Counters::default()
        };
        if let Some((_, connection)) = &self.connection {
            let path = connection.stats().path;
            let metrics = connection.congestion_state().metrics();
            counters.lost = path.lost_packets;
            counters.window = metrics.congestion_window;
            counters.ssthresh = metrics.ssthresh.filter(|&threshold| threshold != u64::MAX);
            counters.mtu = path.current_mtu;
        }
        counters
    }
}
