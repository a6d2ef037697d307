//! Event loop that runs the engine on the wall clock. The loop reads packets from hosts, and writes
//! each packet to its destination at the time that the engine gives.

use crate::EmuError;
use crate::capture::Captures;
use crate::clock::Clock;
use crate::endpoint::Endpoint;
use crate::flows::{End, flows};
use crate::host::{Host, Port};
use crate::lateness::Lateness;
use crate::namespace::{Names, Namespace, RunFile};
use crate::parallel::in_parallel;
use crate::protocol::Place;
use crate::realtime::{self, Mode, Scheduling};
use crate::reaper::Reaper;
use crate::remote::{Job, Remote};
use crate::report::{HostReport, Report, Traffic};
use crate::stamps::Read;
use crate::tun::LONGEST;
use crate::unit::{self, Unit};
use crate::uplink::Uplink;
use farlink_sim::scenario::Expanded;
use farlink_sim::{Live, Refused};
use farlink_tcp::{Instant, Interval};
use farlink_wire::Raw;
use nix::sys::epoll::EpollEvent;
use nix::sys::eventfd::EventFd;
use poller::{Poller, TIMER};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

mod gateways;
mod poller;
mod setup;

/// Maximum number of reads per host and iteration of the loop, so a busy host does not starve
/// others.
const BATCH: usize = 64;
/// Maximum number of empty packet buffers that are stored for reuse.
const SPARE: usize = 4096;
/// Epoll tokens of the sources that are not hosts. The token of a host is its index.
const STOP: u64 = u64::MAX - 1;
const REMOTE: u64 = u64::MAX - 2;
const UNIT: u64 = u64::MAX - 3;
/// Number of polled sources that are not hosts: `STOP`, `REMOTE`, `UNIT` and `TIMER`.
const OTHER_SOURCES: usize = 4;

/// Stops an emulation from another thread.
#[derive(Clone, Debug)]
pub struct Stop(Arc<EventFd>);

impl Stop {
    /// Ends [`Emulation::run`].
    pub fn stop(&self) {
        // A write fails only if the eventfd's counter is at its maximum, which wakes the loop as
        // well.
        let _ = self.0.write(1);
    }
}

/// A running emulation: the hosts, and the network between them.
#[derive(Debug)]
pub struct Emulation {
    /// Must be dropped before `hosts`, because the device of the uplink belongs to one of the
    /// hosts.
    uplink: Option<Uplink>,
    reaper: Arc<Reaper>,
    pub(crate) live: Live,
    /// The scenario without the compensation for tunnels.
    scenario: Expanded,
    unit: Option<Unit>,
    hosts: Vec<Host>,
    /// Indices in `hosts` of the user-space hosts.
    endpoints: Vec<usize>,
    poller: Poller,
    stop: Stop,
    lateness: Lateness,
    /// Engine time up to which packets were delivered. A packet that arrived earlier enters the
    /// network at this time.
    reached: Instant,
    spare: Vec<Vec<u8>>,
    priority: Scheduling,
    hosts_file: RunFile,
    /// The resolv.conf for programs; `None` for the machine's own.
    resolver: Option<RunFile>,
    captures: Option<Captures>,
    remote: Remote,
    jobs: Receiver<Job>,
}

impl Drop for Emulation {
    fn drop(&mut self) {
        self.uplink = None;
        in_parallel(std::mem::take(&mut self.hosts), drop);
    }
}

impl Emulation {
    /// Captures packets into pcapng files in `directory`, with up to `snaplen` bytes of each packet
    /// (0 for all) and `comment` in each file.
    ///
    /// HOST.pcapng has the packets that a host sent and received. NODE@LINK-wired.pcapng and
    /// NODE@LINK-wireless.pcapng have those on the two sides of an agent's node. lost.pcapng has
    /// the packets that links lost, with the cause.
    ///
    /// # Errors
    /// Fails if a file cannot be created.
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

    /// Returns a handle by which other threads query the running emulation.
    pub(crate) fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// Returns the statistics at `now`. `ends` are the connections that kernels reported.
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

    /// Runs the jobs that other threads queued.
    fn answer(&mut self, clock: Clock) {
        let _ = self.remote.wake.read();
        while let Ok(job) = self.jobs.try_recv() {
            let now = clock.now();
            job(self, now);
            // A job may have reported the state of the network at `now`, so no packet may enter
            // earlier.
            self.reached = now;
        }
    }

    /// Returns the hosts.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Returns the namespace in which programs of the host `name` run.
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

    /// Returns the paths by which another process runs programs in a host.
    pub(crate) fn place(&self, host: &str) -> Result<Place, EmuError> {
        Ok(Place {
            host: host.to_owned(),
            namespace: self.namespace_of(host)?.place(),
            processes: self.reaper.space(),
            names: self.names().hosts.to_owned(),
            resolver: self.names().resolver.map(Path::to_owned),
        })
    }

