use super::*;
use crate::pair::{Pair, at, chance, check_both_streams};
use farlink_wire::stp::Stat;

fn config(rate: Option<u64>) -> Config {
    Config {
        rate,
        packet: 1000,
        window: 200_000,
        polls: 3,
        early_data: true,
    }
}

fn pair_of(config: &Config, lost: impl Fn(usize) -> bool + 'static) -> Pair<Connection> {
    let end = |opens| Connection::new(config, opens, 7, 1 << 20, Instant::ZERO);
    Pair::new([end(true), end(false)], lost)
}

fn pair(lost: impl Fn(usize) -> bool + 'static) -> Pair<Connection> {
    pair_of(&config(Some(800_000)), lost)
}

/// Data in both directions, with and without losses, with a rate and with a window: all of it
/// arrives once, and both ends report the close of the peer and then the end.
#[test]
fn both_streams_arrive_and_close() {
    for every in [usize::MAX, 7, 3, 2] {
        for rate in [Some(800_000), None] {
            let pair = pair_of(&config(rate), chance(every));
            check_both_streams(pair, &format!("every {every}, {rate:?}"));
        }
    }
}

/// 100 packets of 1000 bytes at 800 kbit/s leave in 990 ms, right behind BGN. The last one arrives
/// 250 ms later. Without early data they wait for BGAK, a round trip more.
#[test]
fn data_leaves_at_the_rate_behind_bgn_or_bgak() {
    for (early_data, end) in [(true, 1240), (false, 1740)] {
        let config = Config {
            early_data,
            ..config(Some(800_000))
        };
        let mut pair = pair_of(&config, |_| false);
        pair.ends[0].write_len(100_000);
        pair.run(at(end - 1));
        assert_eq!(pair.read[1], 99_000);
        pair.run(at(end + 1));
        assert_eq!(pair.read[1], 100_000);
    }
}

/// The window of 2 at most doubles in a round trip. Reports come a sixth of one late on average, and
/// packets are spread over half of one, so that it takes less than two.
#[test]
fn a_window_starts_slowly() {
    let mut pair = pair_of(&config(None), |_| false);
    pair.ends[0].write_len(64_000);
    let mut after = Vec::new();
    for round in 0..8 {
        pair.run(at(500 * round + 499));
        after.push(pair.read[1] / 1000);
    }
    let doubled = [2, 6, 14, 30, 62, 64, 64, 64];
    assert!(
        after.iter().zip(doubled).all(|(got, most)| *got <= most),
        "{after:?}"
    );
    assert!(after[3] >= 14 && after[4] >= 30, "{after:?}");
    assert_eq!(after[6], 64);
    assert_eq!(pair.ends[0].stats().segments_retransmitted, 0);
}

/// A gap is reported at once: the lost packet arrives a round trip and a packet after its place,
/// before the next poll could tell.
#[test]
fn a_new_gap_is_repaired_in_a_round_trip() {
    // BGN is packet 1, and the SDs follow. SD 5 leaves at 50 ms, SD 6 arrives at 310 ms.
    let mut pair = pair(|number| number == 7);
    pair.ends[0].write_len(100_000);
    pair.run(at(809));
    assert_eq!(pair.read[1], 5000);
    pair.run(at(822));
    assert!(pair.read[1] > 50_000, "{}", pair.read[1]);
    let stats = pair.ends[0].stats();
    assert_eq!(stats.segments_retransmitted, 1);
}

/// A lost retransmission shows in the answer to the next poll only, and is sent again once.
#[test]
fn a_lost_retransmission_is_found_by_polls() {
    let mut first = None;
    let mut pair = pair(|number| number == 7);
    pair.ends[0].write_len(100_000);
    while first.is_none() {
        let now = pair.now + Interval::from_millis(1);
        pair.run(now);
        let again = pair.ends[0].stats().segments_retransmitted;
        first = (again == 1).then_some(pair.sent);
    }
    // The retransmission was on its way at last; take it from the path.
    pair.flying
        .retain(|(_, _, pdu)| !matches!(pdu.content, Content::Data { seq: 5, .. }));
    pair.run(at(10_000));
    assert_eq!(pair.read[1], 100_000);
    assert_eq!(pair.ends[0].stats().segments_retransmitted, 2);
    assert_eq!(pair.ends[0].stats().timeouts, 0);
}

