//! Output of an endpoint: records for probes, counters for summaries.
//!
//! Every event is one [`Record`]. The counters are computed from records, so a trace and a summary
//! cannot disagree. Without tracing a record costs only the increment of its counter.

use crate::congestion::Metric;
use crate::limit::Limit;
use crate::maybe::Maybe;
use crate::reason::Reason;
use crate::seq::Offset;
use crate::time::{Instant, Interval};

/// An event at one end of a connection. Positions are stream offsets of data (the first byte is 0),
/// windows are in bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Record {
    /// A segment with data was sent.
    Sent {
        /// First byte.
        seq: Offset,
        /// Bytes of data; zero for a SYN or FIN without data.
        len: u32,
        /// Set if any of the data was sent before.
        retransmission: bool,
    },
    /// A segment without data was sent.
    AckSent,
    /// A dummy segment was sent; it does not count as data.
    DummySent,
    /// The peer acknowledged a dummy segment.
    DummyAcked,
    /// An acknowledgment arrived.
    Ack {
        /// First byte not acknowledged.
        ack: Offset,
        /// Window from `ack` on.
        window: u64,
    },
    /// A SACK block arrived that newly SACKs data.
    Sacked {
        /// First byte.
        left: Offset,
        /// Byte after the last.
        right: Offset,
    },
    /// A duplicate acknowledgment arrived.
    DupAck,
    /// The peer reported a duplicate (D-SACK).
    DuplicateReported,
    /// An RTT was measured, and the RTO was computed from it.
    Rtt {
        /// Sampled round-trip time.
        rtt: Interval,
        /// Retransmission time-out after the sample.
        rto: Interval,
    },
    /// State of the sender after an event changed it.
    State {
        /// cwnd with recovery's inflation.
        cwnd: u64,
        /// Slow-start threshold; `u64::MAX` is unlimited.
        ssthresh: u64,
        /// Estimate of the bytes in the network (pipe of RFC 6675).
        flight: u64,
        /// Smoothed RTT, zero before the first sample.
        srtt: Interval,
        /// Retransmission time-out in force.
        rto: Interval,
    },
    /// A metric of the congestion control ([`Algorithm::metrics`](crate::congestion::Algorithm))
    /// changed, or has its first value.
    Inner {
        /// Metric.
        metric: &'static Metric,
        /// Value in the metric's unit; `None` if it no longer has one.
        value: Option<f64>,
    },
    /// Change of the limit that keeps the sender from sending more. [`Limit::Timeout`] is recorded
    /// only when the timer expires, with the earlier time at which the wait began.
    Limited(Limit),
    /// Data arrived.
    Arrived {
        /// First byte.
        seq: Offset,
        /// Bytes of data.
        len: u32,
        /// Set if some of the data is new and was stored.
        fresh: bool,
        /// Set if all of the data had arrived before.
        duplicate: bool,
        /// Set if earlier data is missing.
        out_of_order: bool,
    },
    /// The retransmission timer expired again for the same segment.
    TimeoutRepeated,
    /// Bytes were delivered in order to the application.
    Delivered {
        /// Total.
        total: u64,
    },
    /// An event to be marked in a plot.
    Mark(Mark),
}

/// Events that plots mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Mark {
    /// The retransmission timer expired.
    Timeout,
    /// Duplicate ACKs or SACKs caused a retransmission.
    FastRetransmit,
    /// Recovery ended.
    Recovered,
    /// The handshake completed.
    Established,
    /// The connection ended.
    Closed,
    /// A window probe was sent.
    ZeroWindowProbe,
    /// A spurious window reduction was undone.
    Undo,
    /// A tail loss probe was sent (RFC 8985, 7).
    TailProbe,
    /// HyStart ended slow start because a train of ACKs was long.
    AckTrain,
    /// HyStart ended slow start because the delay increased.
    DelayIncrease,
    /// HyStart++ ended slow start after the rounds of conservative slow start.
    ConservativeSlowStart,
    /// SEARCH ended slow start because deliveries fell short.
    Search,
    /// Careful Resume jumped to its window: Unvalidated Phase (RFC 9959, 3.3).
    ResumeUnvalidated,
    /// Validating Phase of Careful Resume (RFC 9959, 3.4).
    ResumeValidating,
    /// Safe Retreat Phase of Careful Resume (RFC 9959, 3.5).
    ResumeSafeRetreat,
    /// Normal Phase after a jump of Careful Resume (RFC 9959, 3.6).
    ResumeNormal,
    /// Normal Phase of Careful Resume without a jump.
    ResumeRefused,
}

