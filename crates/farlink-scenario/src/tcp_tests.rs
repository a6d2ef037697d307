//! Tests of the keys of TCP: every parameter has a key, keys replace others, and conflicting values
//! are refused.

use farlink_tcp::config::{
    AssumeLoss, Backoff, ByteCounting, Careful, DelayedAck, DummyReply, Eln, FastOpen,
    InitialWindow, KeepAlive, LifetimeConfig, Nagle, NewRenoExit, NoticeConfig, Pacing, PartialAck,
    PrrBound, RackConfig, RackRtt, Ratio, ReceiverConfig, Recovery, RtoAlgorithm, RtoConfig,
    Sampling, SnackForm, TlpConfig, Undo, WindowConfig, WindowScale,
};

use super::super::tree::Node;
use super::*;
use farlink_tcp::Interval;
use farlink_tcp::congestion::{Peach, Reno, Setting};
use farlink_tcp::variant;

/// Parses lines of `[tcp]`.
fn spec(toml: &str) -> TcpSpec {
    TcpSpec::deserialize(&Node::from_toml(toml).unwrap()).unwrap()
}

/// Returns a TCP for each choice of each axis, so every key occurs.
fn corners() -> Vec<Config> {
    let mut all: Vec<Config> = variant::VARIANTS.iter().map(|row| (row.config)()).collect();
    for algorithm in [
        RtoAlgorithm::Rfc793 {
            alpha: Ratio::new(8, 10),
            beta: Ratio::new(13, 10),
        },
        RtoAlgorithm::Jacobson {
            gain: Ratio::new(1, 7),
            dev_gain: Ratio::new(1, 3),
            k: 2,
        },
        RtoAlgorithm::Linux,
    ] {
        let rto = RtoConfig {
            algorithm,
            tick: Interval::from_millis(500),
            backoff: Backoff::None,
            sampling: Sampling::EverySegment,
            from_sack: true,
            ..RtoConfig::default()
        };
        all.push(Config {
            rto,
            restart_on_sack: true,
            ..Config::default()
        });
    }
    all.push(Config {
        window: WindowConfig {
            cwnd_limit: farlink_tcp::config::CwndLimit::ReceiveWindow,
            ..WindowConfig::default()
        },
        rto: RtoConfig {
            algorithm: RtoAlgorithm::Jacobson {
                gain: Ratio::new(1, 8),
                dev_gain: Ratio::new(1, 4),
                k: 4,
            },
            initial: Interval::from_secs(5),
            round: Interval::from_millis(500),
            karn: false,
            start: Some((Interval::from_secs(1), Interval::from_secs(1))),
            ..RtoConfig::default()
        },
        fast_open: FastOpen::Request,
        lifetime: LifetimeConfig {
            keepalive: Some(KeepAlive::default()),
            user_timeout: Some(Interval::from_secs(20)),
            fin_wait_2: Some(Interval::from_secs(60)),
            ..LifetimeConfig::default()
        },
        receiver: ReceiverConfig {
            delay_gap_fill: true,
            delay_dup_acks: true,
            ..ReceiverConfig::default()
        },
        ..Config::default()
    });
    for careful in [
        Careful::Less,
        Careful::Plain,
        Careful::AckHeuristic,
        Careful::TimestampHeuristic,
    ] {
        for impatient in [false, true] {
            let recovery = Recovery::NewReno {
                impatient,
                careful,
                exit: NewRenoExit::Ssthresh,
            };
            all.push(Config {
                recovery,
                timestamps: true,
                window: WindowConfig {
                    byte_counting: ByteCounting::Acks,
                    ..WindowConfig::default()
                },
                ..Config::default()
            });
        }
    }
    all.push(Config {
        congestion: Control::new(&Reno::ALGORITHM).with("mss_over_8", Setting::Flag(true)),
        window: WindowConfig {
            byte_counting: ByteCounting::Limit(2),
            initial: InitialWindow::Rfc3390,
            initial_ssthresh: Some(65_535),
            pacing: Some(Pacing {
                slow_start: Ratio::new(3, 1),
                avoidance: Ratio::new(1, 1),
            }),
            ..WindowConfig::default()
        },
        send_buffer: 16_384,
        receiver: ReceiverConfig {
            buffer: 1 << 20,
            buffer_max: Some(3 << 20),
            gradual_window: true,
            window_scale: WindowScale::Shift(7),
            reassembly: false,
            sack: true,
            dsack: true,
            snack: SnackForm::Off,
            delayed_ack: DelayedAck {
                max_delay: Interval::from_millis(500),
                every: 4,
                heartbeat: true,
                quick: 7,
            },
            ..ReceiverConfig::default()
        },
        undo: Undo::DSACK,
        rto: RtoConfig {
            slop: Interval::from_millis(200),
            ..RtoConfig::default()
        },
        ..Config::default()
    });
    for (eln, ackp, snack) in [
        (Eln::Checksum, Some(PartialAck::Restart), SnackForm::Off),
        (Eln::Oracle, Some(PartialAck::BackOff), SnackForm::Long),
        (
            Eln::Off,
            Some(PartialAck::Constant(Interval::from_secs(3))),
            SnackForm::Short,
        ),
    ] {
        all.push(Config {
            assume_loss: AssumeLoss::Corruption,
            notices: NoticeConfig {
                eln,
                ebsn: true,
                ackp,
                ackp_karn: true,
                ..NoticeConfig::default()
            },
            recovery: Recovery::Reno,
            receiver: ReceiverConfig {
                sack: false,
                snack,
                ..ReceiverConfig::default()
            },
            ..Config::default()
        });
    }
    for dummies in [DummyReply::Ignore, DummyReply::Plain] {
        all.push(Config {
            congestion: Control::new(&Peach::ALGORITHM),
            receiver: ReceiverConfig {
                dummies,
                ..ReceiverConfig::default()
            },
            ..Config::default()
        });
    }
    all.push(Config {
        timestamps: true,
        undo: Undo::EIFEL,
        ..Config::default()
    });
    all.push(Config {
        undo: Undo::FRTO,
        recovery: Recovery::Sack {
            rescue: true,
            prr: None,
            rack: Some(RackConfig {
                tlp: None,
                ..RackConfig::default()
            }),
        },
        ..Config::default()
    });
    all.push(Config {
        timestamps: true,
        undo: Undo::EIFEL.and(Undo::FRTO),
        recovery: Recovery::Sack {
            rescue: true,
            prr: Some(PrrBound::Conservative),
            rack: Some(RackConfig {
                reo_divisor: 3,
                reo_persist: 15,
                min_rtt_window: Interval::from_secs(7),
                rtt_from: RackRtt::LastInSequence,
                tlp: Some(TlpConfig {
                    srtts: 3,
                    initial: Interval::from_secs(2),
                    max_ack_delay: Interval::ZERO,
                }),
            }),
        },
        ..Config::default()
    });
    all.push(Config {
        receiver: ReceiverConfig {
            delayed_ack: DelayedAck::OFF,
            window_scale: WindowScale::Off,
            ..ReceiverConfig::default()
        },
        ..Config::default()
    });
    all
}

