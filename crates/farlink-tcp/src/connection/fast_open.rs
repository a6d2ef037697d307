//! TCP Fast Open at one connection (RFC 7413): what is asked for, what is answered,
//! and data before the handshake is over. Hosts keep the cookies.

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

    /// Before the SYN of an active open has left: what the host keeps of this server.
    /// The SYN then has data, as much as is written by then and fits.
    pub fn set_fast_open_cache(&mut self, cache: FastOpenCache) {
        if let Some(opening) = &mut self.fast_open {
            opening.cache = Some(cache);
        }
    }

    /// Returns what a host that connected may keep of the server.
    pub fn fast_open_cache(&self) -> Option<FastOpenCache> {
        self.fast_open.as_ref()?.cache
    }

    /// Sets, for a passive open, the cookie that this host gives the expected client
    /// ([`FastOpenCookie::new`]), and by which it accepts a SYN with data.
    pub fn set_fast_open_cookie(&mut self, cookie: FastOpenCookie) {
        if let Some(opening) = &mut self.fast_open {
            opening.own_cookie = Some(cookie);
        }
    }

    /// Bytes of data that the first SYN has: what is written and fits one segment
    /// beside the options, by the segment size that is known of the server (RFC 7413,
    /// 4.1.3).
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

    /// The option of the first SYN or SYN-ACK. What is sent again has none, in case
    /// that something on the way dropped it for that (RFC 7413, 4.2.1 and 4.2.2).
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

    /// A SYN came to a passive open. With the right cookie its data is taken, and the
    /// application may answer at once; otherwise it gets one for the next time.
    #[cold]
    pub(super) fn process_fast_open(&mut self, now: Instant, segment: &Segment) {
        let Some(opening) = &mut self.fast_open else {
            return;
        };
        let accepted = match segment.options.extra {
            Extra::Cookie(cookie) => Some(cookie) == opening.own_cookie,
            _ => false,
        };
        let none = matches!(segment.options.extra, Extra::None | Extra::Snack(_));
        opening.cookie_wanted = !accepted && !none;
        if accepted {
            self.tx.early = true;
            self.events.push(Event::Established);
            if !segment.body.is_empty() {
                self.process_data(now, segment, 1);
            }
        }
    }

    /// The SYN-ACK came: a cookie in it is for the next time, and what it does not
    /// acknowledge of the data on the SYN goes again at once.
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
