//! The gateway's end of the tunnel to the unit: handshakes, sessions and rekeying.

use super::{GatewayDone, GatewayOptions, wait};
use crate::EmuError;
use crate::peer::LOST_AFTER;
use crate::tun::LONGEST;
use crate::tunnel::{
    Cookie, Hello, Initiation, Inner, Key, Limits, NO_COOKIE, Outer, Pieces, Rejection, Session,
    Welcome,
};
use farlink_tcp::{Instant, Interval};
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};

/// Initial and maximum time after which a handshake is retried; it doubles with each retry. A retry
/// discards the previous handshake, so the time must exceed the round trip for a handshake to
/// succeed.
const FIRST_RETRY: Interval = Interval::from_millis(500);
const LONGEST_RETRY: Interval = Interval::from_secs(2);
/// Time limit for the first handshake.
const TIME_LIMIT: Interval = Interval::from_secs(10);
/// Time for which the answer "this host is another gateway already" is tolerated. The unit detects
/// within this time that a previous gateway has gone.
const TAKEN_TOLERANCE: Interval = Interval::from_secs(5);

/// The tunnel to the unit.
pub(super) struct Tunnel {
    pub(super) socket: UdpSocket,
    /// Sockets for other addresses of the unit. Each retry of the handshake uses the next socket. A
    /// name may have several addresses, and the unit may use only one.
    others: VecDeque<UdpSocket>,
    key: Key,
    hello: Hello,
    limits: Limits,
    /// Node number, number of nodes and MTU in the unit's first `Welcome`. The host is built with
    /// these values and cannot be changed to others.
    place: Option<(u32, u32, u32)>,
    session: Option<(u32, Session)>,
    previous: Option<(u32, Session)>,
    handshake: Option<Initiation>,
    handshake_sent: Instant,
    /// Cookie from the unit, which proves this gateway's address.
    cookie: Cookie,
    /// Set when the first message of the current handshake was repeated with a new cookie.
    is_proven: bool,
    /// Time from `handshake_sent` to the next attempt.
    pause: Interval,
    last_received: Instant,
    is_lost: bool,
    /// Set when the host's device exists.
    is_ready: bool,
    datagram: Vec<u8>,
    pub(super) done: GatewayDone,
}

/// Result of reading a datagram of the unit.
pub(super) enum UnitMessage {
    Nothing,
    Welcome(Welcome),
    /// The unit was restarted with another scenario.
    Changed,
    Packet(Vec<u8>, bool),
    Bye,
}

