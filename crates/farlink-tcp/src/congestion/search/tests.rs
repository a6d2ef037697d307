use super::*;
use crate::config::RtoConfig;
use crate::rto::RttEstimator;

const MSS: u64 = 1000;

/// Feeds one ACK per bin of 35 ms (first RTT 100 ms), 1 ms after the end of each bin. `totals`
/// returns the bytes delivered and sent at a bin. Returns the first bin that ends slow start.
fn run(rtt_ms: u64, bins: u64, totals: fn(u64) -> (u64, u64)) -> Option<(u64, u64)> {
    let mut search = Search::new();
    for i in 0..=bins {
        let at = 35 * i + u64::from(i > 0);
        let rtt = if i == 0 { 100 } else { rtt_ms };
        if let Some(window) = ack(&mut search, at, totals(i), rtt) {
            return Some((i, window));
        }
    }
    None
}

fn ack(search: &mut Search, at_ms: u64, (una, max): (u64, u64), rtt_ms: u64) -> Option<u64> {
    let rtt = RttEstimator::new(RtoConfig::default());
    let cx = Context {
        now: Instant::ZERO + Interval::from_millis(at_ms),
        mss: MSS,
        flight: max - una,
        snd_una: una,
        snd_max: max,
        rtt: &rtt,
    };
    search.on_ack(&cx, Some(Interval::from_millis(rtt_ms)))
}

/// Deliveries follow the sent bytes by exactly one RTT of 2 bins, so the shortfall is zero.
#[test]
fn slow_start_continues_while_all_sent_bytes_arrive() {
    assert_eq!(run(70, 60, |i| (1000 * i, 1000 * (i + 2))), None);
}

/// 100 bytes a bin are sent; 74 of them arrive, then 75. The first comparison needs bin 13: 2 bins
/// back, a window of 10 and one bin more. The target is the bytes of 3 bins (100 ms in bins of 35).
#[test]
fn a_shortfall_of_26_percent_ends_slow_start_at_the_first_full_window() {
    assert_eq!(
        run(70, 60, |i| (74 * i, 10_000 + 100 * i)),
        Some((13, 3 * 74))
    );
    assert_eq!(run(70, 60, |i| (75 * i, 10_000 + 100 * i)), None);
}

/// An RTT of 15 bins or more is too far back for the ring.
#[test]
fn an_inflated_rtt_beyond_the_extra_bins_is_not_compared() {
    assert_eq!(run(35 * 15, 80, |i| (i, 10_000 + 100 * i)), None);
    assert!(run(35 * 15 - 1, 80, |i| (i, 10_000 + 100 * i)).is_some());
}

/// Sent bytes grow by i per bin, so the window of 10 bins that ends at n has 10 n - 45 bytes. At
/// bin 13 an RTT of 2.5 bins looks back between bins 11 and 10: (65 + 55) / 2 = 60 bytes. 45
/// delivered bytes are short by 25 %, and 44 by 26 %.
#[test]
fn sent_bytes_are_interpolated_between_two_bins() {
    let triangle = |n: u64| n * (n + 1) / 2;
    for (delivered, ends) in [(45, false), (44, true)] {
        let mut search = Search::new();
        search.clock = Some(Clock {
            first_rtt: Interval::from_millis(100),
            bin: Interval::from_millis(35),
            index: 13,
            end: Instant::ZERO,
        });
        for n in 0..=13 {
            search.bins[slot(n)] = Totals {
                delivered: if n > 3 { delivered } else { 0 },
                sent: triangle(n),
            };
        }
        let clock = search.clock.expect("a clock");
        let rtt = Interval::from_nanos(35_000_000 * 5 / 2);
        assert_eq!(search.ends(&clock, rtt), ends, "{delivered}");
    }
}

/// The clock moves by up to ten bins at once, which repeat the totals of the last bin; eleven bins
/// reset SEARCH.
#[test]
fn missed_bins_repeat_the_last_and_more_than_a_window_resets() {
    for (at, index) in [(36, Some(1)), (350, Some(10)), (384, Some(10)), (385, None)] {
        let mut search = Search::new();
        assert_eq!(ack(&mut search, 0, (5, 50), 100), None);
        assert_eq!(ack(&mut search, at, (900, 1000), 100), None);
        assert_eq!(search.clock.map(|clock| clock.index), index, "{at}");
        if let Some(index) = index {
            assert_eq!(search.bins[slot(index - 1)].sent, 50);
            assert_eq!(search.bins[slot(index)].sent, 1000);
        }
    }
}

#[test]
fn acks_until_the_end_of_a_bin_change_nothing() {
    let mut search = Search::new();
    assert_eq!(ack(&mut search, 0, (5, 50), 100), None);
    assert_eq!(ack(&mut search, 35, (900, 1000), 100), None);
    assert_eq!(search.clock.map(|clock| clock.index), Some(0));
    assert_eq!(search.bins[0].sent, 50);
}
