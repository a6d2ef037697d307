//! Tests of both ends of a tunnel with lost, altered, replayed and forged datagrams.

use super::frame::ROOM;
use super::*;
use farlink_tcp::{Instant, Interval};
use proptest::prelude::*;

fn hello() -> Hello {
    Hello {
        host: "office".into(),
        instance: 7,
    }
}

fn welcome() -> Welcome {
    Welcome::Joined {
        node: 2,
        nodes: 3,
        mtu: 1500,
        tcp: None,
        names: vec![("office".into(), [10, 0, 0, 3].into())],
    }
}

fn body(datagram: &[u8]) -> &[u8] {
    match Outer::read(datagram).expect("a datagram of ours") {
        Outer::Hello { body, .. } | Outer::Welcome { body, .. } | Outer::Sealed { body, .. } => {
            body
        }
        Outer::Prove { .. } => panic!("a cookie has no body"),
    }
}

fn number(datagram: &[u8]) -> u64 {
    match Outer::read(datagram) {
        Some(Outer::Sealed { number, .. }) => number,
        other => panic!("{other:?}"),
    }
}

/// Returns the sessions of a joined gateway and of the unit.
fn joined(limits: Limits) -> (Session, Session) {
    let key = Key::random().unwrap();
    let (mut begun, first) = Initiation::begin(&key, 11, &hello()).unwrap();
    let opened = Opened::read(&key, 11, body(&first)).unwrap();
    assert_eq!(opened.hello, hello());
    let (second, theirs) = opened
        .answer(22, &welcome(), Instant::ZERO, limits)
        .unwrap();
    let answer = begun.finish(&key, 22, body(&second), Instant::ZERO, limits);
    let (entry, ours) = answer.unwrap();
    assert_eq!(entry, welcome());
    (ours, theirs)
}

fn open(session: &mut Session, datagram: &[u8]) -> Result<Vec<u8>, Rejection> {
    let mut out = Vec::new();
    session
        .open(Instant::ZERO, number(datagram), body(datagram), &mut out)
        .map(|()| out)
}

fn seal(session: &mut Session, inner: Inner<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    assert!(session.seal(Instant::ZERO, inner, &mut out));
    out
}

#[test]
fn a_sealed_message_opens_once_and_unchanged() {
    let (mut here, mut there) = joined(Limits::default());
    let packet = vec![0x45; ROOM];
    let inner = Inner::Packet {
        checked: true,
        bytes: &packet,
    };
    let sent = seal(&mut here, inner);
    assert!(sent.len() <= 1232);
    assert!(
        !sent.windows(16).any(|part| part == &packet[..16]),
        "nothing of it is readable"
    );
    let got = open(&mut there, &sent).unwrap();
    assert_eq!(Inner::read(&got), Some(inner));
    assert_eq!(open(&mut there, &sent), Err(Rejection::Replayed));
    // Each direction has its own key, so a reflected datagram is rejected too.
    assert_eq!(open(&mut here, &sent), Err(Rejection::Forged));
    let back = seal(&mut there, Inner::Bye);
    assert_eq!(open(&mut here, &back), Ok(vec![7]));
}

#[test]
fn any_changed_bit_is_rejected() {
    let (mut here, mut there) = joined(Limits::default());
    let sent = seal(&mut here, Inner::Probe { at: 5 });
    // The first eight bytes are skipped, because the kind and the session number are not
    // authenticated.
    for bit in 64..8 * sent.len() {
        let mut changed = sent.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let refused = open(&mut there, &changed);
        assert_eq!(
            refused,
            Err(if number(&changed) >= Limits::default().end_after {
                Rejection::Old
            } else {
                Rejection::Forged
            })
        );
    }
    assert!(
        open(&mut there, &sent).is_ok(),
        "and nothing of that is remembered"
    );
}

#[test]
fn without_the_key_no_message_can_be_read_or_sent() {
    let (key, other) = (Key::random().unwrap(), Key::random().unwrap());
    let (mut begun, first) = Initiation::begin(&other, 1, &hello()).unwrap();
    assert!(Opened::read(&key, 1, body(&first)).is_none());
    // After a forged answer, the handshake can still be completed.
    let opened = Opened::read(&other, 1, body(&first)).unwrap();
    let limits = Limits::default();
    let (second, _) = opened.answer(2, &welcome(), Instant::ZERO, limits).unwrap();
    let mut forged = body(&second).to_vec();
    forged[40] ^= 1;
    for wrong in [&forged[..], &[], &body(&second)[..31]] {
        let finished = begun.finish(&other, 2, wrong, Instant::ZERO, limits);
        assert!(finished.is_none());
    }
    let finished = begun.finish(&other, 2, body(&second), Instant::ZERO, limits);
    assert!(finished.is_some());
}

