//! The gateway's end of the tunnel to the unit.

use super::{GatewayDone, GatewayOptions, wait};
use crate::EmuError;
use crate::peer::LOST_AFTER;
use crate::tun::LONGEST;
use crate::tunnel::{Bad, Hello, Initiation, Inner, Key, Limits, Outer, Pieces, Session, Welcome};
use farlink_tcp::{Instant, Interval};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};

/// Time between two first messages of a handshake.
const ASK_AGAIN: Interval = Interval::from_millis(500);
/// How long the first answer may take.
const PATIENCE: Interval = Interval::from_secs(10);
/// How long a host may be another's: so long it takes until that is seen to be lost.
const TAKEN: Interval = Interval::from_secs(5);

/// The tunnel to the unit.
pub(super) struct Tunnel {
    pub(super) socket: UdpSocket,
    key: Key,
    hello: Hello,
    limits: Limits,
    /// What the unit first said of the host: it is made by that, and cannot become another.
    place: Option<(u32, u32, u32)>,
    session: Option<(u32, Session)>,
    previous: Option<(u32, Session)>,
    asking: Option<Initiation>,
    asked: Instant,
    heard: Instant,
    is_lost: bool,
    /// Whether the host is there.
    is_ready: bool,
    datagram: Vec<u8>,
    pub(super) done: GatewayDone,
}

