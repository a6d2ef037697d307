//! A hostile peer that sends arbitrary flags, numbers, windows and options to a connection in any
//! state.

use super::chance::Chance;
use super::setup::{self, COOKIE};
use farlink_tcp::{
    Body, Config, Connection, Dscp, Ecn, Extra, FastOpenCache, FastOpenCookie, Flags, Instant,
    Interval, IpVersion, LossCause, Notice, Offset, Options, SackBlock, ScpsCapabilities, Segment,
    Seq, Snack, State, Timestamps,
};
use std::num::NonZeroU16;
use std::sync::Arc;

/// States that an attack begins in.
pub(crate) const STATES: [State; 11] = [
    State::Closed,
    State::Listen,
    State::SynSent,
    State::SynReceived,
    State::Established,
    State::FinWait1,
    State::FinWait2,
    State::CloseWait,
    State::Closing,
    State::LastAck,
    State::TimeWait,
];

/// Number of random events per connection.
const STEPS: usize = 150;
/// Number of time-outs or segments at one instant above which a livelock is assumed.
const MAX_AT_ONCE: usize = 10_000;

struct Victim {
    now: Instant,
    connection: Connection,
    isn: Seq,
    peer_isn: Seq,
    written: u64,
    una: Offset,
    /// Set if data carries bytes, and not only its length.
    bytes: bool,
}

/// Attacks a connection of row `row` in `state`. Returns the number of segments sent to it. Panics
/// when an invariant fails.
pub(crate) fn attack(seed: u64, row: usize, state: State) -> u64 {
    let mut chance = Chance::new(seed);
    let config = setup::config(&mut chance, row);
    let mut victim = Victim::in_state(state, config, &mut chance);
    assert_eq!(
        victim.connection.state(),
        state,
        "could not be brought there"
    );
    let mut sent = 0;
    for _ in 0..STEPS {
        match chance.within(0, 20) {
            0 => victim.application(&mut chance),
            1 | 2 => victim.wait(&mut chance),
            _ => {
                let segment = victim.anything(&mut chance);
                match chance.within(0, 20) {
                    0 => {
                        victim.connection.on_damaged(&segment);
                    }
                    1 => {
                        let causes = [LossCause::Congestion, LossCause::Corruption];
                        let cause = chance.pick(&causes);
                        victim.connection.on_loss_notice(&segment, cause);
                    }
                    2 => {
                        let notice = Notice::BadState { seq: segment.ack };
                        victim.connection.on_notice(victim.now, notice);
                        // Any MTU, independent of the data in flight.
                        let mtu = segment.seq.0 % 2000;
                        victim.connection.on_path_mtu(mtu, IpVersion::V4, 0);
                    }
                    _ => victim.connection.on_segment(victim.now, &segment),
                }
                sent += 1;
            }
        }
        victim.poll_until_idle();
    }
    victim.connection.abort(victim.now);
    victim.poll_until_idle();
    assert_eq!(victim.connection.state(), State::Closed);
    assert_eq!(
        victim.connection.next_timeout(),
        None,
        "a timer runs after the end"
    );
    sent
}

impl Victim {
    /// Builds a connection in `state`, with a peer that has followed the protocol so far.
    fn in_state(state: State, config: Config, chance: &mut Chance) -> Self {
        let isn = Seq(chance.next() as u32);
        let passive = matches!(state, State::Listen | State::SynReceived);
        let config = Arc::new(config);
        let mut connection = if passive {
            Connection::listen(config, 1, isn)
        } else {
            Connection::open(config, 1, 2, isn)
        };
        connection.set_fast_open_cookie(COOKIE);
        if chance.flip() {
            let mss = chance.next() as u16;
            let cookie = COOKIE;
            connection.set_fast_open_cache(FastOpenCache { cookie, mss });
        }
        let mut victim = Self {
            now: Instant::from_nanos(chance.within(0, 1 << 40)),
            connection,
            isn,
            peer_isn: Seq(chance.next() as u32),
            written: 0,
            una: 0,
            bytes: chance.flip(),
        };
        victim.lead_to(state);
        victim
    }

