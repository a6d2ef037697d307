//! Notices from the network: losses with their cause, bad link states, path MTU, partial and
//! negative acknowledgments.

use super::{Connection, State};
use crate::config::{Eln, PartialAck};
use crate::ip::IpVersion;
use crate::notice::{LossCause, Notice};
use crate::reason::Reason;
use crate::segment::{Flags, Segment, TCP_HEADER_LEN, TIMESTAMPS_LEN};
use crate::time::Instant;

impl Connection {
    /// Notes that `segment` of the peer was lost for `cause`. Only [`Eln::Oracle`] uses this. ACKs
    /// of later arrivals then carry the ELN mark.
    pub fn on_loss_notice(&mut self, segment: &Segment, cause: LossCause) {
        self.idle = false;
        if self.config().notices.eln == Eln::Oracle {
            self.note_lost(segment, cause);
        }
    }

    /// Processes a segment with a failed checksum. With [`Eln::Checksum`], and if its header is
    /// plausible, an ELN-marked ACK requests it at once. Plausible means expected ports and flags,
    /// and a place in the window (west1997, 2.3.3), because the checksum of IPv4 does not cover
    /// these. Returns whether an ACK was requested.
    pub fn on_damaged(&mut self, segment: &Segment) -> bool {
        self.idle = false;
        let plausible = segment.src_port == self.remote_port
            && segment.dst_port == self.local_port
            && segment.flags.has(Flags::ACK)
            && !segment.flags.has(Flags::RST);
        let requested = self.config().notices.eln == Eln::Checksum
            && plausible
            && self.note_lost(segment, LossCause::Corruption);
        if requested {
            self.rx.acknowledge_now(Reason::Damaged);
        }
        requested
    }

    /// Returns whether [`Self::on_loss_notice`] has any effect.
    #[inline]
    pub fn uses_loss_notices(&self) -> bool {
        self.config().notices.eln == Eln::Oracle
    }

    /// Processes a notice of a node on the path. Returns whether the notice was valid and had an
    /// effect.
    pub fn on_notice(&mut self, now: Instant, notice: Notice) -> bool {
        self.idle = false;
        match notice {
            Notice::BadState { seq } => {
                let (una, max) = (self.tx.flight.board.una(), self.tx.flight.board.max());
                let out = seq
                    .offset(self.tx.isn, una)
                    .is_some_and(|at| at >= una && at < max);
                let taken = self.config().notices.ebsn && out && self.tx.flight.timer_runs();
                if taken {
                    self.tx.flight.restart_timer(now);
                }
                taken
            }
        }
    }

    /// Processes a path MTU: `mtu` is the longest IP packet in bytes that the next link of a node
    /// accepts (ICMP "fragmentation needed", RFC 1191, 4; ICMPv6 "packet too big", RFC 4443, 3.2).
    /// Lowers the MSS and splits longer segments for retransmission. The congestion window stays,
    /// because a low MTU is no sign of a full path (RFC 1191, 6.5; RFC 8201, 5.4). Returns whether
    /// the MSS fell. An MTU below IP's minimum is ignored (RFC 791, 3.2; RFC 8201, 4). `extra` is
    /// the number of bytes of options that are added to segments later, such as those of a
    /// connection over several paths.
    pub fn on_path_mtu(&mut self, mtu: u32, ip: IpVersion, extra: u32) -> bool {
        self.idle = false;
        let options = if self.agreed.timestamps {
            TIMESTAMPS_LEN
        } else {
            0
        };
        let reserved = self.clocks.ack_rate.reserved();
        let headers = ip.header_len() + TCP_HEADER_LEN + options + reserved + extra;
        let mss = mtu.saturating_sub(headers).max(1);
        let lower = mtu >= ip.least_mtu() && mss < self.tx.flight.mss;
        if lower {
            self.tx.flight.mss = mss;
            self.tx.resends = Some(Reason::Resend);
            if self.tx.flight.board.split(mss) {
                // A part of a split segment may have been sent only once, so its time is no RTT
                // sample.
                self.tx
                    .flight
                    .exclude_rtt_samples(self.tx.flight.board.max());
            }
        }
        lower
    }

    /// Marks the range of a lost segment as damaged, or clears the mark if congestion lost it.
    /// Returns whether the range is now missing because of corruption.
    fn note_lost(&mut self, segment: &Segment, cause: LossCause) -> bool {
        let open = matches!(
            self.state(),
            State::Established | State::FinWait1 | State::FinWait2
        );
        let space = u64::from(segment.seq_len());
        if !open || space == 0 || segment.flags.has(Flags::SYN) {
            return false;
        }
        let Some(start) = self.rx.offset(segment.seq) else {
            return false;
        };
        match cause {
            LossCause::Corruption => self.rx.note_damaged(start, start + space),
            LossCause::Congestion => {
                self.rx.clear_damage(start, start + space);
                false
            }
        }
    }

    /// Processes a negative acknowledgment: retransmits at once the ranges that its blocks name as
    /// missing at the base station. Nothing else changes.
    pub(super) fn process_nack(&mut self, now: Instant, segment: &Segment) {
        let (isn, una) = (self.tx.isn, self.tx.flight.board.una());
        let mut resent = false;
        for block in segment.options.sack.as_slice() {
            let (Some(left), Some(right)) =
                (block.left.offset(isn, una), block.right.offset(isn, una))
            else {
                continue;
            };
            // Skips a range that is already acknowledged or was never sent.
            if right <= una || left >= right || right > self.tx.flight.board.max() {
                continue;
            }
            let flight = &mut self.tx.flight;
            let missed = (left.max(una), right);
            resent |= flight.on_missing(now, missed, &mut self.recorder);
        }
        if resent {
            self.record_state(now);
        }
    }

    /// Processes a partial acknowledgment: the base station has all data before its number
    /// (west1997, 3.4). Only the retransmission timer changes.
    pub(super) fn process_partial_ack(&mut self, now: Instant, segment: &Segment, how: PartialAck) {
        let (una, max) = (self.tx.flight.board.una(), self.tx.flight.board.max());
        let ack = segment.ack.offset(self.tx.isn, una);
        let Some(ack) = ack.filter(|&ack| ack > una && ack <= max) else {
            return;
        };
        if self.config().notices.ackp_karn {
            self.tx.flight.exclude_rtt_samples(ack);
        }
        self.tx.flight.partial_ack(now, how);
    }
}