impl Mark {
    /// Marks in the order of their numbers.
    pub const ALL: [Self; 17] = [
        Self::Timeout,
        Self::FastRetransmit,
        Self::Recovered,
        Self::Established,
        Self::Closed,
        Self::ZeroWindowProbe,
        Self::Undo,
        Self::TailProbe,
        Self::AckTrain,
        Self::DelayIncrease,
        Self::ConservativeSlowStart,
        Self::Search,
        Self::ResumeUnvalidated,
        Self::ResumeValidating,
        Self::ResumeSafeRetreat,
        Self::ResumeNormal,
        Self::ResumeRefused,
    ];

    /// Name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::FastRetransmit => "fast_retransmit",
            Self::Recovered => "recovery_exit",
            Self::Established => "established",
            Self::Closed => "closed",
            Self::ZeroWindowProbe => "zero_window_probe",
            Self::Undo => "undo",
            Self::TailProbe => "tail_probe",
            Self::AckTrain => "slow_start_exit_ack_train",
            Self::DelayIncrease => "slow_start_exit_delay",
            Self::ConservativeSlowStart => "slow_start_exit_css",
            Self::Search => "slow_start_exit_search",
            Self::ResumeUnvalidated => "resume_unvalidated",
            Self::ResumeValidating => "resume_validating",
            Self::ResumeSafeRetreat => "resume_safe_retreat",
            Self::ResumeNormal => "resume_normal",
            Self::ResumeRefused => "resume_refused",
        }
    }
}

/// Counters of one end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Sent segments without data.
    pub acks_sent: u64,
    /// Segments received with new data that was kept.
    pub segments_fresh: u64,
    /// Segments with data sent, including retransmissions; without SYNs and FINs that carry no
    /// data.
    pub segments_sent: u64,
    /// Sent bytes of data, retransmissions included.
    pub bytes_sent: u64,
    /// Round-trip samples.
    pub rtt_samples: u64,
    /// Sum of the round-trip samples in nanoseconds.
    pub rtt_sum: u64,
    /// Least round-trip sample.
    pub rtt_min: Option<Interval>,
    /// Greatest round-trip sample.
    pub rtt_max: Interval,
    /// Sum over all RTT samples of the RTO after the sample, in nanoseconds.
    pub rto_sum: u64,
    /// Retransmissions among [`Self::segments_sent`].
    pub segments_retransmitted: u64,
    /// Bytes of data retransmitted.
    pub bytes_retransmitted: u64,
    /// Dummy segments sent; not included in the segments above.
    pub dummies_sent: u64,
    /// Dummy segments that the peer acknowledged.
    pub dummies_acked: u64,
    /// Duplicate acknowledgments received.
    pub dup_acks: u64,
    /// Duplicates that the peer reported (D-SACK, RFC 2883); these ACKs do not count as duplicate
    /// ACKs.
    pub dsacks: u64,
    /// Window reductions that were undone.
    pub undos: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Time-outs without newly acknowledged data since the previous one, so that their RTO was
    /// backed off; included in [`Self::timeouts`].
    pub timeouts_repeated: u64,
    /// Segments received whose data had all arrived before.
    pub segments_duplicate: u64,
    /// Segments received with data beyond a hole.
    pub segments_out_of_order: u64,
    /// Fast retransmits: recoveries that duplicate ACKs or SACK started.
    pub fast_retransmits: u64,
    /// Window probes sent.
    pub probes: u64,
    /// Tail loss probes sent (RFC 8985, 7).
    pub tail_probes: u64,
}

impl Stats {
    /// Adds the counters of another connection.
    pub fn add(&mut self, other: &Self) {
        self.segments_sent += other.segments_sent;
        self.segments_retransmitted += other.segments_retransmitted;
        self.bytes_sent += other.bytes_sent;
        self.bytes_retransmitted += other.bytes_retransmitted;
        self.acks_sent += other.acks_sent;
        self.dummies_sent += other.dummies_sent;
        self.dummies_acked += other.dummies_acked;
        self.dup_acks += other.dup_acks;
        self.dsacks += other.dsacks;
        self.undos += other.undos;
        self.timeouts += other.timeouts;
        self.timeouts_repeated += other.timeouts_repeated;
        self.segments_fresh += other.segments_fresh;
        self.segments_duplicate += other.segments_duplicate;
        self.segments_out_of_order += other.segments_out_of_order;
        self.fast_retransmits += other.fast_retransmits;
        self.probes += other.probes;
        self.tail_probes += other.tail_probes;
        self.rtt_samples += other.rtt_samples;
        self.rtt_sum += other.rtt_sum;
        self.rtt_min = self.rtt_min.into_iter().chain(other.rtt_min).min();
        self.rtt_max = self.rtt_max.max(other.rtt_max);
        self.rto_sum = self.rto_sum.saturating_add(other.rto_sum);
    }

