//! Random configurations, reachable from every row of the table.

use super::chance::Chance;
use farlink_tcp::config::{
    AssumeLoss, Backoff, ByteCounting, Careful, Config, CwndLimit, DelayedAck, DummyReply, Eln,
    FastOpen, InitialWindow, KeepAlive, Nagle, NewRenoExit, Pacing, PartialAck, PrrBound,
    RackConfig, Ratio, Recovery, ReduceFrom, RtoAlgorithm, Sampling, SnackForm, TlpConfig, Undo,
    WindowScale,
};
use farlink_tcp::congestion::{Range, Setting};
use farlink_tcp::{FastOpenCookie, Interval, variant::VARIANTS};

/// The cookie that hosts give each other.
pub(crate) const COOKIE: FastOpenCookie = FastOpenCookie(0x0123_4567_89ab_cdef);

/// Row `row` of the table with every option drawn anew.
pub(crate) fn config(chance: &mut Chance, row: usize) -> Config {
    let mut config = (VARIANTS[row].config)();
    config.mss = chance.pick(&[100, 536, 1000, 1460]);
    let mss = u64::from(config.mss);
    config.send_buffer = chance.pick(&[mss, 5 * mss + 17, 64_000, u64::MAX]);
    config.nagle = chance.pick(&[Nagle::Off, Nagle::Rfc896, Nagle::Minshall]);
    config.timestamps = chance.flip();
    config.dupack_threshold = chance.pick(&[1, 2, 3, 3]);
    config.limited_transmit = chance.flip();
    config.reduce_from = chance.pick(&[ReduceFrom::FlightSize, ReduceFrom::Pipe, ReduceFrom::Cwnd]);
    config.byte_counting = chance.pick(&[
        ByteCounting::Off,
        ByteCounting::Limit(1),
        ByteCounting::Limit(2),
        ByteCounting::Unlimited,
    ]);
    config.initial_window = chance.pick(&[
        InitialWindow::Segments(1),
        InitialWindow::Segments(4),
        InitialWindow::Segments(10),
        InitialWindow::Rfc3390,
    ]);
    config.initial_ssthresh = chance.pick(&[None, Some(4 * mss)]);
    config.ecn = chance.flip();
    config.idle_restart = chance.flip();
    config.max_retransmits = chance.pick(&[6, 15]);
    config.restart_on_retransmit = chance.flip();
    config.restart_on_sack = chance.flip();
    config.cwnd_validation = chance.flip();
    config.msl = Interval::from_secs(120);
    // Longer than any silence that is no end.
    let hours = |n: u64| Interval::from_secs(3600 * n);
    config.user_timeout = chance.pick(&[None, Some(hours(24))]);
    config.fin_wait_2 = chance.pick(&[None, Some(hours(24))]);
    config.fast_open = chance.pick(&[FastOpen::Off, FastOpen::Request, FastOpen::Cookie]);
    config.keepalive = chance.pick(&[
        None,
        Some(KeepAlive {
            idle: Interval::from_secs(5),
            interval: Interval::from_secs(1),
            probes: 1_000_000,
        }),
    ]);
    config.prr = chance.pick(&[
        None,
        Some(PrrBound::SafeAck),
        Some(PrrBound::Conservative),
        Some(PrrBound::SlowStart),
    ]);
    match &mut config.recovery {
        Recovery::NewReno {
            impatient,
            careful,
            exit,
        } => {
            *exit = chance.pick(&[
                NewRenoExit::FlightSize,
                NewRenoExit::FlightSizeRfc3782,
                NewRenoExit::Ssthresh,
            ]);
            *impatient = chance.flip();
            *careful = chance.pick(&[
                Careful::Less,
                Careful::Plain,
                Careful::AckHeuristic,
                Careful::TimestampHeuristic,
            ]);
        }
        Recovery::Sack { rescue } => *rescue = chance.flip(),
        Recovery::Vegas {
            fine_k,
            fine_granularity,
            coarse_timeout,
        } => {
            *fine_k = chance.pick(&[1, 4]);
            // Of a timer without backoff it decides how soon the peer is given up.
            let least = if *coarse_timeout { 0 } else { 2 };
            *fine_granularity = Interval::from_millis(chance.pick(&[least, 20, 100]));
        }
        Recovery::Snack {
            fine_k,
            fine_granularity,
        } => {
            *fine_k = chance.pick(&[1, 4]);
            *fine_granularity = Interval::from_millis(chance.pick(&[0, 20, 100]));
        }
        _ => {}
    }
    config.undo = chance.pick(&[
        Undo::OFF,
        Undo::DSACK,
        Undo::EIFEL,
        Undo::FRTO,
        Undo::DSACK.and(Undo::FRTO),
        Undo::DSACK.and(Undo::EIFEL).and(Undo::FRTO),
    ]);
    config.rack = rack(chance);
    wireless(chance, &mut config);
    control(chance, &mut config);
    timer(chance, &mut config);
    receiver(chance, &mut config);
    config
}

