//! Fast paths of the scoreboard, for speed alone. They apply while nothing is lost or SACKed and no
//! observer needs each segment.
//!
//! Both functions equal [`Scoreboard::sent`] and [`Scoreboard::acknowledge_any`].
//! `fast_paths_equal_the_general_paths` in `tests/faults.rs` compares the results to the bit.

use super::{Acked, EVER_RETX, Scoreboard, Sent};
use crate::seq::Offset;
use crate::time::Instant;

impl Scoreboard {
    /// Records a sent segment where no observer needs each segment.
    #[inline(always)] // called for each segment of a stream
    pub(crate) fn fast_sent(&mut self, len: u32, now: Instant) {
        debug_assert!(
            self.rate.is_none() && self.order.is_none(),
            "an observer needs each segment"
        );
        self.segments.push_back(Sent {
            start: self.max,
            len,
            state: 0,
            at: now,
        });
        self.max += u64::from(len);
    }

    /// Acknowledges data where nothing is lost or SACKed and no observer needs each segment.
    #[inline(always)] // like `acknowledge`
    pub(super) fn fast_acknowledge(&mut self, to: Offset) -> Acked {
        let mut state = 0;
        let mut latest = None;
        while let Some(s) = self.segments.front_mut() {
            if s.start >= to {
                break;
            }
            state |= s.state;
            if s.end() > to {
                s.len = (s.end() - to) as u32;
                s.start = to;
                break;
            }
            latest = Some(s.at);
            self.segments.drop_front();
            self.first += 1;
        }
        let len = to - self.una;
        self.una = to;
        self.scanned_to = self.scanned_to.max(self.first);
        self.next_retransmission = self.next_retransmission.max(self.first);
        Acked {
            len,
            latest,
            sample_from: latest.filter(|_| state & EVER_RETX == 0),
        }
    }
}