    /// Counts the records that [`FrequentStats`] does not count.
    #[inline(always)] // each caller passes one kind of record, so that one increment remains
    fn fold(&mut self, record: &Record) {
        match *record {
            Record::Sent { len, .. } => {
                self.segments_retransmitted += 1;
                self.bytes_retransmitted += u64::from(len);
            }
            Record::DummySent => self.dummies_sent += 1,
            Record::DummyAcked => self.dummies_acked += 1,
            Record::DupAck => self.dup_acks += 1,
            Record::DuplicateReported => self.dsacks += 1,
            Record::Arrived {
                duplicate,
                out_of_order,
                ..
            } => {
                self.segments_duplicate += u64::from(duplicate);
                self.segments_out_of_order += u64::from(out_of_order);
            }
            Record::TimeoutRepeated => self.timeouts_repeated += 1,
            Record::Mark(Mark::Timeout) => self.timeouts += 1,
            Record::Mark(Mark::FastRetransmit) => self.fast_retransmits += 1,
            Record::Mark(Mark::ZeroWindowProbe) => self.probes += 1,
            Record::Mark(Mark::Undo) => self.undos += 1,
            Record::Mark(Mark::TailProbe) => self.tail_probes += 1,
            _ => {}
        }
    }
}

/// Counters of [`Stats`] that change without losses.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)] // keeps the fields that each segment needs together in memory
struct FrequentStats {
    acks_sent: u64,
    segments_fresh: u64,
    // These two counters are not adjacent. Otherwise the compiler would update both at once with
    // more instructions.
    segments_sent: u64,
    rtt_samples: u64,
    bytes_sent: u64,
    rtt_sum: u64,
    rtt_min: Maybe<Interval>,
    rtt_max: Interval,
    rto_sum: u64,
}

impl FrequentStats {
    /// Counts the record; returns whether [`Stats::fold`] has to process it too.
    #[inline(always)] // like `Stats::fold`
    fn fold(&mut self, record: &Record) -> bool {
        match *record {
            Record::Sent {
                len: len @ 1..,
                retransmission,
                ..
            } => {
                self.segments_sent += 1;
                self.bytes_sent += u64::from(len);
                retransmission
            }
            Record::AckSent => {
                self.acks_sent += 1;
                false
            }
            Record::Rtt { rtt, rto } => {
                self.rtt_samples += 1;
                self.rtt_sum += rtt.as_nanos();
                self.rtt_min = Maybe::some(self.rtt_min.get().map_or(rtt, |m| m.min(rtt)));
                self.rtt_max = self.rtt_max.max(rtt);
                self.rto_sum = self.rto_sum.saturating_add(rto.as_nanos());
                false
            }
            Record::Arrived {
                fresh,
                duplicate,
                out_of_order,
                ..
            } => {
                self.segments_fresh += u64::from(fresh);
                duplicate || out_of_order
            }
            Record::DummySent
            | Record::DummyAcked
            | Record::DupAck
            | Record::DuplicateReported
            | Record::TimeoutRepeated
            | Record::Mark(
                Mark::Timeout
                | Mark::FastRetransmit
                | Mark::ZeroWindowProbe
                | Mark::Undo
                | Mark::TailProbe,
            ) => true,
            Record::Sent { len: 0, .. }
            | Record::Ack { .. }
            | Record::Sacked { .. }
            | Record::State { .. }
            | Record::Inner { .. }
            | Record::Limited(_)
            | Record::Delivered { .. }
            | Record::Mark(
                Mark::Recovered
                | Mark::Established
                | Mark::Closed
                | Mark::AckTrain
                | Mark::DelayIncrease
                | Mark::ConservativeSlowStart
                | Mark::Search
                | Mark::ResumeUnvalidated
                | Mark::ResumeValidating
                | Mark::ResumeSafeRetreat
                | Mark::ResumeNormal
                | Mark::ResumeRefused,
            ) => false,
        }
    }
}

/// Sink of records.
#[derive(Debug, Default)]
#[repr(C)] // keeps the fields that each segment needs together in memory
pub(crate) struct Recorder {
    trace: Option<Box<Trace>>,
    often: FrequentStats,
    /// Other counters, allocated when the first of them changes. Fields that `often` counts stay
    /// zero here.
    rare: Option<Box<Stats>>,
}

