//! State of the two ends of a connection: SYNs, FINs and the far end's last ACK.

use farlink_tcp::{Flags, Instant, Options, Segment, Seq};

/// SYNs that passed.
#[derive(Debug)]
pub(super) struct Handshake {
    /// Number and options of the sender's SYN.
    pub(super) near: Option<(Seq, Options)>,
    /// Options of the far end's SYN.
    pub(super) far: Option<Options>,
    /// Set once the sender has sent more than its SYN.
    pub(super) established: bool,
    /// Time of the sender's SYN; `None` once the SYN was repeated (Karn's algorithm).
    pub(super) syn_at: Option<Instant>,
}

impl Handshake {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            near: None,
            far: None,
            established: false,
            syn_at: Some(now),
        }
    }

    /// Returns whether the SYNs of both ends have passed.
    pub(super) fn is_complete(&self) -> bool {
        self.near.is_some() && self.far.is_some()
    }

    /// Returns an option that both ends have sent in their SYN.
    pub(super) fn agreed<T>(&self, of: impl Fn(&Options) -> Option<T>) -> Option<T> {
        of(&self.near.as_ref()?.1)?;
        of(self.far.as_ref()?)
    }

    /// Returns the scale of the far end's window, at most 14 (RFC 7323, 2.3).
    pub(super) fn shift(&self) -> u8 {
        self.agreed(|o| o.window_scale).unwrap_or(0).min(14)
    }

    /// Returns the MSS of the far end (RFC 9293, 3.7.1: 536 bytes without the option).
    pub(super) fn far_mss(&self) -> u64 {
        let mss = self.far.as_ref().and_then(|far| far.mss);
        u64::from(mss.unwrap_or(536))
    }
}

/// State of the far end, taken from its segments.
#[derive(Debug)]
pub(super) struct FarEnd {
    /// Next sequence number of the far end.
    pub(super) next: Seq,
    /// Last timestamp value of the far end.
    pub(super) clock: u32,
    /// Receive window, in bytes.
    pub(super) window: u64,
    /// ECN flags of the far end's ACKs.
    pub(super) marks: Flags,
    /// Time of the last ACK of new data.
    pub(super) moved: Instant,
}

impl FarEnd {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            next: Seq::default(),
            clock: 0,
            window: 0,
            marks: Flags::default(),
            moved: now,
        }
    }

    /// Stores the timestamp of a segment.
    pub(super) fn set_clock(&mut self, segment: &Segment) {
        if let Some(stamps) = segment.options.timestamps {
            self.clock = stamps.value;
        }
    }
}

/// FINs of the far end (0) and of the sender (1).
#[derive(Default, Debug)]
pub(super) struct Fins {
    /// Sequence number after the FIN of each end.
    end: [Option<Seq>; 2],
    acknowledged: [bool; 2],
}

impl Fins {
    /// Records the FIN of a segment of an end.
    pub(super) fn on_segment(&mut self, from: usize, segment: &Segment) {
        if segment.flags.has(Flags::FIN) {
            self.end[from] = Some(segment.seq.at(u64::from(segment.seq_len())));
        }
        if segment.flags.has(Flags::ACK)
            && let Some(fin) = self.end[1 - from]
        {
            self.acknowledged[1 - from] |= segment.ack.diff(fin) >= 0;
        }
    }

    /// Returns whether both FINs are acknowledged.
    pub(super) fn are_acknowledged(&self) -> bool {
        self.acknowledged == [true; 2]
    }
}
