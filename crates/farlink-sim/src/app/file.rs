//! File transfer from one end to the other, optionally with a file in the reverse direction at the
//! same time.

use super::command::{AppEvent, Command, Side};

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

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn share(&self, received: u64) -> f64 {
        received as f64 / self.size.max(1) as f64
    }

    pub(super) fn start(&self, commands: &mut Vec<Command>) {
        commands.push(Command::Await(Side::To, self.size));
        if self.reverse() {
            commands.push(Command::Await(Side::From, self.reverse));
        }
    }

    pub(super) fn on_event(&self, side: Side, event: AppEvent, commands: &mut Vec<Command>) {
        match (event, side) {
            (AppEvent::Established, Side::From) => {
                commands.push(Command::Write(side, self.size));
                commands.push(if self.reverse() {
                    Command::Close(side)
                } else {
                    Command::Leave(side)
                });
            }
            // The receiving end closes after its peer, unless it sends a file too.
            (AppEvent::Established, Side::To) if self.reverse() => {
                commands.extend([Command::Write(side, self.reverse), Command::Close(side)]);
            }
            (AppEvent::Received(_), _) => commands.push(Command::Complete(side)),
            (AppEvent::PeerClosed, _) => commands.push(Command::Close(side)),
            (AppEvent::Closed(_), _) => commands.push(Command::Fail),
            _ => {}
        }
    }
}