/// Records that the caller has not drained yet.
#[derive(Debug, Default)]
struct Trace {
    records: Vec<(Instant, Record)>,
    /// Last recorded metrics of the congestion control.
    inner: Vec<Option<f64>>,
    /// Reason of the segment sent last, and whether some of its data was sent before.
    reason: (Reason, bool),
    /// Reason of the next retransmission of a segment that is marked lost.
    sign: Reason,
}

impl Recorder {
    /// Prefetches the memory of the next record.
    #[inline]
    pub(crate) fn prefetch(&self) {
        farlink_prefetch::boxed(&self.rare);
    }

    /// Returns whether records are kept. If not, callers can skip values that are costly to
    /// compute.
    #[inline]
    pub(crate) fn on(&self) -> bool {
        self.trace.is_some()
    }

    pub(crate) fn set(&mut self, on: bool) {
        self.trace = on.then(Box::default);
    }

    /// Returns all counters.
    #[inline]
    pub(crate) fn stats(&self) -> Stats {
        let FrequentStats {
            acks_sent,
            segments_fresh,
            segments_sent,
            bytes_sent,
            rtt_samples,
            rtt_sum,
            rtt_min,
            rtt_max,
            rto_sum,
        } = self.often;
        Stats {
            acks_sent,
            segments_fresh,
            segments_sent,
            bytes_sent,
            rtt_samples,
            rtt_sum,
            rtt_min: rtt_min.get(),
            rtt_max,
            rto_sum,
            ..self.rare.as_deref().copied().unwrap_or_default()
        }
    }

    /// Returns [`Stats::segments_fresh`].
    #[inline]
    pub(crate) fn segments_fresh(&self) -> u64 {
        self.often.segments_fresh
    }

    /// Returns [`Stats::rtt_min`].
    pub(crate) fn rtt_min(&self) -> Option<Interval> {
        self.often.rtt_min.get()
    }

    /// Counts new data that arrived in order, for which there is no record.
    #[inline(always)] // one increment
    pub(crate) fn count_fresh(&mut self) {
        self.often.segments_fresh += 1;
    }

    #[inline(always)] // like `fold`
    pub(crate) fn emit(&mut self, now: Instant, record: Record) {
        if self.often.fold(&record) {
            self.rare.get_or_insert_default().fold(&record);
        }
        if self.trace.is_some() {
            self.keep(now, record);
        }
    }

    /// Records a mark that is a sign of a loss, for which segments marked lost are sent again.
    pub(crate) fn loss(&mut self, now: Instant, mark: Mark, sign: Reason) {
        self.emit(now, Record::Mark(mark));
        self.sign(sign);
    }

    /// Notes a sign of a loss, for which segments marked lost are sent again.
    pub(crate) fn sign(&mut self, sign: Reason) {
        if let Some(trace) = &mut self.trace {
            trace.sign = sign;
        }
    }

    /// Returns the sign for which the next segment that is marked lost is sent again. `sacking` is
    /// set if further holes are found by SACK.
    pub(crate) fn pop_sign(&mut self, sacking: bool) -> Reason {
        let Some(trace) = &mut self.trace else {
            return Reason::default();
        };
        let sign = trace.sign;
        trace.sign = sign.next(sacking);
        sign
    }

    /// Stores the reason of the segment being sent; `again` is set for a retransmission.
    pub(crate) fn explain(&mut self, reason: Reason, again: bool) {
        if let Some(trace) = &mut self.trace {
            trace.reason = (reason, again);
        }
    }

    /// Returns the reason of the segment sent last, and whether some of its data was sent before.
    pub(crate) fn explanation(&self) -> (Reason, bool) {
        let trace = self.trace.as_ref();
        trace.map_or_else(Default::default, |trace| trace.reason)
    }

    #[cold]
    fn keep(&mut self, now: Instant, record: Record) {
        if let Some(trace) = &mut self.trace {
            trace.records.push((now, record));
        }
    }

    /// Records the metrics of the congestion control that have changed.
    #[cold]
    pub(crate) fn inner(
        &mut self,
        now: Instant,
        metrics: impl Iterator<Item = (&'static Metric, Option<f64>)>,
    ) {
        let Some(Trace { records, inner, .. }) = self.trace.as_deref_mut() else {
            return;
        };
        for (i, (metric, value)) in metrics.enumerate() {
            if inner.len() <= i {
                inner.push(None);
            }
            if inner[i] != value {
                inner[i] = value;
                records.push((now, Record::Inner { metric, value }));
            }
        }
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (Instant, Record)> + '_ {
        self.trace.iter_mut().flat_map(|t| t.records.drain(..))
    }
}
