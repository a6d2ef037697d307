//! A whole connection from the SYN to the end, over a faulty path.

use super::chance::Chance;
use super::endpoint::Endpoint;
use super::path::{Fate, Path};
use super::setup;
use farlink_tcp::variant::VARIANTS;
use farlink_tcp::{CloseReason, Flags, Instant, Interval, LossCause, Notice, Segment, Seq};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Number of steps of a session above which a livelock is assumed.
const MAX_STEPS: u64 = 2_000_000;
/// Number of steps at one instant above which a livelock is assumed.
const MAX_AT_ONCE: u32 = 20_000;

/// Longest allowed chain of bare ACKs that answer each other. Reordered ACKs with old timestamps
/// extend a chain, each with the probability of reordering.
const LONGEST_CHAIN: u32 = 16;

/// Outcome of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// All bytes of both sides arrived and were acknowledged.
    Delivered,
    /// An end gave up or was reset, and its application got an event.
    Error,
}

/// Report of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    pub(crate) outcome: Outcome,
    pub(crate) faults: u64,
    pub(crate) segments: u64,
}

enum What {
    /// Arrival of a segment. The number counts consecutive bare ACKs, each sent in reply to the
    /// previous one.
    Arrival(Segment, u32),
    /// Arrival of a segment whose checksum fails.
    Damaged(Segment),
    /// Notice from the network that a segment was lost.
    Lost(Segment, LossCause),
    Application,
}

/// Both ends, the path, and the pending events.
struct Session<'a> {
    now: Instant,
    chance: Chance,
    ends: [Endpoint; 2],
    path: Path,
    /// Fates of the first segments; later fates are drawn by the path.
    fates: &'a [Fate],
    heap: BinaryHeap<Reverse<(Instant, u64)>>,
    due: BTreeMap<u64, (usize, What)>,
    counter: u64,
    faults: u64,
    segments: u64,
}

/// Plays the session determined by a seed, with row `row` of the table on both ends. Panics when an
/// invariant fails.
pub(crate) fn random(seed: u64, row: usize) -> Report {
    let mut chance = Chance::new(seed);
    let path = Path::random(&mut chance);
    play(chance, row, path, &[])
}

/// Plays a session whose first segments have the listed fates; the path is clean after them.
pub(crate) fn scripted(seed: u64, row: usize, fates: &[Fate]) -> Report {
    let clean = Path {
        drop: 0,
        corrupt: 0,
        duplicate: 0,
        reorder: 0,
        truncate: 0,
        delay_ms: 20,
    };
    play(Chance::new(seed), row, clean, fates)
}

fn play(mut chance: Chance, row: usize, path: Path, fates: &[Fate]) -> Report {
    assert!(row < VARIANTS.len());
    let both_open = chance.per_mille(100);
    let size = |chance: &mut Chance| {
        let max = chance.pick(&[1, 1_000, 30_000, 60_000]);
        chance.within(0, max)
    };
    let mut end = |side: usize, active: bool| {
        let config = setup::config(&mut chance, row);
        let goal = size(&mut chance);
        Endpoint::new(side, config, Seq(chance.next() as u32), active, goal)
    };
    let ends = [end(0, true), end(1, both_open)];
    let mut session = Session {
        now: Instant::ZERO,
        chance,
        ends,
        path,
        fates,
        heap: BinaryHeap::new(),
        due: BTreeMap::new(),
        counter: 0,
        faults: 0,
        segments: 0,
    };
    session.run()
}

/// Returns whether a segment is a bare ACK.
fn bare(segment: &Segment) -> bool {
    let plain = Flags(segment.flags.0 & !Flags::ECE.0);
    segment.seq_len() == 0 && plain == Flags::ACK
}

