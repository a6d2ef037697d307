//! Two copies of each end, one with the fast paths and one without. Both must give the same output
//! in all circumstances.

use super::chance::Chance;
use super::path::{Fate, Path};
use super::setup;
use super::tamper::tamper;
use farlink_tcp::config::{Config, EcnMode, Nagle};
use farlink_tcp::{
    BurstBudget, Connection, Instant, Interval, IpVersion, LossCause, Notice, Segment, Seq, State,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt::Debug;
use std::sync::Arc;

/// Largest number of steps of a session.
const MAX_STEPS: u32 = 2_000;

/// Two copies of one end.
struct Twins {
    short: Connection,
    general: Connection,
    bytes: bool,
}

impl Twins {
    fn new(config: Config, side: u16, isn: Seq, bytes: bool) -> Self {
        let config = Arc::new(config);
        let open = || match side {
            0 => Connection::open(Arc::clone(&config), 0, 1, isn),
            _ => Connection::listen(Arc::clone(&config), 1, isn),
        };
        let (short, mut general) = (open(), open());
        general.set_prediction(false);
        Self {
            short,
            general,
            bytes,
        }
    }

    /// Applies an action to both copies, with the same result.
    fn both<T: PartialEq + Debug>(&mut self, act: impl Fn(&mut Connection) -> T) -> T {
        let short = act(&mut self.short);
        assert_eq!(short, act(&mut self.general));
        short
    }

    /// Returns all segments that may be sent now, after checking that both copies send the same.
    fn transmit(&mut self, now: Instant) -> Vec<Segment> {
        let mut out = Vec::new();
        let (mut burst, mut general) = (BurstBudget::default(), BurstBudget::default());
        loop {
            let (mut segment, mut again) = (Segment::default(), Segment::default());
            let there = self.short.transmit_into(now, &mut burst, &mut segment);
            let general = &mut general;
            assert_eq!(self.general.transmit_into(now, general, &mut again), there);
            assert_eq!(segment, again);
            if !there {
                break;
            }
            out.push(segment);
            assert!(out.len() < 20_000, "segments leave for ever");
        }
        while self.both(Connection::poll_event).is_some() {}
        self.both(|c| c.drain_records().collect::<Vec<_>>());
        self.both(|c| c.next_timeout());
        self.both(|c| (c.state(), c.cwnd(), c.ssthresh(), c.flight(), c.pipe()));
        self.both(|c| (c.snd_una(), c.snd_max(), c.rcv_nxt(), c.readable(), c.rto()));
        self.both(|c| (c.stats(), c.srtt(), c.largest_peer_window()));
        self.both(|c| (c.phase_times(now), c.limit_times(now)));
        self.both(|c| c.metrics(now).map(|(_, value)| value).collect::<Vec<_>>());
        self.short.recount();
        out
    }

    /// Compares all inner state, except that of the fast paths themselves.
    fn compare(&self) {
        let inside = |c: &Connection| {
            let mut text = format!("{c:?}");
            for field in ["predicts", "idle", "general_only"] {
                for value in [true, false] {
                    text = text.replace(&format!("{field}: {value}, "), "");
                }
            }
            text
        };
        assert_eq!(inside(&self.short), inside(&self.general));
    }

    /// Plays an application, sometimes with rare calls.
    fn act(&mut self, now: Instant, chance: &mut Chance) {
        let full = u64::from(self.short.mss());
        let len = chance.pick(&[0, 1, 1_000, 40_000, 400_000, 3 * full, 40 * full]);
        let max = chance.pick(&[0, 700, u64::MAX, u64::MAX]);
        let data = vec![7; len as usize / 4];
        let bytes = self.bytes;
        if bytes {
            let _ = self.both(|c| c.write(&data));
            self.both(|c| {
                let mut read = Vec::new();
                c.read(&mut read, max as usize);
                read
            });
        } else {
            let _ = self.both(|c| c.write_len(len));
            self.both(|c| c.read_len(max));
        }
        match chance.within(0, 100) {
            0 => self.both(|c| c.shutdown(now)),
            1 => self.both(|c| c.close(now)),
            2 => self.both(|c| c.set_nagle(Nagle::Rfc896)),
            3 => self.both(|c| c.set_send_buffer(50_000)),
            4 => self.both(|c| c.set_receive_buffer(200_000)),
            5 => _ = self.both(|c| c.on_path_mtu(600, IpVersion::V4, 0)),
            6 => self.both(|c| c.on_timeout(now)),
            7 => self.both(|c| c.set_nagle(Nagle::Fill)),
            _ => {}
        }
    }
}

/// Plays the session determined by a seed, with row `row` of the table or a similar configuration.
/// Returns the number of segments sent.
pub(crate) fn play(seed: u64, row: usize) -> u64 {
    let mut chance = Chance::new(seed);
    let mut path = Path::random(&mut chance);
    if chance.flip() {
        // A nearly clean path, so that windows open.
        (path.duplicate, path.reorder, path.truncate) = (0, 0, 0);
        path.corrupt = 0;
        path.drop = chance.pick(&[0, 2, 10]);
    }
    let share = chance.pick(&[0, 30, 100, 1000]);
    let bytes = chance.per_mille(200);
    let tampered = chance.pick(&[0, 0, 5, 30]);
    let (timestamps, ecn) = (chance.per_mille(300), chance.per_mille(300));
    let traced = chance.per_mille(100);
    let mut end = |side| {
        let mut config = setup::near(&mut chance, row, share);
        config.timestamps |= timestamps;
        if ecn && config.ecn.mode == EcnMode::Off {
            config.ecn.mode = EcnMode::Classic;
        }
        let buffers = [config.receiver.buffer, 700, 2_500, 65_535, 1 << 20, 1 << 20];
        config.receiver.buffer = chance.pick(&buffers);
        Twins::new(config, side, Seq(chance.next() as u32), bytes)
    };
    let mut ends = [end(0), end(1)];
    let mut now = Instant::ZERO;
    let mut heap = BinaryHeap::new();
    let mut in_flight: BTreeMap<u64, (usize, Segment)> = BTreeMap::new();
    let mut segments = 0;
    for step in 0..MAX_STEPS {
        for side in 0..2 {
            for segment in ends[side].transmit(now) {
                segments += 1;
                let fate = path.fate(&mut chance);
                if fate == Fate::Corrupt {
                    ends[1 - side].both(|c| c.on_loss_notice(&segment, LossCause::Corruption));
                    ends[1 - side].both(|c| c.on_damaged(&segment));
                } else if fate == Fate::Drop && chance.per_mille(100) {
                    let notice = Notice::BadState { seq: segment.seq };
                    ends[side].both(|c| c.on_notice(now, notice));
                }
                for (delay, mut copy) in path.arrivals(&mut chance, fate, segment) {
                    if chance.per_mille(tampered) {
                        tamper(&mut chance, &mut copy);
                    }
                    let number = segments << 8 | in_flight.len() as u64 & 0xff;
                    let spread = Interval::from_nanos(segments % 1_000);
                    heap.push(Reverse((now + delay + spread, number)));
                    in_flight.insert(number, (1 - side, copy));
                }
            }
        }
        if chance.per_mille(if step < 200 { 10 } else { 2 }) {
            ends.iter().for_each(Twins::compare);
        }
        let timers = ends.iter().filter_map(|end| end.short.next_timeout());
        let arrival = heap.peek().map(|&Reverse((at, _))| at);
        let Some(next) = timers.chain(arrival).min() else {
            if ends.iter().all(|end| end.short.state() == State::Closed) {
                break;
            }
            now += Interval::from_millis(500);
            for end in &mut ends {
                end.act(now, &mut chance);
            }
            continue;
        };
        now = now.max(next);
        for end in &mut ends {
            if end.short.next_timeout().is_some_and(|at| at <= now) {
                end.both(|c| c.on_timeout(now));
            }
        }
        if let Some(&Reverse((at, number))) = heap.peek()
            && at <= now
        {
            heap.pop();
            if let Some((side, segment)) = in_flight.remove(&number) {
                ends[side].both(|c| c.on_segment(now, &segment));
            }
        }
        let side = chance.within(0, 2) as usize;
        if traced && chance.per_mille(10) {
            let on = chance.flip();
            ends[side].both(|c| c.set_tracing(on));
        }
        if chance.per_mille(if side == 0 { 200 } else { 20 }) {
            ends[side].act(now, &mut chance);
        } else {
            ends[1 - side].both(|c| c.read_len(u64::MAX));
        }
    }
    segments
}