#[test]
fn keys_expire_by_number_of_datagrams_and_by_age() {
    let limits = Limits {
        renew_after: 3,
        end_after: 5,
        ..Limits::default()
    };
    let (mut here, mut there) = joined(limits);
    let mut out = Vec::new();
    for n in 0..5 {
        assert_eq!(here.is_to_renew(Instant::ZERO), n >= 3);
        assert!(here.seal(Instant::ZERO, Inner::Bye, &mut out));
        assert!(open(&mut there, &out).is_ok());
    }
    assert!(!here.seal(Instant::ZERO, Inner::Bye, &mut out));
    let (mut here, mut there) = joined(Limits::default());
    let sent = seal(&mut here, Inner::Bye);
    let at = |s| Instant::ZERO + Interval::from_secs(s);
    assert!(!here.is_to_renew(at(119)) && here.is_to_renew(at(120)));
    assert!(!here.seal(at(180), Inner::Bye, &mut out));
    let late = there.open(at(180), 0, body(&sent), &mut out);
    assert_eq!(late, Err(Rejection::Old));
}

#[test]
fn a_key_survives_its_text_form() {
    let key = Key::random().unwrap();
    let text = key.to_string();
    assert!(text.parse::<Key>().unwrap() == key);
    assert!(format!(" {text}\n").parse::<Key>().unwrap() == key);
    for wrong in ["", "abc", &text[1..], &text.replace(&text[..1], "g"), "é"] {
        assert!(wrong.parse::<Key>().is_err(), "{wrong}");
    }
    let other = if text.starts_with('0') { "1" } else { "0" };
    let message = format!("{other}{}", &text[1..]).parse::<Key>().unwrap_err();
    assert!(message.contains("a digit of the key is wrong"));
}

#[test]
fn control_messages_survive_encoding() {
    let mut out = Vec::new();
    for inner in [
        Inner::Probe { at: u64::MAX },
        Inner::Echo { at: 1, held: 2 },
        Inner::Packet {
            checked: false,
            bytes: &[],
        },
        Inner::Piece {
            checked: true,
            ident: 1 << 31,
            index: 1,
            count: 2,
            bytes: &[1, 2],
        },
        Inner::Place { x: -1.5, y: 1e9 },
        Inner::Overflowed { packets: 3 },
        Inner::Bye,
    ] {
        inner.write(&mut out);
        assert_eq!(Inner::read(&out), Some(inner));
    }
    Inner::Place {
        x: f64::NAN,
        y: 0.0,
    }
    .write(&mut out);
    assert_eq!(Inner::read(&out), None);
}

/// Passes a datagram to all functions that parse datagrams. Returns whether one of them accepted
/// it.
fn take(datagram: &[u8], key: &Key, begun: &mut Initiation, session: &mut Session) -> bool {
    let mut out = Vec::new();
    match Outer::read(datagram) {
        None | Some(Outer::Prove { .. }) => false,
        Some(Outer::Hello { from, body, .. }) => Opened::read(key, from, body).is_some(),
        Some(Outer::Welcome { from, body, .. }) => begun
            .finish(key, from, body, Instant::ZERO, Limits::default())
            .is_some(),
        Some(Outer::Sealed { number, body, .. }) => {
            session.open(Instant::ZERO, number, body, &mut out).is_ok()
        }
    }
}

fn fuzzed() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![Just(1u8), Just(2), Just(3), any::<u8>()];
    let rest = prop::collection::vec(any::<u8>(), 0..120);
    (kind, any::<bool>(), rest).prop_map(|(kind, zeros, rest)| {
        let front = if zeros {
            vec![kind, 0, 0, 0]
        } else {
            vec![kind]
        };
        [front, rest].concat()
    })
}

proptest! {
    #[test]
    fn arbitrary_datagrams_are_rejected(datagrams in prop::collection::vec(fuzzed(), 40)) {
        let key = Key::random().unwrap();
        let (mut begun, _) = Initiation::begin(&key, 1, &hello()).unwrap();
        let (mut session, _) = joined(Limits::default());
        for datagram in &datagrams {
            prop_assert!(!take(datagram, &key, &mut begun, &mut session));
        }
    }

    /// Even a sender with the key cannot crash the other end.
    #[test]
    fn arbitrary_control_messages_cause_no_panic(messages in prop::collection::vec(fuzzed(), 40)) {
        let (mut pieces, mut out) = (Pieces::default(), Vec::new());
        for message in &messages {
            let message = [&[message[0] % 9], &message[1..]].concat();
            if let Some(inner) = Inner::read(&message) {
                inner.write(&mut out);
                prop_assert_eq!(Inner::read(&out), Some(inner));
                if let Inner::Piece { checked, ident, index, count, bytes } = inner {
                    let (ident, index, count) = (ident % 3, index % 8, count % 8);
                    let _ = pieces.on_message(1, Inner::Piece { checked, ident, index, count, bytes });
                }
            }
        }
    }
}