/// Opens a non-blocking socket connected to `to`.
fn reach(to: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = if to.is_ipv4() {
        ([0, 0, 0, 0], 0).into()
    } else {
        ([0u16; 8], 0).into()
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(to)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

impl Tunnel {
    pub(super) fn open(options: &GatewayOptions) -> Result<Self, EmuError> {
        let wrong = |why: String| EmuError::Scenario(why);
        let key = options.key.parse();
        let key = key.map_err(|why| wrong(format!("--key: {why}")))?;
        let join = &options.join;
        let all = join.to_socket_addrs().map_err(|e| {
            wrong(format!(
                "--join {join}: the address of the unit is not known ({e})"
            ))
        })?;
        let (mut others, mut refused) = (VecDeque::new(), None);
        for to in all {
            match reach(to) {
                Ok(socket) => others.push_back(socket),
                Err(e) => refused = Some(EmuError::system(format!("reach {to}"), e)),
            }
        }
        let Some(socket) = others.pop_front() else {
            let none = || wrong(format!("--join {join}: it has no address"));
            return Err(refused.unwrap_or_else(none));
        };
        let mut number = [0; 8];
        let failed = |e| EmuError::system("draw a random number", io::Error::other(e));
        getrandom::fill(&mut number).map_err(failed)?;
        Ok(Self {
            socket,
            others,
            key,
            hello: Hello {
                host: options.host.clone(),
                instance: u64::from_ne_bytes(number),
            },
            limits: Limits::default(),
            place: None,
            session: None,
            previous: None,
            handshake: None,
            handshake_sent: Instant::ZERO,
            cookie: NO_COOKIE,
            is_proven: false,
            pause: FIRST_RETRY,
            last_received: Instant::ZERO,
            is_lost: false,
            is_ready: false,
            datagram: Vec::new(),
            done: GatewayDone {
                host: options.host.clone(),
                ..GatewayDone::default()
            },
        })
    }

    /// Returns whether the next attempt at a handshake is due.
    fn is_retry_due(&self, now: Instant) -> bool {
        now.since(self.handshake_sent) >= self.pause
    }

    /// Starts a new handshake, and discards the current one, if any.
    fn start_handshake(&mut self, now: Instant) {
        self.handshake_sent = now;
        if self.handshake.is_some() {
            self.pause = (self.pause * 2).min(LONGEST_RETRY);
            if let Some(other) = self.others.pop_front() {
                let silent = std::mem::replace(&mut self.socket, other);
                self.others.push_back(silent);
            }
        }
        let last = self.handshake.as_ref().map(Initiation::own);
        let own = last.or(self.session.as_ref().map(|(own, _)| *own));
        let own = own.map_or(1, |own| own.wrapping_add(1));
        if let Some((asking, _)) = Initiation::begin(&self.key, own, &self.hello) {
            // A failed send has the effect of a lost message, which is retried.
            let _ = self.socket.send(&asking.datagram(self.cookie));
            self.handshake = Some(asking);
            self.is_proven = false;
        }
    }

    /// Stores a cookie, and repeats the first message with it. This happens once per handshake, so
    /// forged cookies cause no further traffic.
    fn on_cookie(&mut self, now: Instant, cookie: Cookie) {
        let Some(asking) = self.handshake.as_ref().filter(|_| cookie != self.cookie) else {
            return;
        };
        self.cookie = cookie;
        if !self.is_proven {
            self.is_proven = true;
            self.handshake_sent = now;
            let _ = self.socket.send(&asking.datagram(cookie));
        }
    }

    /// Declares the host ready. The unit treats the gateway as joined at the first datagram in the
    /// session. An earlier datagram would start probes that are answered late, which makes the
    /// measured delay wrong.
    pub(super) fn declare_ready(&mut self, now: Instant) {
        (self.is_ready, self.last_received) = (true, now);
        self.send(now, Inner::Probe { at: 0 });
    }

    pub(super) fn send(&mut self, now: Instant, inner: Inner<'_>) -> bool {
        self.session.as_mut().is_some_and(|(_, session)| {
            session.seal(now, inner, &mut self.datagram) && self.socket.send(&self.datagram).is_ok()
        })
    }

    /// Reads a datagram; `None` if there is none.
    pub(super) fn read(
        &mut self,
        now: Instant,
        buffer: &mut [u8],
        pieces: &mut Pieces,
    ) -> Option<UnitMessage> {
        let length = match self.socket.recv(buffer) {
            Ok(length) => length,
            // Currently no program listens on the unit's port.
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                return Some(UnitMessage::Nothing);
            }
            Err(_) => return None,
        };
        Some(match Outer::read(&buffer[..length]) {
            Some(Outer::Welcome { to, from, body }) => self.on_welcome(now, to, from, body),
            Some(Outer::Prove { cookie, .. }) => {
                self.on_cookie(now, cookie);
                UnitMessage::Nothing
            }
            Some(Outer::Sealed { to, number, body }) => {
                let mut plain = Vec::new();
                let known = self.session.iter_mut().chain(&mut self.previous);
                let Some((_, session)) = known.into_iter().find(|(own, _)| *own == to) else {
                    return Some(UnitMessage::Nothing);
                };
                match session.open(now, number, body, &mut plain) {
                    Ok(()) => {
                        self.last_received = now;
                        self.on_message(now, to, &plain, pieces)
                    }
                    Err(Rejection::Replayed) => {
                        self.done.replayed += 1;
                        UnitMessage::Nothing
                    }
                    Err(_) => {
                        self.done.forged += 1;
                        UnitMessage::Nothing
                    }
                }
            }
            _ => {
                self.done.forged += 1;
                UnitMessage::Nothing
            }
        })
    }

    fn on_welcome(&mut self, now: Instant, to: u32, from: u32, body: &[u8]) -> UnitMessage {
        let Some(asking) = self.handshake.as_mut().filter(|asking| asking.own() == to) else {
            return UnitMessage::Nothing;
        };
        let Some((welcome, session)) = asking.finish(&self.key, from, body, now, self.limits)
        else {
            self.done.forged += 1;
            return UnitMessage::Nothing;
        };
        self.handshake = None;
        self.others.clear();
        self.last_received = now;
        // The next handshake (for new keys, or after the unit was lost) starts with a time of twice
        // the round trip.
        self.pause = (now.since(self.handshake_sent) * 2).clamp(FIRST_RETRY, LONGEST_RETRY);
        if let &Welcome::Joined {
            node, nodes, mtu, ..
        } = &welcome
        {
            let place = (node, nodes, mtu);
            if *self.place.get_or_insert(place) != place {
                return UnitMessage::Changed;
            }
            self.previous = self.session.replace((to, session));
            if self.is_ready {
                self.declare_ready(now);
            }
        }
        UnitMessage::Welcome(welcome)
    }

    /// Handles a decrypted message of the session `own`.
    fn on_message(
        &mut self,
        now: Instant,
        own: u32,
        plain: &[u8],
        pieces: &mut Pieces,
    ) -> UnitMessage {
        match Inner::read(plain) {
            Some(Inner::Probe { at }) => {
                self.send(now, Inner::Echo { at, held: 0 });
                UnitMessage::Nothing
            }
            Some(inner @ (Inner::Packet { .. } | Inner::Piece { .. })) => {
                let whole = pieces.on_message(own, inner);
                whole.map_or(UnitMessage::Nothing, |(packet, checked)| {
                    UnitMessage::Packet(packet, checked)
                })
            }
            Some(Inner::Bye) => UnitMessage::Bye,
            Some(Inner::Echo { .. } | Inner::Place { .. } | Inner::Overflowed { .. }) | None => {
                UnitMessage::Nothing
            }
        }
    }

    /// Performs the first handshake. Returns the unit's welcome, or `None` if `tick` requests the
    /// end.
    pub(super) fn join<E>(
        &mut self,
        clock: &impl Fn() -> Instant,
        tick: &mut impl FnMut(&[String]) -> Result<bool, E>,
    ) -> Result<Result<Option<Welcome>, E>, EmuError> {
        let (mut buffer, mut pieces) = (vec![0; LONGEST], Pieces::default());
        self.start_handshake(clock());
        let mut taken = None;
        loop {
            match tick(&[]) {
                Ok(true) => {}
                Ok(false) => return Ok(Ok(None)),
                Err(error) => return Ok(Err(error)),
            }
            wait(&self.socket, None, None)?;
            let now = clock();
            while let Some(answer) = self.read(now, &mut buffer, &mut pieces) {
                match answer {
                    UnitMessage::Welcome(welcome @ Welcome::Joined { .. }) => {
                        return Ok(Ok(Some(welcome)));
                    }
                    UnitMessage::Welcome(Welcome::Refused(why)) => {
                        return Err(EmuError::Scenario(format!("the unit refuses: {why}")));
                    }
                    UnitMessage::Welcome(Welcome::Taken(why)) => taken = Some(why),
                    _ => {}
                }
            }
            match taken.take_if(|_| now.since(Instant::ZERO) >= TAKEN_TOLERANCE) {
                Some(why) => return Err(EmuError::Scenario(format!("the unit refuses: {why}"))),
                None if now.since(Instant::ZERO) >= TIME_LIMIT => {
                    let asked = self.others.iter().chain([&self.socket]);
                    let asked: Vec<_> = asked
                        .filter_map(|socket| Some(socket.peer_addr().ok()?.to_string()))
                        .collect();
                    return Err(EmuError::Machine(format!(
                        "no answer from {} within {} s: see that the unit runs there, that UDP \
                         comes through, and that the key is the one that it printed",
                        asked.join(", "),
                        TIME_LIMIT.as_secs_f64()
                    )));
                }
                None => {}
            }
            if self.is_retry_due(now) {
                self.start_handshake(now);
            }
        }
    }

    /// Renews keys and retries handshakes when due. Returns a status line if the unit has been lost
    /// or found again.
    pub(super) fn on_tick(&mut self, now: Instant) -> Option<String> {
        let over = self.session.as_ref().is_none_or(|(_, s)| s.is_over(now));
        let lost = over || now.since(self.last_received) >= LOST_AFTER;
        let renew = self
            .session
            .as_ref()
            .is_some_and(|(_, s)| s.is_to_renew(now));
        if (lost || renew) && self.is_retry_due(now) {
            self.start_handshake(now);
        }
        if lost == self.is_lost {
            return None;
        }
        self.is_lost = lost;
        self.done.lost += u64::from(lost);
        Some(if lost {
            format!(
                "the unit is lost: nothing was heard of it for {} s; asking again",
                LOST_AFTER.as_secs_f64()
            )
        } else {
            "joined again".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunnel::Opened;

    /// Returns a tunnel without a session, the unit's socket and the key.
    fn tunnel() -> (Tunnel, UdpSocket, Key) {
        let unit = UdpSocket::bind("127.0.0.1:0").unwrap();
        let patience = Some(std::time::Duration::from_secs(5));
        unit.set_read_timeout(patience).unwrap();
        let key = Key::random().unwrap();
        let tunnel = Tunnel::open(&GatewayOptions {
            join: unit.local_addr().unwrap().to_string(),
            host: "left".to_owned(),
            key: key.to_string(),
            program: None,
            attach: None,
            force: false,
            places: vec![],
            seconds: None,
            plain: false,
            interrupt: false,
        });
        (tunnel.unwrap(), unit, key)
    }

    /// Answers the latest first message as the unit does. Returns a function that sends the answer,
    /// and the unit's end of the session.
    fn answer(
        unit: &UdpSocket,
        key: &Key,
        (node, mtu): (u32, u32),
        now: Instant,
    ) -> (impl FnOnce() + use<>, Session) {
        let mut buffer = vec![0; LONGEST];
        let (length, from) = loop {
            let read = unit.recv_from(&mut buffer).unwrap();
            if buffer[0] == 1 {
                break read;
            }
        };
        let Some(Outer::Hello {
            from: number, body, ..
        }) = Outer::read(&buffer[..length])
        else {
            panic!("no first message");
        };
        let opened = Opened::read(key, number, body).unwrap();
        let welcome = Welcome::Joined {
            node,
            nodes: 3,
            mtu,
            tcp: None,
            names: vec![],
        };
        let answer = opened.answer(7, &welcome, now, Limits::default());
        let ((answer, session), unit) = (answer.unwrap(), unit.try_clone().unwrap());
        let send = move || {
            unit.send_to(&answer, from).unwrap();
        };
        (send, session)
    }

    /// Reads the next datagram. Returns whether the tunnel has joined the unit.
    fn joins(tunnel: &mut Tunnel, now: Instant) -> bool {
        let mut buffer = vec![0; LONGEST];
        loop {
            match tunnel.read(now, &mut buffer, &mut Pieces::default()) {
                None => std::thread::yield_now(),
                Some(answer) => {
                    return matches!(answer, UnitMessage::Welcome(Welcome::Joined { .. }));
                }
            }
        }
    }

    /// The restarted unit assigns another node number or MTU, and the existing host cannot use it.
    #[test]
    fn rejoin_fails_if_the_unit_has_another_scenario() {
        let (mut tunnel, unit, key) = tunnel();
        let mut joined = |node, mtu| {
            tunnel.start_handshake(Instant::ZERO);
            answer(&unit, &key, (node, mtu), Instant::ZERO).0();
            joins(&mut tunnel, Instant::ZERO)
        };
        assert!(joined(1, 1500));
        assert!(joined(1, 1500), "the same unit, started again");
        assert!(!joined(2, 1500));
        assert!(!joined(1, 1400));
        assert!(tunnel.session.is_some(), "the session before stays");
    }

    /// With a round trip of 700 ms, the first answer arrives after the retry at 500 ms. The answer
    /// is ignored because its handshake was discarded.
    #[test]
    fn joins_if_the_round_trip_exceeds_the_first_retry() {
        let (mut tunnel, unit, key) = tunnel();
        let at = |ms| Instant::ZERO + Interval::from_millis(ms);
        let mut answers = VecDeque::new();
        let mut joined = None;
        for now in (0..5000).step_by(50) {
            if now == 0 || tunnel.is_retry_due(at(now)) {
                tunnel.start_handshake(at(now));
                let (send, _) = answer(&unit, &key, (1, 1500), at(now));
                answers.push_back((now + 700, send));
            }
            if answers.front().is_some_and(|&(when, _)| when == now) {
                answers.pop_front().unwrap().1();
                if joins(&mut tunnel, at(now)) {
                    joined = Some(now);
                    break;
                }
            }
        }
        assert_eq!(joined, Some(500 + 700));
        // The next attempt is due after twice the measured round trip of 700 ms.
        tunnel.start_handshake(at(9000));
        assert!(!tunnel.is_retry_due(at(10_350)));
        assert!(tunnel.is_retry_due(at(10_400)));
    }

    /// A name has two addresses, of which only the second answers.
    #[test]
    fn retry_uses_the_next_address_of_the_unit() {
        let (mut tunnel, unit, key) = tunnel();
        let nobody = UdpSocket::bind("127.0.0.1:0").unwrap();
        let silent = reach(nobody.local_addr().unwrap()).unwrap();
        let right = std::mem::replace(&mut tunnel.socket, silent);
        tunnel.others.push_back(right);
        tunnel.start_handshake(Instant::ZERO);
        tunnel.start_handshake(Instant::ZERO + FIRST_RETRY);
        answer(&unit, &key, (1, 1500), Instant::ZERO).0();
        assert!(joins(&mut tunnel, Instant::ZERO + FIRST_RETRY));
        assert!(tunnel.others.is_empty(), "it stays with that one");
    }

    /// A handshake for new keys starts after 120 s. Datagrams under the old keys are still
    /// accepted.
    #[test]
    fn rekeys_after_120_s_and_accepts_the_old_keys() {
        let (mut tunnel, unit, key) = tunnel();
        let joined = |tunnel: &mut Tunnel, now| {
            let (send, session) = answer(&unit, &key, (1, 1500), now);
            send();
            assert!(joins(tunnel, now));
            session
        };
        tunnel.start_handshake(Instant::ZERO);
        let mut old = joined(&mut tunnel, Instant::ZERO);
        let at = |s| Instant::ZERO + Interval::from_secs(s);
        tunnel.last_received = at(119);
        assert_eq!(tunnel.on_tick(at(119)), None);
        assert!(tunnel.handshake.is_none(), "the keys are good yet");
        tunnel.last_received = at(120);
        assert_eq!(tunnel.on_tick(at(120)), None);
        let mut new = joined(&mut tunnel, at(120));
        let (mut sealed, mut buffer) = (Vec::new(), vec![0; LONGEST]);
        for session in [&mut new, &mut old] {
            assert!(session.seal(at(121), Inner::Bye, &mut sealed));
            unit.send_to(&sealed, tunnel.socket.local_addr().unwrap())
                .unwrap();
            let entry = loop {
                match tunnel.read(at(121), &mut buffer, &mut Pieces::default()) {
                    None => std::thread::yield_now(),
                    Some(entry) => break entry,
                }
            };
            assert!(matches!(entry, UnitMessage::Bye));
        }
    }
}
