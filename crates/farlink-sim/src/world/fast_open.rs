//! TCP Fast Open (RFC 7413): cached cookies of hosts, and programs that write before the end of the
//! handshake.

use super::World;
use crate::app::AppEvent;
use crate::flow::EndId;
use farlink_tcp::config::FastOpen;
use farlink_tcp::{FastOpenCache, FastOpenCookie};
use farlink_wire::FlowId;

impl World {
    /// Lets a program write its request before its SYN leaves. Its host must have a cookie of the
    /// server, or be configured to have one. Connect and write are then one call (RFC 7413, 4.2.1).
    pub(crate) fn open_fast(&mut self, flow: FlowId) {
        let opener = self.hot[flow].opener();
        let client = EndId::new(flow, opener);
        let how = self.ends[client].conn.fast_open();
        if how == FastOpen::Off {
            return;
        }
        let server = client.other();
        let hosts = (self.ends[client].node, self.ends[server].node);
        let address = farlink_wire::node_address(hosts.0);
        let cookie = FastOpenCookie::new(hosts.1.0.into(), address.into());
        self.ends[server].conn.set_fast_open_cookie(cookie);
        let met = FastOpenCache {
            cookie,
            mss: self.ends[server].conn.mss().min(u16::MAX.into()) as u16,
        };
        let kept = self.hosts.cookies.get(&hosts).copied();
        let kept = kept.or((how == FastOpen::Cookie).then_some(met));
        if let Some(cache) = kept {
            self.ends[client].conn.set_fast_open_cache(cache);
            self.ends[client].early = true;
            self.notify(flow, opener, AppEvent::Established);
        }
    }

    /// Stores the cookie of a connection established at `end`. Returns whether the program wrote
    /// before, so it needs no notice of the establishment.
    pub(crate) fn opened(&mut self, end: EndId) -> bool {
        let e = &mut self.ends[end];
        if let Some(cache) = e.conn.fast_open_cache() {
            self.hosts.cookies.insert((e.node, e.peer), cache);
        }
        let early = std::mem::take(&mut e.early);
        if early {
            e.write_on(self.now);
        }
        early
    }
}