fn wireless(chance: &mut Chance, config: &mut Config) {
    config.assume_loss = chance.pick(&[AssumeLoss::Congestion, AssumeLoss::Corruption]);
    config.eln = chance.pick(&[Eln::Off, Eln::Oracle, Eln::Checksum]);
    config.ebsn = chance.flip();
    config.ackp = chance.pick(&[
        None,
        Some(PartialAck::Restart),
        Some(PartialAck::Constant(Interval::from_secs(2))),
        Some(PartialAck::BackOff),
    ]);
    config.ackp_karn = chance.flip();
}

fn rack(chance: &mut Chance) -> Option<RackConfig> {
    let tlp = TlpConfig {
        srtts: chance.pick(&[1, 2]),
        max_ack_delay: Interval::from_millis(chance.pick(&[0, 200])),
        ..TlpConfig::default()
    };
    let rack = RackConfig {
        reo_divisor: chance.pick(&[1, 4]),
        reo_persist: chance.pick(&[1, 16]),
        min_rtt_window: Interval::from_secs(chance.pick(&[1, 300])),
        tlp: chance.flip().then_some(tlp),
    };
    chance.flip().then_some(rack)
}

/// Switches, counts and choices of the algorithm, whatever it has.
fn control(chance: &mut Chance, config: &mut Config) {
    for parameter in config.congestion.algorithm().parameters {
        let setting = match parameter.range {
            Range::Flag => Setting::Flag(chance.flip()),
            Range::Count(low, high) => Setting::Count(chance.pick(&[low, high.min(low + 2)])),
            Range::Choice(words) => Setting::Choice(chance.pick(words)),
            Range::Number(..) | Range::Time(..) => parameter.default,
        };
        let set = config.congestion.set(parameter.name, setting);
        assert_eq!(set, Ok(()), "{}", parameter.name);
    }
}

fn timer(chance: &mut Chance, config: &mut Config) {
    let rto = &mut config.rto;
    rto.algorithm = chance.pick(&[
        RtoAlgorithm::Rfc793 {
            alpha: Ratio::new(9, 10),
            beta: Ratio::new(2, 1),
        },
        RtoAlgorithm::Jacobson {
            gain: Ratio::new(1, 8),
            dev_gain: Ratio::new(1, 4),
            k: 4,
        },
        RtoAlgorithm::Rfc6298 {
            granularity: Interval::from_millis(1),
        },
        RtoAlgorithm::Linux,
    ]);
    rto.min = Interval::from_millis(chance.pick(&[1, 200, 1000]));
    rto.max = Interval::from_secs(chance.pick(&[4, 60]));
    rto.tick = Interval::from_millis(chance.pick(&[0, 0, 500]));
    rto.backoff = chance.pick(&[Backoff::Exponential, Backoff::Exponential, Backoff::None]);
    rto.sampling = chance.pick(&[Sampling::OnePerRtt, Sampling::EverySegment]);
    rto.from_sack = chance.flip();
    rto.slop = Interval::from_millis(chance.pick(&[0, 200]));
    rto.round = Interval::from_millis(chance.pick(&[0, 0, 500]));
    rto.karn = chance.flip();
    let second = Interval::from_secs(1);
    rto.start = chance.flip().then_some((second, second));
    config.pacing = chance.flip().then(Pacing::default);
    config.cwnd_limit = chance.pick(&[CwndLimit::None, CwndLimit::ReceiveWindow]);
    config.receiver.delay_gap_fill = chance.flip();
    config.receiver.delay_dup_acks = chance.flip();
}

fn receiver(chance: &mut Chance, config: &mut Config) {
    let mss = u64::from(config.mss);
    let receiver = &mut config.receiver;
    receiver.buffer = chance.pick(&[mss / 2, mss, 3 * mss + 7, 20_000, 65_535, 300_000]);
    receiver.window_scale = chance.pick(&[
        WindowScale::Off,
        WindowScale::Auto,
        WindowScale::Shift(0),
        WindowScale::Shift(7),
    ]);
    if receiver.buffer < 20_000 && receiver.window_scale == WindowScale::Shift(7) {
        receiver.window_scale = WindowScale::Shift(1); // in units of 128 bytes it could not be told
    }
    if chance.per_mille(250) {
        receiver.sack = !receiver.sack;
    }
    receiver.dsack = chance.flip();
    if matches!(config.recovery, Recovery::Snack { .. }) || chance.flip() {
        receiver.snack = chance.pick(&[SnackForm::Short, SnackForm::Long]);
    }
    receiver.dummies = chance.pick(&[
        DummyReply::Echo,
        DummyReply::Echo,
        DummyReply::Ignore,
        DummyReply::Plain,
    ]);
    if chance.per_mille(100) {
        receiver.reassembly = !receiver.reassembly;
    }
    receiver.delayed_ack = chance.pick(&[
        DelayedAck::OFF,
        DelayedAck::default(),
        DelayedAck {
            max_delay: Interval::from_millis(40),
            every: 4,
            heartbeat: false,
            quick: 3,
        },
        DelayedAck {
            max_delay: Interval::from_millis(200),
            every: 2,
            heartbeat: true,
            quick: 0,
        },
    ]);
    if chance.per_mille(250) {
        receiver.buffer_max = Some(8 * receiver.buffer);
        receiver.gradual_window = chance.flip();
    }
}
