//! The loop that drives the engine by the wall clock: packets in, packets out when
//! they are due.

use crate::EmuError;
use crate::capture::Captures;
use crate::clock::Clock;
use crate::endpoint::{Endpoint, EndpointConfig};
use crate::host::{Host, HostConfig, Port};
use crate::lateness::Lateness;
use crate::namespace::RunFile;
use crate::realtime::{self, Budget, Realtime};
use crate::remote::{Job, Remote};
use crate::tun::LONGEST;
use farlink_net::Raw;
use farlink_net::packet::IPV4_HEADER_LEN;
use farlink_sim::scenario::Expanded;
use farlink_sim::{Balance, LinkReport, Live, Refused};
use farlink_tcp::segment::TCP_HEADER_LEN;
use farlink_tcp::{Instant, Interval};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::timer::{Expiration, TimerSetTimeFlags};
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// Packets read from a host before the others have their turn.
const BATCH: usize = 64;
/// Buffers that are kept for packets to come.
const SPARE: usize = 4096;
/// What the timer and the stop are called among the things waited for.
const TIMER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const REMOTE: u64 = u64::MAX - 2;

/// Stops an emulation from another thread.
#[derive(Clone, Debug)]
pub struct Stop(Arc<EventFd>);

impl Stop {
    /// Ends [`Emulation::run`].
    pub fn stop(&self) {
        // A counter that cannot be added to is one that was added to.
        let _ = self.0.write(1);
    }
}

/// An emulation: hosts in namespaces, and the network between them.
#[derive(Debug)]
pub struct Emulation {
    pub(crate) live: Live,
    hosts: Vec<Host>,
    /// Those of the hosts that are in user space.
    endpoints: Vec<usize>,
    epoll: Epoll,
    timer: TimerFd,
    stop: Stop,
    lateness: Lateness,
    spare: Vec<Vec<u8>>,
    realtime: bool,
    budget: Budget,
    hosts_file: RunFile,
    captures: Option<Captures>,
    uncaptured: u64,
    remote: Remote,
    jobs: Receiver<Job>,
}

/// What an emulation did.
#[derive(Clone, Debug)]
pub struct Report {
    /// How long it ran.
    pub duration: Interval,
    /// How late packets left.
    pub lateness: Lateness,
    /// Counters of the links.
    pub links: Vec<LinkReport>,
    /// Where all packets are.
    pub balance: Balance,
    /// Packets that are not in the captures, since the disk could not keep up.
    pub uncaptured: u64,
}

impl Emulation {
    /// Makes the namespaces of the scenario's hosts, each with its device.
    ///
    /// # Errors
    /// If the scenario cannot be built or the system refuses. Nothing is left
    /// behind then.
    pub fn new(
        scenario: &Expanded,
        run: u64,
        config: &HostConfig,
        endpoints: &[EndpointConfig],
    ) -> Result<Self, EmuError> {
        let live = Live::new(scenario, run).map_err(|e| EmuError::Scenario(e.to_string()))?;
        let addresses: Vec<_> = live.hosts().collect();
        let address_of = |wanted: &str| {
            let found = addresses.iter().find(|(name, _)| *name == wanted);
            found.map(|&(_, address)| address).ok_or_else(|| {
                let names: Vec<_> = addresses.iter().map(|(name, _)| *name).collect();
                EmuError::Scenario(format!(
                    "there is no host {wanted:?}; the hosts of this scenario are {}",
                    names.join(", ")
                ))
            })
        };
        for endpoint in endpoints {
            address_of(&endpoint.host)?;
            if let Some(why) = endpoint.refusal() {
                return Err(EmuError::Scenario(why));
            }
            let most = config.mtu.saturating_sub(IPV4_HEADER_LEN + TCP_HEADER_LEN);
            if endpoint.tcp.mss > most {
                return Err(EmuError::Scenario(format!(
                    "endpoint {}: an mss of {} bytes does not fit packets of {} bytes; set an mss \
                     of at most {most}",
                    endpoint.host, endpoint.tcp.mss, config.mtu
                )));
            }
        }
        let mut hosts = Vec::new();
        for &(name, address) in &addresses {
            let made = if let Some(own) = endpoints.iter().find(|e| e.host == name) {
                let server = own.fetch.as_ref().map(|f| address_of(&f.host));
                Host::in_user_space(name, address, own, server.transpose()?)
            } else {
                Host::create(name, address, config)?
            };
            hosts.push(made);
        }
        let mut names = fs::read_to_string("/etc/hosts").unwrap_or_default();
        for host in &hosts {
            names.extend(["\n", &host.address.to_string(), " ", &host.name]);
        }
        let hosts_file = RunFile::create("hosts", &(names + "\n"))?;
        let failed = |e: nix::Error| EmuError::system("wait for packets", e);
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?;
        let stop = EventFd::from_flags(EfdFlags::EFD_CLOEXEC).map_err(failed)?;
        let asked = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let wake = Arc::new(EventFd::from_flags(asked).map_err(failed)?);
        let (sender, jobs) = channel();
        let timer = TimerFd::new(
            ClockId::CLOCK_MONOTONIC,
            TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK,
        )
        .map_err(failed)?;
        let readable = |data| EpollEvent::new(EpollFlags::EPOLLIN, data);
        let mut endpoints = Vec::new();
        for (i, host) in hosts.iter().enumerate() {
            match &host.port {
                Port::Kernel { tun, .. } => epoll.add(tun, readable(i as u64)).map_err(failed)?,
                Port::Endpoint(_) => endpoints.push(i),
            }
        }
        epoll.add(&timer, readable(TIMER)).map_err(failed)?;
        epoll.add(&stop, readable(STOP)).map_err(failed)?;
        epoll.add(&*wake, readable(REMOTE)).map_err(failed)?;
        Ok(Self {
            live,
            hosts,
            endpoints,
            epoll,
            timer,
            stop: Stop(Arc::new(stop)),
            lateness: Lateness::default(),
            spare: Vec::new(),
            realtime: false,
            budget: Budget::new(false),
            hosts_file,
            captures: None,
            uncaptured: 0,
            remote: Remote { jobs: sender, wake },
            jobs,
        })
    }

