//! Paths of least length over a shell of satellites, by A*. Its bound is the way around a sphere
//! inside the Earth, because neither links nor rays to the ground pass through the ground.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Position or direction in a frame that turns with the Earth (km, or a unit vector).
pub type Point = [f64; 3];

/// Planes of satellites with links to the four neighbours (+Grid).
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Number of planes.
    pub planes: usize,
    /// Satellites in each plane.
    pub per_plane: usize,
    /// Places by which the link from the last plane to the first is ahead.
    pub shift: usize,
    /// Links exist between the last plane and the first.
    pub seam: bool,
}

impl Grid {
    /// Returns the neighbours of each satellite with the lengths of the links (km; infinite where
    /// there is no link, or where it would be longer than `longest`).
    fn links(&self, positions: &[Point], longest: f64) -> Vec<[(usize, f64); 4]> {
        let link = |node: usize, next: Option<usize>| match next {
            Some(next) => {
                let length = distance(positions[node], positions[next]);
                let open = length <= longest;
                (next, if open { length } else { f64::INFINITY })
            }
            None => (node, f64::INFINITY),
        };
        (0..positions.len())
            .map(|node| self.neighbours(node).map(|next| link(node, next)))
            .collect()
    }

    /// Returns the satellites with which a satellite has links.
    fn neighbours(&self, node: usize) -> [Option<usize>; 4] {
        let (plane, place) = (node / self.per_plane, node % self.per_plane);
        let at = |plane: usize, place: usize| plane * self.per_plane + place % self.per_plane;
        let next = if plane + 1 < self.planes {
            Some(at(plane + 1, place))
        } else {
            self.seam.then(|| at(0, place + self.shift))
        };
        let last = if plane > 0 {
            Some(at(plane - 1, place))
        } else {
            self.seam
                .then(|| at(self.planes - 1, place + self.per_plane - self.shift))
        };
        [
            Some(at(plane, place + 1)),
            Some(at(plane, place + self.per_plane - 1)),
            next,
            last,
        ]
    }
}

/// Limits of sight and of links.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Sine of the least elevation, 0 or more.
    pub sine: f64,
    /// Longest way between a place and a satellite (km).
    pub range: f64,
    /// Longest link between satellites (km).
    pub link: f64,
}

/// Place on the ground: its position (km) and its vertical.
pub type Place = (Point, Point);

/// Satellite in the queue of the search, ordered by the bound of a path through it.
struct Entry {
    bound: f64,
    length: f64,
    node: usize,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound
            .total_cmp(&other.bound)
            .then(self.node.cmp(&other.node))
    }
}

/// Search over one instant, with buffers that serve all pairs.
struct Search<'a> {
    /// Neighbours of each satellite and the lengths of the links (km); empty without links.
    links: &'a [[(usize, f64); 4]],
    /// Unit vectors to the satellites.
    directions: &'a [Point],
    lengths: Vec<f64>,
    before: Vec<usize>,
    queue: BinaryHeap<Reverse<Entry>>,
}

const NONE: usize = usize::MAX;

/// Radius of a sphere inside the Earth, below its poles and its deepest places (km).
const INSIDE: f64 = 6350.0;

impl Search<'_> {
    /// Returns the least length between two places and the satellites of the path; infinite and
    /// empty without a path. `from` and `to` have the range of each satellite in sight.
    fn path(&mut self, from: &[(usize, f64)], to: &[f64], goal: Point) -> (f64, Vec<usize>) {
        self.lengths.fill(f64::INFINITY);
        self.queue.clear();
        let goal = unit(goal);
        for &(node, range) in from {
            self.enter(node, range, NONE, goal);
        }
        let (mut best, mut end) = (f64::INFINITY, NONE);
        while let Some(Reverse(entry)) = self.queue.pop() {
            let Entry {
                bound,
                length,
                node,
            } = entry;
            if bound >= best {
                break;
            }
            if length > self.lengths[node] {
                continue; // A shorter way to this satellite came later into the queue.
            }
            if length + to[node] < best {
                (best, end) = (length + to[node], node);
            }
            for &(next, link) in self.links.get(node).into_iter().flatten() {
                self.enter(next, length + link, node, goal);
            }
        }
        let mut nodes = Vec::new();
        while end != NONE {
            nodes.push(end);
            end = self.before[end];
        }
        nodes.reverse();
        (best, nodes)
    }

    /// Puts a satellite into the queue if the way to it is shorter than those before.
    fn enter(&mut self, node: usize, length: f64, before: usize, goal: Point) {
        if length < self.lengths[node] {
            self.lengths[node] = length;
            self.before[node] = before;
            let cos: f64 = (0..3).map(|i| self.directions[node][i] * goal[i]).sum();
            let bound = length + INSIDE * cos.clamp(-1.0, 1.0).acos();
            self.queue.push(Reverse(Entry {
                bound,
                length,
                node,
            }));
        }
    }
}

