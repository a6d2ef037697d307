//! Begin of routes during a run, in the order of their times.

use super::World;
use super::later_routes::{LaterRoute, LaterRoutes};
use crate::event_queue::{Event, Kind};

impl World {
    /// Sets the routes that begin later, which are sorted by time.
    pub(crate) fn plan_routes(&mut self, routes: Vec<LaterRoute>) {
        self.roaming.routes.all = routes;
        self.schedule_route();
    }

    /// Returns whether routes begin during the run.
    pub(crate) fn has_later_routes(&self) -> bool {
        !self.roaming.routes.all.is_empty()
    }

    /// Returns whether each node has the same routes during the whole run.
    pub(crate) fn routes_are_constant(&self) -> bool {
        self.nobody_moves() && !self.has_later_routes()
    }

    fn schedule_route(&mut self) {
        let LaterRoutes { all, begun } = &self.roaming.routes;
        if let Some(next) = all.get(*begun) {
            self.queue.push(Event::new(next.start, Kind::Route, 0, 0));
        }
    }

    /// Begins the routes that are due. Packets that wait for a link, or are on one, stay there, and
    /// the next node sends them over its present route.
    #[cold]
    pub(crate) fn routes_due(&mut self) {
        while let Some(&next) = self.roaming.routes.all.get(self.roaming.routes.begun)
            && next.start <= self.now
        {
            self.roaming.routes.begun += 1;
            if let Some(route) = self.nodes[next.at].routes.get_mut(next.to) {
                *route = next.link;
            }
        }
        self.schedule_route();
    }
}
