//! Nodes that move in a rectangle.
//!
//! A path consists of straight legs. Each leg is drawn when time reaches it, so the position of a
//! node depends only on its random stream and on time.

mod models;

pub use models::{Model, Span, Turning, mean_distance};

use crate::rng::Stream;
use farlink_tcp::{Instant, Interval};

/// Position in metres from the corner of the area.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Point {
    /// Coordinate to the right, in metres.
    pub x: f64,
    /// Up.
    pub y: f64,
}

impl Point {
    /// Returns the distance to the other place in metres.
    pub fn distance(self, other: Self) -> f64 {
        libm::hypot(self.x - other.x, self.y - other.y)
    }
}

/// Rectangle in which nodes stay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Area {
    /// Metres to the right.
    pub width: f64,
    /// Metres up.
    pub height: f64,
}

impl Area {
    /// Returns whether the area contains a place, borders included.
    pub fn holds(self, place: Point) -> bool {
        (0.0..=self.width).contains(&place.x) && (0.0..=self.height).contains(&place.y)
    }

    /// Returns the centre.
    pub fn middle(self) -> Point {
        Point {
            x: self.width / 2.0,
            y: self.height / 2.0,
        }
    }

    fn any(self, stream: &mut Stream) -> Point {
        Point {
            x: stream.uniform() * self.width,
            y: stream.uniform() * self.height,
        }
    }

    /// Returns the position in the area nearest to `place`, because rounding may put a place just
    /// outside.
    fn nearest(self, place: Point) -> Point {
        Point {
            x: place.x.clamp(0.0, self.width),
            y: place.y.clamp(0.0, self.height),
        }
    }
}

/// Straight piece of a path at a constant speed; a pause has the same start and end.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Leg {
    start: Instant,
    end: Instant,
    from: Point,
    to: Point,
}

/// Node that moves by a model.
#[derive(Clone, Debug)]
pub struct Walker {
    model: Model,
    state: models::State,
    area: Area,
    leg: Leg,
    stream: Stream,
}

impl Walker {
    /// Creates a node at a random position at time 0, in the state with which its model begins.
    pub fn new(model: Model, area: Area, mut stream: Stream) -> Self {
        let (state, start) = model.begin(area, &mut stream);
        let leg = Leg {
            start: Instant::ZERO,
            end: Instant::ZERO,
            from: start,
            to: start,
        };
        Self {
            model,
            state,
            area,
            leg,
            stream,
        }
    }

    /// Returns the position at `now`, which must not go back from call to call.
    pub fn at(&mut self, now: Instant) -> Point {
        while self.leg.end <= now {
            self.next_leg();
        }
        let whole = self.leg.end.since(self.leg.start).as_nanos() as f64;
        let share = now.since(self.leg.start).as_nanos() as f64 / whole;
        let (from, to) = (self.leg.from, self.leg.to);
        Point {
            x: from.x + (to.x - from.x) * share,
            y: from.y + (to.y - from.y) * share,
        }
    }

    fn next_leg(&mut self) {
        let from = self.leg.to;
        let (to, seconds) = self
            .model
            .leg(&mut self.state, self.area, from, &mut self.stream);
        // A leg of duration 0 would never end.
        let time = Interval::from_nanos(libm::round(seconds * 1e9).max(1.0) as u64);
        self.leg = Leg {
            start: self.leg.end,
            end: self.leg.end + time,
            from,
            to: self.area.nearest(to),
        };
    }
}

/// Distance between two nodes.
#[derive(Clone, Debug)]
pub enum Separation {
    /// Constant distance in metres.
    Fixed(f64),
    /// Moving node and fixed node.
    One(Box<Walker>, Point),
    /// Two moving nodes.
    Both(Box<[Walker; 2]>),
}

impl Separation {
    /// Returns the distance of the nodes in metres at `now`.
    pub fn at(&mut self, now: Instant) -> f64 {
        match self {
            Self::Fixed(distance) => *distance,
            Self::One(walker, place) => walker.at(now).distance(*place),
            Self::Both(walkers) => {
                let [a, b] = &mut **walkers;
                a.at(now).distance(b.at(now))
            }
        }
    }

    /// Returns the positions of the nodes at `now`; `None` for a fixed distance.
    pub fn places(&mut self, now: Instant) -> Option<[Point; 2]> {
        match self {
            Self::Fixed(_) => None,
            Self::One(walker, place) => Some([walker.at(now), *place]),
            Self::Both(walkers) => {
                let [a, b] = &mut **walkers;
                Some([a.at(now), b.at(now)])
            }
        }
    }
}