    fn lead_to(&mut self, state: State) {
        let fin = Flags::FIN.with(Flags::ACK);
        let syn = Options::from(farlink_tcp::RareOptions {
            mss: Some(1000),
            sack_permitted: true,
            scps: Some(ScpsCapabilities {
                bits: 0x60,
                connection: 0,
            }),
            ..farlink_tcp::RareOptions::NONE
        });
        self.poll_until_idle();
        match state {
            State::Listen | State::SynSent => return,
            State::Closed => return self.connection.abort(self.now),
            State::SynReceived => return self.deliver(Flags::SYN, 0, 0, syn),
            _ => self.deliver(Flags::SYN.with(Flags::ACK), 0, 1, syn),
        }
        self.now += Interval::from_millis(50);
        let plain = Options::default;
        match state {
            State::FinWait1 | State::FinWait2 | State::Closing | State::TimeWait => {
                self.connection.shutdown(self.now);
            }
            State::CloseWait | State::LastAck => self.deliver(fin, 1, 1, plain()),
            _ => {
                self.write(5_000); // A part of the data is in flight.
            }
        }
        self.poll_until_idle();
        match state {
            State::FinWait2 => self.deliver(Flags::ACK, 1, 2, plain()),
            State::Closing => self.deliver(fin, 1, 1, plain()),
            State::TimeWait => self.deliver(fin, 1, 2, plain()),
            State::LastAck => {
                self.connection.shutdown(self.now);
                self.poll_until_idle();
            }
            _ => {}
        }
    }

    /// Delivers a valid segment of the peer.
    fn deliver(&mut self, flags: Flags, seq: Offset, ack: Offset, options: Options) {
        let segment = Segment {
            src_port: 2,
            dst_port: 1,
            seq: self.peer_isn.at(seq),
            ack: self.isn.at(ack),
            flags,
            ecn: Ecn::default(),
            ae: false,
            dscp: Dscp::DEFAULT,
            dummy: false,
            window: 8_000,
            options,
            body: Body::EMPTY,
        };
        self.connection.on_segment(self.now, &segment);
        self.poll_until_idle();
    }

    fn write(&mut self, len: u64) {
        self.written += if self.bytes {
            let data = vec![7; len as usize];
            self.connection.write(&data).unwrap_or_default() as u64
        } else {
            self.connection.write_len(len).unwrap_or_default()
        };
    }

    fn application(&mut self, chance: &mut Chance) {
        match chance.within(0, 10) {
            0 if chance.flip() => self.connection.close(self.now),
            0 => self.connection.shutdown(self.now),
            1..5 if self.bytes => {
                let mut out = Vec::new();
                self.connection
                    .read(&mut out, chance.within(1, 5_000) as usize);
            }
            1..5 => {
                self.connection.read_len(chance.within(1, 5_000));
            }
            _ => self.write(chance.within(1, 5_000)),
        }
    }

    /// Advances time to the next time-out, or less.
    fn wait(&mut self, chance: &mut Chance) {
        let pause = Interval::from_micros(chance.within(0, 300_000));
        self.now = match self.connection.next_timeout() {
            Some(at) if chance.flip() => at.max(self.now),
            _ => self.now + pause,
        };
    }

