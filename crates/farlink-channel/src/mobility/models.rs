//! Mobility models: the choice of a node's next leg.

use super::{Area, Point};
use crate::rng::{Probability, Stream};
use std::f64::consts::{PI, TAU};

/// Range from which values are drawn uniformly.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Span {
    /// Least value.
    pub low: f64,
    /// Greatest value.
    pub high: f64,
}

impl Span {
    fn draw(self, stream: &mut Stream) -> f64 {
        self.low + stream.uniform() * (self.high - self.low)
    }

    /// Draws a whole number, both ends included.
    fn whole(self, stream: &mut Stream) -> f64 {
        self.low + libm::floor(stream.uniform() * (self.high - self.low + 1.0))
    }

    fn mean(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }
}

/// Distribution of the angle of a leg.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Turning {
    /// Uniform over all angles.
    Uniform,
    /// Normal about the previous angle, with this deviation in radians.
    Gaussian(f64),
}

/// A model of mobility. Speeds are in m/s, times in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Model {
    /// Random waypoint (Johnson and Maltz 1996): straight to a random place in the area at a random
    /// speed, a pause, and so on. The node begins with a leg, so its mean speed falls for some time
    /// (Yoon, Liu, Noble 2003).
    Waypoint {
        /// Speed of each leg; above 0.
        speed: Span,
        /// Pause after each leg.
        pause: Span,
    },
    /// Modified random waypoint of Vatne and Haugen (2006), section 5.2.1. Speed, angle and number
    /// of steps of each leg are drawn. If a step would cross the border, the node pauses instead,
    /// and its next leg is drawn until the whole leg stays inside.
    Steps {
        /// Length of a step.
        step: f64,
        /// Speed of each leg.
        speed: Span,
        /// Steps of each leg.
        steps: Span,
        /// Steps of each pause.
        pause: Span,
        /// Angles.
        turning: Turning,
    },
    /// Random walk: a random angle and speed, for a fixed time or up to the border.
    Walk {
        /// Speed of each leg.
        speed: Span,
        /// Time of each leg.
        time: f64,
    },
    /// Random direction (Royer, Melliar-Smith, Moser 2001): a random angle, up to the border, and a
    /// pause there.
    Direction {
        /// Speed of each leg.
        speed: Span,
        /// Pause at the border.
        pause: Span,
    },
    /// Gauss-Markov (Liang and Haas 1999). At each step, speed and angle are the sum of three
    /// parts: the previous value with weight `memory`, the mean with 1 - `memory`, and a normal
    /// part that keeps the deviation. With `memory` 0 steps are independent, and with 1 the path is
    /// straight. The border reflects the path and the mean angle.
    GaussMarkov {
        /// Length of a step.
        step: f64,
        /// Weight of the previous step, 0 to 1.
        memory: f64,
        /// Mean speed.
        speed: f64,
        /// Deviation of the speed. At a negative speed the node moves backwards.
        speed_deviation: f64,
        /// Deviation of the angle in radians.
        angle_deviation: f64,
    },
    /// Random trip (Le Boudec and Vojnovic 2005) with straight trips between random places: the
    /// random waypoint in its stationary state.
    Trip {
        /// Speed of each trip; above 0.
        speed: Span,
        /// Pause after each trip.
        pause: Span,
    },
}

/// State of a node in its model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// Set if a pause follows.
    pauses: bool,
    /// Set if the whole next leg must stay inside.
    stay_inside: bool,
    /// Angle of the previous leg, if there was one.
    angle: Option<f64>,
    speed: f64,
    mean_angle: f64,
    /// Seconds of a step that remain after a reflection.
    left: f64,
    /// First leg, if it has already begun: its end and duration.
    begun: Option<(Point, f64)>,
}

impl State {
    /// Returns the duration of the pause before the next leg, if the node pauses.
    fn pause(&mut self, pause: Span, stream: &mut Stream) -> Option<f64> {
        let pauses = self.pauses && pause.high > 0.0;
        self.pauses = !pauses;
        pauses.then(|| pause.draw(stream))
    }