/// With losses of p in one direction, n / (1 - p) packets are sent, and each loss is repaired by one
/// retransmission: no copy arrives twice.
#[test]
fn retransmissions_are_those_of_the_losses() {
    let mut pair = pair(chance(10));
    pair.ends[0].write_len(1_000_000);
    pair.run(at(60_000));
    assert_eq!(pair.read[1], 1_000_000);
    let stats = pair.ends[0].stats();
    let share = stats.segments_retransmitted as f64 / stats.segments_sent as f64;
    assert!((0.07..0.13).contains(&share), "{share}");
    let twice = pair.ends[1].stats().segments_duplicate;
    assert_eq!(twice, 0);
}

/// Three reports per round trip, whatever the rate is: 10,000 packets at 8 Mbit/s take 10 s, or 20
/// round trips.
#[test]
fn reports_are_three_per_round_trip() {
    for (polls, least, most) in [(3, 60, 68), (10, 195, 225), (1, 18, 24)] {
        let config = Config {
            polls,
            window: 4_000_000,
            ..config(Some(8_000_000))
        };
        let end = |opens| Connection::new(&config, opens, 7, 1 << 30, Instant::ZERO);
        let mut pair = Pair::new([end(true), end(false)], |_| false);
        pair.ends[0].write_len(10_000_000);
        pair.run(at(20_000));
        assert_eq!(pair.read[1], 10_000_000);
        let reports = pair.ends[1].stats().acks_sent;
        assert!((least..most).contains(&reports), "{polls}: {reports}");
        // Nothing is sent while there is nothing to say.
        let sent = pair.sent;
        pair.run(at(100_000));
        assert_eq!(pair.sent, sent);
    }
}

/// A lost BGN is repeated after 3 s, and the data that followed it is sent again at once.
#[test]
fn a_lost_bgn_is_repeated() {
    let mut pair = pair(|number| number == 1);
    pair.ends[0].write_len(3000);
    pair.run(at(3749));
    assert_eq!(pair.read[1], 0);
    pair.run(at(4800));
    assert_eq!(pair.read[1], 3000);
    assert_eq!(pair.ends[0].stats().segments_retransmitted, 3);
    assert_eq!(pair.ends[0].stats().timeouts, 0);
}

/// The end that did not open sends first, and a lost BGAK does no harm.
#[test]
fn the_end_that_did_not_open_sends_first() {
    let mut pair = pair(|number| number == 2);
    pair.run(at(300));
    pair.ends[1].write_len(5000);
    pair.ends[1].shutdown();
    pair.run(at(2000));
    assert_eq!(pair.read, [5000, 0]);
    assert_eq!(pair.events[0], [Event::PeerClosed]);
    assert_eq!(pair.states(), [State::Established; 2]);
}

/// The path is cut for 20 s. No data leaves without reports, polls become rare, and the first
/// report restores the flow.
#[test]
fn a_silent_path_gets_polls_only() {
    for rate in [Some(800_000), None] {
        let mut pair = pair_of(&config(rate), |_| false);
        pair.ends[0].write_len(1_000_000);
        pair.run(at(5000));
        pair.lost = Box::new(|_| true);
        let before = pair.sent;
        pair.run(at(25_000));
        let stats = pair.ends[0].stats();
        assert!((2..7).contains(&stats.timeouts), "{}", stats.timeouts);
        let during = pair.sent - before;
        assert!(during < 260, "{during}");
        pair.lost = Box::new(|_| false);
        pair.run(at(70_000));
        assert_eq!(pair.read[1], 1_000_000, "{rate:?}");
        let stats = pair.ends[0].stats();
        assert_eq!(stats.timeouts_repeated, stats.timeouts - 1);
    }
}

