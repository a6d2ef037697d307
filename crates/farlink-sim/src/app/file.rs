//! A file from one end to the other, and one the other way at the same time.

use super::{Act, Side, Told};

/// A file transfer.
#[derive(Debug)]
pub(crate) struct File {
    size: u64,
    reverse: u64,
}

impl File {
    pub(super) fn new(size: u64, reverse: u64) -> Self {
        Self { size, reverse }
    }

    pub(super) fn reverse(&self) -> bool {
        self.reverse > 0
    }

    pub(super) fn share(&self, received: u64) -> f64 {
        received as f64 / self.size.max(1) as f64
    }

    pub(super) fn start(&self, acts: &mut Vec<Act>) {
        acts.push(Act::Await(Side::To, self.size));
        if self.reverse() {
            acts.push(Act::Await(Side::From, self.reverse));
        }
    }

    pub(super) fn told(&self, side: Side, what: Told, acts: &mut Vec<Act>) {
        match (what, side) {
            (Told::Established, Side::From) => {
                acts.extend([Act::Write(side, self.size), Act::Close(side)]);
            }
            // The side that only receives closes when its peer has.
            (Told::Established, Side::To) if self.reverse() => {
                acts.extend([Act::Write(side, self.reverse), Act::Close(side)]);
            }
            (Told::Received(_), _) => acts.push(Act::Complete(side)),
            (Told::PeerClosed, _) => acts.push(Act::Close(side)),
            (Told::Closed(_), _) => acts.push(Act::Fail),
            _ => {}
        }
    }
}
