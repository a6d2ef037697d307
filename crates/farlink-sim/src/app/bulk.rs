//! As much as goes through, until the flow is stopped.

use super::{Act, ENDLESS, Side, Told};

/// A transfer without end.
#[derive(Debug)]
pub(crate) struct Bulk;

impl Bulk {
    pub(super) fn told(side: Side, what: Told, acts: &mut Vec<Act>) {
        match (what, side) {
            (Told::Established, Side::From) => acts.push(Act::Write(side, ENDLESS)),
            (Told::PeerClosed, _) => acts.push(Act::Close(side)),
            (Told::Closed(_), _) => acts.push(Act::Fail),
            _ => {}
        }
    }
}
