//! Data written by the application and not yet acknowledged.

use crate::segment::Body;
use crate::seq::Offset;
use std::collections::VecDeque;

/// Reason why a write was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteError {
    /// The connection has ended, or the application has closed it.
    Closed,
    /// Bytes were written after lengths, or lengths after bytes.
    Mixed,
}

impl std::fmt::Display for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Closed => "the connection has ended, or was closed for writing",
            Self::Mixed => "bytes were written after lengths, or lengths after bytes",
        })
    }
}

impl std::error::Error for WriteError {}

/// Data that the application wrote and the peer has not acknowledged.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    /// Position after the last byte written.
    end: Offset,
    /// Contents, if the application writes bytes instead of lengths.
    written: Option<Box<Written>>,
    /// Set if the application writes bytes; `None` before the first write.
    by_bytes: Option<bool>,
    /// Set if the application has closed the stream.
    closed: bool,
}

/// Bytes that are not yet acknowledged.
#[derive(Debug)]
struct Written {
    /// Position of the first byte in `bytes`.
    first: Offset,
    bytes: VecDeque<u8>,
}

impl Written {
    fn new() -> Self {
        Self {
            first: 1,
            bytes: VecDeque::new(),
        }
    }

    #[inline(never)]
    fn body(&self, start: Offset, len: u32) -> Body {
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
}

impl SendBuffer {
    pub(super) fn new() -> Self {
        Self {
            end: 1,
            written: None,
            by_bytes: None,
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

    /// Returns whether the buffer contains bytes, not only lengths.
    #[inline]
    pub(crate) fn holds_bytes(&self) -> bool {
        self.written
            .as_ref()
            .is_some_and(|written| !written.bytes.is_empty())
    }

    /// Queues bytes; the caller has checked the room.
    pub(super) fn write(&mut self, data: &[u8]) -> Result<(), WriteError> {
        self.check_kind(!data.is_empty(), true)?;
        let none = || Box::new(Written::new());
        self.written.get_or_insert_with(none).bytes.extend(data);
        self.end += data.len() as u64;
        Ok(())
    }

    /// Queues `len` bytes without contents.
    pub(super) fn write_len(&mut self, len: u64) -> Result<(), WriteError> {
        self.check_kind(len > 0, false)?;
        self.end += len;
        Ok(())
    }

    /// Checks a write: the first one decides between bytes and lengths.
    fn check_kind(&mut self, any: bool, bytes: bool) -> Result<(), WriteError> {
        if self.by_bytes.is_some_and(|before| before != bytes) {
            return Err(WriteError::Mixed);
        }
        if any {
            self.by_bytes = Some(bytes);
        }
        Ok(())
    }

    pub(super) fn room(&self, limit: u64, una: Offset) -> u64 {
        if self.closed {
            0
        } else {
            limit.saturating_sub(self.end - una.clamp(1, self.end))
        }
    }

    #[inline(always)] // Its caller is inlined as well.
    pub(crate) fn body(&self, start: Offset, len: u32) -> Body {
        match &self.written {
            Some(written) if !written.bytes.is_empty() => written.body(start, len),
            _ => Body::of_len(len),
        }
    }

    #[inline(always)] // Called for each ACK, nearly always without stored bytes.
    pub(super) fn release(&mut self, una: Offset) {
        if self.written.is_some() {
            self.release_written(una);
        }
    }

    #[inline(never)]
    fn release_written(&mut self, una: Offset) {
        if let Some(written) = &mut self.written
            && !written.bytes.is_empty()
        {
            let n = (una.min(self.end) - written.first.min(una)) as usize;
            written.bytes.drain(..n);
            written.first += n as u64;
        }
    }
}
