//! Header compression in the world: packets are handed to a link as short as they
//! go over it, and get their headers back at its far end.

use crate::world::World;
use farlink_net::LinkId;
use farlink_net::channel::DropCause;
use farlink_net::header_compression::{Compression, Restored};
use farlink_net::rfc1144::Config;
use farlink_tcp::{Ecn, Instant, Priority};

impl World {
    /// Compresses headers on a directed link.
    pub(crate) fn add_compression(&mut self, config: Config, link: LinkId) {
        self.links[link].compression = Some(self.compressions.len() as u32);
        self.compressions.push(Compression::new(config));
    }

    /// The header compression of a directed link, if it has one.
    pub(crate) fn compression(&self, link: LinkId) -> Option<&Compression> {
        let which = self.links[link].compression?;
        Some(&self.compressions[which as usize])
    }

    /// Bytes that a packet will have on a link that compresses headers, if the link
    /// takes it now.
    pub(crate) fn compress(&mut self, link: LinkId, number: u32) -> u32 {
        let here = &mut self.links[link];
        let Some(which) = here.compression else {
            return self.packets[number as usize].ip_len();
        };
        let packet = &mut self.packets[number as usize];
        let compression = &mut self.compressions[which as usize];
        // What others overtake in the queue is not sent in the order of the queue.
        let waits = packet.priority() == Priority::Low && here.has_priorities();
        let in_turn = here.line.is_some() || !waits;
        let len = compression.prepare(packet, in_turn);
        if !packet.ecn().markable() {
            return len;
        }
        let congested = match here.line {
            Some(line) => {
                let from = link.direction() as usize;
                self.lines[line as usize].line.congested(from, len)
            }
            None => !waits && here.congested(self.now, len),
        };
        if !congested {
            return len;
        }
        // The header that goes is the one with the mark.
        packet.set_ecn(Ecn::Ce);
        compression.prepare(packet, in_turn)
    }

    /// Gives a packet at the far end of a link its headers. Returns whether it goes
    /// on.
    pub(crate) fn expand(&mut self, link: LinkId, number: u32) -> bool {
        let Some(which) = self.links[link].compression else {
            return true;
        };
        let packet = &mut self.packets[number as usize];
        let compression = &mut self.compressions[which as usize];
        match compression.restore(self.now, number, packet) {
            Restored::GoesOn => true,
            Restored::Discarded => {
                self.lose_beyond(link, number, DropCause::Checksum);
                false
            }
        }
    }

    /// A link that compresses headers lost a packet, whose last bit left or would
    /// have left at `at`.
    #[cold]
    pub(crate) fn frame_lost(&mut self, link: LinkId, cause: DropCause, at: Instant) {
        let here = &self.links[link];
        let comes = at + here.config().delay;
        if let Some(which) = here.compression {
            self.compressions[which as usize].lost(self.now, cause, comes);
        }
    }
}
