//! The loop that drives the engine by the wall clock: packets in, packets out when
//! they are due.

use crate::EmuError;
use crate::capture::Captures;
use crate::clock::Clock;
use crate::host::{Host, HostConfig};
use crate::lateness::Lateness;
use crate::namespace::RunFile;
use crate::remote::{Job, Remote};
use farlink_sim::scenario::Expanded;
use farlink_sim::{LinkReport, Live, Refused};
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
/// No IPv4 datagram is longer.
const LONGEST: usize = 65_536;
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
    epoll: Epoll,
    timer: TimerFd,
    stop: Stop,
    lateness: Lateness,
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
    /// Packets that are not in the captures, since the disk could not keep up.
    pub uncaptured: u64,
}

impl Emulation {
    /// Makes the namespaces of the scenario's hosts, each with its device.
    ///
    /// # Errors
    /// If the scenario cannot be built or the system refuses. Nothing is left
    /// behind then.
    pub fn new(scenario: &Expanded, run: u64, config: &HostConfig) -> Result<Self, EmuError> {
        let live = Live::new(scenario, run).map_err(|e| EmuError::Scenario(e.to_string()))?;
        let mut hosts = Vec::new();
        for (name, address) in live.hosts() {
            hosts.push(Host::create(name, address, config)?);
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
        for (i, host) in (0..).zip(&hosts) {
            epoll.add(&host.tun, readable(i)).map_err(failed)?;
        }
        epoll.add(&timer, readable(TIMER)).map_err(failed)?;
        epoll.add(&stop, readable(STOP)).map_err(failed)?;
        epoll.add(&*wake, readable(REMOTE)).map_err(failed)?;
        Ok(Self {
            live,
            hosts,
            epoll,
            timer,
            stop: Stop(Arc::new(stop)),
            lateness: Lateness::default(),
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

    /// What stops it.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Carries packets until it is stopped. For the least lateness, on a thread
    /// of its own.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn run(&mut self) -> Result<Report, EmuError> {
        let failed = |e: nix::Error| EmuError::system("wait for packets", e);
        // Timers otherwise go off up to 50 us late (prctl(2)).
        nix::sys::prctl::set_timerslack(1).map_err(failed)?;
        let clock = Clock::start();
        let mut buffer = vec![0; LONGEST];
        let mut events = [EpollEvent::empty(); 64];
        let mut armed = Instant::MAX;
        loop {
            self.deliver(clock)?;
            let next = self.live.next_time().unwrap_or(Instant::MAX);
            if next != armed {
                armed = next;
                if next == Instant::MAX {
                    self.timer.unset().map_err(failed)?;
                } else {
                    let at = Expiration::OneShot(clock.absolute(next));
                    let absolute = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
                    self.timer.set(at, absolute).map_err(failed)?;
                }
            }
            let ready = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Ok(n) => n,
                Err(nix::Error::EINTR) => continue,
                Err(e) => return Err(failed(e)),
            };
            for event in &events[..ready] {
                match event.data() {
                    STOP => {
                        if let Some(mut captures) = self.captures.take() {
                            self.uncaptured = captures.finish()?;
                        }
                        return Ok(self.report(clock.now()));
                    }
                    REMOTE => self.answer(clock),
                    // Armed anew above, which also makes it unreadable.
                    TIMER => armed = Instant::ZERO,
                    host => self.receive(clock, host as usize, &mut buffer)?,
                }
            }
        }
    }

    /// Packets of a host enter the network at the time they are read.
    fn receive(&mut self, clock: Clock, host: usize, buffer: &mut [u8]) -> Result<(), EmuError> {
        for _ in 0..BATCH {
            let Host { tun, name, .. } = &self.hosts[host];
            let read = tun
                .read(buffer)
                .map_err(|e| EmuError::system(format!("read from the device of {name}"), e))?;
            let Some(n) = read else {
                break;
            };
            let now = clock.now();
            self.deliver_by(now)?;
            if let Some(captures) = &mut self.captures {
                captures.packet(host, now, &buffer[..n]);
            }
            let counters = &mut self.hosts[host].counters;
            match self.live.send(now, host, buffer[..n].to_vec()) {
                Ok(()) => counters.sent += 1,
                Err(Refused::NotIpv4(_)) => counters.not_ipv4 += 1,
                Err(Refused::NoHost(_)) => counters.no_host += 1,
            }
            if let Some(captures) = &mut self.captures {
                captures.lost(&mut self.live);
            }
        }
        Ok(())
    }

    fn deliver(&mut self, clock: Clock) -> Result<(), EmuError> {
        self.deliver_by(clock.now())
    }

    /// What is due by `now` leaves.
    fn deliver_by(&mut self, now: Instant) -> Result<(), EmuError> {
        let (hosts, lateness) = (&mut self.hosts, &mut self.lateness);
        let captures = &mut self.captures;
        let mut trouble = None;
        self.live.advance(now, |host, due, bytes| {
            let Host {
                tun,
                counters,
                name,
                ..
            } = &mut hosts[host];
            match tun.write(bytes) {
                Ok(true) => {
                    counters.delivered += 1;
                    lateness.add(now.since(due));
                    if let Some(captures) = captures {
                        captures.packet(host, now, bytes);
                    }
                }
                Ok(false) => counters.refused += 1,
                Err(e) => {
                    trouble = Some(EmuError::system(
                        format!("write to the device of {name}"),
                        e,
                    ));
                }
            }
        });
        if let Some(captures) = &mut self.captures {
            captures.lost(&mut self.live);
        }
        trouble.map_or(Ok(()), Err)
    }

    fn report(&self, now: Instant) -> Report {
        Report {
            duration: now.since(Instant::ZERO),
            lateness: self.lateness.clone(),
            links: self.live.report(now),
            uncaptured: self.uncaptured,
        }
    }
}
