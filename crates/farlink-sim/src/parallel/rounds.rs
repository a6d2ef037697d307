//! Rounds of a run in parts. In a round, each part handles its events of one window. A window is
//! at most as long as the lookahead, so no part needs mail of the same window.
//!
//! Mail of a round is read in the next one. Windows in which the run may end are handled in the
//! order of a whole world, because the run ends right after one event.

use super::part::{Mail, Part};
use farlink_tcp::Instant;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;

/// Number of checks before a thread that waits for others sleeps, about 20 us.
const SPINS: u32 = 4_000;

/// Locks a mutex. A panic of another thread ends the run anyway.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// State that the threads of a run share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) parts: Vec<Mutex<Part>>,
    /// Mail of even and odd rounds, by sender and receiver.
    boxes: [Vec<Mutex<Vec<Mail>>>; 2],
    /// Time of the first packet in the mail that each part sent last, in nanoseconds.
    first: Vec<AtomicU64>,
    /// Nanoseconds that each part worked in the last round.
    pub(super) worked: Vec<AtomicU64>,
    threads: usize,
    /// Number of the current round.
    round: AtomicUsize,
    /// Number of rounds with other threads.
    starts: AtomicUsize,
    /// End of the window of the current round, in nanoseconds.
    until: AtomicU64,
    /// Number of threads that have not completed the round.
    pending: AtomicUsize,
    quits: AtomicBool,
    /// Set if a thread panicked.
    failed: AtomicBool,
    main: Thread,
    spins: u32,
}

impl Shared {
    pub(super) fn new(parts: Vec<Part>, threads: usize) -> Self {
        let count = parts.len();
        let mail = || (0..count).map(|_| Mail::default()).collect();
        let boxes = || (0..count).map(|_| Mutex::new(mail())).collect();
        let zeros = |value| (0..count).map(|_| AtomicU64::new(value)).collect();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            parts: parts.into_iter().map(Mutex::new).collect(),
            boxes: [boxes(), boxes()],
            first: zeros(u64::MAX),
            worked: zeros(0),
            threads,
            round: AtomicUsize::new(0),
            starts: AtomicUsize::new(0),
            until: AtomicU64::new(0),
            pending: AtomicUsize::new(0),
            quits: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            main: std::thread::current(),
            spins: if threads <= processors { SPINS } else { 0 },
        }
    }

    pub(super) fn into_parts(self) -> Vec<Part> {
        let parts = self.parts.into_iter();
        parts
            .map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect()
    }

    /// Returns the time of the first event of all parts, or of the mail that is not read.
    pub(super) fn next_time(&self) -> Option<Instant> {
        let events = self.parts.iter().map(|part| lock(part).next_time());
        let mail = self.first.iter().map(|first| {
            let first = first.load(Ordering::Relaxed);
            (first != u64::MAX).then(|| Instant::from_nanos(first))
        });
        events.chain(mail).flatten().min()
    }

    /// Reads the mail of the last round.
    pub(super) fn receive(&self, number: usize, part: &mut Part) {
        let inbox = &self.boxes[self.round.load(Ordering::Relaxed) % 2];
        for sender in inbox {
            let mut mail = std::mem::take(&mut lock(sender)[number]);
            part.receive(&mut mail);
        }
        part.forget_snapshots();
    }

    /// Sends mail to be read in the next round.
    pub(super) fn send(&self, number: usize, part: &mut Part) {
        let outbox = &self.boxes[(self.round.load(Ordering::Relaxed) + 1) % 2];
        let first = part.send(&mut lock(&outbox[number]));
        let first = first.map_or(u64::MAX, Instant::as_nanos);
        self.first[number].store(first, Ordering::Relaxed);
    }

    /// Begins a round that the first thread handles alone.
    pub(super) fn begin_round(&self) {
        self.round.fetch_add(1, Ordering::Relaxed);
    }

    /// Handles all events before `until` on all threads.
    pub(super) fn advance(&self, until: Instant, others: &[Thread]) {
        self.begin_round();
        self.until.store(until.as_nanos(), Ordering::Relaxed);
        self.pending.store(others.len(), Ordering::Relaxed);
        self.starts.fetch_add(1, Ordering::Release);
        others.iter().for_each(Thread::unpark);
        self.work(0);
        self.wait(|| self.pending.load(Ordering::Acquire) == 0);
    }

    /// Returns whether a thread panicked.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Handles the rounds of a thread other than the first.
    pub(super) fn follow(&self, thread: usize) {
        let mut starts = 0;
        loop {
            let begins = || self.starts.load(Ordering::Acquire) != starts;
            self.wait(|| begins() || self.quits.load(Ordering::Acquire));
            if !begins() {
                return;
            }
            starts += 1;
            let done = Done(self);
            self.work(thread);
            drop(done);
        }
    }

    /// Waits until `is_over`, at first without sleep.
    fn wait(&self, is_over: impl Fn() -> bool) {
        let mut spins = 0;
        while !is_over() {
            if spins < self.spins {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::park();
            }
        }
    }

    /// Handles the window of the current round in the parts of a thread.
    fn work(&self, thread: usize) {
        let until = Instant::from_nanos(self.until.load(Ordering::Relaxed));
        for number in (thread..self.parts.len()).step_by(self.threads) {
            let started = std::time::Instant::now();
            let mut part = lock(&self.parts[number]);
            self.receive(number, &mut part);
            part.advance(until);
            self.send(number, &mut part);
            let nanos = started.elapsed().as_nanos() as u64;
            self.worked[number].store(nanos, Ordering::Relaxed);
        }
    }
}

/// Marks a thread's round as complete, also if the thread panics.
struct Done<'a>(&'a Shared);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, Ordering::Relaxed);
        }
        self.0.pending.fetch_sub(1, Ordering::AcqRel);
        self.0.main.unpark();
    }
}

/// Ends the other threads when it is dropped, also if the first thread panics.
pub(super) struct Quit<'a>(pub(super) &'a Shared, pub(super) Vec<Thread>);

impl Drop for Quit<'_> {
    fn drop(&mut self) {
        self.0.quits.store(true, Ordering::Release);
        self.1.iter().for_each(Thread::unpark);
    }
}