/// The peer's program reads nothing: the sender stops at the window, and goes on when it reads.
#[test]
fn unread_data_closes_the_window() {
    let mut pair = pair(|_| false);
    pair.reads = 0;
    pair.ends[0].write_len(200_000);
    pair.run(at(20_000));
    assert_eq!(pair.ends[1].readable(), 200_000);
    // Written while nothing may be sent.
    pair.ends[0].write_len(300_000);
    pair.run(at(40_000));
    assert_eq!(pair.ends[1].readable(), 200_000);
    pair.reads = u64::MAX;
    pair.run(at(60_000));
    assert_eq!(pair.read[1], 500_000);
}

/// `room` is the buffer less what waits for its acknowledgment.
#[test]
fn the_buffer_bounds_what_waits() {
    let mut end = Connection::new(&config(None), true, 1, 5000, Instant::ZERO);
    assert_eq!((end.write_len(4000), end.room()), (4000, 1000));
    assert_eq!((end.write_len(4000), end.room()), (1000, 0));
    while end.transmit(at(0)).is_some() {}
    assert_eq!((end.room(), end.acknowledged()), (0, 0));
}

/// An END without the mark resets the peer, also if it is lost at first.
#[test]
fn an_abort_resets_the_peer() {
    for lost in [0, 1, 2] {
        let mut pair = pair(|_| false);
        pair.ends[0].write_len(50_000);
        pair.run(at(300));
        let before = pair.sent;
        pair.lost = Box::new(move |number| number > before && number <= before + lost);
        let now = pair.now;
        pair.ends[0].abort(now);
        pair.ends[0].abort(now);
        pair.run(at(200_000));
        assert_eq!(pair.events[0], [Event::Closed(CloseReason::Aborted)]);
        assert_eq!(pair.events[1], [Event::Closed(CloseReason::Reset)]);
        assert_eq!(pair.states(), [State::Closed; 2]);
    }
}

/// A BGREJ resets the opener, which then sends nothing.
#[test]
fn a_refused_opener_is_reset() {
    let mut end = Connection::new(&config(None), true, 1, 5000, Instant::ZERO);
    assert!(end.transmit(at(0)).is_some());
    let reject = Pdu {
        key: 1,
        content: Content::Reject,
    };
    end.on_pdu(at(500), &reject);
    assert_eq!(end.poll_event(), Some(Event::Closed(CloseReason::Reset)));
    assert_eq!(end.state(), State::Closed);
    assert_eq!(
        (end.deadline(at(500)), end.transmit(at(9000))),
        (None, None)
    );
}

/// The last END or its answer is lost: both ends still end, and END is sent four times at most.
#[test]
fn lost_ends_are_repeated() {
    let mut pair = pair(|_| false);
    for end in [0, 1] {
        pair.ends[end].write_len(1000);
        pair.ends[end].shutdown();
    }
    pair.run(at(255));
    // From now on the first end hears nothing, not even the answers to its ENDs.
    let before = pair.sent;
    pair.lost = Box::new(move |number| number > before);
    pair.run(at(9_000));
    pair.lost = Box::new(|_| false);
    pair.run(at(300_000));
    for events in &pair.events {
        assert_eq!(events.last(), Some(&Event::Closed(CloseReason::Done)));
    }
    assert_eq!(pair.states(), [State::Closed; 2]);
    let mut alone = Connection::new(&config(None), true, 1, 5000, Instant::ZERO);
    let now = at(0);
    alone.abort(now);
    let (mut now, mut ends) = (now, 0);
    loop {
        while let Some(pdu) = alone.transmit(now) {
            ends += u32::from(pdu.content == Content::End { done: false });
        }
        let Some(next) = alone.deadline(now) else {
            break;
        };
        now = next;
        alone.on_timeout(now);
    }
    assert_eq!((ends, alone.state()), (MAX_ENDS, State::Closed));
}

