//! Application of an end: the streams of a file, and a dialog.

use crate::dialog::{Dialog, Exchange};
use crate::streams::{Incoming, Outgoing};
use quinn_proto::{Connection, Dir, Event, StreamEvent, StreamId};

/// Application of an end: the data that the end writes and reads.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) outgoing: Outgoing,
    pub(crate) incoming: Incoming,
    pub(crate) dialog: Dialog,
}

impl App {
    /// Handles an event of the connection.
    pub(crate) fn on_event(&mut self, connection: &mut Connection, event: &Event) {
        match *event {
            Event::Connected => {
                self.dialog.push(Exchange::Connected);
                self.write(connection);
            }
            Event::Stream(StreamEvent::Writable { .. } | StreamEvent::Available { .. }) => {
                self.write(connection);
            }
            Event::Stream(StreamEvent::Opened { dir }) => {
                while let Some(id) = connection.streams().accept(dir) {
                    self.read(connection, id);
                }
            }
            Event::Stream(StreamEvent::Readable { id }) => self.read(connection, id),
            Event::Stream(StreamEvent::Finished { id }) => self.outgoing.on_acknowledged(id),
            _ => {}
        }
    }

    fn write(&mut self, connection: &mut Connection) {
        self.outgoing.write(connection);
        self.dialog.write(connection);
    }

    fn read(&mut self, connection: &mut Connection, id: StreamId) {
        let has_ended = self.incoming.read(connection, id);
        if has_ended && id.dir() == Dir::Bi {
            let number = id.index();
            self.dialog.push(if connection.side().is_client() {
                Exchange::Answer(number)
            } else {
                Exchange::Request(number)
            });
        }
    }
}
