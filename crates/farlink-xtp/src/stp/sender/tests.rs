use super::*;

fn sender(rate: Option<u64>) -> Sender {
    let config = Config {
        rate,
        packet: 100,
        window: 10_000,
        polls: 3,
        early_data: true,
    };
    Sender::new(&config, true, Instant::ZERO)
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Interval::from_millis(ms)
}

/// Sends all that leaves now. Returns numbers of packets, and the POLLs.
fn send(sender: &mut Sender, now: Instant) -> (Vec<u64>, Vec<Poll>) {
    let (mut numbers, mut polls) = (Vec::new(), Vec::new());
    while let Some(content) = sender.transmit(now) {
        match content {
            Content::Data { seq, poll, .. } => {
                numbers.push(seq);
                polls.extend(poll);
            }
            Content::Poll(poll) => polls.push(poll),
            other => panic!("{other:?}"),
        }
    }
    (numbers, polls)
}

fn stat(poll: u32, next: u64, gaps: &[Span], edge: u64) -> Stat {
    Stat {
        poll,
        next,
        credit: 1000,
        gaps: gaps.to_vec(),
        edge,
    }
}

/// A sender of ten packets at once, with POLL 1 in the last one.
fn sent() -> Sender {
    let mut some = sender(Some(1_000_000_000_000_000));
    some.extend(1000);
    let (numbers, polls) = send(&mut some, at(0));
    assert_eq!(numbers.len(), 10);
    let first = Poll {
        number: 1,
        next: 10,
    };
    assert_eq!(polls, [first]);
    some
}

/// A report answers for packets sent before its POLL. One that was sent again since is not lost.
#[test]
fn the_number_of_the_poll_decides_what_is_lost() {
    let mut some = sent();
    some.on_stat(at(300), &stat(1, 2, &[(2, 4), (9, 10)], 10));
    assert_eq!(some.lost.iter().copied().collect::<Vec<_>>(), [2, 3, 9]);
    assert_eq!((some.base, some.flying), (2, 0));
    assert_eq!(some.acknowledged(), 200);
    let (numbers, polls) = send(&mut some, at(300));
    assert_eq!(numbers, [2, 3, 9]);
    assert_eq!((polls.len(), polls[0].number), (1, 2));
    // POLL 2 went with the last of them. POLL 3 follows a third of a round trip later.
    let (numbers, polls) = send(&mut some, at(401));
    assert_eq!((numbers.len(), polls[0].number), (0, 3));
    some.on_stat(at(600), &stat(2, 2, &[(2, 4), (9, 10)], 10));
    assert_eq!(some.lost.iter().copied().collect::<Vec<_>>(), [2, 3, 9]);
    let (numbers, polls) = send(&mut some, at(601));
    assert_eq!((numbers.len(), polls.len()), (3, 1));
    // POLL 3 was sent before that, and says nothing about them.
    some.on_stat(at(700), &stat(3, 2, &[(2, 4), (9, 10)], 10));
    assert!(some.lost.is_empty());
    assert_eq!(some.flying, 3);
    // POLL 4 left in packet 2, and so before 3 and 9.
    some.on_stat(at(900), &stat(4, 2, &[(2, 4), (9, 10)], 10));
    assert_eq!(some.lost.iter().copied().collect::<Vec<_>>(), [2]);
    // An old or repeated report changes nothing but the credit.
    some.on_stat(at(901), &stat(4, 10, &[], 10));
    assert_eq!(some.base, 2);
}

/// A report of a new gap does not concern what was sent again.
#[test]
fn a_new_gap_concerns_first_transmissions() {
    let mut some = sent();
    some.on_ustat(1, 50, (3, 5));
    assert_eq!(some.lost.iter().copied().collect::<Vec<_>>(), [3, 4]);
    assert_eq!((some.base, some.credit), (1, 100));
    let (numbers, _) = send(&mut some, at(500));
    assert_eq!(numbers, [3, 4]);
    some.on_ustat(1, 150, (3, 6));
    assert_eq!(some.lost.iter().copied().collect::<Vec<_>>(), [5]);
    assert_eq!(some.credit, 150);
    // Packets that arrived after all are not sent again.
    some.on_ustat(6, 150, (6, 7));
    assert_eq!(some.lost.iter().copied().collect::<Vec<_>>(), [6]);
}

/// A report says nothing about packets from its edge on.
#[test]
fn a_full_report_leaves_the_rest_open() {
    let mut some = sent();
    some.on_stat(at(300), &stat(1, 0, &[(0, 1)], 4));
    assert_eq!(some.lost.iter().copied().collect::<Vec<_>>(), [0]);
    assert_eq!(some.flying, 6);
}

