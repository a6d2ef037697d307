//! No recovery: each packet is one frame, sent once (Wong 1998, "without link layer recovery").

use super::frame::{Frame, FrameKind, Outcome};
use super::window::Sending;

/// Entity without sequence numbers and acknowledgments.
#[derive(Clone, Debug)]
pub struct Plain {
    pub(super) send: Sending,
}

impl Default for Plain {
    fn default() -> Self {
        Self {
            send: Sending::new(8, 1),
        }
    }
}

impl Plain {
    pub(super) fn poll_frame(&mut self, outcomes: &mut Vec<Outcome>) -> Option<Frame> {
        let number = self.send.pop_new()?;
        let item = self.send.item(number);
        self.send.release(number + 1, outcomes);
        Some(Frame {
            item,
            ..Frame::control(FrameKind::Unnumbered, 0, false)
        })
    }

    pub(super) fn receive(frame: &Frame, outcomes: &mut Vec<Outcome>) {
        if frame.kind == FrameKind::Unnumbered {
            outcomes.push(Outcome::Accepted(frame.item.token));
            outcomes.push(Outcome::Deliver(frame.item.token));
        }
    }
}
