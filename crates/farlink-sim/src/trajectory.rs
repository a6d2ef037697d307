//! Positions of a radio link's nodes over time, for plots.

use crate::monitor::RunError;
use crate::scenario::{Expanded, process};
use farlink_channel::rng::Streams;
use farlink_tcp::{Instant, Interval};

/// Positions of the two nodes of a link.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trajectory {
    /// Times in seconds.
    pub time: Vec<f64>,
    /// Coordinates in metres: x and y of the first node, then of the second.
    pub places: [Vec<f64>; 4],
    /// Distance of the two nodes in metres.
    pub distance: Vec<f64>,
}

/// Maximum number of positions of a trajectory.
const MAX_POSITIONS: u64 = 10_000_000;

/// Returns the positions of the nodes of `link` at each `step` until `duration`. They are those of
/// the radio in run `run`.
///
/// # Errors
///
/// Fails if there is no such link, if its nodes do not move, or if the number of positions is 0 or
/// too large.
pub fn trajectory(
    scenario: &Expanded,
    run: u64,
    link: &str,
    step: Interval,
    duration: Interval,
) -> Result<Trajectory, RunError> {
    let wrong = |message: String| RunError::Build(message);
    let entry = scenario.links.iter().find(|known| known.name == link);
    let entry = entry.ok_or_else(|| {
        let names: Vec<_> = scenario.links.iter().map(|l| l.name.as_str()).collect();
        wrong(format!(
            "{link:?} is not a link; the links are {}",
            names.join(", ")
        ))
    })?;
    let count = duration.as_nanos().checked_div(step.as_nanos());
    let count = count.filter(|&n| n < MAX_POSITIONS).ok_or_else(|| {
        wrong(format!(
            "a place every {} s for {} s is out of range; ask for 1 to {MAX_POSITIONS} places",
            step.as_secs_f64(),
            duration.as_secs_f64()
        ))
    })?;
    let streams = Streams::new(scenario.seed, run);
    let moving = [("down", &entry.down), ("up", &entry.up)]
        .into_iter()
        .find_map(|(direction, spec)| {
            let name = format!("link/{}/{direction}", entry.name);
            spec.channel.iter().enumerate().find_map(|(table, stages)| {
                let place = process::Place {
                    rate: spec.rate,
                    overhead: spec.overhead,
                    fec: spec.fec,
                    streams: &streams,
                    direction: &name,
                    table,
                };
                stages.radio.as_ref()?.nodes(&place)
            })
        });
    let mut moving = moving.ok_or_else(|| {
        wrong(format!(
            "the nodes of link {link:?} do not move; write mobility = {{ ... }} in its radio"
        ))
    })?;
    let mut out = Trajectory::default();
    for i in 0..=count {
        let now = Instant::ZERO + step * i;
        let Some([first, second]) = moving.places(now) else {
            break;
        };
        out.time.push(now.as_secs_f64());
        for (column, value) in out
            .places
            .iter_mut()
            .zip([first.x, first.y, second.x, second.y])
        {
            column.push(value);
        }
        out.distance.push(first.distance(second));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn walk(link: &str, mobility: &str) -> Result<Trajectory, String> {
        let text = format!(
            "[[links]]\nname = \"air\"\nbetween = [\"a\", \"b\"]\ndown = {{ rate = \"250 kbit/s\", \
             delay = \"1 ms\", channel = {{ radio = {{ band = \"2400 MHz\", {mobility} }} }} }}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n"
        );
        let expanded = scenario::load(&text, "", &[]).unwrap().expand().unwrap();
        let (step, end) = (Interval::from_millis(500), Interval::from_secs(100));
        trajectory(&expanded, 0, link, step, end).map_err(|e| e.to_string())
    }

    const TRIP: &str = "mobility = { model = \"random-trip\", area = [\"100 m\", \"50 m\"], speed = \
                        [\"1 m/s\", \"3 m/s\"], moves = \"one\" }";

    #[test]
    fn places_are_inside_and_distances_theirs() {
        let measured = walk("air", TRIP).unwrap();
        assert_eq!(measured.time.len(), 201);
        assert_eq!(measured.time[200], 100.0);
        for i in 0..201 {
            let [x, y, u, v] = [0, 1, 2, 3].map(|c: usize| measured.places[c][i]);
            assert!((0.0..=100.0).contains(&x) && (0.0..=50.0).contains(&y));
            assert_eq!((u, v), (50.0, 25.0));
            assert!(((x - u).hypot(y - v) - measured.distance[i]).abs() < 1e-12);
        }
        assert_eq!(walk("air", TRIP).unwrap(), measured);
    }

    #[test]
    fn trajectory_refuses_links_without_moving_nodes() {
        let fault = walk("sea", TRIP).unwrap_err();
        assert!(fault.contains("\"sea\" is not a link; the links are air"));
        let fault = walk("air", "distance = \"5 m\"").unwrap_err();
        assert!(fault.contains("do not move"), "{fault}");
    }
}
