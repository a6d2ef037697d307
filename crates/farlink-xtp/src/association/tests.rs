use super::*;
use crate::pair::{Pair, at, chance, check_both_streams};

fn config() -> Config {
    Config {
        rate: 800_000,
        burst: 1000,
        packet: 1000,
        window: 200_000,
        sreq_every: 8,
    }
}

fn pair(lost: impl Fn(usize) -> bool + 'static) -> Pair<Association> {
    let end = |opens| Association::new(&config(), opens, 7, 1 << 20, Instant::ZERO);
    Pair::new([end(true), end(false)], lost)
}

/// Data in both directions, without losses and with one of so many packets lost by chance: all of
/// it arrives once, both ends report the close of the peer and then the end.
#[test]
fn both_streams_arrive_and_close() {
    for every in [usize::MAX, 7, 3, 2] {
        check_both_streams(pair(chance(every)), &format!("every {every}"));
    }
}

/// 100 packets of 1000 bytes at 800 kbit/s leave in 990 ms after FIRST, which has data already if
/// it was written before. The last one arrives 250 ms later.
#[test]
fn data_leaves_at_the_configured_rate() {
    let mut pair = pair(|_| false);
    pair.ends[0].write_len(100_000);
    pair.run(at(1239));
    assert_eq!(pair.read[1], 99_999); // FIRST has 999 bytes and the opening
    pair.run(at(1241));
    assert_eq!(pair.read[1], 100_000);
}

/// FIRST opens the association without data, so that the other end can send.
#[test]
fn the_end_that_did_not_open_sends_first() {
    let mut pair = pair(|_| false);
    pair.run(at(600));
    pair.ends[1].write_len(5000);
    pair.ends[1].shutdown();
    pair.run(at(2000));
    assert_eq!(pair.read, [5000, 0]);
    assert_eq!(pair.events[0], [Event::PeerClosed]);
    assert_eq!(pair.states(), [State::Established; 2]);
}

/// A lost FIRST is repeated after 3 s, the first time-out.
#[test]
fn a_lost_first_is_repeated() {
    let mut pair = pair(|number| number == 1);
    pair.run(at(3249));
    assert!(
        pair.ends[1]
            .receiver
            .on_request(1)
            .is_none_or(|status| status.rseq == 0)
    );
    pair.run(at(3251));
    assert_eq!(pair.ends[1].receiver.rseq, 1);
    assert_eq!(pair.ends[0].stats().timeouts, 1);
}

/// Data written piece by piece is acknowledged, and the number of reports stays far below that of
/// the packets.
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
    assert!(
        (25..60).contains(&reports),
        "{reports} reports of 200 pieces"
    );
    // Nothing is sent while there is nothing to say.
    let sent = pair.sent;
    pair.run(at(100_000));
    assert_eq!(pair.sent, sent);
}

/// The peer's program reads nothing: the sender stops at the window, and goes on when it reads.
#[test]
fn unread_data_closes_the_window() {
    let mut pair = pair(|_| false);
    pair.reads = 0;
    pair.ends[0].write_len(500_000);
    pair.run(at(20_000));
    assert_eq!(pair.ends[1].readable(), 199_999);
    pair.reads = u64::MAX;
    pair.run(at(40_000));
    assert_eq!(pair.read[1], 500_000);
}

/// `room` is the buffer less what waits for its acknowledgment.
#[test]
fn the_buffer_bounds_what_waits() {
    let mut end = Association::new(&config(), true, 1, 5000, Instant::ZERO);
    assert_eq!((end.write_len(4000), end.room()), (4000, 1000));
    assert_eq!((end.write_len(4000), end.room()), (1000, 0));
}

/// END ends both ends at once, also if data is under way, and a second one changes nothing.
#[test]
fn an_abort_ends_the_peer() {
    let mut pair = pair(|_| false);
    pair.ends[0].write_len(50_000);
    pair.run(at(300));
    let now = pair.now;
    pair.ends[0].abort(now);
    pair.ends[0].abort(now);
    pair.run(at(62_000));
    assert_eq!(pair.events[0], [Event::Closed(CloseReason::Aborted)]);
    assert_eq!(pair.events[1], [Event::Closed(CloseReason::Reset)]);
    assert_eq!(pair.states(), [State::Closed; 2]);
}

/// A lost END is repeated at the peer's next packet.
#[test]
fn a_lost_end_is_repeated() {
    let mut pair = pair(|_| false);
    pair.ends[1].write_len(50_000);
    pair.run(at(600));
    let before = pair.sent;
    pair.lost = Box::new(move |number| number == before + 1);
    let now = pair.now;
    pair.ends[0].abort(now);
    pair.run(at(30_000));
    assert_eq!(pair.events[1], [Event::Closed(CloseReason::Reset)]);
}

/// A closed end answers for 60 s, so that a peer whose last report was lost can end, too.
#[test]
fn a_lost_last_report_is_sent_again() {
    let mut pair = pair(|_| false);
    for end in [0, 1] {
        pair.ends[end].write_len(1000);
        pair.ends[end].shutdown();
    }
    pair.run(at(245));
    let before = pair.sent;
    // Every packet of the next 300 ms is lost, the reports of both WCLOSEs among them.
    pair.lost = Box::new(move |number| number <= before + 3);
    pair.run(at(59_000));
    for events in &pair.events {
        assert!(events.contains(&Event::Closed(CloseReason::Done)));
    }
    assert_eq!(pair.states(), [State::TimeWait; 2]);
    pair.run(at(200_000));
    assert_eq!(pair.states(), [State::Closed; 2]);
}

/// Two requests that arrive before a report leaves get one, which answers the later one, also if
/// they arrive in the wrong order.
#[test]
fn a_report_answers_the_latest_request() {
    for syncs in [[1, 2], [2, 1]] {
        let mut end = Association::new(&config(), false, 7, 1 << 20, at(0));
        for sync in syncs {
            let content = Content::Data {
                seq: 0,
                len: 0,
                first: true,
                last: false,
            };
            let pdu = Pdu {
                sreq: true,
                sync,
                content,
                ..Pdu::default()
            };
            end.on_pdu(at(1), &pdu);
        }
        let Some(Pdu {
            content: Content::Control(status),
            ..
        }) = end.transmit(at(2))
        else {
            panic!("no report");
        };
        assert_eq!(status.echo, 2);
        assert_eq!(end.transmit(at(3)), None);
    }
}

/// The end that did not open knows that its peer has the association: without a report it asks,
/// and sends no data again.
#[test]
fn the_other_end_asks_when_its_first_report_is_missing() {
    let mut end = Association::new(&config(), false, 7, 1 << 20, at(0));
    end.write_len(1000);
    assert!(end.transmit(at(0)).is_some());
    assert_eq!(end.deadline(at(0)), Some(at(3000)));
    end.on_timeout(at(3000));
    let asks = end.transmit(at(3000)).expect("a request");
    assert!(
        asks.sreq && matches!(asks.content, Content::Control(_)),
        "{asks:?}"
    );
    assert_eq!(end.stats().segments_retransmitted, 0);
}