#[test]
fn every_parameter_has_a_key() {
    for config in corners() {
        for row in variant::VARIANTS {
            let spec = TcpSpec::from_config(row.name, &config);
            assert_eq!(spec.resolve().as_ref(), Ok(&config), "over {}", row.name);
            assert_eq!(spec.ignored(&config), []);
            let text = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<TcpSpec>(&text).unwrap(), spec);
        }
    }
}

#[test]
fn nagle_is_a_rule_or_that_of_the_row() {
    let rule = |variant: &str, nagle: &str| {
        let text = format!("{{\"variant\": {variant:?}, \"nagle\": {nagle}}}");
        let spec: TcpSpec = serde_json::from_str(&text).unwrap();
        spec.to_config().unwrap().nagle
    };
    assert_eq!(rule("sack", "true"), Nagle::Minshall);
    assert_eq!(rule("reno", "true"), Nagle::Rfc896);
    assert_eq!(rule("reno", "false"), Nagle::Off);
    assert_eq!(rule("reno", "\"off\""), Nagle::Off);
    assert_eq!(rule("reno", "\"minshall\""), Nagle::Minshall);
    assert_eq!(rule("sack", "\"rfc896\""), Nagle::Rfc896);
    assert_eq!(rule("reno", "\"fill\""), Nagle::Fill);
    let wrong = serde_json::from_str::<TcpSpec>("{\"nagle\": \"on\"}").unwrap_err();
    let message =
        "= \"on\" is wrong; write true or false, or \"off\", \"rfc896\", \"minshall\" or \"fill\"";
    assert!(wrong.to_string().starts_with(message), "{wrong}");
}

