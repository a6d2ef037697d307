//! Requests of the peer's ACK rate, and the response to them ([`crate::ack_rate`]).

use super::Connection;
use crate::ack_rate::AckRateOption;
use crate::reason::Reason;
use crate::segment::{Options, Segment};
use crate::seq::Offset;

impl Connection {
    /// Adds a request to a segment with data up to `end`, if one is due.
    #[cold]
    #[inline(never)]
    pub(super) fn request_ack_rate(&mut self, end: Offset, options: &mut Options, most: u32) {
        let una = self.tx.flight.board.una();
        let request = self.clocks.ack_rate.request(una, end);
        if let Some(request) = request
            && options.wire_len() + request.wire_len() <= most
        {
            options.ack_rate = Some(request);
        }
    }

    /// Follows the request of a segment with data.
    #[cold]
    #[inline(never)]
    pub(super) fn follow_ack_rate(&mut self, option: AckRateOption, segment: &Segment) {
        if !self.clocks.ack_rate.follows() || segment.body.is_empty() {
            return;
        }
        match option {
            AckRateOption::Capable => {}
            AckRateOption::Every(0) => self.rx.acknowledge_now(Reason::EverySegment),
            AckRateOption::Every(every) => self.rx.set_ack_every(every.into()),
        }
    }
}
