//! The loop that drives the engine by the wall clock: packets in, packets out when
//! they are due.

use crate::EmuError;
use crate::arrival::Arrivals;
use crate::attach::{Attach, Attached, network};
use crate::capture::Captures;
use crate::clock::Clock;
use crate::endpoint::{Endpoint, EndpointConfig};
use crate::flows::{End, flows};
use crate::host::{Host, HostConfig, Port};
use crate::keeper::Keeper;
use crate::lateness::Lateness;
use crate::namespace::{Names, Namespace, RunFile};
use crate::open_files;
use crate::peer::Peer;
use crate::protocol::Place;
use crate::realtime::{self, Budget, Mode, Ran};
use crate::remote::{Job, Remote};
use crate::report::{HostReport, Report, Traffic};
use crate::stamps::Read;
use crate::tun::LONGEST;
use crate::unit::{self, Unit, UnitOptions};
use crate::way_out::{WayOut, resolver};
use farlink_sim::scenario::Expanded;
use farlink_sim::{Live, Refused};
use farlink_tcp::segment::TCP_HEADER_LEN;
use farlink_tcp::{Instant, Interval, IpVersion};
use farlink_wire::{Raw, address_of};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::timer::{Expiration, TimerSetTimeFlags};
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

mod gateways;

/// Packets read from a host before the others have their turn.
const BATCH: usize = 64;
/// Buffers that are kept for packets to come.
const SPARE: usize = 4096;
/// Token of the timer and the stop among the sources that are polled.
const TIMER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const REMOTE: u64 = u64::MAX - 2;
const UNIT: u64 = u64::MAX - 3;
/// Number of these other sources.
const OTHERS: usize = 4;

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
    /// Closed before the hosts go, of which it is one.
    way_out: Option<WayOut>,
    keeper: Arc<Keeper>,
    pub(crate) live: Live,
    /// Scenario of the network between the machines that are the hosts.
    scenario: Expanded,
    unit: Option<Unit>,
    hosts: Vec<Host>,
    /// Hosts that are in user space.
    endpoints: Vec<usize>,
    epoll: Epoll,
    timer: TimerFd,
    stop: Stop,
    lateness: Lateness,
    arrivals: Arrivals,
    /// The network is at this time: what came before enters it now.
    reached: Instant,
    spare: Vec<Vec<u8>>,
    mode: Mode,
    priority: Ran,
    budget: Budget,
    hosts_file: RunFile,
    /// Whom programs ask for names, if not whom the machine asks.
    resolver: Option<RunFile>,
    captures: Option<Captures>,
    remote: Remote,
    jobs: Receiver<Job>,
}