impl Session<'_> {
    fn run(&mut self) -> Report {
        for side in 0..2 {
            self.after(side, 0);
            self.schedule(self.now, side, What::Application);
        }
        let mut steps = 0;
        let mut at_once = 0;
        while let Some(at) = self.next_instant() {
            at_once = if at > self.now { 0 } else { at_once + 1 };
            steps += 1;
            let live = steps < MAX_STEPS && at_once < MAX_AT_ONCE;
            assert!(live, "livelock at {:?}: {:#?}", self.now, self.ends);
            self.now = at;
            self.step();
        }
        let outcome = self.outcome();
        Report {
            outcome,
            faults: self.faults,
            segments: self.segments,
        }
    }

    /// Returns the time of the next event: an arrival, an application, a time-out.
    fn next_instant(&self) -> Option<Instant> {
        let planned = self.heap.peek().map(|Reverse((at, _))| *at);
        let timeouts = self
            .ends
            .iter()
            .filter_map(|end| end.next_timeout(self.now));
        timeouts.chain(planned).min()
    }

    fn step(&mut self) {
        for side in 0..2 {
            let end = &mut self.ends[side];
            if end.next_timeout(self.now).is_some_and(|at| at <= self.now) {
                end.connection.on_timeout(self.now);
                self.after(side, 0);
            }
        }
        if let Some(&Reverse((at, id))) = self.heap.peek()
            && at <= self.now
        {
            self.heap.pop();
            let (side, what) = self.due.remove(&id).expect("planned once");
            match what {
                What::Arrival(segment, chain) => {
                    self.ends[side].connection.on_segment(self.now, &segment);
                    self.after(side, if bare(&segment) { chain + 1 } else { 0 });
                }
                What::Damaged(segment) => {
                    self.ends[side].connection.on_damaged(&segment);
                    self.after(side, 0);
                }
                What::Lost(segment, cause) => {
                    self.ends[side].connection.on_loss_notice(&segment, cause);
                    self.after(side, 0);
                }
                What::Application => {
                    self.ends[side].act(self.now, &mut self.chance);
                    self.after(side, 0);
                    self.sleep(side);
                }
            }
        }
    }

    /// Schedules the application's next action, unless nothing can change any more.
    fn sleep(&mut self, side: usize) {
        let over = |end: &Endpoint| end.end.is_some();
        let idle = self.ends.iter().all(Endpoint::idle) || self.ends.iter().any(over);
        let done = over(&self.ends[side]) || (idle && self.quiet());
        if !done {
            let at = self.now + Endpoint::pause(&mut self.chance);
            self.schedule(at, side, What::Application);
        }
    }

    /// Returns whether no segment is in transit and no timer runs.
    fn quiet(&self) -> bool {
        let arrivals = self
            .due
            .values()
            .any(|(_, what)| matches!(what, What::Arrival(..)));
        !arrivals
            && self
                .ends
                .iter()
                .all(|end| end.connection.next_timeout().is_none())
    }

    /// Sends the pending segments of an end and checks them. `chain` is the number of consecutive
    /// bare ACKs that led here, because two ends that reject each other's ACKs would answer them
    /// without end.
    fn after(&mut self, side: usize, chain: u32) {
        let peer_scales = self.ends[1 - side].scales();
        for segment in self.ends[side].transmit(self.now, peer_scales) {
            let fate = match self.fates.get(self.segments as usize) {
                Some(&fate) => fate,
                None => self.path.fate(&mut self.chance),
            };
            self.segments += 1;
            let chain = if bare(&segment) { chain } else { 0 };
            assert!(chain < LONGEST_CHAIN, "ACKs answer ACKs: {:#?}", self.ends);
            self.faults += u64::from(fate != Fate::Fine);
            self.report_fault(1 - side, fate, &segment);
            for (delay, copy) in self.path.arrivals(&mut self.chance, fate, segment) {
                self.schedule(self.now + delay, 1 - side, What::Arrival(copy, chain));
            }
        }
        self.ends[side].check();
        self.ends[side].check_against(&self.ends[1 - side]);
    }

    /// Delivers the loss notices of a segment that does not arrive as it was sent: from the medium,
    /// and from a base station.
    fn report_fault(&mut self, side: usize, fate: Fate, segment: &Segment) {
        let at = self.now + Interval::from_millis(self.path.delay_ms);
        match fate {
            Fate::Corrupt => {
                let lost = What::Lost(segment.clone(), LossCause::Corruption);
                self.schedule(at, side, lost);
                self.schedule(at, side, What::Damaged(segment.clone()));
            }
            Fate::Drop => {
                let causes = [LossCause::Congestion, LossCause::Corruption];
                let cause = causes[self.chance.within(0, 2) as usize];
                self.schedule(at, side, What::Lost(segment.clone(), cause));
                let notice = Notice::BadState { seq: segment.seq };
                let sender = &mut self.ends[1 - side].connection;
                sender.on_notice(self.now, notice);
            }
            _ => {}
        }
    }

    fn schedule(&mut self, at: Instant, side: usize, what: What) {
        self.heap.push(Reverse((at, self.counter)));
        self.due.insert(self.counter, (side, what));
        self.counter += 1;
    }

    /// Returns the outcome of a session without pending events; both connections must have ended.
    fn outcome(&mut self) -> Outcome {
        for end in &mut self.ends {
            end.read(usize::MAX);
        }
        let failed = |end: &Endpoint| end.end.is_some_and(|reason| reason != CloseReason::Done);
        if self.ends.iter().any(failed) {
            return Outcome::Error;
        }
        let [a, b] = &self.ends;
        assert!(
            a.end.is_some() && b.end.is_some(),
            "stalled: {:?} and {:?} with nothing to wait for",
            a.connection.state(),
            b.connection.state()
        );
        assert!(
            a.delivered_all() && b.delivered_all(),
            "closed before all was delivered"
        );
        assert_eq!(
            (a.read, b.read),
            (b.connection.acknowledged(), a.connection.acknowledged())
        );
        Outcome::Delivered
    }
}