    /// Returns a segment with random fields, more often than not near valid ones.
    fn anything(&self, chance: &mut Chance) -> Segment {
        let c = &self.connection;
        let near = |chance: &mut Chance, at: Seq| {
            let spread = chance.pick(&[1, 3, 1_500, 70_000, 1 << 32]);
            at.at(chance.within(0, spread))
                .at((spread / 2).wrapping_neg())
        };
        let seq = near(chance, self.peer_isn.at(c.rcv_nxt()));
        let ack = self.isn.at(chance.pick(&[c.snd_una(), c.snd_max()]));
        let ack = near(chance, ack);
        // Resets are rare, because they would end most attacks early.
        let flags = match chance.within(0, 200) {
            0..150 => Flags::ACK,
            150..170 => Flags::ACK.with(Flags::FIN),
            170..190 => Flags::SYN,
            190 => Flags::RST,
            _ => Flags(chance.next() as u8),
        };
        let len = chance.pick(&[0, 0, 1, 536, 3_000]) as u32;
        let mut options = Options::default();
        if chance.flip() {
            let value = near(chance, Seq((self.now.as_nanos() / 1_000_000) as u32)).0;
            options.timestamps = Some(Timestamps {
                value,
                echo: near(chance, Seq(value)).0,
            });
        }
        for _ in 0..chance.pick(&[0, 0, 1, 4]) {
            let left = near(chance, self.isn.at(c.snd_una()));
            options.sack.push(SackBlock {
                left,
                right: near(chance, left),
            });
        }
        if chance.per_mille(200) {
            options.mss = Some(chance.pick(&[0, 1, 536, 65_535]));
            options.window_scale = Some(chance.next() as u8);
            options.sack_permitted = chance.flip();
        }
        options.eln = chance.per_mille(200);
        options.ackp = chance.per_mille(100);
        options.nack = chance.per_mille(100);
        if chance.flip() {
            let near = chance.pick(&[0, 1, 5, 65_535]) as u16;
            options.extra = Extra::Snack(Snack {
                offset: near,
                size: NonZeroU16::new(chance.pick(&[1, 2, 65_535]) as u16)
                    .unwrap_or(NonZeroU16::MIN),
                bits: chance.next() & chance.next(),
            });
        }
        if flags.has(Flags::SYN) && chance.flip() {
            options.extra = match chance.pick(&[0, 1, 2]) {
                0 => Extra::CookieRequest,
                1 => Extra::Cookie(COOKIE),
                _ => Extra::Cookie(FastOpenCookie(chance.next())),
            };
        }
        let body = if self.bytes {
            Body::of_bytes(&vec![9; len as usize])
        } else {
            Body::of_len(len)
        };
        let window = chance.pick(&[0, 1, 700, 65_535]);
        Segment {
            src_port: 2,
            dst_port: 1,
            seq,
            ack,
            flags,
            ecn: Ecn::from_bits(chance.within(0, 3) as u8),
            ae: chance.flip(),
            dscp: Dscp::new(chance.within(0, 2) as u8),
            dummy: chance.per_mille(100),
            window,
            options,
            body,
        }
    }

    /// Sends and reads everything that is pending on the connection, and checks the invariants.
    fn poll_until_idle(&mut self) {
        for round in 0.. {
            assert!(round < MAX_AT_ONCE, "time-outs for ever");
            let mut segments = 0;
            while self.connection.poll_transmit(self.now).is_some() {
                segments += 1;
                assert!(segments < MAX_AT_ONCE, "segments leave for ever");
            }
            while self.connection.poll_event().is_some() {}
            match self.connection.next_timeout() {
                Some(at) if at <= self.now => self.connection.on_timeout(self.now),
                _ => break,
            }
        }
        let c = &self.connection;
        c.recount();
        if c.state() == State::Listen {
            self.una = 0; // A reset returned the connection to LISTEN.
        }
        assert!(c.snd_una() >= self.una && c.snd_una() <= c.snd_max());
        self.una = c.snd_una();
        assert!(
            c.cwnd() >= u64::from(c.mss()),
            "cwnd {} below a segment",
            c.cwnd()
        );
        assert!(c.pipe() <= c.flight());
        assert!(c.acknowledged() <= self.written);
        let open = !matches!(c.state(), State::Closed | State::Listen | State::TimeWait);
        if open && (c.snd_una() < c.snd_max() || c.acknowledged() < self.written) {
            assert!(
                c.next_timeout().is_some(),
                "data waits and no timer runs: {c:?}"
            );
        }
    }
}