    /// Writes what each host sends and gets to `directory`/HOST.pcapng, and what the
    /// links lose to lost.pcapng with the cause; `snaplen` bytes of each packet, 0
    /// for all. `comment` stands in the files.
    ///
    /// # Errors
    /// If a file cannot be made.
    pub fn capture(
        &mut self,
        directory: &Path,
        comment: &str,
        snaplen: u32,
    ) -> Result<(), EmuError> {
        let names = self.hosts.iter().map(|host| host.name.as_str());
        self.captures = Some(Captures::create(directory, names, comment, snaplen)?);
        self.live.keep_lost();
        Ok(())
    }

    /// A way to ask it things while it runs.
    pub(crate) fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// Counters as JSON, at `now`.
    pub(crate) fn stats(&self, now: Instant) -> Value {
        let links = self.live.report(now);
        let link = |l: &LinkReport| json!({ "link": l.link, "direction": l.direction, "metrics": l.metrics });
        let host = |h: &Host| {
            let c = h.counters;
            json!({
                "host": h.name, "address": h.address.to_string(), "sent": c.sent,
                "delivered": c.delivered, "not_ipv4": c.not_ipv4, "no_host": c.no_host,
                "refused": c.refused,
            })
        };
        json!({
            "duration_s": now.since(Instant::ZERO).as_secs_f64(),
            "late_p99_s": self.lateness.quantile(0.99).as_secs_f64(),
            "hosts": self.hosts.iter().map(host).collect::<Vec<_>>(),
            "links": links.iter().map(link).collect::<Vec<_>>(),
            "packets": self.live.balance(),
        })
    }

    /// Does what other threads asked for.
    fn answer(&mut self, clock: Clock) {
        let _ = self.remote.wake.read();
        while let Ok(job) = self.jobs.try_recv() {
            job(self, clock.now());
        }
    }

    /// The hosts.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Names of the hosts, as /etc/hosts has them.
    pub(crate) fn hosts_file(&self) -> &Path {
        self.hosts_file.path()
    }

    /// The thread that [`Self::run`] is called on gets real-time priority, memory
    /// is kept in place, and the clock is watched before packets are due.
    pub fn set_realtime(&mut self, on: bool) {
        self.realtime = on;
        self.budget = Budget::new(on);
    }