fn unit(a: Point) -> Point {
    let length = distance(a, [0.0; 3]);
    a.map(|x| x / length)
}

fn distance(a: Point, b: Point) -> f64 {
    let [x, y, z] = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    (x * x + y * y + z * z).sqrt()
}

/// Returns the least length (km; infinite for none) and the satellites of the path of each pair of
/// places. Positions are plane by plane. Satellites without a grid have no links.
pub fn least(
    positions: &[Point],
    places: &[Place],
    pairs: &[(usize, usize)],
    grid: Option<Grid>,
    limits: Limits,
) -> Vec<(f64, Vec<usize>)> {
    let range = |&(place, up): &Place, point: &Point| {
        let rise: f64 = (0..3).map(|i| (point[i] - place[i]) * up[i]).sum();
        if rise < 0.0 {
            return f64::INFINITY; // Below the horizon, as most satellites are.
        }
        let range = distance(*point, place);
        let seen = rise >= limits.sine * range && range <= limits.range;
        if seen { range } else { f64::INFINITY }
    };
    let ranges: Vec<Vec<f64>> = places
        .iter()
        .map(|place| positions.iter().map(|point| range(place, point)).collect())
        .collect();
    let links = grid.map_or_else(Vec::new, |grid| grid.links(positions, limits.link));
    let directions: Vec<Point> = positions.iter().map(|&point| unit(point)).collect();
    let mut search = Search {
        links: &links,
        directions: &directions,
        lengths: vec![f64::INFINITY; positions.len()],
        before: vec![NONE; positions.len()],
        queue: BinaryHeap::new(),
    };
    pairs
        .iter()
        .map(|&(a, b)| {
            let seen = ranges[a].iter().copied().enumerate();
            let from: Vec<_> = seen.filter(|(_, range)| range.is_finite()).collect();
            search.path(&from, &ranges[b], places[b].0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Satellites of circular planes at a radius of 7000 km, and a place on the equator.
    fn shell(planes: usize, per_plane: usize, shift: usize) -> Vec<Point> {
        let turn = std::f64::consts::TAU;
        let at = |plane: usize, place: usize| {
            let node = turn * plane as f64 / planes as f64;
            let ahead = shift as f64 * plane as f64 / planes as f64;
            let angle = turn * (place as f64 + ahead) / per_plane as f64;
            let (flat, high) = (angle.cos(), angle.sin());
            let (along, up) = (high * 0.6, high * 0.8);
            let (x, y) = (
                flat * node.cos() - along * node.sin(),
                flat * node.sin() + along * node.cos(),
            );
            [x, y, up].map(|v| 7000.0 * v)
        };
        (0..planes * per_plane)
            .map(|node| at(node / per_plane, node % per_plane))
            .collect()
    }

    fn place(longitude: f64, latitude: f64) -> Place {
        let up = [
            latitude.cos() * longitude.cos(),
            latitude.cos() * longitude.sin(),
            latitude.sin(),
        ];
        (up.map(|v| 6371.0 * v), up)
    }

    /// Returns the least length by Bellman and Ford's rule over all links.
    fn slowly(points: &[Point], from: Place, to: Place, grid: Grid, limits: Limits) -> f64 {
        let sight = |place: &Place, point: &Point| {
            let way = distance(*point, place.0);
            let rise: f64 = (0..3).map(|i| (point[i] - place.0[i]) * place.1[i]).sum();
            if rise >= limits.sine * way && way <= limits.range {
                way
            } else {
                f64::INFINITY
            }
        };
        let mut least: Vec<f64> = points.iter().map(|point| sight(&from, point)).collect();
        for _ in 0..points.len() {
            for (node, links) in grid.links(points, limits.link).iter().enumerate() {
                for &(next, link) in links {
                    least[next] = least[next].min(least[node] + link);
                }
            }
        }
        let ends = least.iter().zip(points);
        ends.map(|(length, point)| length + sight(&to, point))
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn the_search_has_the_least_lengths_over_all_links() {
        let limits = Limits {
            sine: 0.3,
            range: f64::INFINITY,
            link: 5000.0,
        };
        let places: Vec<Place> = (0..9)
            .map(|k| place(0.7 * f64::from(k), 0.25 * f64::from(k % 5) - 0.5))
            .collect();
        let pairs: Vec<_> = (0..9).flat_map(|a| (0..9).map(move |b| (a, b))).collect();
        for (planes, per_plane, shift, seam) in
            [(8, 12, 0, true), (9, 11, 5, true), (8, 12, 3, false)]
        {
            let points = shell(planes, per_plane, shift);
            let grid = Grid {
                planes,
                per_plane,
                shift: if seam { shift } else { 0 },
                seam,
            };
            let mut reached = 0;
            for (&(a, b), (length, nodes)) in
                pairs
                    .iter()
                    .zip(least(&points, &places, &pairs, Some(grid), limits))
            {
                let wanted = slowly(&points, places[a], places[b], grid, limits);
                assert!(
                    (length - wanted).abs() < 1e-6 || length == wanted,
                    "{a} {b}"
                );
                assert_eq!(nodes.is_empty(), length.is_infinite());
                reached += usize::from(length.is_finite());
            }
            assert!(reached > 20, "{reached}");
        }
    }

    #[test]
    fn the_length_of_a_path_is_that_of_its_parts() {
        let points = shell(9, 11, 5);
        let grid = Grid {
            planes: 9,
            per_plane: 11,
            shift: 5,
            seam: true,
        };
        let limits = Limits {
            sine: 0.2,
            range: 3000.0,
            link: f64::INFINITY,
        };
        let places = [place(0.1, 0.2), place(2.5, -0.4)];
        let (length, nodes) = least(&points, &places, &[(0, 1)], Some(grid), limits).remove(0);
        let mut way = vec![places[0].0];
        way.extend(nodes.iter().map(|&node| points[node]));
        way.push(places[1].0);
        let sum: f64 = way.windows(2).map(|pair| distance(pair[0], pair[1])).sum();
        assert!((sum - length).abs() < 1e-9);
        assert!(nodes.len() > 2);
        for pair in nodes.windows(2) {
            assert!(grid.neighbours(pair[0]).contains(&Some(pair[1])));
        }
    }

    #[test]
    fn links_are_between_neighbours_in_both_directions() {
        for (shift, seam) in [(0, true), (4, true), (0, false)] {
            let grid = Grid {
                planes: 5,
                per_plane: 7,
                shift,
                seam,
            };
            for node in 0..35 {
                for next in grid.neighbours(node).into_iter().flatten() {
                    assert!(grid.neighbours(next).contains(&Some(node)), "{node} {next}");
                }
            }
            let open = (0..35).flat_map(|node| grid.neighbours(node)).flatten();
            assert_eq!(open.count(), if seam { 140 } else { 126 });
        }
    }

    #[test]
    fn satellites_without_links_are_paths_alone() {
        let points = shell(8, 12, 0);
        let limits = Limits {
            sine: 0.0,
            range: f64::INFINITY,
            link: 0.0,
        };
        let places = [place(0.0, 0.1), place(0.2, 0.0), place(3.1, 0.0)];
        let rows = least(&points, &places, &[(0, 1), (0, 2)], None, limits);
        assert_eq!(rows[0].1.len(), 1);
        assert_eq!(rows[1], (f64::INFINITY, vec![]));
    }
}
