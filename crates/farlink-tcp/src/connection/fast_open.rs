//! TCP Fast Open at one connection (RFC 7413): cookies requested and granted, and data before the
//! end of the handshake. Hosts store the cookies.

use super::{Connection, Event, State};
use crate::config::FastOpen;
use crate::fast_open::{Extra, FastOpenCache, FastOpenCookie};
use crate::segment::Segment;
use crate::time::Instant;

impl Connection {
    /// Returns the configuration of TCP Fast Open.
    pub fn fast_open(&self) -> FastOpen {
        self.config().fast_open
    }

    /// Sets the host's cached cookie of this server, before the SYN of an active open is sent. The
    /// SYN then carries the data written by that time, as far as it fits.
    pub fn set_fast_open_cache(&mut self, cache: FastOpenCache) {
        if let Some(opening) = &mut self.fast_open {
            opening.cache = Some(cache);
        }
    }

    /// Returns the cookie and MSS of the server, for the host's cache.
    pub fn fast_open_cache(&self) -> Option<FastOpenCache> {
        self.fast_open.as_ref()?.cache
    }

    /// Sets, for a passive open, the cookie of the expected client ([`FastOpenCookie::new`]). A SYN
    /// with data is accepted only if it carries this cookie.
    pub fn set_fast_open_cookie(&mut self, cookie: FastOpenCookie) {
        if let Some(opening) = &mut self.fast_open {
            opening.own_cookie = Some(cookie);
        }
    }

    /// Returns the bytes of data on the first SYN: written data that fits into one segment of the
    /// server's cached MSS beside the options (RFC 7413, 4.1.3).
    pub(super) fn syn_data(&self, now: Instant) -> u32 {
        let Some(cache) = self.fast_open_cache().filter(|_| self.active) else {
            return 0;
        };
        let mut options = self.timestamps_option(now, false);
        options.extra = self.syn_extra();
        self.offer(&mut options);
        let room = self.config().mss.min(cache.mss.into());
        let written = self.tx.buffer.end() - 1;
        written.min(room.saturating_sub(options.wire_len()).into()) as u32
    }

    /// Returns the option of the first SYN or SYN-ACK. Retransmissions have none, because a
    /// middlebox may have dropped the first one for its option (RFC 7413, 4.2.1 and 4.2.2).
    pub(super) fn syn_extra(&self) -> Extra {
        let Some(opening) = &self.fast_open else {
            return Extra::None;
        };
        match (self.state, opening.cache, opening.own_cookie) {
            (State::SynSent, Some(cache), _) => Extra::Cookie(cache.cookie),
            (State::SynSent, None, _) => Extra::CookieRequest,
            (_, _, Some(cookie)) if opening.cookie_wanted => Extra::Cookie(cookie),
            _ => Extra::None,
        }
    }

    /// Processes the SYN of a passive open. With the right cookie its data is accepted, and the
    /// application may answer at once. Otherwise a client that sent the option gets a cookie for
    /// its next connection.
    #[cold]
    pub(super) fn process_fast_open(&mut self, now: Instant, segment: &Segment) {
        let Some(opening) = &mut self.fast_open else {
            return;
        };
        let accepted = match segment.options.extra {
            Extra::Cookie(cookie) => Some(cookie) == opening.own_cookie,
            _ => false,
        };
        let none = matches!(
            segment.options.extra,
            Extra::None | Extra::Snack(_) | Extra::DataAck(_) | Extra::Mapping(_)
        );
        opening.cookie_wanted = !accepted && !none;
        if accepted {
            self.tx.early = true;
            self.events.push(Event::Established);
            if !segment.body.is_empty() {
                self.process_data(now, segment, 1);
            }
        }
    }

    /// Processes a SYN-ACK: caches its cookie for the next connection. Retransmits at once the
    /// SYN's data that the SYN-ACK does not acknowledge.
    #[cold]
    pub(super) fn process_fast_open_answer(&mut self, segment: &Segment) {
        // RFC 9293, 3.7.1: 536 bytes when the option is absent.
        let mss = segment.options.mss.unwrap_or(536);
        if let Some(opening) = &mut self.fast_open {
            if let Extra::Cookie(cookie) = segment.options.extra {
                opening.cache = Some(FastOpenCache { cookie, mss });
            } else if let Some(cache) = &mut opening.cache {
                cache.mss = mss;
            }
        }
        if !self.tx.flight.board.is_empty() {
            self.tx.syn_data_refused();
        }
    }
}
