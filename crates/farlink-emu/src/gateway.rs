//! A gateway: a host of a scenario that runs on another machine. What it sends goes to the unit
//! there, and what the unit lets through comes back.

use crate::EmuError;
use crate::attach::{Attach, Attached};
use crate::host::{Host, HostConfig};
use crate::keeper::Keeper;
use crate::namespace::{RunFile, sweep};
use crate::program::{HOST, code_of, not_started};
use crate::realtime::{self, Mode};
use crate::tun::LONGEST;
use crate::tunnel::{Hello, Initiation, Inner, Key, Limits, Outer, Pieces, Session, Welcome, cut};
use farlink_net::{NodeId, Raw};
use farlink_tcp::{Instant, Interval};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Time between two looks at what is due.
const BEAT_MS: u16 = 20;
/// The unit was not heard of for so long: it is lost, and asked again.
const LOST_AFTER: Interval = Interval::from_secs(3);
/// Time between two first messages of a handshake.
const ASK_AGAIN: Interval = Interval::from_millis(500);
/// How long the first answer may take.
const PATIENCE: Interval = Interval::from_secs(10);
/// How long a host may be another's: so long it takes until that is seen to be lost.
const TAKEN: Interval = Interval::from_secs(5);
/// Time between two words about what the device dropped, and where the gateway is.
const TELL: Interval = Interval::from_millis(500);
/// Packets that are carried one way before the other has its turn.
const BATCH: usize = 64;
/// Time between two looks at the program.
const LOOK: Duration = Duration::from_millis(10);

/// What a gateway is asked for.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayOptions {
    /// Where the unit is: host and port.
    pub join: String,
    /// The host of the scenario that it is.
    pub host: String,
    /// What the unit printed.
    pub key: String,
    /// The program whose end is the end; none runs until it is stopped.
    pub program: Option<Vec<String>>,
    /// What is the host instead of a namespace of its own.
    pub attach: Option<Attach>,
    /// Attach also what the machine's own connection goes by.
    pub force: bool,
    /// Where it is over time: seconds from the start, and metres. It goes straight from one place
    /// to the next, and stays at the last.
    pub places: Vec<(f64, f64, f64)>,
    /// End after so many seconds.
    pub seconds: Option<f64>,
    /// One packet to a read or write of the device.
    pub plain: bool,
}

/// What a gateway did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GatewayDone {
    /// The host that it was.
    pub host: String,
    /// Its address.
    pub address: String,
    /// Packets that it sent to the unit.
    pub sent: u64,
    /// Packets that its machine got.
    pub delivered: u64,
    /// Packets that its machine would not take.
    pub refused: u64,
    /// Packets that it could not send, since the unit was lost or the network full.
    pub unsent: u64,
    /// Packets that its device dropped.
    pub overflowed: u64,
    /// Datagrams that were not authentic.
    pub forged: u64,
    /// Datagrams that were there before.
    pub replayed: u64,
    /// How often the unit was lost.
    pub lost: u64,
    /// Whether the unit said that it ends.
    pub unit_ended: bool,
    /// Exit code of the program.
    pub exit_code: i32,
}

/// The tunnel to the unit.
struct Tunnel {
    socket: UdpSocket,
    key: Key,
    hello: Hello,
    limits: Limits,
    session: Option<(u32, Session)>,
    previous: Option<(u32, Session)>,
    asking: Option<Initiation>,
    asked: Instant,
    heard: Instant,
    is_lost: bool,
    /// Whether the host is there.
    is_ready: bool,
    datagram: Vec<u8>,
    done: GatewayDone,
}

/// What the unit sent.
enum Said {
    Nothing,
    Welcome(Welcome),
    Packet(Vec<u8>, bool),
    Bye,
}