/// Polls come each third of a round trip of 300 ms, and stop when all has arrived.
#[test]
fn polls_follow_the_round_trip() {
    let mut some = sent();
    assert_eq!(some.deadline(at(10)), Some(at(1000)), "the first interval");
    some.on_stat(at(300), &stat(1, 5, &[(5, 6)], 10));
    assert_eq!(send(&mut some, at(300)).0, [5]);
    assert_eq!(some.deadline(at(301)), Some(at(400)));
    assert_eq!(send(&mut some, at(399)).1, []);
    assert_eq!(send(&mut some, at(400)).1.len(), 1);
    assert_eq!(some.deadline(at(401)), Some(at(500)));
    some.on_stat(at(600), &stat(3, 10, &[], 10));
    assert_eq!((some.poll_at, some.silent_at), (None, None));
    assert!(!some.has_work());
    // The first measured round trip brings the next poll forward, also if nothing is sent.
    let mut other = sent();
    other.on_stat(at(300), &stat(1, 5, &[], 5));
    assert_eq!(other.deadline(at(301)), Some(at(400)));
}

/// Without a report for two bounds of the round trip (900 ms each after one sample of 300 ms), no
/// data leaves, and the time between polls doubles.
#[test]
fn silence_stops_data() {
    let mut some = sent();
    some.on_stat(at(300), &stat(1, 5, &[(5, 6)], 10));
    send(&mut some, at(300));
    some.on_time(at(2099));
    assert_eq!(some.stats.timeouts, 0);
    some.on_time(at(2100));
    assert_eq!((some.stats.timeouts, some.silences), (1, 1));
    some.extend(100);
    let (numbers, polls) = send(&mut some, at(2100));
    assert_eq!((numbers.len(), polls.len()), (0, 1));
    assert_eq!(some.poll_at, Some(at(2300)));
    some.on_time(at(5699));
    assert_eq!(some.stats.timeouts, 1);
    some.on_time(at(5700));
    assert_eq!((some.stats.timeouts, some.stats.timeouts_repeated), (2, 1));
    some.on_stat(at(5800), &stat(polls[0].number, 12, &[], 12));
    assert_eq!(some.silences, 0);
    assert!(!send(&mut some, at(5800)).0.is_empty());
}

/// The stream ends with a marked packet, without data if all data has left.
#[test]
fn the_end_takes_a_packet_of_its_own_if_need_be() {
    let mut some = sender(Some(1_000_000_000_000_000));
    some.extend(100);
    let first = some.transmit(at(0));
    assert!(matches!(first, Some(Content::Data { last: false, .. })));
    some.finish();
    let last = some.transmit(at(1));
    let Some(Content::Data {
        seq,
        position,
        len,
        last,
        ..
    }) = last
    else {
        panic!("{last:?}");
    };
    assert_eq!((seq, position, len, last), (1, 100, 0, true));
    assert!(!some.is_over());
    some.conclude();
    assert!(some.is_over());
    let mut other = sender(None);
    other.extend(100);
    other.finish();
    assert!(matches!(
        other.transmit(at(0)),
        Some(Content::Data { last: true, .. })
    ));
}

/// A lost retransmission halves the window once more. Packets sent before a reduction do not.
#[test]
fn a_lost_retransmission_counts_as_a_new_loss() {
    let mut some = sender(None);
    some.extend(10_000);
    some.limit.on_acked(62, true);
    let first = send(&mut some, at(0)).1[0].number;
    assert_eq!(some.flying, 64);
    some.on_stat(at(300), &stat(first, 0, &[(0, 1)], 64));
    assert!(some.limit.has_room(31) && !some.limit.has_room(32));
    some.limit.next(at(300));
    let again = some.transmit(at(300));
    assert!(
        matches!(again, Some(Content::Data { seq: 0, .. })),
        "{again:?}"
    );
    let poll = some.make_poll(at(301));
    let flying = some.flying;
    some.on_stat(at(600), &stat(poll.number, 0, &[(0, 1)], 64));
    assert!(!some.limit.has_room(2.max(flying / 2)));
}

/// Reports grow a window only if it was the limit.
#[test]
fn an_idle_window_does_not_grow() {
    let mut some = sender(None);
    for round in 0..10 {
        some.extend(100);
        let polls = send(&mut some, at(1000 * round)).1;
        let poll = polls.last().expect("a POLL").number;
        some.on_stat(
            at(1000 * round + 300),
            &stat(poll, round + 1, &[], round + 1),
        );
    }
    assert!(some.limit.has_room(1) && !some.limit.has_room(2));
}
