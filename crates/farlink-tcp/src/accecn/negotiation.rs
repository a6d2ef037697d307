//! Negotiation of ECN, which decides the form of the feedback (RFC 3168, 6.1.1; RFC 9768, 3.1).

use super::accurate::{Accurate, ace};
use super::reports::NewMarks;
use crate::config::{EcnConfig, EcnEcho, EcnMode};
use crate::congestion::Feedback;
use crate::ecn::{AccEcnOption, Ecn};
use crate::segment::{Flags, Segment};

/// Flags of a SYN that offers ECN: ECE and CWR.
pub(crate) const SETUP: Flags = Flags::ECE.with(Flags::CWR);

/// Negotiated ECN state of a connection, and the pending echo to its peer.
#[derive(Debug)]
pub(crate) struct Negotiation {
    wanted: EcnMode,
    rule: EcnEcho,
    agreed: Feedback,
    /// Classic echo: set from the arrival of a mark until a CWR, or while marks arrive (DCTCP). Every
    /// ACK then carries ECE.
    echo: bool,
    /// Codepoint of data.
    codepoint: Ecn,
    /// Set if the AccECN option is sent.
    option: bool,
    /// State of Accurate ECN, while it is wanted or agreed.
    accurate: Option<Box<Accurate>>,
}

/// Bits of a header that belong to ECN.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Bits {
    pub(crate) ae: bool,
    pub(crate) flags: Flags,
}

impl From<u8> for Bits {
    fn from(ace: u8) -> Self {
        let mut flags = Flags::default();
        if ace & 2 != 0 {
            flags = flags.with(Flags::CWR);
        }
        if ace & 1 != 0 {
            flags = flags.with(Flags::ECE);
        }
        Self {
            ae: ace & 4 != 0,
            flags,
        }
    }
}

impl From<Flags> for Bits {
    fn from(flags: Flags) -> Self {
        Self { ae: false, flags }
    }
}

impl Negotiation {
    pub(crate) fn new(config: EcnConfig) -> Self {
        Self {
            wanted: config.mode,
            rule: config.echo,
            agreed: Feedback::None,
            echo: false,
            codepoint: if config.ect1 { Ecn::Ect1 } else { Ecn::Ect0 },
            option: config.option,
            accurate: (config.mode == EcnMode::Accurate).then(Box::default),
        }
    }

    fn is_classic(&self) -> bool {
        self.agreed == Feedback::Classic
    }

    /// Returns whether every segment changes the state, marked or not.
    pub(crate) fn sees_every_segment(&self) -> bool {
        self.agreed == Feedback::Accurate || (self.is_classic() && self.rule == EcnEcho::Dctcp)
    }

    /// Returns the codepoint of new data.
    pub(crate) fn codepoint(&self) -> Ecn {
        match &self.accurate {
            Some(accurate) if accurate.not_capable => Ecn::NotEct,
            Some(_) if self.agreed == Feedback::Accurate => self.codepoint,
            // ECT(1) needs counts of marks (RFC 9331, 4.2).
            _ => Ecn::Ect0,
        }
    }

    /// Processes the SYN of a peer that opens the connection, or opens it at the same time. Returns
    /// the feedback that both ends use.
    pub(crate) fn on_syn(&mut self, segment: &Segment) -> Feedback {
        let bits = ace(segment);
        self.agreed = match &mut self.accurate {
            Some(_) if bits == 0 => Feedback::None,
            Some(_) if bits == 0b011 => Feedback::Classic,
            // A combination that is reserved counts as a request, too (RFC 9768, 3.1.3).
            Some(accurate) => {
                accurate.on_syn(segment.ecn);
                Feedback::Accurate
            }
            None if self.wanted == EcnMode::Classic && segment.flags.has(SETUP) => {
                Feedback::Classic
            }
            None => Feedback::None,
        };
        self.agreed
    }

    /// Processes a repeated SYN of the peer. Returns false if the SYN requests the other form of
    /// feedback, so that the connection must be reset (RFC 9768, 3.1.5).
    pub(crate) fn on_syn_again(&mut self, segment: &Segment) -> bool {
        let bits = ace(segment);
        let Some(accurate) = &mut self.accurate else {
            return true;
        };
        match self.agreed {
            Feedback::Accurate if bits == 0b011 => false,
            Feedback::Accurate => {
                accurate.on_syn_again(segment.ecn, bits != 0);
                true
            }
            Feedback::Classic => bits == 0 || bits == 0b011,
            Feedback::None => true,
        }
    }

