//! No recovery: each packet is a frame that is sent once (Wong 1998, "without
//! link layer recovery").

use super::window::Sending;
use super::{Act, Frame, FrameKind};

/// An end that neither numbers nor acknowledges.
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
    pub(super) fn poll_frame(&mut self, acts: &mut Vec<Act>) -> Option<Frame> {
        let number = self.send.take_new()?;
        let item = self.send.item(number);
        self.send.release(number + 1, acts);
        Some(Frame {
            item,
            ..Frame::control(FrameKind::Unnumbered, 0, false)
        })
    }

    pub(super) fn receive(frame: &Frame, acts: &mut Vec<Act>) {
        if frame.kind == FrameKind::Unnumbered {
            acts.push(Act::Accepted(frame.item.token));
            acts.push(Act::Deliver(frame.item.token));
        }
    }
}