#[test]
fn keys_of_a_flow_win() {
    let flow = spec("nagle = false");
    let scenario = spec("nagle = true\nmss = \"536 B\"\nvariant = \"reno\"");
    let config = flow.over(&scenario).to_config().unwrap();
    assert_eq!(
        (config.nagle, config.mss, config.recovery),
        (Nagle::Off, 536, Recovery::Reno)
    );
    assert!(flow.has("nagle") && !flow.has("mss") && !flow.is_empty());
}

#[test]
fn conflicting_values_are_refused() {
    for (tcp, message) in [
        (
            "sack = false",
            "sack = false leaves recovery = \"sack\" without its input; write sack = true, or \
             another recovery",
        ),
        (
            "rto_min = \"90 s\"",
            "rto_min = \"90 s\" is above rto_max, \"1 min\"",
        ),
        (
            "variant = \"newreno\"\ncareful = \"timestamp\"",
            "careful = \"timestamp\" needs timestamps = true",
        ),
        (
            "variant = \"scps\"\nsnack = \"off\"",
            "snack = \"off\" leaves recovery = \"snack\" without its input; write \"short\" or \
             \"long\", or another recovery",
        ),
        (
            "variant = \"scps\"\nsack = true",
            "sack is not offered beside SNACK; write sack = false, or snack = \"off\"",
        ),
        (
            "snack = \"long\"",
            "snack is not offered beside SACK; write sack = false, or snack = \"off\"",
        ),
        (
            "recovery = \"snack\"",
            "recovery = \"snack\" needs snack = \"short\" or \"long\"",
        ),
        (
            "ackp = \"constant\"\nackp_timer = \"0 s\"",
            "ackp_timer = \"0 s\" leaves no time-out; write for example \"2 s\"",
        ),
        ("undo = \"dsack\"", "undo = \"dsack\" needs dsack = true"),
        (
            "undo = \"eifel\"",
            "undo = \"eifel\" needs timestamps = true",
        ),
        (
            "variant = \"p-tcp\"\nundo = \"frto\"",
            "undo = \"frto\" needs coarse_timeout = true",
        ),
        (
            "variant = \"rfc793\"\nundo = \"frto\"",
            "undo is not for congestion = \"none\", which cannot take a reduction back; write \
             \"off\", or one of \"reno\", \"vegas\", \"cubic\", \"westwood\", \
             \"westwood_plus\", \"hybla\", \"adalr\", \"bbr\", \"bbr3\", \"dctcp\", \"prague\", \
             \"illinois\", \"htcp\", \"ledbat\", \"ledbat_plus_plus\", \"copa\"",
        ),
    ] {
        let error = spec(tcp).to_config().unwrap_err().to_string();
        assert_eq!(error, format!("tcp.{message}"), "{tcp}");
    }
}