/// What the unit sent.
pub(super) enum Said {
    Nothing,
    Welcome(Welcome),
    /// It has another scenario than at first.
    Changed,
    Packet(Vec<u8>, bool),
    Bye,
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
        let to = all.into_iter().next();
        let to = to.ok_or_else(|| wrong(format!("--join {join}: it has no address")))?;
        let any: SocketAddr = if to.is_ipv4() {
            ([0, 0, 0, 0], 0).into()
        } else {
            ([0u16; 8], 0).into()
        };
        let socket = UdpSocket::bind(any).and_then(|socket| {
            socket.connect(to)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        let socket = socket.map_err(|e| EmuError::system(format!("reach {to}"), e))?;
        let mut number = [0; 8];
        let failed = |e| EmuError::system("draw a random number", io::Error::other(e));
        getrandom::fill(&mut number).map_err(failed)?;
        Ok(Self {
            socket,
            key,
            hello: Hello {
                host: options.host.clone(),
                instance: u64::from_ne_bytes(number),
            },
            limits: Limits::default(),
            place: None,
            session: None,
            previous: None,
            asking: None,
            asked: Instant::ZERO,
            heard: Instant::ZERO,
            is_lost: false,
            is_ready: false,
            datagram: Vec::new(),
            done: GatewayDone {
                host: options.host.clone(),
                ..GatewayDone::default()
            },
        })
    }

    /// Begins a handshake. One before it is given up.
    fn ask(&mut self, now: Instant) {
        self.asked = now;
        let last = self.asking.as_ref().map(Initiation::own);
        let own = last.or(self.session.as_ref().map(|(own, _)| *own));
        let own = own.map_or(1, |own| own.wrapping_add(1));
        if let Some((asking, datagram)) = Initiation::begin(&self.key, own, &self.hello) {
            self.asking = Some(asking);
            // Lost ones are asked again.
            let _ = self.socket.send(&datagram);
        }
    }

    /// The unit takes the session for this one's when something comes in it, and not before the
    /// host is there: what it asks meanwhile would be answered late.
    pub(super) fn show(&mut self, now: Instant) {
        (self.is_ready, self.heard) = (true, now);
        self.say(now, Inner::Probe { at: 0 });
    }

    pub(super) fn say(&mut self, now: Instant, inner: Inner<'_>) -> bool {
        self.session.as_mut().is_some_and(|(_, session)| {
            session.seal(now, inner, &mut self.datagram) && self.socket.send(&self.datagram).is_ok()
        })
    }

    /// Reads a datagram; `None` if none waits.
    pub(super) fn read(
        &mut self,
        now: Instant,
        buffer: &mut [u8],
        pieces: &mut Pieces,
    ) -> Option<Said> {
        let length = match self.socket.recv(buffer) {
            Ok(length) => length,
            // Nobody is there at the moment.
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => return Some(Said::Nothing),
            Err(_) => return None,
        };
        Some(match Outer::read(&buffer[..length]) {
            Some(Outer::Welcome { to, from, body }) => self.answered(now, to, from, body),
            Some(Outer::Sealed { to, number, body }) => {
                let mut plain = Vec::new();
                let known = self.session.iter_mut().chain(&mut self.previous);
                let Some((_, session)) = known.into_iter().find(|(own, _)| *own == to) else {
                    return Some(Said::Nothing);
                };
                match session.open(now, number, body, &mut plain) {
                    Ok(()) => {
                        self.heard = now;
                        self.heed(now, &plain, pieces)
                    }
                    Err(Bad::Replayed) => {
                        self.done.replayed += 1;
                        Said::Nothing
                    }
                    Err(_) => {
                        self.done.forged += 1;
                        Said::Nothing
                    }
                }
            }
            _ => {
                self.done.forged += 1;
                Said::Nothing
            }
        })
    }

    fn answered(&mut self, now: Instant, to: u32, from: u32, body: &[u8]) -> Said {
        let Some(asking) = self.asking.as_mut().filter(|asking| asking.own() == to) else {
            return Said::Nothing;
        };
        let Some((welcome, session)) = asking.finish(&self.key, from, body, now, self.limits)
        else {
            self.done.forged += 1;
            return Said::Nothing;
        };
        self.asking = None;
        self.heard = now;
        if let &Welcome::Joined {
            node, nodes, mtu, ..
        } = &welcome
        {
            let place = (node, nodes, mtu);
            if *self.place.get_or_insert(place) != place {
                return Said::Changed;
            }
            self.previous = self.session.replace((to, session));
            if self.is_ready {
                self.show(now);
            }
        }
        Said::Welcome(welcome)
    }

    fn heed(&mut self, now: Instant, plain: &[u8], pieces: &mut Pieces) -> Said {
        match Inner::read(plain) {
            Some(Inner::Probe { at }) => {
                self.say(now, Inner::Echo { at, held: 0 });
                Said::Nothing
            }
            Some(inner @ (Inner::Packet { .. } | Inner::Piece { .. })) => {
                let whole = pieces.take(inner);
                whole.map_or(Said::Nothing, |(packet, checked)| {
                    Said::Packet(packet, checked)
                })
            }
            Some(Inner::Bye) => Said::Bye,
            Some(Inner::Echo { .. } | Inner::Place { .. } | Inner::Overflowed { .. }) | None => {
                Said::Nothing
            }
        }
    }

    /// Joins, or says why not.
    pub(super) fn join<E>(
        &mut self,
        clock: &impl Fn() -> Instant,
        tick: &mut impl FnMut(&[String]) -> Result<bool, E>,
    ) -> Result<Result<Option<Welcome>, E>, EmuError> {
        let (mut buffer, mut pieces) = (vec![0; LONGEST], Pieces::default());
        self.ask(clock());
        let mut taken = None;
        loop {
            match tick(&[]) {
                Ok(true) => {}
                Ok(false) => return Ok(Ok(None)),
                Err(error) => return Ok(Err(error)),
            }
            wait(&self.socket, None, None)?;
            let now = clock();
            while let Some(said) = self.read(now, &mut buffer, &mut pieces) {
                match said {
                    Said::Welcome(welcome @ Welcome::Joined { .. }) => {
                        return Ok(Ok(Some(welcome)));
                    }
                    Said::Welcome(Welcome::Refused(why)) => {
                        return Err(EmuError::Scenario(format!("the unit refuses: {why}")));
                    }
                    Said::Welcome(Welcome::Taken(why)) => taken = Some(why),
                    _ => {}
                }
            }
            match taken.take_if(|_| now.since(Instant::ZERO) >= TAKEN) {
                Some(why) => return Err(EmuError::Scenario(format!("the unit refuses: {why}"))),
                None if now.since(Instant::ZERO) >= PATIENCE => {
                    let to = self.socket.peer_addr().map(|to| to.to_string());
                    return Err(EmuError::Machine(format!(
                        "no answer from {} within {} s: see that the unit runs there, that UDP \
                         comes through, and that the key is the one that it printed",
                        to.unwrap_or_default(),
                        PATIENCE.as_secs_f64()
                    )));
                }
                None => {}
            }
            if now.since(self.asked) >= ASK_AGAIN {
                self.ask(now);
            }
        }
    }

    /// What is due. Gives a line for whoever watches, if there is something to say.
    pub(super) fn work(&mut self, now: Instant) -> Option<String> {
        let over = self.session.as_ref().is_none_or(|(_, s)| s.is_over(now));
        let lost = over || now.since(self.heard) >= LOST_AFTER;
        let renew = self
            .session
            .as_ref()
            .is_some_and(|(_, s)| s.is_to_renew(now));
        if (lost || renew) && now.since(self.asked) >= ASK_AGAIN {
            self.ask(now);
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

    /// A unit that came back with another scenario: the host would have an address that is
    /// another's there.
    #[test]
    fn a_unit_with_another_scenario_is_not_joined_again() {
        let unit = UdpSocket::bind("127.0.0.1:0").unwrap();
        let key = Key::random().unwrap();
        let mut tunnel = Tunnel::open(&GatewayOptions {
            join: unit.local_addr().unwrap().to_string(),
            host: "left".to_owned(),
            key: key.to_string(),
            program: None,
            attach: None,
            force: false,
            places: vec![],
            seconds: None,
            plain: false,
        })
        .unwrap();
        let mut joined = |node, mtu| {
            tunnel.ask(Instant::ZERO);
            let mut buffer = vec![0; LONGEST];
            let (length, from) = unit.recv_from(&mut buffer).unwrap();
            let Some(Outer::Hello { from: number, body }) = Outer::read(&buffer[..length]) else {
                panic!("no first message");
            };
            let opened = Opened::read(&key, number, body).unwrap();
            let welcome = Welcome::Joined {
                node,
                nodes: 3,
                mtu,
                tcp: None,
                names: vec![],
            };
            let answer = opened.answer(7, &welcome, Instant::ZERO, Limits::default());
            unit.send_to(&answer.unwrap().0, from).unwrap();
            loop {
                let said = tunnel.read(Instant::ZERO, &mut buffer, &mut Pieces::default());
                match said {
                    None => std::thread::yield_now(),
                    Some(said) => return matches!(said, Said::Welcome(Welcome::Joined { .. })),
                }
            }
        };
        assert!(joined(1, 1500));
        assert!(joined(1, 1500), "the same unit, started again");
        assert!(!joined(2, 1500));
        assert!(!joined(1, 1400));
        assert!(tunnel.session.is_some(), "the session before stays");
    }
}
