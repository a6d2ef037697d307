//! Flows: two endpoints and the application that uses them.

use farlink_tcp::{CloseReason, Connection, Instant, Interval, Seq};

/// More than any run carries: an application that never runs dry.
pub(crate) const ENDLESS: u64 = 1 << 60;

/// One end of a flow.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) conn: Connection,
    /// Node that it is on.
    pub(crate) node: u32,
    isn: Seq,
    /// Time of the timer event that counts; others are stale.
    pub(crate) scheduled: Instant,
    /// Whether it takes part: between start and stop.
    pub(crate) live: bool,
    /// Bytes that its application writes once connected.
    pub(crate) sends: u64,
    /// It does not close before its peer does.
    pub(crate) waits_to_close: bool,
    /// Bytes that its application waits for; `u64::MAX` when none in particular.
    pub(crate) expects: u64,
    /// Bytes received in order.
    pub(crate) received: u64,
    /// When all that it waits for was there.
    pub(crate) complete_at: Option<Instant>,
    /// How its connection ended.
    pub(crate) closed: Option<CloseReason>,
}

impl End {
    pub(crate) fn new(conn: Connection, node: u32, isn: Seq) -> Self {
        Self {
            conn,
            node,
            isn,
            scheduled: Instant::MAX,
            live: false,
            sends: 0,
            waits_to_close: false,
            expects: u64::MAX,
            received: 0,
            complete_at: None,
            closed: None,
        }
    }

    /// Where a sequence number of this end's lies in its stream of data.
    pub(crate) fn stream_offset(&self, seq: Seq) -> Option<u64> {
        seq.offset(self.isn, self.conn.snd_una())?.checked_sub(1)
    }
}

/// A flow as a whole.
#[derive(Debug)]
pub(crate) struct FlowState {
    /// The end that data comes from sends the SYN.
    pub(crate) sender_opens: bool,
    /// Stops so long after its start, done or not.
    pub(crate) stops_after: Option<Interval>,
    /// When the SYN left.
    pub(crate) opened_at: Instant,
    /// Ends that still wait for data; 0 is done.
    pub(crate) missing: u8,
    /// When its measurement ended.
    pub(crate) done_at: Option<Instant>,
    /// Its connection ended before all was delivered.
    pub(crate) failed: bool,
}