#[test]
fn keys_without_effect_are_refused() {
    let ignored = |tcp: &str| {
        let spec = spec(tcp);
        spec.ignored(&spec.to_config().unwrap())
    };
    assert_eq!(
        ignored("ackp = \"restart\"\nackp_timer = \"1 s\""),
        [("ackp_timer", "ackp = \"constant\"")]
    );
    assert_eq!(
        ignored("variant = \"reno\"\nrack = true\ntlp = true\ntlp_srtts = 2"),
        [
            ("rack", "recovery = \"sack\""),
            ("tlp", "rack = true"),
            ("tlp_srtts", "tlp = true")
        ]
    );
}

#[test]
fn rack_brings_probes_unless_they_are_off() {
    let rack = |tcp: &str| *spec(tcp).to_config().unwrap().recovery.rack_mut().unwrap();
    assert_eq!(rack("rack = true"), Some(RackConfig::default()));
    let without = RackConfig {
        tlp: None,
        ..RackConfig::default()
    };
    assert_eq!(rack("rack = true\ntlp = false"), Some(without));
}

const PATH: &str = "[[links]]\nbetween = [\"a\", \"b\"]\n\
                    down = { rate = \"1 Mbit/s\", delay = \"10 ms\" }\n\
                    [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n";

/// Returns the message for a scenario with these lines of `[tcp]` and these overrides.
fn error_of(tcp: &str, set: &[(&str, &str)]) -> String {
    let text = format!("[tcp]\n{tcp}\n{PATH}");
    let set: Vec<_> = set
        .iter()
        .map(|&(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    super::super::load(&text, "s.toml", &set).map_or_else(|e| e.to_string(), |_| "fine".to_owned())
}

#[test]
fn window_keys_need_a_congestion_control_with_a_window() {
    let refused = "s.toml:3: tcp.initial_window would be ignored; it needs a congestion control \
                   that has a window, which \"none\" has not";
    let rfc793 = ("tcp.variant", "rfc793");
    assert_eq!(
        error_of("variant = \"rfc793\"\ninitial_window = 4", &[]),
        refused
    );
    // The key has an effect in other TCPs with which the scenario runs.
    assert_eq!(error_of("initial_window = 4", &[rfc793]), "fine");
    let beside = error_of("", &[rfc793, ("tcp.initial_window", "4")]);
    assert!(beside.ends_with(&refused["s.toml:3: ".len()..]), "{beside}");
    for (tcp, key) in [
        ("variant = \"bbr\"\nreduce_from = \"cwnd\"", "reduce_from"),
        (
            "variant = \"westwood\"\nreduce_from = \"cwnd\"",
            "reduce_from",
        ),
        ("variant = \"p-tcp\"\nreduce_from = \"cwnd\"", "reduce_from"),
        (
            "variant = \"bbr\"\ninitial_ssthresh = \"9 kB\"",
            "initial_ssthresh",
        ),
        (
            "variant = \"rfc793\"\ninitial_ssthresh = \"9 kB\"",
            "initial_ssthresh",
        ),
        (
            "variant = \"tahoe\"\nrestart_on_retransmit = true",
            "restart_on_retransmit",
        ),
        ("prr = true\nassume_loss = \"corruption\"", "prr"),
        ("variant = \"bbr\"\nprr = true", "prr"),
        (
            "variant = \"cubic\"\ncongestion = \"bbr\"\nprr = true",
            "prr",
        ),
        (
            "variant = \"vegas\"\nsack = true\nrecovery = \"sack\"\nprr = true",
            "prr",
        ),
        (
            "profile = \"linux\"\nvariant = \"bbr\"\nprr_bound = \"conservative\"",
            "prr_bound",
        ),
    ] {
        let error = error_of(tcp, &[]);
        assert!(
            error.contains(&format!("tcp.{key} would be ignored; it needs ")),
            "{error}"
        );
    }
    assert_eq!(
        error_of("variant = \"vegas\"\nreduce_from = \"cwnd\"", &[]),
        "fine"
    );
    let half = "variant = \"vegas\"\nrecovery = \"sack\"\nsack = true\nprr = true\n\
                [tcp.control.vegas]\nloss_cut = \"reno\"";
    assert_eq!(error_of(half, &[]), "fine");
    // A scenario that runs with several TCPs may set the reduction of those that reduce.
    for keys in ["prr = true", "prr = true\nprr_bound = \"conservative\""] {
        assert_eq!(error_of(keys, &[("tcp.variant", "bbr")]), "fine");
    }
    assert_eq!(
        error_of("variant = \"peach\"\ninitial_ssthresh = \"9 kB\"", &[]),
        "fine"
    );
}

#[test]
fn an_override_makes_flow_keys_idle_without_an_error() {
    let flow = "[flows.tcp]\nvariant = \"rfc793\"\ninitial_window = 4\n";
    let load = |text: &str, set: &[(String, String)]| {
        super::super::load(text, "", set).map_or_else(|e| e.to_string(), |_| "fine".to_owned())
    };
    let entry = load(&format!("{PATH}{flow}"), &[]);
    assert!(
        entry.starts_with(":10: flows[0].tcp.initial_window would be ignored"),
        "{entry}"
    );
    let own = format!("{PATH}[flows.tcp]\ninitial_window = 4\n");
    assert_eq!(
        load(&own, &[("tcp.variant".into(), "rfc793".into())]),
        "fine"
    );
}

#[test]
fn a_resolved_scenario_keeps_its_idle_keys() {
    let text = format!("[tcp]\ninitial_window = 4\n{PATH}");
    let set = [("tcp.variant".to_owned(), "rfc793".to_owned())];
    let scenario = super::super::load(&text, "", &set).unwrap();
    let again = super::super::load(&scenario.to_json(), "", &[]).unwrap();
    assert_eq!(again, scenario);
}

#[test]
fn westwood_plus_is_found_by_either_of_its_names() {
    let meant = |name| format!("did you mean {name:?}?");
    let error = error_of("variant = \"westwood_plus\"", &[]);
    assert!(error.contains(&meant("westwood+")), "{error}");
    for tcp in [
        "congestion = \"westwood+\"",
        "[tcp.control.\"westwood+\"]\nx = 1",
    ] {
        let error = error_of(tcp, &[]);
        assert!(error.contains(&meant("westwood_plus")), "{error}");
    }
}

const STUDY: &str = "variant = \"reno\"\ntimer = \"jacobson\"\nrto_tick = \"0 s\"\nrto_round = \
                     \"500 ms\"\nrto_srtt_initial = \"1 s\"\nrto_dev_initial = \"1 s\"\nrto_min \
                     = \"2 s\"\nrto_max = \"240 s\"\nkarn = false\nack_gap_fill = \
                     \"delayed\"\ncwnd_limit = \"receive-window\"";

#[test]
fn the_timer_of_the_study_has_its_printed_values() {
    assert_eq!(error_of(STUDY, &[]), "fine");
    let text = STUDY.to_owned() + "\nrto_initial = \"5 s\"";
    assert_eq!(error_of(&text, &[]), "fine");
}

#[test]
fn go_back_n_times_every_segment_without_karn() {
    let text = "variant = \"tcp-rfc\"\nkarn = false\nsampling = \"every-segment\"\nrepeat_all = \
                true\ndup_acks_halve = true";
    assert_eq!(error_of(text, &[]), "fine");
}

#[test]
fn bad_values_of_the_timer_have_an_exact_message() {
    for (tcp, message) in [
        (
            "rto_round = \"61 s\"",
            "tcp.rto_round = \"61 s\" is out of range; write at most \"1 min\"",
        ),
        (
            "rto_round = \"500 ms\"\nrto_tick = \"500 ms\"",
            "tcp.rto_round = \"500 ms\" rounds time-outs alone, and rto_tick = \"500 ms\" \
             counts samples in ticks too; write rto_tick = \"0 s\", or leave rto_round out",
        ),
        (
            "karn = false\ntimestamps = true",
            "tcp.karn = false would be ignored: with timestamps = true each ACK tells which \
             transmission it is of; write timestamps = false",
        ),
        (
            "karn = false\nsampling = \"every-segment\"",
            "tcp.karn = false times one segment from when it first left; write sampling = \
             \"one-per-rtt\", or recovery = \"go-back-n\"",
        ),
        (
            "repeat_all = true",
            "tcp.repeat_all would be ignored; it needs recovery = \"go-back-n\"",
        ),
        (
            "repeat_first = true",
            "tcp.repeat_first would be ignored; it needs recovery = \"reno\", or \"vegas\" with \
             coarse_timeout",
        ),
        (
            "variant = \"p-tcp\"\nrepeat_first = true",
            "tcp.repeat_first would be ignored; it needs recovery = \"reno\", or \"vegas\" with \
             coarse_timeout",
        ),
        (
            "rto_exact_samples = true",
            "tcp.rto_exact_samples would be ignored; it needs an rto_tick above 0 s",
        ),
        (
            "dup_acks_halve = true",
            "tcp.dup_acks_halve would be ignored; it needs recovery = \"go-back-n\"",
        ),
        (
            "variant = \"rfc793\"\ndup_acks_halve = true",
            "tcp.dup_acks_halve would be ignored; it needs the congestion control \"reno\"",
        ),
        (
            "rto_srtt_initial = \"1 s\"",
            "tcp.rto_srtt_initial would be ignored; it needs timer = \"jacobson\"",
        ),
        (
            "resume_cwnd = \"1 MB\"",
            "tcp.resume_cwnd says nothing without resume_rtt, the RTT of the earlier connection; \
             write both",
        ),
        (
            "resume_rtt = \"1 s\"",
            "tcp.resume_rtt would be ignored; it needs resume_cwnd",
        ),
        (
            "resume = { cwnd = \"1 MB\", rtt = \"1 s\" }\nresume_rtt = \"2 s\"",
            "tcp has resume_rtt in the table resume and alone; write one of the two",
        ),
        ("resume = {}", "tcp.resume is empty; write cwnd and rtt"),
        (
            "resume = { cwdn = \"1 MB\" }",
            "unknown key \"cwdn\" in tcp.resume; did you mean \"cwnd\"?",
        ),
        (
            "variant = \"peach\"\nresume = { cwnd = \"1 MB\", rtt = \"1 s\" }",
            "tcp.resume_cwnd would be ignored; it needs a congestion control with a window that \
             farlink has built in; for peach with control.peach.sudden_start = false, because \
             Sudden Start opens the window already",
        ),
        (
            "timer = \"jacobson\"\nrto_dev_initial = \"1 s\"",
            "tcp.rto_dev_initial says nothing without rto_srtt_initial; write both",
        ),
        (
            "timer = \"jacobson\"\nrto_srtt_initial = \"1 s\"\nrto_dev_initial = \"1 \
             s\"\nrto_initial = \"3 s\"",
            "tcp.rto_initial = \"3 s\" differs from rto_srtt_initial and rto_k times \
             rto_dev_initial, \"5 s\"; leave it out",
        ),
        (
            "delayed_ack = \"off\"\nack_gap_fill = \"delayed\"",
            "tcp.ack_gap_fill would be ignored; it needs delayed_ack",
        ),
        (
            "cwnd_limit = \"rwnd\"",
            "tcp.cwnd_limit = \"rwnd\" is unknown; the choices are \"none\", \
             \"receive-window\"",
        ),
    ] {
        let error = error_of(tcp, &[]);
        let text = error.split_once(": ").map(|parts| parts.1);
        assert_eq!(text, Some(message), "{tcp}");
    }
}