impl Tunnel {
    fn open(options: &GatewayOptions) -> Result<Self, EmuError> {
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
                address: String::new(),
                sent: 0,
                delivered: 0,
                refused: 0,
                unsent: 0,
                overflowed: 0,
                forged: 0,
                replayed: 0,
                lost: 0,
                unit_ended: false,
                exit_code: 0,
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
    fn show(&mut self, now: Instant) {
        (self.is_ready, self.heard) = (true, now);
        self.say(now, Inner::Probe { at: 0 });
    }

    fn say(&mut self, now: Instant, inner: Inner<'_>) -> bool {
        self.session.as_mut().is_some_and(|(_, session)| {
            session.seal(now, inner, &mut self.datagram) && self.socket.send(&self.datagram).is_ok()
        })
    }

    /// Reads a datagram; `None` if none waits.
    fn read(&mut self, now: Instant, buffer: &mut [u8], pieces: &mut Pieces) -> Option<Said> {
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
                    Err(crate::tunnel::Bad::Replayed) => {
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
        if matches!(welcome, Welcome::Joined { .. }) {
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
            Some(Inner::Packet { checked, bytes }) => Said::Packet(bytes.to_vec(), checked),
            Some(Inner::Piece {
                checked,
                ident,
                index,
                count,
                bytes,
            }) => pieces
                .add(ident, index, count, bytes)
                .map_or(Said::Nothing, |whole| Said::Packet(whole, checked)),
            Some(Inner::Bye) => Said::Bye,
            Some(Inner::Echo { .. } | Inner::Place { .. } | Inner::Overflowed { .. }) | None => {
                Said::Nothing
            }
        }
    }

    /// Joins, or says why not.
    fn join<E>(
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
    fn work(&mut self, now: Instant) -> Option<String> {
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

/// Waits until there is something to read, or a beat long.
fn wait(socket: &UdpSocket, host: Option<&Host>, stop: Option<&EventFd>) -> Result<(), EmuError> {
    let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let mut all = vec![readable(socket.as_fd())];
    all.extend(host.and_then(|host| host.port.readable()).map(readable));
    all.extend(stop.map(|stop| readable(stop.as_fd())));
    match poll(&mut all, PollTimeout::from(BEAT_MS)) {
        Ok(_) | Err(nix::Error::EINTR) => Ok(()),
        Err(e) => Err(EmuError::system("wait for packets", e)),
    }
}

/// Where it is at a time: straight from one place to the next.
fn place_at(places: &[(f64, f64, f64)], time: f64) -> Option<(f64, f64)> {
    let next = places.partition_point(|&(at, ..)| at <= time);
    let Some(&(since, x, y)) = next.checked_sub(1).and_then(|last| places.get(last)) else {
        return places.first().map(|&(_, x, y)| (x, y));
    };
    let Some(&(until, to_x, to_y)) = places.get(next) else {
        return Some((x, y));
    };
    let share = (time - since) / (until - since);
    Some((x + share * (to_x - x), y + share * (to_y - y)))
}

/// Carries packets between the host and the unit until it is stopped or the unit ends.
fn carry(
    tunnel: &mut Tunnel,
    host: &mut Host,
    stop: &EventFd,
    places: &[(f64, f64, f64)],
    clock: &impl Fn() -> Instant,
    notices: &Sender<String>,
) -> Result<(), EmuError> {
    // At normal priority where it is not allowed.
    let _realtime = realtime::enter(Mode::Best)?;
    let mut buffer = vec![0; LONGEST];
    let (mut pieces, mut packets, mut ident) = (Pieces::default(), Vec::new(), 0u32);
    let (mut told, began) = (None::<Instant>, clock());
    tunnel.show(began);
    loop {
        wait(&tunnel.socket, Some(host), Some(stop))?;
        if stop.read().is_ok() {
            tunnel.say(clock(), Inner::Bye);
            return Ok(());
        }
        for _ in 0..BATCH {
            let now = clock();
            match tunnel.read(now, &mut buffer, &mut pieces) {
                None => break,
                Some(Said::Packet(bytes, checked)) => {
                    let Ok(raw) = Raw::new(bytes) else {
                        tunnel.done.refused += 1;
                        continue;
                    };
                    let raw = if checked { raw.checked() } else { raw };
                    let written = host.port.write(now, &raw);
                    host.counters
                        .add(written.map_err(|e| failed("write to", host, e))?);
                }
                Some(Said::Bye) => {
                    tunnel.done.unit_ended = true;
                    return Ok(());
                }
                Some(Said::Welcome(Welcome::Taken(why) | Welcome::Refused(why))) => {
                    return Err(EmuError::Machine(format!("the unit refuses: {why}")));
                }
                Some(Said::Nothing | Said::Welcome(_)) => {}
            }
        }
        let written = host.port.flush();
        host.counters
            .add(written.map_err(|e| failed("write to", host, e))?);
        for _ in 0..BATCH {
            let read = host.port.read(&mut buffer, Vec::new, |packet, checked| {
                packets.push((packet, checked));
            });
            if !read.map_err(|e| failed("read from", host, e))? {
                break;
            }
            let now = clock();
            for (packet, checked) in packets.drain(..) {
                ident = ident.wrapping_add(1);
                let mut sent = true;
                cut(&packet, checked, ident, |inner| {
                    sent &= tunnel.say(now, inner);
                });
                if sent {
                    tunnel.done.sent += 1;
                } else {
                    tunnel.done.unsent += 1;
                }
            }
        }
        let now = clock();
        if let Some(line) = tunnel.work(now) {
            // Nobody may be left to read it.
            let _ = notices.send(line);
        }
        if told.is_none_or(|told| now.since(told) >= TELL) {
            told = Some(now);
            host.look_at_device();
            let packets = host.counters.overflowed;
            tunnel.say(now, Inner::Overflowed { packets });
            if let Some((x, y)) = place_at(places, now.since(began).as_secs_f64()) {
                tunnel.say(now, Inner::Place { x, y });
            }
        }
    }
}

fn failed(what: &str, host: &Host, e: io::Error) -> EmuError {
    EmuError::system(format!("{what} the device of {}", host.name), e)
}

/// Joins a unit as a host of its scenario, and is that host until a program ends, it is stopped or
/// the unit ends. `tick` gets lines for whoever watches, and says whether to go on; an error of its
/// own ends all.
///
/// # Errors
/// If the options are wrong, the unit does not answer or refuses, or the system refuses.
pub fn gateway<E>(
    options: &GatewayOptions,
    mut tick: impl FnMut(&[String]) -> Result<bool, E>,
) -> Result<Result<GatewayDone, E>, EmuError> {
    let began = std::time::Instant::now();
    let clock = || Instant::from_nanos(began.elapsed().as_nanos() as u64);
    let mut tunnel = Tunnel::open(options)?;
    Host::check()?;
    let welcome = match tunnel.join(&clock, &mut tick)? {
        Ok(Some(welcome)) => welcome,
        Ok(None) => return Ok(Ok(tunnel.done)),
        Err(error) => return Ok(Err(error)),
    };
    let Welcome::Joined {
        node,
        nodes,
        mtu,
        tcp,
        names,
    } = welcome
    else {
        return Ok(Ok(tunnel.done));
    };
    sweep();
    let config = HostConfig {
        mtu,
        congestion: tcp.filter(|_| options.attach.is_none()),
        plain: options.plain,
    };
    let keeper = Keeper::start()?;
    let address = farlink_net::wire::node_address(NodeId(node));
    let mut host = match &options.attach {
        Some(to) => {
            let to = to.clone();
            let host = options.host.clone();
            let attached = Attached { host, to };
            attached.check(&[], &[], nodes, mtu, options.force)?;
            Host::attach(&options.host, NodeId(node), nodes, &attached.to, &config)?
        }
        None => Host::create(&options.host, address, &config)?,
    };
    tunnel.done.address = address.to_string();
    let mut hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
    for (name, address) in &names {
        hosts.extend(["\n", &address.to_string(), " ", name]);
    }
    let hosts = RunFile::create("hosts", &(hosts + "\n"))?;
    let mut command = match options.program.as_deref() {
        None => None,
        Some([program, arguments @ ..]) => {
            let namespace = host.namespace().ok_or_else(|| {
                EmuError::Scenario(
                    "a machine behind an interface runs its own programs: leave out -- PROGRAM"
                        .into(),
                )
            })?;
            let mut command = namespace.command(program, hosts.path());
            command.args(arguments).env(HOST, &options.host);
            Some((program, command))
        }
        Some([]) => return Err(EmuError::Scenario("no program to run".into())),
    };
    let event = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK);
    let stop = event.map_err(|e| EmuError::system("wait for packets", e))?;
    let (sender, notices) = channel();
    let mut hello = vec![format!("joined as {} ({address})", options.host)];
    let code = std::thread::scope(|scope| {
        let carrying = scope.spawn(|| {
            let places = &options.places;
            carry(&mut tunnel, &mut host, &stop, places, &clock, &sender)
        });
        let mut children = Vec::new();
        let mut watch = || -> Result<Result<i32, E>, EmuError> {
            if let Some((program, command)) = &mut command {
                let child = keeper.spawn(command);
                children.push(child.map_err(|e| not_started(program, e))?);
            }
            loop {
                if let Some(child) = children.last_mut()
                    && let Ok(Some(status)) = child.try_wait()
                {
                    return Ok(Ok(code_of(status)));
                }
                hello.extend(lines(&notices));
                match tick(&std::mem::take(&mut hello)) {
                    Ok(true) => {}
                    Ok(false) => return Ok(Ok(0)),
                    Err(error) => return Ok(Err(error)),
                }
                let is_over = options
                    .seconds
                    .is_some_and(|s| began.elapsed().as_secs_f64() >= s);
                if carrying.is_finished() || is_over {
                    return Ok(Ok(0));
                }
                std::thread::sleep(LOOK);
            }
        };
        let code = watch();
        keeper.end(children);
        // A counter that cannot be added to is one that was added to.
        let _ = stop.write(1);
        let carried = carrying.join().unwrap_or_else(|_| {
            Err(EmuError::Scenario(
                "internal error: the gateway's thread panicked".into(),
            ))
        });
        carried.and(code)
    })?;
    host.look_at_device();
    let counters = host.whole_counters();
    let mut done = tunnel.done;
    (done.delivered, done.overflowed) = (counters.delivered, counters.overflowed);
    done.refused += counters.refused;
    Ok(code.map(|code| GatewayDone {
        exit_code: code,
        ..done
    }))
}

fn lines(notices: &Receiver<String>) -> Vec<String> {
    notices.try_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_straight_from_place_to_place() {
        let places = [(1.0, 0.0, 0.0), (3.0, 10.0, 20.0)];
        assert_eq!(place_at(&[], 1.0), None);
        assert_eq!(place_at(&places, 0.0), Some((0.0, 0.0)));
        assert_eq!(place_at(&places, 2.0), Some((5.0, 10.0)));
        assert_eq!(place_at(&places, 9.0), Some((10.0, 20.0)));
    }
}