    /// Returns the leg up to the end of the step, or up to the border, which reflects the angles.
    fn reflected(&mut self, area: Area, from: Point) -> (Point, f64) {
        let mut angle = self.angle.unwrap_or(self.mean_angle);
        let heading = if self.speed < 0.0 { angle + PI } else { angle };
        let pace = libm::fabs(self.speed);
        let border = seconds_to_border(area, from, heading, pace);
        let seconds = self.left.min(border);
        let to = moved(from, heading, pace * seconds);
        self.left -= seconds;
        if border < self.left + seconds {
            // The side that the path crosses reflects it in x or in y.
            let near = 1e-9 * (area.width + area.height);
            let side = to.x <= near || to.x >= area.width - near;
            let out = libm::cos(heading);
            let sideways = side && (out > 0.0) == (to.x > area.width / 2.0);
            let mirror = |angle: f64| if sideways { PI - angle } else { -angle };
            angle = mirror(angle);
            self.mean_angle = mirror(self.mean_angle);
        }
        self.angle = Some(angle);
        (to, seconds)
    }
}

/// Maximum number of attempts to draw a leg with Gaussian turning. If none ends inside the area,
/// further angles are uniform, because small turns at a border might never lead back inside.
const TRIES: u32 = 10_000;

impl Model {
    /// Returns the state and the position at time 0.
    pub(super) fn begin(&self, area: Area, stream: &mut Stream) -> (State, Point) {
        let mut state = State::default();
        let place = area.any(stream);
        match *self {
            Self::GaussMarkov {
                speed,
                speed_deviation,
                angle_deviation,
                ..
            } => {
                state.mean_angle = TAU * stream.uniform();
                state.speed = speed + speed_deviation * stream.normal();
                let off = angle_deviation * stream.normal();
                state.angle = Some(state.mean_angle + off);
                (state, place)
            }
            Self::Trip { speed, pause } => {
                let moving = mean_distance(area) * mean_inverse(speed);
                let pausing = pause.mean();
                let share = Probability::clamped(pausing / (moving + pausing));
                if stream.chance(share) {
                    // The probability of meeting a pause grows with its length, and the rest of the
                    // pause is uniform.
                    let whole = loop {
                        let drawn = pause.draw(stream);
                        if stream.uniform() * pause.high <= drawn {
                            break drawn;
                        }
                    };
                    state.begun = Some((place, whole * stream.uniform()));
                    return (state, place);
                }
                // Longer and slower trips are met more often too.
                let diagonal = libm::hypot(area.width, area.height);
                let (from, to) = loop {
                    let (from, to) = (area.any(stream), area.any(stream));
                    if stream.uniform() * diagonal <= from.distance(to) {
                        break (from, to);
                    }
                };
                let ratio = speed.high / speed.low;
                let speed = speed.low * libm::pow(ratio, stream.uniform());
                let done = stream.uniform();
                let place = Point {
                    x: from.x + (to.x - from.x) * done,
                    y: from.y + (to.y - from.y) * done,
                };
                state.begun = Some((to, place.distance(to) / speed));
                state.pauses = true;
                (state, place)
            }
            _ => (state, place),
        }
    }