    /// What stops it.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Carries packets until it is stopped, or, if user-space hosts fetch something,
    /// until they have it. For the least lateness, on a thread
    /// of its own.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn run(&mut self) -> Result<Report, EmuError> {
        let _realtime = self.realtime.then(Realtime::enter).transpose()?;
        self.carry()
    }

    fn carry(&mut self) -> Result<Report, EmuError> {
        let failed = |e: nix::Error| EmuError::system("wait for packets", e);
        // Timers otherwise go off up to 50 us late (prctl(2)).
        nix::sys::prctl::set_timerslack(1).map_err(failed)?;
        let clock = Clock::start();
        let mut buffer = vec![0; LONGEST];
        let mut packets = Vec::new();
        let mut events = [EpollEvent::empty(); 64];
        let mut armed = Instant::MAX;
        let fetching = self.fetching();
        loop {
            self.deliver(clock)?;
            if fetching && !self.fetching() {
                return self.finish(clock);
            }
            let next = self.next_time();
            let waited = if self.realtime {
                self.wait_exactly(clock, next, &mut events)
            } else {
                self.wait_with_timer(clock, next, &mut armed, &mut events)
            };
            let ready = match waited {
                Ok(n) => n,
                Err(nix::Error::EINTR) => continue,
                Err(e) => return Err(failed(e)),
            };
            for event in &events[..ready] {
                match event.data() {
                    STOP => return self.finish(clock),
                    REMOTE => self.answer(clock),
                    TIMER => self.clear(&mut armed),
                    host => self.receive(clock, host as usize, &mut buffer, &mut packets)?,
                }
            }
        }
    }

    fn finish(&mut self, clock: Clock) -> Result<Report, EmuError> {
        let report = self.report(clock.now());
        if let Some(mut captures) = self.captures.take() {
            self.uncaptured = captures.finish()?;
        }
        Ok(Report {
            uncaptured: self.uncaptured,
            ..report
        })
    }

    /// The timer goes off at `at`, and not at all at the end of time.
    fn arm(&self, clock: Clock, at: Instant) -> nix::Result<()> {
        if at == Instant::MAX {
            return self.timer.unset();
        }
        let at = Expiration::OneShot(clock.absolute(at));
        self.timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME)
    }

    /// The timer went off.
    fn clear(&self, armed: &mut Instant) {
        *armed = Instant::ZERO;
        // It is not there to be read if it was armed anew meanwhile.
        let _ = self.timer.wait();
    }

    /// Sleeps by the timer until shortly before `next`, then watches the clock, and
    /// packets. Timeouts of system calls are up to 0.1 % late at normal priority, and
    /// a timer is not.
    fn wait_with_timer(
        &mut self,
        clock: Clock,
        next: Instant,
        armed: &mut Instant,
        events: &mut [EpollEvent],
    ) -> nix::Result<usize> {
        let before = clock.now();
        let ahead = self.budget.ahead();
        let at = if next == Instant::MAX {
            next
        } else {
            Instant::ZERO + next.since(Instant::ZERO).saturating_sub(ahead)
        };
        if at > before {
            if at != *armed {
                *armed = at;
                self.arm(clock, at)?;
            }
            let ready = self.epoll.wait(events, EpollTimeout::NONE)?;
            self.budget.slept(clock.now().since(before));
            let is_time = ready == 1 && events[0].data() == TIMER;
            if !is_time || ahead.is_zero() {
                return Ok(ready);
            }
            self.clear(armed);
        } else if ahead.is_zero() {
            // It is time, and packets have their turn all the same.
            return self.epoll.wait(events, EpollTimeout::ZERO);
        }
        self.watch(clock, next, events)
    }

    /// Watches the clock until `next`, and packets.
    fn watch(
        &mut self,
        clock: Clock,
        next: Instant,
        events: &mut [EpollEvent],
    ) -> nix::Result<usize> {
        let began = clock.now();
        loop {
            // At least once, or a network that is never idle would hear of no packet.
            let ready = self.epoll.wait(events, EpollTimeout::ZERO);
            let now = clock.now();
            if now >= next || ready != Ok(0) {
                self.budget.watched(now.since(began));
                return ready;
            }
        }
    }

    /// As [`Self::wait_with_timer`], by a timeout, which at real-time priority is
    /// exact and takes a system call less.
    fn wait_exactly(
        &mut self,
        clock: Clock,
        next: Instant,
        events: &mut [EpollEvent],
    ) -> nix::Result<usize> {
        let before = clock.now();
        let ahead = self.budget.ahead();
        let sleep = next.since(before).saturating_sub(ahead);
        if next == Instant::MAX || !sleep.is_zero() {
            let timeout = (next != Instant::MAX).then_some(sleep);
            let ready = realtime::wait(&self.epoll, events, timeout);
            self.budget.slept(clock.now().since(before));
            if ready != Ok(0) || ahead.is_zero() {
                return ready;
            }
        }
        self.watch(clock, next, events)
    }

    /// Packets of a host enter the network at the time they are read.
    fn receive(
        &mut self,
        clock: Clock,
        host: usize,
        buffer: &mut [u8],
        packets: &mut Vec<(Vec<u8>, bool)>,
    ) -> Result<(), EmuError> {
        for _ in 0..BATCH {
            let Host {
                port: Port::Kernel { tun, .. },
                name,
                ..
            } = &self.hosts[host]
            else {
                return Ok(());
            };
            let spare = &mut self.spare;
            let empty = || spare.pop().unwrap_or_default();
            let read = tun
                .read(buffer, empty, |packet, checked| {
                    packets.push((packet, checked));
                })
                .map_err(|e| EmuError::system(format!("read from the device of {name}"), e))?;
            if !read {
                break;
            }
            let now = clock.now();
            self.deliver_by(now)?;
            for (packet, checked) in packets.drain(..) {
                self.enter(now, host, packet, checked);
            }
            if let Some(captures) = &mut self.captures {
                captures.lost(&mut self.live);
            }
        }
        Ok(())
    }

    /// A packet enters; `checked` if its checksum is known to be right.
    fn enter(&mut self, now: Instant, host: usize, packet: Vec<u8>, checked: bool) {
        if let Some(captures) = &mut self.captures {
            captures.packet(host, now, &packet);
        }
        let counters = &mut self.hosts[host].counters;
        let raw = Raw::new(packet).map_err(Refused::NotIpv4);
        let raw = raw.map(|raw| if checked { raw.checked() } else { raw });
        match raw.and_then(|raw| self.live.enter(now, host, raw)) {
            Ok(()) => counters.sent += 1,
            Err(Refused::NotIpv4(_)) => counters.not_ipv4 += 1,
            Err(Refused::NoHost(_)) => counters.no_host += 1,
        }
    }

    /// Whether a user-space host has yet to get something.
    fn fetching(&self) -> bool {
        let endpoint = |&i: &usize| self.hosts[i].endpoint();
        let mut all = self.endpoints.iter().filter_map(endpoint);
        all.any(Endpoint::is_fetching)
    }

    /// When something is due next, in the network or in a user-space host.
    fn next_time(&self) -> Instant {
        let endpoint = |&i: &usize| self.hosts[i].endpoint()?.next_timeout();
        self.endpoints
            .iter()
            .filter_map(endpoint)
            .chain(self.live.next_time())
            .min()
            .unwrap_or(Instant::MAX)
    }

    fn deliver(&mut self, clock: Clock) -> Result<(), EmuError> {
        self.deliver_by(clock.now())
    }

    /// What is due by `now` leaves, and user-space hosts answer it.
    fn deliver_by(&mut self, now: Instant) -> Result<(), EmuError> {
        loop {
            self.leave(now)?;
            let mut answered = false;
            for i in 0..self.endpoints.len() {
                answered |= self.work(now, self.endpoints[i]);
            }
            if !answered || self.live.next_time().is_none_or(|at| at > now) {
                return Ok(());
            }
        }
    }

    /// A user-space host does what is due. Returns whether it sent something.
    fn work(&mut self, now: Instant, host: usize) -> bool {
        if let Port::Endpoint(endpoint) = &mut self.hosts[host].port
            && endpoint.next_timeout().is_some_and(|at| at <= now)
        {
            endpoint.on_timeout(now);
        }
        let mut sent = false;
        while let Port::Endpoint(endpoint) = &mut self.hosts[host].port
            && let Some(packet) = endpoint.poll_transmit()
        {
            self.enter(now, host, packet, true);
            sent = true;
        }
        sent
    }

    fn leave(&mut self, now: Instant) -> Result<(), EmuError> {
        let captures = &mut self.captures;
        let (hosts, lateness, spare) = (&mut self.hosts, &mut self.lateness, &mut self.spare);
        let mut trouble = None;
        self.live.advance(now, |host, due, raw| {
            if let Some(captures) = captures {
                captures.packet(host, now, raw.bytes());
            }
            let Host { port, counters, .. } = &mut hosts[host];
            match port {
                Port::Kernel { tun, .. } => match tun.write(&raw) {
                    Ok(written) => counters.add(written),
                    Err(e) => trouble = Some((host, e)),
                },
                Port::Endpoint(endpoint) => {
                    endpoint.receive(now, raw.bytes());
                    counters.delivered += 1;
                }
            }
            lateness.add(now.since(due));
            if spare.len() < SPARE {
                let mut bytes = raw.into_bytes();
                bytes.clear();
                spare.push(bytes);
            }
        });
        for (i, host) in hosts.iter_mut().enumerate() {
            if let Port::Kernel { tun, .. } = &mut host.port {
                match tun.flush() {
                    Ok(written) => host.counters.add(written),
                    Err(e) => trouble = Some((i, e)),
                }
            }
        }
        if let Some(captures) = &mut self.captures {
            captures.lost(&mut self.live);
        }
        trouble.map_or(Ok(()), |(host, e)| {
            let what = format!("write to the device of {}", self.hosts[host].name);
            Err(EmuError::system(what, e))
        })
    }

    fn report(&self, now: Instant) -> Report {
        Report {
            duration: now.since(Instant::ZERO),
            lateness: self.lateness.clone(),
            links: self.live.report(now),
            balance: self.live.balance(),
            uncaptured: self.uncaptured,
        }
    }
}
