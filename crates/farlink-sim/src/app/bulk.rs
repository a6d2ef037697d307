//! Bulk transfer: data without end, until the flow is stopped.

use super::command::{AppEvent, Command, ENDLESS, Side};

/// A transfer without end.
#[derive(Debug)]
pub(crate) struct Bulk;

impl Bulk {
    pub(super) fn on_event(side: Side, event: AppEvent, commands: &mut Vec<Command>) {
        match (event, side) {
            (AppEvent::Established, Side::From) => commands.push(Command::Write(side, ENDLESS)),
            (AppEvent::PeerClosed, _) => commands.push(Command::Close(side)),
            (AppEvent::Closed(_), _) => commands.push(Command::Fail),
            _ => {}
        }
    }
}