/// Does `work` with each item, of many at a time: making and ending a host is mostly
/// waiting for the kernel. The order of the results is that of the items.
fn in_parallel<T: Send, U: Send>(items: Vec<T>, work: impl Fn(T) -> U + Sync) -> Vec<U> {
    const AT_ONCE: usize = 32;
    let each = items.len().div_ceil(AT_ONCE).max(1);
    let mut items = items.into_iter();
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        while items.len() > 0 {
            let part: Vec<_> = items.by_ref().take(each).collect();
            threads.push(scope.spawn(|| part.into_iter().map(&work).collect::<Vec<_>>()));
        }
        let done = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        done.flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

impl Drop for Emulation {
    fn drop(&mut self) {
        self.way_out = None;
        in_parallel(std::mem::take(&mut self.hosts), drop);
    }
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
        attached: &[Attached],
        force: bool,
        unit: Option<&UnitOptions>,
    ) -> Result<Self, EmuError> {
        let mut live = Live::new(scenario, run).map_err(|e| EmuError::Scenario(e.to_string()))?;
        let all: Vec<_> = live.hosts().collect();
        let node_of = |wanted: &str| {
            let entry = all.iter().find(|(name, _)| *name == wanted);
            entry.map(|&(_, node)| node).ok_or_else(|| {
                let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
                EmuError::Scenario(format!(
                    "there is no host {wanted:?}; the hosts of this scenario are {}",
                    names.join(", ")
                ))
            })
        };
        for endpoint in endpoints {
            node_of(&endpoint.host)?;
            if let Some(why) = endpoint.refusal() {
                return Err(EmuError::Scenario(why));
            }
            let most = config
                .mtu
                .saturating_sub(endpoint.ip.header_len() + TCP_HEADER_LEN);
            if endpoint.tcp.mss > most {
                return Err(EmuError::Scenario(format!(
                    "endpoint {}: an mss of {} bytes does not fit packets of {} bytes; set an mss \
                     of at most {most}",
                    endpoint.host, endpoint.tcp.mss, config.mtu
                )));
            }
        }
        if endpoints.len() + attached.len() >= all.len()
            && let Some(congestion) = &config.congestion
        {
            return Err(EmuError::Scenario(format!(
                "tcp {congestion:?} has no effect: all hosts are in user space or attached, and no \
                 kernel is left to have it"
            )));
        }
        if endpoints.len() < all.len() && unit.is_none() {
            Host::check()?;
        }
        // First, since without the right to it nothing else can be looked at either.
        let keeper = Arc::new(Keeper::start(&config.sweeper)?);
        let nodes = scenario.nodes.len() as u32;
        for (i, attachment) in attached.iter().enumerate() {
            node_of(&attachment.host)?;
            let others = &attached[..i];
            attachment.check(others, endpoints, nodes, config.mtu, force)?;
        }
        let unit = unit
            .map(|unit| Unit::open(unit, nodes, config))
            .transpose()?;
        open_files::allow(all.len())?;
        let made = in_parallel(all.clone(), |(name, node)| {
            if let Some(own) = endpoints.iter().find(|e| e.host == name) {
                let server = own.fetch.as_ref().map(|f| node_of(&f.host));
                Ok(Host::in_user_space(name, node, own, server.transpose()?))
            } else if let Some(own) = attached.iter().find(|a| a.host == name) {
                Host::attach(name, node, nodes, &own.to, config)
            } else if let Some(unit) = &unit {
                Ok(Host::of_gateway(name, node, Peer::new(unit.socket())))
            } else {
                Host::create(name, node, config)
            }
        });
        let hosts = made.into_iter().collect::<Result<Vec<_>, _>>()?;
        let to_internet = attached
            .iter()
            .find(|attachment| attachment.to == Attach::Internet);
        let mut way_out = None;
        if let Some(own) = to_internet {
            live.set_way_out(node_of(&own.host)?, config.way_out6);
            let (network, mask) = network(nodes);
            way_out = Some(WayOut::open(network, mask, config.way_out6)?);
        }
        let mut names = fs::read_to_string("/etc/hosts").unwrap_or_default();
        let named_by = scenario.flows.first().map_or(IpVersion::V4, |flow| flow.ip);
        for host in &hosts {
            // Of one version: glibc would put IPv6 first.
            let address = address_of(host.node, named_by).to_string();
            names.extend(["\n", &address, " ", &host.name]);
        }
        let hosts_file = RunFile::create("hosts", &(names + "\n"))?;
        let resolver = way_out.as_ref().and_then(|_| resolver(config.way_out6));
        let resolver = resolver.map(|lines| RunFile::create("resolv", &lines));
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
            match host.port.readable() {
                Some(port) => epoll.add(port, readable(i as u64)).map_err(failed)?,
                None if host.endpoint().is_some() => endpoints.push(i),
                None => {}
            }
        }
        if let Some(unit) = &unit {
            epoll.add(unit.readable(), readable(UNIT)).map_err(failed)?;
        }
        epoll.add(&timer, readable(TIMER)).map_err(failed)?;
        epoll.add(&stop, readable(STOP)).map_err(failed)?;
        epoll.add(&*wake, readable(REMOTE)).map_err(failed)?;
        Ok(Self {
            way_out,
            resolver: resolver.transpose()?,
            keeper,
            live,
            scenario: scenario.clone(),
            // That of the unit's socket is the last.
            arrivals: Arrivals::new(hosts.len() + 1),
            reached: Instant::ZERO,
            unit,
            hosts,
            endpoints,
            epoll,
            timer,
            stop: Stop(Arc::new(stop)),
            lateness: Lateness::default(),
            spare: Vec::new(),
            mode: Mode::Normal,
            priority: Ran::Normal,
            budget: Budget::new(false),
            hosts_file,
            captures: None,
            remote: Remote { jobs: sender, wake },
            jobs,
        })
    }

    /// Writes what each host sends and gets to `directory`/HOST.pcapng, what passes either
    /// side of an agent's node to NODE@LINK-wired.pcapng and NODE@LINK-wireless.pcapng, and
    /// what the links lose to lost.pcapng with the cause; `snaplen` bytes of each packet, 0
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
        let sides = self.live.keep_crossed();
        let names = self.hosts.iter().map(|host| host.name.as_str());
        let names = names.chain(sides.iter().map(String::as_str));
        self.captures = Some(Captures::create(directory, names, comment, snaplen)?);
        self.live.keep_lost();
        Ok(())
    }

    /// A way to ask it things while it runs.
    pub(crate) fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// Builds a snapshot of the statistics at `now`. `ends` are the connections that kernels
    /// reported.
    pub(crate) fn stats(&mut self, now: Instant, mut ends: Vec<End>) -> Value {
        let endpoints = self.hosts.iter().filter_map(Host::endpoint);
        ends.extend(endpoints.flat_map(Endpoint::connections));
        let report = self.report(now);
        let links = &report.traffic.links;
        let waits = |from, to| {
            let crossed = self.live.path(from, to);
            let crossed = crossed.into_iter().map(|at| &links[at]);
            crossed.fold((0, 0), |(packets, bytes), link| {
                (
                    packets + u64::from(link.waiting),
                    bytes + link.waiting_bytes,
                )
            })
        };
        let hosts = self.hosts.iter();
        let hosts: Vec<_> = hosts.map(|host| (host.name.as_str(), host.node)).collect();
        let flows = flows(&hosts, &ends, waits);
        report.stats(&flows)
    }

    /// Does what other threads asked for.
    fn answer(&mut self, clock: Clock) {
        let _ = self.remote.wake.read();
        while let Ok(job) = self.jobs.try_recv() {
            let now = clock.now();
            job(self, now);
            // What the network told of that time stays true.
            self.reached = now;
        }
    }

    /// The hosts.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The namespace of a host in which programs can run.
    pub(crate) fn namespace_of(&self, name: &str) -> Result<&Namespace, EmuError> {
        let host = self.hosts.iter().find(|host| host.name == name);
        let host = host.ok_or_else(|| {
            let names: Vec<_> = self.hosts.iter().map(|h| h.name.as_str()).collect();
            EmuError::Scenario(format!(
                "there is no host {name:?}; the hosts of this scenario are {}",
                names.join(", ")
            ))
        })?;
        host.namespace().ok_or_else(|| {
            EmuError::Scenario(match &host.attached {
                Some(what) => format!(
                    "{name:?} is a machine behind {what}, where no program can be started from here"
                ),
                None if host.endpoint().is_some() => {
                    format!("{name:?} is a user-space host, where no program can run")
                }
                None => format!(
                    "{name:?} is a gateway on another machine, which starts its own programs: farlink \
                     gateway ... -- PROGRAM"
                ),
            })
        })
    }

    /// Returns the place where programs of a host run.
    pub(crate) fn place(&self, host: &str) -> Result<Place, EmuError> {
        Ok(Place {
            host: host.to_owned(),
            namespace: self.namespace_of(host)?.place(),
            processes: self.keeper.space(),
            names: self.names().hosts.to_owned(),
            resolver: self.names().resolver.map(Path::to_owned),
        })
    }

    /// Returns the process that ends the programs.
    pub(crate) fn keeper(&self) -> Arc<Keeper> {
        Arc::clone(&self.keeper)
    }

    /// Returns how programs resolve names.
    pub(crate) fn names(&self) -> Names<'_> {
        Names {
            hosts: self.hosts_file.path(),
            resolver: self.resolver.as_ref().map(RunFile::path),
        }
    }

    /// Sets the scheduling mode of the thread that calls [`Self::run`].
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.budget = Budget::new(mode == Mode::Realtime);
    }

    /// Returns a handle that stops the emulation.
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
        let (_realtime, ran) = realtime::enter(self.mode)?;
        self.priority = ran;
        self.carry()
    }

    fn carry(&mut self) -> Result<Report, EmuError> {
        let failed = |e: nix::Error| EmuError::system("wait for packets", e);
        // Timers otherwise go off up to 50 us late (prctl(2)).
        nix::sys::prctl::set_timerslack(1).map_err(failed)?;
        let clock = Clock::start();
        let mut buffer = vec![0; LONGEST];
        let mut packets = Vec::new();
        // Room for all: a device that is not told of holds nothing.
        let mut events = vec![EpollEvent::empty(); self.hosts.len() + OTHERS];
        let mut armed = Instant::MAX;
        let fetching = self.fetching();
        loop {
            self.deliver(clock)?;
            if fetching && !self.fetching() {
                return Ok(self.finish(clock));
            }
            let next = self.next_time();
            let waited = if self.mode == Mode::Realtime {
                self.wait_exactly(clock, next, &mut events)
            } else {
                self.wait_with_timer(clock, next, &mut armed, &mut events)
            };
            let ready = match waited {
                Ok(n) => n,
                // What came meanwhile enters before more leaves.
                Err(nix::Error::EINTR) => self.look(clock.now(), &mut events).unwrap_or(0),
                Err(e) => return Err(failed(e)),
            };
            for event in &events[..ready] {
                match event.data() {
                    STOP => return Ok(self.finish(clock)),
                    REMOTE => self.answer(clock),
                    TIMER => self.clear(&mut armed),
                    UNIT => self.receive_from_gateways(clock, &mut buffer)?,
                    host => self.receive(clock, host as usize, &mut buffer, &mut packets)?,
                }
            }
        }
    }

    fn finish(&mut self, clock: Clock) -> Report {
        // Who asks from now on is told at once that nobody answers.
        self.jobs = channel().1;
        for host in &mut self.hosts {
            if let Port::Gateway(peer) = &mut host.port {
                peer.part(clock.now());
            }
        }
        let mut report = self.report(clock.now());
        if let Some(mut captures) = self.captures.take() {
            (report.uncaptured, report.capture_failure) = captures.finish();
        }
        report
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

    /// Looks for packets at `before`, so that they have their turn also in a network
    /// that is never idle.
    fn look(&mut self, before: Instant, events: &mut [EpollEvent]) -> nix::Result<usize> {
        self.arrivals.looked(before);
        self.epoll.wait(events, EpollTimeout::ZERO)
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
        let there = self.look(before, events)?;
        if there > 0 {
            return Ok(there);
        }
        let ahead = self.budget.ahead();
        let at = if next == Instant::MAX {
            next
        } else {
            Instant::ZERO + next.since(Instant::ZERO).saturating_sub(ahead)
        };
        if at > before {
            let until = Arrivals::until(before, at);
            if until != *armed {
                *armed = until;
                self.arm(clock, until)?;
            }
            let ready = self.epoll.wait(events, EpollTimeout::NONE);
            self.slept(before, until, clock.now());
            let ready = ready?;
            let is_time = ready == 1 && events[0].data() == TIMER;
            if !is_time || until < at || ahead.is_zero() {
                return Ok(ready);
            }
            self.clear(armed);
        }
        self.watch(clock, next, events)
    }

    /// The loop slept, and was to be awake at `until` at the latest.
    fn slept(&mut self, before: Instant, until: Instant, now: Instant) {
        self.budget.slept(now.since(before));
        self.arrivals.slept(before, until, now);
    }

    /// Watches the clock until `next`, and packets.
    fn watch(
        &mut self,
        clock: Clock,
        next: Instant,
        events: &mut [EpollEvent],
    ) -> nix::Result<usize> {
        let began = clock.now();
        let mut now = began;
        // The last look is at `next` or later: what is due then may leave after it.
        loop {
            let ready = self.look(now, events);
            let due = now >= next;
            now = clock.now();
            if due || ready != Ok(0) {
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
        let there = self.look(before, events)?;
        if there > 0 {
            return Ok(there);
        }
        let ahead = self.budget.ahead();
        let sleep = next.since(before).saturating_sub(ahead);
        if !sleep.is_zero() {
            let until = Arrivals::until(before, before + sleep);
            let timeout = until.since(before);
            let ready = realtime::wait(&self.epoll, events, timeout);
            self.slept(before, until, clock.now());
            if ready != Ok(0) || timeout < sleep || ahead.is_zero() {
                return ready;
            }
        }
        self.watch(clock, next, events)
    }

    /// Packets of a host enter the network at the time they came, as far as that is known.
    fn receive(
        &mut self,
        clock: Clock,
        host: usize,
        buffer: &mut [u8],
        packets: &mut Vec<(Vec<u8>, bool)>,
    ) -> Result<(), EmuError> {
        for _ in 0..BATCH {
            let Host { port, name, .. } = &mut self.hosts[host];
            let spare = &mut self.spare;
            let empty = || spare.pop().unwrap_or_default();
            let read = port
                .read(buffer, empty, |packet, checked| {
                    packets.push((packet, checked));
                })
                .map_err(|e| EmuError::device("read from", name, e))?;
            let now = clock.now();
            let Read::Packets(came) = read else {
                self.arrivals.drained(host, now);
                return Ok(());
            };
            let longest = self.arrivals.read(host, now);
            let (at, waited) = match came {
                Some(came) => {
                    let earliest = Instant::from_nanos(now.as_nanos() - longest.as_nanos());
                    let came = clock.instant(came).min(now).max(earliest);
                    let at = came.max(self.reached);
                    (at, at.since(came))
                }
                None => (now, longest),
            };
            self.deliver_by(at, clock)?;
            for (packet, checked) in packets.drain(..) {
                self.enter(at, host, packet, checked, waited);
            }
            if let Some(captures) = &mut self.captures {
                captures.network(&mut self.live, self.hosts.len());
            }
        }
        self.arrivals.left(host, clock.now());
        Ok(())
    }

    /// A packet enters at `now`, which has waited for that; `checked` if its checksum is known
    /// to be right.
    fn enter(
        &mut self,
        now: Instant,
        host: usize,
        packet: Vec<u8>,
        checked: bool,
        waited: Interval,
    ) {
        if let Some(captures) = &mut self.captures {
            captures.packet(host, now, &packet);
        }
        let counters = &mut self.hosts[host].counters;
        let raw = Raw::new(packet).map_err(Refused::NotIp);
        let raw = raw.map(|raw| raw.after(waited));
        let raw = raw.map(|raw| if checked { raw.checked() } else { raw });
        match raw.and_then(|raw| self.live.enter(now, host, raw)) {
            Ok(()) => counters.sent += 1,
            Err(Refused::NotIp(_)) => counters.not_ip += 1,
            Err(Refused::NoHost(_)) => counters.no_host += 1,
        }
    }

    /// Returns whether a user-space host has not finished its fetch.
    fn fetching(&self) -> bool {
        let endpoint = |&i: &usize| self.hosts[i].endpoint();
        let mut all = self.endpoints.iter().filter_map(endpoint);
        all.any(Endpoint::is_fetching)
    }

    /// Returns the next deadline, of the network or of a user-space host.
    fn next_time(&self) -> Instant {
        let endpoint = |&i: &usize| self.hosts[i].endpoint()?.next_timeout();
        self.endpoints
            .iter()
            .filter_map(endpoint)
            .chain(self.live.next_time())
            .chain(self.unit.as_ref().map(Unit::next_time))
            .min()
            .unwrap_or(Instant::MAX)
    }

    fn deliver(&mut self, clock: Clock) -> Result<(), EmuError> {
        let now = clock.now();
        if let Some(unit) = &mut self.unit
            && unit.work(now, &mut self.hosts)
        {
            self.allow_for_tunnels(now);
        }
        // What came since may be for this network before what is due since.
        self.deliver_by(self.arrivals.looked_at(), clock)
    }

    /// Delivers every packet that is due by this time; user-space hosts answer at once.
    fn deliver_by(&mut self, by: Instant, clock: Clock) -> Result<(), EmuError> {
        let by = by.max(self.reached);
        self.reached = by;
        loop {
            self.leave(by, clock)?;
            let mut answered = false;
            for i in 0..self.endpoints.len() {
                answered |= self.work(by, self.endpoints[i]);
            }
            if !answered || self.live.next_time().is_none_or(|at| at > by) {
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
            self.enter(now, host, packet, true, Interval::ZERO);
            sent = true;
        }
        sent
    }

    fn leave(&mut self, by: Instant, clock: Clock) -> Result<(), EmuError> {
        let captures = &mut self.captures;
        let (hosts, lateness, spare) = (&mut self.hosts, &mut self.lateness, &mut self.spare);
        let mut failed = None;
        self.live.advance(by, |host, due, raw| {
            let now = clock.now();
            if let Some(captures) = captures {
                captures.packet(host, now, raw.bytes());
            }
            let Host { port, counters, .. } = &mut hosts[host];
            match port.write(by, now, &raw) {
                Ok(written) => counters.add(written),
                Err(e) => failed = Some((host, e)),
            }
            lateness.add(now.since(due) + raw.waited());
            if spare.len() < SPARE {
                let mut bytes = raw.into_bytes();
                bytes.clear();
                spare.push(bytes);
            }
        });
        for (i, host) in hosts.iter_mut().enumerate() {
            match host.port.flush() {
                Ok(written) => host.counters.add(written),
                Err(e) => failed = Some((i, e)),
            }
        }
        if let Some(captures) = &mut self.captures {
            captures.network(&mut self.live, self.hosts.len());
        }
        failed.map_or(Ok(()), |(host, e)| {
            Err(EmuError::device("write to", &self.hosts[host].name, e))
        })
    }

    fn report(&mut self, now: Instant) -> Report {
        self.hosts.iter_mut().for_each(Host::look_at_device);
        let host = |host: &Host| HostReport {
            host: host.name.clone(),
            address: host.address(),
            attached: host.attached.clone(),
            counters: host.whole_counters(),
            gateway: unit::report(&host.port),
        };
        let mut traffic = Traffic::new(
            now.since(Instant::ZERO),
            self.live.events(),
            self.hosts.iter().map(host).collect(),
            self.live.report(now),
            self.live.balance(),
            self.live.agents(),
            self.live.handoffs(),
        );
        traffic.strangers = self.unit.as_ref().map(|unit| unit.strangers);
        Report::of(traffic, self.lateness.clone(), self.priority.clone())
    }
}
