//! Segments that leave ahead of the usual order: tail loss probes, and the new segments of F-RTO.

use super::{BlockedOn, Choice, Chunk, Sender};
use crate::reason::Reason;

impl Sender {
    /// Returns the next new segment if all of it fits the peer's window. The congestion window is
    /// ignored.
    pub(crate) fn unsent_segment(&self) -> Option<Chunk> {
        let max = self.flight.board.max();
        let len = u64::from(self.flight.mss).min(self.buffer.end().saturating_sub(max));
        let usable = self.flight.assumed_edge().saturating_sub(max);
        (len > 0 && len <= usable).then(|| self.fresh(len as u32, false))?
    }

    /// Returns the due tail loss probe: new data, or else the last segment again. It ignores
    /// congestion window and pacing (RFC 8985, 7.3).
    #[inline]
    pub(super) fn tail_probe(&self) -> Option<Choice> {
        if !self.recovery.rack()?.probe_due() {
            return None;
        }
        let fresh = self.unsent_segment().map(|chunk| (chunk, None));
        let probe = fresh.or_else(|| {
            let (i, sent) = self.flight.board.last()?;
            Some((self.again(sent), Some(i)))
        });
        probe.map(|(chunk, index)| (chunk.because(Reason::TailProbe), index))
    }

    /// Chooses up to two new segments and no retransmission while F-RTO awaits its second ACK (RFC
    /// 5682, step 2b).
    #[inline]
    pub(super) fn frto_choice(&mut self) -> Option<Result<Choice, BlockedOn>> {
        if !self.frto.blocks_retransmission() {
            return None;
        }
        if self.frto.needs_new_data() {
            if let Some(chunk) = self.unsent_segment() {
                return Some(Ok((chunk.because(Reason::Frto), None)));
            }
            self.frto.cannot_send();
        }
        self.frto
            .blocks_retransmission()
            .then_some(Err(BlockedOn::Cwnd))
    }
}
