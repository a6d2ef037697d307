//! Two ends over a path that delays, loses, copies and reorders datagrams.

// Each test file uses a part of it.
#![allow(dead_code)]

use farlink_quic::{Config, Control, End, Side, Transmitted};
use std::collections::BTreeMap;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const CONTROLS: [Control; 3] = [Control::Cubic, Control::NewReno, Control::Bbr];

/// Shares of datagrams that the path loses, copies or delays (percent), and its longest datagram.
#[derive(Clone, Copy, Default)]
pub(crate) struct Path {
    pub(crate) loss: u64,
    pub(crate) copies: u64,
    pub(crate) late: u64,
    pub(crate) most: usize,
    /// Number of the datagram with data of the server that is lost, from 1 on; 0 for none.
    pub(crate) drops: u64,
}

pub(crate) const CLEAN: Path = Path {
    loss: 0,
    copies: 0,
    late: 0,
    most: 1472,
    drops: 0,
};

/// Rule by which a datagram is lost: its time in milliseconds, its sender (0 for the client), and its
/// number from 1 on.
pub(crate) type Loses = Box<dyn Fn(u64, usize, usize) -> bool>;

pub(crate) struct Net {
    pub(crate) path: Path,
    pub(crate) random: u64,
    pub(crate) now: u64,
    pub(crate) count: u64,
    /// Number of datagrams with data that the server sent.
    pub(crate) data: u64,
    /// Arrivals by time and number: the receiving end and the datagram.
    pub(crate) arrivals: BTreeMap<(u64, u64), (usize, Transmitted)>,
    /// Sent datagrams with time and sender.
    pub(crate) log: Vec<(u64, usize, Transmitted)>,
    pub(crate) ends: [End; 2],
    /// Decides on the loss of each datagram, by time and sender.
    pub(crate) loses: Loses,
}

pub(crate) fn config(control: Control, seed: u8) -> Config {
    Config::new(control, [seed; 32])
}

impl Net {
    pub(crate) fn new(control: Control, path: Path, lens: [u64; 2]) -> Self {
        let client = End::new(Side::Client, config(control, 1), lens[0]).unwrap();
        let server = End::new(Side::Server, config(control, 2), lens[1]).unwrap();
        Self {
            path,
            random: 9,
            now: 0,
            count: 0,
            data: 0,
            arrivals: BTreeMap::new(),
            log: Vec::new(),
            ends: [client, server],
            loses: Box::new(|_, _, _| false),
        }
    }

    fn percent(&mut self) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % 100
    }

    fn send_all(&mut self) {
        for from in 0..2 {
            while let Some(datagram) = self.ends[from].transmit(self.now) {
                self.log.push((self.now, from, datagram.clone()));
                let lost = self.percent() < self.path.loss
                    || (self.loses)(self.now / MS, from, self.log.len());
                self.data += u64::from(from == 1 && datagram.has_data);
                let dropped = from == 1 && datagram.has_data && self.data == self.path.drops;
                if lost || dropped || datagram.bytes.len() > self.path.most {
                    continue;
                }
                let copies = 1 + u64::from(self.percent() < self.path.copies);
                for _ in 0..copies {
                    let late = u64::from(self.percent() < self.path.late) * 30 * MS;
                    self.count += 1;
                    let at = self.now + 50 * MS + late;
                    self.arrivals
                        .insert((at, self.count), (1 - from, datagram.clone()));
                }
            }
        }
    }

    /// Runs until `done`, or for ten minutes.
    pub(crate) fn run(&mut self, done: impl Fn(&[End; 2]) -> bool) {
        self.ends[0].open(0);
        loop {
            self.send_all();
            if done(&self.ends) || self.now > 600_000 * MS || self.step().is_none() {
                return;
            }
        }
    }

    /// Sends what is there, and handles the next arrivals or timers; `None` if there are none.
    pub(crate) fn step(&mut self) -> Option<()> {
        self.send_all();
        let arrival = self.arrivals.keys().next().map(|key| key.0);
        let timers = self.ends.iter_mut().filter_map(End::deadline).min();
        let next = arrival.into_iter().chain(timers).min()?;
        self.now = next.max(self.now);
        for end in &mut self.ends {
            end.on_time(self.now);
        }
        while let Some(entry) = self.arrivals.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (to, datagram) = entry.remove();
            self.ends[to].receive(self.now, datagram.ecn, &datagram.bytes);
        }
        Some(())
    }
}