/// Data written piece by piece is acknowledged, with few reports.
#[test]
fn a_stream_of_small_pieces_needs_few_reports() {
    let mut pair = pair(|_| false);
    for piece in 1..=200 {
        pair.ends[0].write_len(100);
        pair.run(at(20 * piece));
    }
    pair.run(at(10_000));
    assert_eq!(pair.read[1], 20_000);
    assert_eq!(pair.ends[0].acknowledged(), 20_000);
    let reports = pair.ends[1].stats().acks_sent;
    assert!((20..40).contains(&reports), "{reports} reports of 200");
}

/// A connection that BGN has opened at the other end.
fn answerer() -> Connection {
    let mut end = Connection::new(&config(None), false, 7, 1 << 20, at(0));
    end.on_pdu(
        at(0),
        &pdu(Content::Begin {
            answers: false,
            credit: 100,
        }),
    );
    let answer = end.transmit(at(0)).map(|pdu| pdu.content);
    assert!(matches!(answer, Some(Content::Begin { answers: true, .. })));
    end
}

fn pdu(content: Content) -> Pdu {
    Pdu { key: 7, content }
}

fn data(seq: u64, last: bool, poll: Option<u32>) -> Pdu {
    pdu(Content::Data {
        seq,
        position: 1000 * seq,
        len: 1000,
        last,
        poll: poll.map(|number| Poll {
            number,
            next: seq + 1,
        }),
    })
}

/// A POLL waits for its answer while further data arrives, and the STAT has the new gaps.
#[test]
fn a_report_holds_the_new_gaps() {
    let mut end = answerer();
    end.on_pdu(at(1), &data(3, false, Some(1)));
    end.on_pdu(at(1), &data(4, false, None));
    let Some(Content::Stat(stat)) = end.transmit(at(1)).map(|pdu| pdu.content) else {
        panic!("no STAT");
    };
    assert_eq!((stat.gaps, stat.edge), (vec![(0, 3)], 4 + 1));
    assert_eq!(end.transmit(at(1)), None, "the STAT has the gap");
    end.on_pdu(at(2), &data(6, false, None));
    let ustat = end.transmit(at(2)).map(|pdu| pdu.content);
    assert!(matches!(ustat, Some(Content::Ustat { gap: (5, 6), .. })));
}

/// A BGN that was sent twice gives no round-trip time.
#[test]
fn a_repeated_bgn_gives_no_sample() {
    for (lost, samples) in [(0, 1), (1, 0)] {
        let mut pair = pair(move |number| number == lost);
        pair.run(at(10_000));
        assert_eq!(pair.ends[0].stats().rtt_samples, samples);
    }
}

/// An END under way is not doubled by packets of the peer. Once END was given up, they get one.
#[test]
fn late_packets_get_an_end() {
    let mut end = answerer();
    end.shutdown();
    end.on_pdu(at(1), &data(0, true, Some(1)));
    while end.transmit(at(1)).is_some() {}
    let stat = Stat {
        poll: 1,
        next: 1,
        credit: 100,
        gaps: vec![],
        edge: 1,
    };
    end.on_pdu(at(500), &pdu(Content::Stat(stat)));
    let done = Some(pdu(Content::End { done: true }));
    assert_eq!(end.transmit(at(500)), done);
    end.on_pdu(at(600), &data(0, true, Some(2)));
    assert_eq!(end.transmit(at(600)), None);
    let mut ends = 0;
    for second in 1..50 {
        end.on_timeout(at(1000 * second));
        ends += u32::from(end.transmit(at(1000 * second)).is_some());
    }
    assert_eq!(ends, MAX_ENDS - 1);
    end.on_pdu(at(50_000), &data(0, true, Some(3)));
    assert_eq!(end.transmit(at(50_000)), done);
}