    /// Processes the SYN-ACK to our SYN. All bits set come from a peer that only reflects unknown
    /// bits, so ECN stays off. Returns the feedback that both ends use.
    pub(crate) fn on_syn_ack(&mut self, segment: &Segment) -> Feedback {
        self.agreed = match &mut self.accurate {
            Some(_) if ace(segment) == 0b001 => Feedback::Classic,
            Some(_) if matches!(ace(segment), 0b000 | 0b111) => Feedback::None,
            // The reserved 0b101 counts as an agreement (RFC 9768, 3.1.3).
            Some(accurate) => {
                accurate.on_syn_ack(segment);
                Feedback::Accurate
            }
            None => {
                let agrees = segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::CWR);
                if self.wanted == EcnMode::Classic && agrees {
                    Feedback::Classic
                } else {
                    Feedback::None
                }
            }
        };
        self.agreed
    }

    /// Notes a SYN-ACK that arrives again after the handshake.
    pub(crate) fn on_syn_ack_again(&mut self, segment: &Segment) {
        let agrees = !matches!(ace(segment), 0b000 | 0b001 | 0b111);
        if let Some(accurate) = self.active().filter(|_| agrees) {
            accurate.on_syn_ack_again(segment);
        }
    }

    /// Processes the first ACK of our SYN-ACK.
    pub(crate) fn on_handshake_ack(&mut self, segment: &Segment) {
        if let Some(accurate) = self.active() {
            accurate.on_handshake_ack(segment);
        }
    }

    /// Returns whether the peer reported our SYN or SYN-ACK as marked.
    pub(crate) fn handshake_marked(&self) -> bool {
        self.accurate.as_ref().is_some_and(|a| a.handshake_marked)
    }

    /// State of Accurate ECN if both ends use it.
    fn active(&mut self) -> Option<&mut Accurate> {
        self.accurate
            .as_deref_mut()
            .filter(|_| self.agreed == Feedback::Accurate)
    }

    /// Returns the bits of a SYN, or of a SYN-ACK if `ack` is set.
    pub(crate) fn syn_bits(&mut self, ack: bool) -> Bits {
        match (ack, self.agreed, &mut self.accurate) {
            (false, _, Some(accurate)) => accurate.syn_bits().into(),
            (false, _, None) if self.wanted == EcnMode::Classic => SETUP.into(),
            (true, Feedback::Accurate, Some(accurate)) => accurate.syn_ack_bits().into(),
            (true, Feedback::Classic, _) => Flags::ECE.into(),
            _ => Bits::default(),
        }
    }

    /// Returns whether a pure ACK must leave before data.
    pub(crate) fn owes_handshake_ack(&self) -> bool {
        let owes = self.accurate.as_ref().map(|a| a.owes_handshake_ack());
        owes == Some(true)
    }

    /// Returns the bits of segments with an ACK, except SYNs, with Accurate ECN. `pure` is set for an ACK without data
    /// and SACK blocks.
    pub(crate) fn ack_bits(&mut self, pure: bool) -> Bits {
        match self.active() {
            Some(accurate) => accurate.ack_bits(pure).into(),
            None => Bits::default(),
        }
    }

    /// Returns the AccECN option of the next ACK, if it has one and at most `room` bytes are free.
    pub(crate) fn option(&mut self, room: u32) -> Option<AccEcnOption> {
        let sends = self.option;
        self.active().filter(|_| sends)?.counters.option(room)
    }

    /// Returns whether a segment with `fresh` data within the window changes the state that DCTCP
    /// echoes (RFC 8257, 3.2).
    pub(crate) fn changes_echo(&self, segment: &Segment, fresh: bool) -> bool {
        fresh
            && self.is_classic()
            && self.rule == EcnEcho::Dctcp
            && self.echo != (segment.ecn == Ecn::Ce)
    }

    /// Processes a segment in the window, with classic feedback; `fresh` is set if the segment
    /// carries new data within the window (RFC 3168, 6.1.3 and 6.1.5). Returns whether ACKs echo a
    /// mark.
    pub(crate) fn on_segment(&mut self, segment: &Segment, fresh: bool) -> bool {
        if !self.is_classic() {
            return false;
        }
        let marked = segment.ecn == Ecn::Ce;
        if self.rule == EcnEcho::Dctcp {
            if fresh {
                self.echo = marked;
            }
        } else {
            if segment.flags.has(Flags::CWR) {
                self.echo = false;
            }
            self.echo |= fresh && marked;
        }
        self.echo
    }

    /// Counts a segment that arrived in the window, with Accurate ECN. `waiting` is set if data
    /// waits for its ACK. Returns whether an ACK is due at once.
    pub(crate) fn counts(&mut self, segment: &Segment, waiting: bool) -> bool {
        let len = segment.body.len();
        self.active()
            .is_some_and(|accurate| accurate.counters.on_packet(segment.ecn, len, waiting))
    }

    /// Decodes the counts of an ACK that is not superseded and delivers `delivered` segments of at
    /// most `mss` bytes.
    pub(crate) fn on_counts(&mut self, segment: &Segment, delivered: u64, mss: u64) -> NewMarks {
        match self.active() {
            Some(accurate) => accurate.on_ack(segment, delivered, mss),
            None => NewMarks::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn syn(bits: u8) -> Segment {
        let Bits { ae, flags } = Bits::from(bits);
        Segment {
            ae,
            flags: flags.with(Flags::SYN),
            ..Segment::default()
        }
    }

    fn side(mode: EcnMode) -> Negotiation {
        Negotiation::new(EcnConfig {
            mode,
            ..EcnConfig::default()
        })
    }

    #[test]
    fn classic_ecn_needs_both_ends() {
        for (mode, offer, answer) in [
            (EcnMode::Classic, 0b011, 0b001),
            (EcnMode::Classic, 0b001, 0b011),
            (EcnMode::Classic, 0, 0),
            (EcnMode::Off, 0b011, 0b001),
        ] {
            let enabled = mode == EcnMode::Classic;
            let mut end = side(mode);
            let agreed = end.on_syn(&syn(offer)) == Feedback::Classic;
            assert_eq!(agreed, enabled && offer == 0b011);
            assert_eq!(end.syn_bits(true).flags.has(Flags::ECE), agreed);
            let agreed = end.on_syn_ack(&syn(answer)) == Feedback::Classic;
            assert_eq!(agreed, enabled && answer == 0b001);
            assert_eq!(end.syn_bits(false).flags == SETUP, enabled);
        }
    }

    /// RFC 9768, table 2 and 3.1.3, from the side of the client and of the server.
    #[test]
    fn accurate_ecn_falls_back_as_the_table_says() {
        use Feedback::{Accurate, Classic, None};
        let client = [
            None, Classic, Accurate, Accurate, Accurate, Accurate, Accurate, None,
        ];
        let server = [
            None, Accurate, Accurate, Classic, Accurate, Accurate, Accurate, Accurate,
        ];
        for bits in 0..8 {
            let mut end = side(EcnMode::Accurate);
            assert_eq!(end.syn_bits(false), Bits::from(7));
            assert_eq!(end.on_syn_ack(&syn(bits)), client[usize::from(bits)]);
            let mut end = side(EcnMode::Accurate);
            assert_eq!(end.on_syn(&syn(bits)), server[usize::from(bits)]);
        }
        let mut old = side(EcnMode::Classic);
        old.on_syn(&syn(7));
        assert_eq!(old.syn_bits(true), Bits::from(1));
    }

    /// RFC 9331, 4.2: ECT(1) only with Accurate ECN.
    #[test]
    fn ect1_needs_accurate_ecn() {
        let config = EcnConfig {
            mode: EcnMode::Accurate,
            ect1: true,
            ..EcnConfig::default()
        };
        for (answer, codepoint) in [(0b010, Ecn::Ect1), (0b001, Ecn::Ect0), (0b100, Ecn::NotEct)] {
            let mut end = Negotiation::new(config);
            end.on_syn_ack(&syn(answer));
            assert_eq!(end.codepoint(), codepoint);
        }
    }

    #[test]
    fn syns_give_up_ecn_at_the_third_transmission() {
        let mut end = side(EcnMode::Accurate);
        let syns = [(); 4].map(|()| end.syn_bits(false));
        assert_eq!(syns, [7, 7, 0, 0].map(Bits::from));
        let mut end = side(EcnMode::Accurate);
        end.on_syn(&syn(7));
        let answers = [(); 2].map(|()| {
            let bits = end.syn_bits(true);
            (bits, end.option(12).is_some())
        });
        assert_eq!(answers, [(2.into(), true), (2.into(), false)]);
        assert_eq!(end.codepoint(), Ecn::Ect0);
        assert_eq!(end.syn_bits(true), Bits::default());
        assert_eq!(
            (end.codepoint(), end.agreed),
            (Ecn::NotEct, Feedback::Accurate)
        );
    }
}