    /// Returns the process that kills the programs when farlink ends.
    pub(crate) fn reaper(&self) -> Arc<Reaper> {
        Arc::clone(&self.reaper)
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
        self.poller.set_mode(mode);
    }

    /// Returns a handle that stops the emulation.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Carries packets until the emulation is stopped or, if user-space hosts fetch data, until all
    /// fetches have ended. Lateness is least on a thread of its own.
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub fn run(&mut self) -> Result<Report, EmuError> {
        let (_realtime, ran) = realtime::enter(self.poller.mode())?;
        tracing::debug!(target: "farlink", hosts = self.hosts.len(), scheduling = ?ran, "emulation begins");
        self.priority = ran;
        self.carry()
    }

    fn carry(&mut self) -> Result<Report, EmuError> {
        let failed = |e: nix::Error| EmuError::system("wait for packets", e);
        // The kernel's default timer slack is 50 us (prctl(2)).
        nix::sys::prctl::set_timerslack(1).map_err(failed)?;
        let clock = Clock::start();
        let mut buffer = vec![0; LONGEST];
        let mut packets = Vec::new();
        // The array has an entry for each source, so one epoll_wait reports all ready sources. A
        // source that is not reported is empty.
        let mut events = vec![EpollEvent::empty(); self.hosts.len() + OTHER_SOURCES];
        let fetching = self.fetching();
        loop {
            self.deliver(clock)?;
            if fetching && !self.fetching() {
                return Ok(self.finish(clock));
            }
            let next = self.next_time();
            let ready = self.poller.wait(clock, next, &mut events).map_err(failed)?;
            for event in &events[..ready] {
                match event.data() {
                    STOP => return Ok(self.finish(clock)),
                    REMOTE => self.answer(clock),
                    TIMER => self.poller.clear(),
                    UNIT => self.receive_from_gateways(clock, &mut buffer)?,
                    host => self.receive(clock, host as usize, &mut buffer, &mut packets)?,
                }
            }
        }
    }

    fn finish(&mut self, clock: Clock) -> Report {
        // Drops the receiver, so queries of other threads fail at once.
        self.jobs = channel().1;
        for host in &mut self.hosts {
            if let Port::Gateway(peer) = &mut host.port {
                peer.send_bye(clock.now());
            }
        }
        tracing::debug!(target: "farlink", time = %clock.now().as_secs_f64(), "emulation ends");
        let mut report = self.report(clock.now());
        if let Some(mut captures) = self.captures.take() {
            (report.uncaptured, report.capture_failure) = captures.finish();
        }
        report
    }

    /// Reads packets of a host, and puts them into the network at their arrival times, if the
    /// kernel provides these times.
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
            let Read::Packets(stamp) = read else {
                self.poller.arrivals.drained(host, now);
                return Ok(());
            };
            let longest = self.poller.arrivals.read(host, now);
            let (at, waited) = match stamp {
                Some(stamp) => {
                    let earliest = Instant::from_nanos(now.as_nanos() - longest.as_nanos());
                    let arrived = clock.instant(stamp).min(now).max(earliest);
                    let at = arrived.max(self.reached);
                    (at, at.since(arrived))
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
        self.poller.arrivals.left(host, clock.now());
        Ok(())
    }

    /// Puts a packet of a host into the network at `now`. `waited` is the time since the packet
    /// arrived. `checked` is set if its checksum is known to be right.
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

    /// Returns whether any user-space host is still fetching.
    fn fetching(&self) -> bool {
        let endpoint = |&i: &usize| self.hosts[i].endpoint();
        let mut all = self.endpoints.iter().filter_map(endpoint);
        all.any(Endpoint::is_fetching)
    }

    /// Returns the next deadline of the network, the user-space hosts and the unit.
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
            && unit.on_tick(now, &mut self.hosts)
        {
            self.allow_for_tunnels(now);
        }
        // The limit is the last poll, not `now`. A packet that arrived after the poll may have to
        // enter the network before packets that are due by now.
        self.deliver_by(self.poller.arrivals.last_poll(), clock)
    }

    /// Delivers every packet due by `by`, and replies of user-space hosts that are due by then.
    fn deliver_by(&mut self, by: Instant, clock: Clock) -> Result<(), EmuError> {
        let by = by.max(self.reached);
        self.reached = by;
        loop {
            self.leave(by, clock)?;
            let mut answered = false;
            for i in 0..self.endpoints.len() {
                answered |= self.run_endpoint(by, self.endpoints[i]);
            }
            if !answered || self.live.next_time().is_none_or(|at| at > by) {
                return Ok(());
            }
        }
    }

    /// Fires the due timers of a user-space host, and puts its packets into the network. Returns
    /// whether the host sent a packet.
    fn run_endpoint(&mut self, now: Instant, host: usize) -> bool {
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
        traffic.strangers = self.unit.as_ref().map(|unit| unit.rejected);
        Report::of(traffic, self.lateness.clone(), self.priority.clone())
    }
}
