//! What waits to be sent, and to be acknowledged.

use crate::segment::Body;
use crate::seq::Offset;
use std::collections::VecDeque;

/// Data that the application wrote and the peer has not acknowledged.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    /// Position after the last byte written.
    pub(super) end: Offset,
    /// The bytes from `first` on, when the application writes bytes.
    pub(super) bytes: VecDeque<u8>,
    first: Offset,
    /// Whether the application said that there will be no more.
    closed: bool,
}

impl SendBuffer {
    pub(super) fn new() -> Self {
        Self {
            end: 1,
            bytes: VecDeque::new(),
            first: 1,
            closed: false,
        }
    }

    /// Position after the last byte written.
    #[inline]
    pub(crate) fn end(&self) -> Offset {
        self.end
    }

    /// Position of the FIN, once the application has closed.
    #[inline]
    pub(crate) fn fin(&self) -> Option<Offset> {
        self.closed.then_some(self.end)
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// Whether the application writes bytes and some of them are here.
    pub(crate) fn holds_bytes(&self) -> bool {
        !self.bytes.is_empty()
    }

    pub(super) fn room(&self, limit: u64, una: Offset) -> u64 {
        if self.closed {
            0
        } else {
            limit.saturating_sub(self.end - una.clamp(1, self.end))
        }
    }

    pub(crate) fn body(&self, start: Offset, len: u32) -> Body {
        if self.bytes.is_empty() {
            return Body::of_len(len);
        }
        let from = (start - self.first) as usize;
        let (a, b) = self.bytes.as_slices();
        let to = from + len as usize;
        if to <= a.len() {
            Body::of_bytes(&a[from..to])
        } else if from >= a.len() {
            Body::of_bytes(&b[from - a.len()..to - a.len()])
        } else {
            Body::of_bytes(&[&a[from..], &b[..to - a.len()]].concat())
        }
    }

    pub(super) fn release(&mut self, una: Offset) {
        if !self.bytes.is_empty() {
            let n = (una.min(self.end) - self.first.min(una)) as usize;
            self.bytes.drain(..n);
            self.first += n as u64;
        }
    }
}