    /// Returns the end of the next leg from `from`, and its duration in seconds.
    pub(super) fn leg(
        &self,
        state: &mut State,
        area: Area,
        from: Point,
        stream: &mut Stream,
    ) -> (Point, f64) {
        if let Some(begun) = state.begun.take() {
            return begun;
        }
        match *self {
            Self::Waypoint { speed, pause } | Self::Trip { speed, pause } => {
                if let Some(seconds) = state.pause(pause, stream) {
                    return (from, seconds);
                }
                let to = area.any(stream);
                (to, from.distance(to) / speed.draw(stream))
            }
            Self::Steps {
                step,
                speed,
                steps,
                pause,
                turning,
            } => {
                if std::mem::take(&mut state.pauses) {
                    let pause = pause.whole(stream);
                    if pause > 0.0 {
                        return (from, pause * step);
                    }
                }
                state.pauses = true;
                Self::steps_leg(state, area, from, stream, (step, speed, steps, turning))
            }
            Self::Walk { speed, time } => {
                let angle = inward(area, from, stream);
                let speed = speed.draw(stream);
                let seconds = time.min(seconds_to_border(area, from, angle, speed));
                (moved(from, angle, speed * seconds), seconds)
            }
            Self::Direction { speed, pause } => {
                if let Some(seconds) = state.pause(pause, stream) {
                    return (from, seconds);
                }
                let angle = inward(area, from, stream);
                let speed = speed.draw(stream);
                let seconds = seconds_to_border(area, from, angle, speed);
                (moved(from, angle, speed * seconds), seconds)
            }
            Self::GaussMarkov {
                step,
                memory,
                speed,
                speed_deviation,
                angle_deviation,
            } => {
                if state.left <= 0.0 {
                    let fresh = libm::sqrt(1.0 - memory * memory);
                    let mut blend = |last, mean, deviation: f64| {
                        memory * last + (1.0 - memory) * mean + fresh * deviation * stream.normal()
                    };
                    state.speed = blend(state.speed, speed, speed_deviation);
                    let angle = state.angle.unwrap_or(state.mean_angle);
                    state.angle = Some(blend(angle, state.mean_angle, angle_deviation));
                    state.left = step;
                }
                state.reflected(area, from)
            }
        }
    }

    fn steps_leg(
        state: &mut State,
        area: Area,
        from: Point,
        stream: &mut Stream,
        (step, speed, steps, turning): (f64, Span, Span, Turning),
    ) -> (Point, f64) {
        let mut tries = 0;
        loop {
            let pace = speed.draw(stream);
            let angle = match (turning, state.angle) {
                (Turning::Gaussian(deviation), Some(last)) if tries < TRIES => {
                    last + deviation * stream.normal()
                }
                _ => TAU * stream.uniform(),
            };
            let count = steps.whole(stream);
            let whole = moved(from, angle, pace * count * step);
            tries += 1;
            if area.holds(whole) {
                state.stay_inside = false;
                state.angle = Some(angle);
                return (whole, count * step);
            }
            if !state.stay_inside {
                // Returns the steps that do not cross the border. The area is convex.
                let border = seconds_to_border(area, from, angle, pace);
                let inside = libm::floor(border / step).min(count);
                state.stay_inside = true;
                state.angle = Some(angle);
                return (moved(from, angle, pace * inside * step), inside * step);
            }
        }
    }
}

/// Returns the mean of 1 / v for a uniform speed, in s/m.
fn mean_inverse(speed: Span) -> f64 {
    if speed.high > speed.low {
        libm::log(speed.high / speed.low) / (speed.high - speed.low)
    } else {
        1.0 / speed.low
    }
}

/// Returns the mean distance in metres of two uniform positions in a rectangle (Ghosh 1951).
pub fn mean_distance(area: Area) -> f64 {
    let (a, b) = (area.width, area.height);
    let d = libm::hypot(a, b);
    let logs = b * b / a * libm::log((a + d) / b) + a * a / b * libm::log((b + d) / a);
    let rest = a * a * a / (b * b) + b * b * b / (a * a);
    (rest + d * (3.0 - a * a / (b * b) - b * b / (a * a)) + 2.5 * logs) / 15.0
}

fn moved(from: Point, angle: f64, distance: f64) -> Point {
    Point {
        x: from.x + distance * libm::cos(angle),
        y: from.y + distance * libm::sin(angle),
    }
}

/// Returns an angle that leads into the area. From an inner point any angle does.
fn inward(area: Area, from: Point, stream: &mut Stream) -> f64 {
    loop {
        let angle = TAU * stream.uniform();
        let (x, y) = (libm::cos(angle), libm::sin(angle));
        let blocked = (from.x <= 0.0 && x <= 0.0)
            || (from.x >= area.width && x >= 0.0)
            || (from.y <= 0.0 && y <= 0.0)
            || (from.y >= area.height && y >= 0.0);
        if !blocked {
            return angle;
        }
    }
}

/// Returns the seconds until the border is reached.
fn seconds_to_border(area: Area, from: Point, angle: f64, speed: f64) -> f64 {
    let along = |at: f64, end: f64, speed: f64| {
        if speed > 0.0 {
            (end - at) / speed
        } else if speed < 0.0 {
            at / -speed
        } else {
            f64::INFINITY
        }
    };
    let x = along(from.x, area.width, speed * libm::cos(angle));
    let y = along(from.y, area.height, speed * libm::sin(angle));
    x.min(y).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::Walker;
    use super::*;
    use crate::rng::Streams;
    use farlink_tcp::{Instant, Interval};

    const AREA: Area = Area {
        width: 200.0,
        height: 120.0,
    };
    const SPEED: Span = Span {
        low: 0.5,
        high: 5.0,
    };
    const PAUSE: Span = Span {
        low: 0.0,
        high: 10.0,
    };

    fn stream(name: &str) -> Stream {
        Streams::new(1, 0).stream(name)
    }

    fn steps(turning: Turning) -> Model {
        Model::Steps {
            step: 1.0,
            speed: SPEED,
            steps: Span {
                low: 5.0,
                high: 30.0,
            },
            pause: PAUSE,
            turning,
        }
    }

    fn gauss_markov(memory: f64) -> Model {
        Model::GaussMarkov {
            step: 1.0,
            memory,
            speed: 3.0,
            speed_deviation: 0.5,
            angle_deviation: 0.4,
        }
    }

    fn all() -> Vec<Model> {
        let (speed, pause) = (SPEED, PAUSE);
        vec![
            Model::Waypoint { speed, pause },
            steps(Turning::Uniform),
            steps(Turning::Gaussian(1.5)),
            steps(Turning::Gaussian(0.05)),
            Model::Walk { speed, time: 7.0 },
            Model::Direction { speed, pause },
            gauss_markov(0.0),
            gauss_markov(0.9),
            gauss_markov(1.0),
            Model::Trip { speed, pause },
        ]
    }

    /// Returns ends and seconds of the first `n` legs.
    fn legs(model: Model, n: usize, name: &str) -> Vec<(Point, Point, f64)> {
        let mut stream = stream(name);
        let (mut state, mut from) = model.begin(AREA, &mut stream);
        (0..n)
            .map(|_| {
                let (to, seconds) = model.leg(&mut state, AREA, from, &mut stream);
                let to = AREA.nearest(to);
                let leg = (from, to, seconds);
                from = to;
                leg
            })
            .collect()
    }

    #[test]
    fn walkers_stay_in_the_area_and_below_the_maximum_speed() {
        for model in all() {
            let mut walker = Walker::new(model, AREA, stream("stay"));
            let mut last = walker.at(Instant::ZERO);
            for i in 1..50_000u64 {
                let now = walker.at(Instant::ZERO + Interval::from_millis(200) * i);
                assert!(AREA.holds(now), "{model:?}: {now:?}");
                assert!(now.distance(last) <= 1.2, "{model:?}: {last:?} {now:?}");
                last = now;
            }
        }
    }

    #[test]
    fn positions_do_not_depend_on_the_query_interval() {
        for model in all() {
            let mut often = Walker::new(model, AREA, stream("ask"));
            let mut seldom = Walker::new(model, AREA, stream("ask"));
            for i in 0..1000u64 {
                let now = Instant::ZERO + Interval::from_secs(7) * i;
                for k in 0..7u64 {
                    often.at(now + Interval::from_secs(k));
                }
                let mut fresh = often.clone();
                let at = now + Interval::from_secs(7);
                assert_eq!(fresh.at(at), seldom.at(at), "{model:?}");
            }
        }
    }

    #[test]
    fn legs_of_the_waypoint_have_their_mean_length_and_speed() {
        let pause = Span {
            low: 0.0,
            high: 0.0,
        };
        let legs = legs(
            Model::Waypoint {
                speed: SPEED,
                pause,
            },
            100_000,
            "legs",
        );
        let n = legs.len() as f64;
        let mean = legs.iter().map(|l| l.0.distance(l.1)).sum::<f64>() / n;
        let square = legs.iter().map(|l| l.0.distance(l.1).powi(2)).sum::<f64>() / n;
        // Consecutive legs share an end, so their lengths are correlated. The correlation less than
        // doubles the variance.
        let error = (2.0 * (square - mean * mean) / n).sqrt();
        let expected = mean_distance(AREA);
        assert!((mean - expected).abs() < 4.0 * error, "{mean} {expected}");
        // E[x^2] of the distance is (w^2 + h^2) / 6.
        let of_square = (200.0f64.powi(2) + 120.0f64.powi(2)) / 6.0;
        assert!((square / of_square - 1.0).abs() < 0.02);
        let speed = legs.iter().map(|l| l.0.distance(l.1) / l.2).sum::<f64>() / n;
        assert!((speed - 2.75).abs() < 4.0 * 4.5 / 12f64.sqrt() / n.sqrt());
        let unit = Area {
            width: 1.0,
            height: 1.0,
        };
        assert!((mean_distance(unit) - 0.521_405_433).abs() < 1e-9);
    }

    /// The mean speed of a waypoint node falls from the mean of its draws, 2.75 m/s, to (high -
    /// low) / ln(high / low) = 1.954. A trip node has the final speed from the start. The same
    /// holds for positions: a waypoint node begins anywhere (deviation of x: w / sqrt(12)) and is
    /// later more often near the middle.
    #[test]
    fn a_random_trip_starts_in_its_stationary_state() {
        let pause = Span {
            low: 0.0,
            high: 0.0,
        };
        let n = 20_000;
        let stationary = 4.5 / 10f64.ln();
        let measure = |model: Model, at: u64| {
            let (mut speed, mut spread) = (0.0, 0.0);
            for i in 0..n {
                let mut walker = Walker::new(model, AREA, stream(&format!("walker {i}")));
                let now = Instant::ZERO + Interval::from_secs(at);
                let here = walker.at(now);
                let then = walker.at(now + Interval::from_millis(1));
                speed += here.distance(then) * 1000.0;
                spread += (here.x - 100.0).powi(2);
            }
            (speed / f64::from(n), spread / f64::from(n))
        };
        let error = 1.3 / f64::from(n).sqrt();
        let near = |measured: f64, expected: f64| (measured - expected).abs() < 4.0 * error;
        let speed = SPEED;
        let (at_first, anywhere) = measure(Model::Waypoint { speed, pause }, 0);
        assert!(near(at_first, 2.75), "{at_first}");
        let uniform = 200.0f64.powi(2) / 12.0;
        assert!((anywhere / uniform - 1.0).abs() < 0.03, "{anywhere}");
        let (later, middle) = measure(Model::Waypoint { speed, pause }, 2000);
        assert!(near(later, stationary), "{later} {stationary}");
        let (first, begun) = measure(Model::Trip { speed, pause }, 0);
        assert!(near(first, stationary), "{first} {stationary}");
        let (second, went) = measure(Model::Trip { speed, pause }, 2000);
        assert!(near(second, stationary), "{second} {stationary}");
        for spread in [begun, went] {
            assert!((spread / middle - 1.0).abs() < 0.04, "{spread} {middle}");
            assert!(spread < 0.8 * uniform);
        }
    }

    #[test]
    fn a_random_trip_pauses_for_its_share_of_time() {
        let (speed, pause) = (
            SPEED,
            Span {
                low: 20.0,
                high: 80.0,
            },
        );
        let moving = mean_distance(AREA) * 10f64.ln() / 4.5;
        let share = 50.0 / (50.0 + moving);
        for at in [0, 500] {
            let n = 20_000;
            let still = (0..n)
                .filter(|i| {
                    let stream = stream(&format!("pause {i}"));
                    let mut walker = Walker::new(Model::Trip { speed, pause }, AREA, stream);
                    let now = Instant::ZERO + Interval::from_secs(at);
                    walker.at(now) == walker.at(now + Interval::from_micros(1))
                })
                .count();
            let measured = still as f64 / f64::from(n);
            let error = (share * (1.0 - share) / f64::from(n)).sqrt();
            assert!(
                (measured - share).abs() < 4.0 * error,
                "{measured} {share} at {at} s"
            );
        }
    }

    #[test]
    fn a_random_direction_ends_at_the_border_and_a_walk_in_time() {
        let speed = SPEED;
        let pause = Span {
            low: 0.0,
            high: 0.0,
        };
        let at_border = |p: Point| {
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
            near(p.x, 0.0) || near(p.x, 200.0) || near(p.y, 0.0) || near(p.y, 120.0)
        };
        for (_, to, _) in legs(Model::Direction { speed, pause }, 10_000, "direction") {
            assert!(at_border(to), "{to:?}");
        }
        for (_, to, seconds) in legs(Model::Walk { speed, time: 7.0 }, 10_000, "walk") {
            assert!(seconds == 7.0 || at_border(to));
        }
    }

    /// vatne2006 sec. 5.2.1: after the border the whole next leg is inside, and legs are whole
    /// steps.
    #[test]
    fn the_steps_of_the_study_stop_at_the_border_and_stay_inside_after_it() {
        for turning in [
            Turning::Uniform,
            Turning::Gaussian(1.5),
            Turning::Gaussian(3.0),
        ] {
            let mut stream = stream("study");
            let model = steps(turning);
            let (mut state, mut from) = model.begin(AREA, &mut stream);
            let mut hits = 0;
            for _ in 0..20_000 {
                let (must, moves) = (state.stay_inside, !state.pauses);
                let (to, seconds) = model.leg(&mut state, AREA, from, &mut stream);
                assert!(AREA.holds(AREA.nearest(to)) && AREA.nearest(to).distance(to) < 1e-9);
                assert!((seconds - seconds.round()).abs() < 1e-9);
                if must && moves {
                    assert!(!state.stay_inside && seconds >= 5.0);
                }
                hits += u32::from(moves && state.stay_inside);
                from = AREA.nearest(to);
            }
            assert!(hits > 500, "{hits}");
        }
    }

    /// Turning normally about the previous angle makes sharp turns rarer with a deviation of 1.5
    /// rad. With 3 rad the wrapped angle is almost uniform, so the study's claim of fewer sharp
    /// turns with 3 does not hold.
    #[test]
    fn turning_of_the_study() {
        let mut stream = stream("turn");
        let mut sharp = |deviation: f64| {
            let n = 200_000;
            let hits = (0..n)
                .filter(|_| {
                    let turn: f64 = deviation * stream.normal();
                    (turn - TAU * (turn / TAU).round()).abs() > 2.5
                })
                .count();
            hits as f64 / f64::from(n)
        };
        let uniform = 1.0 - 2.5 / PI;
        assert!(sharp(1.5) < 0.6 * uniform);
        assert!((sharp(3.0) / uniform - 1.0).abs() < 0.05);
        // At a deviation of 0.5 rad only 0.17 % of the angles lead away from a border that the path
        // crosses at a right angle.
        let away = libm::erfc(PI / 2.0 / 0.5 / 2f64.sqrt());
        assert!((away - 0.0017).abs() < 0.0001, "{away}");
    }

    #[test]
    fn gauss_markov_speed_has_the_configured_memory() {
        let model = gauss_markov(0.8);
        let mut stream = stream("memory");
        let area = Area {
            width: 1e9,
            height: 1e9,
        };
        let (mut state, _) = model.begin(area, &mut stream);
        let middle = area.middle();
        let speeds: Vec<f64> = (0..200_000)
            .map(|_| {
                model.leg(&mut state, area, middle, &mut stream);
                state.speed - 3.0
            })
            .collect();
        let n = speeds.len() as f64;
        let variance = speeds.iter().map(|s| s * s).sum::<f64>() / n;
        // The variance of the mean square of an AR(1) process is 2 s^4 (1 + a^2) / (1 - a^2) / n.
        let error = 0.25 * (2.0f64 * 1.64 / 0.36 / n).sqrt();
        assert!((variance - 0.25).abs() < 4.0 * error, "{variance}");
        for lag in [1usize, 3] {
            let pairs = speeds.windows(lag + 1).map(|w| w[0] * w[lag]).sum::<f64>();
            let measured = pairs / n / variance;
            assert!(
                (measured - 0.8f64.powi(lag as i32)).abs() < 0.015,
                "{lag}: {measured}"
            );
        }
    }
}
