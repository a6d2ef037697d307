//! Queue limits in bandwidth-delay products or in time.

use farlink_tcp::Interval;

use super::decode::Problem;
use super::queue::QueueSpec;
use super::spec::{DirectionTable, LinkSpec};
use super::tree::Step;
use super::units::{Rate, Time};

/// Returns the limit in bytes if `limit` is in bandwidth-delay products (rate x round trip x share)
/// or in time (rate x time), rounded up; otherwise `limit`.
pub(super) fn in_bytes(limit: QueueSpec, rate: Rate, round_trip: Interval) -> QueueSpec {
    let (time, millionths) = match limit {
        QueueSpec::Bdp { share, rtt } => {
            let time = rtt.map_or(round_trip, |rtt| rtt.0);
            (time, share.0.millionths())
        }
        QueueSpec::Time(time) => (time.0, 1_000_000),
        _ => return limit,
    };
    // The product of bits per second, nanoseconds and millionths is below 2^128.
    let product = u128::from(rate.0) * u128::from(time.as_nanos()) * u128::from(millionths);
    let bytes = product.div_ceil(8 * 1_000_000_000 * 1_000_000);
    QueueSpec::Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// Checks a limit in bandwidth-delay products or in time. Paths in errors begin with `key`.
pub(super) fn check(
    key: &str,
    limit: QueueSpec,
    rate: Rate,
    round_trip: Interval,
) -> Result<(), Problem> {
    let QueueSpec::Bytes(n) = in_bytes(limit, rate, round_trip) else {
        return Ok(());
    };
    if (1..=1 << 40).contains(&n) {
        return Ok(());
    }
    let (path, message) = match limit {
        QueueSpec::Time(time) => (
            "time",
            format!(
                "= \"{time}\" at \"{rate}\" makes {n} bytes; write what makes 1 B to 1024 GiB, or \
                 {key} = \"unlimited\""
            ),
        ),
        QueueSpec::Bdp { rtt, .. } => (
            "bdp",
            format!(
                "times \"{rate}\" for \"{}\" makes {n} bytes; write what makes 1 B to 1024 GiB \
                 (rtt = \"600 ms\" beside it names another round trip), or {key} = \"unlimited\"",
                rtt.unwrap_or(Time(round_trip))
            ),
        ),
        _ => return Ok(()),
    };
    Err(Problem::new([Step::from(key), Step::from(path)], message))
}

/// Writes the queue limits of a link in bytes. A rate trace counts with its mean rate, as in the
/// simulator.
pub(super) fn spell_out(link: &mut LinkSpec) {
    let delay = |table: &Option<DirectionTable>| {
        table
            .as_ref()
            .and_then(|table| table.delay)
            .map_or(Interval::ZERO, |delay| delay.0)
    };
    let round_trip = delay(&link.down) + delay(&link.up);
    for table in [&mut link.down, &mut link.up].into_iter().flatten() {
        let traced = || {
            let plan = match (&table.rate_trace, &table.contacts) {
                (Some(trace), _) => trace.plan().ok()?,
                (None, contacts) => contacts.as_ref()?.plan().ok()?.rates,
            };
            Some(Rate(plan.trace.mean().max(1)))
        };
        let Some(rate) = table.rate.or_else(traced) else {
            continue;
        };
        table.queue = in_bytes(table.queue, rate, round_trip);
        table.mark = in_bytes(table.mark, rate, round_trip);
        for class in &mut table.classes {
            class.queue = in_bytes(class.queue, rate, round_trip);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{QueueSpec, load};

    const TEXT: &str = "[[links]]\nbetween = [\"a\", \"b\"]\n\
        down = { rate = \"12 Mbit/s\", delay = \"250 ms\", queue = { bdp = 1.2 } }\n\
        up = { rate = \"3 Mbit/s\", delay = \"150 ms\", queue = { bdp = 2, rtt = \"600 ms\" } }\n\
        [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 MB\"\n";

    #[test]
    fn a_limit_in_products_is_of_the_round_trip_of_the_link_or_of_the_one_named() {
        let scenario = load(TEXT, "test", &[]).unwrap();
        let link = &scenario.expand().unwrap().links[0];
        // 12 Mbit/s for 400 ms are 600 kB; 3 Mbit/s for 600 ms are 225 kB.
        assert_eq!(link.down.queue, QueueSpec::Bytes(720_000));
        assert_eq!(link.up.queue, QueueSpec::Bytes(450_000));
        // A saved scenario has the limit in bytes and loads to the same scenario.
        let json = scenario.to_json();
        assert!(json.contains("\"queue\":{\"bytes\":\"720 kB\"}"), "{json}");
        assert_eq!(load(&json, "saved", &[]).unwrap(), scenario);
    }

    #[test]
    fn a_link_without_up_has_the_limit_both_ways_and_marks_take_products_too() {
        let text = TEXT.replace("up = {", "# up = {").replace(
            "queue = { bdp = 1.2 }",
            "queue = { bdp = 1.2 }, mark = { bdp = 0.5 }",
        );
        let link = &load(&text, "test", &[]).unwrap().expand().unwrap().links[0];
        assert_eq!(link.up.queue, QueueSpec::Bytes(900_000));
        assert_eq!(link.down.mark, QueueSpec::Bytes(375_000));
    }

    #[test]
    fn a_limit_in_time_is_that_of_the_rate_of_each_direction() {
        let text = TEXT
            .replace("{ bdp = 1.2 }", "\"200 ms\", mark = { time = \"50 ms\" }")
            .replace("{ bdp = 2, rtt = \"600 ms\" }", "{ time = \"1 ms\" }");
        let scenario = load(&text, "test", &[]).unwrap();
        let link = &scenario.expand().unwrap().links[0];
        // 12 Mbit/s for 200 ms are 300 kB; 3 Mbit/s for 1 ms are 375 B.
        assert_eq!(link.down.queue, QueueSpec::Bytes(300_000));
        assert_eq!(link.down.mark, QueueSpec::Bytes(75_000));
        assert_eq!(link.up.queue, QueueSpec::Bytes(375));
        let json = scenario.to_json();
        assert!(json.contains("\"queue\":{\"bytes\":\"300 kB\"}"), "{json}");
        assert_eq!(load(&json, "saved", &[]).unwrap(), scenario);
        // A part of a byte counts as a whole one.
        let odd = text
            .replace("\"200 ms\"", "\"1 us\"")
            .replace("50 ms", "1 ns");
        let link = &load(&odd, "test", &[]).unwrap().expand().unwrap().links[0];
        assert_eq!(link.down.queue, QueueSpec::Bytes(2));
        assert_eq!(link.down.mark, QueueSpec::Bytes(1));
    }

    #[test]
    fn a_limit_in_time_counts_the_mean_rate_of_a_trace() {
        let text = TEXT.replacen("rate = \"12 Mbit/s\"", "rate_trace = \"12 Mbit/s\"", 1);
        let limit = |queue: &str| {
            let text = text.replace("{ bdp = 1.2 }", queue);
            load(&text, "test", &[]).unwrap().expand().unwrap().links[0]
                .down
                .queue
        };
        assert_eq!(limit("\"480 ms\""), limit("{ bdp = 1.2 }"));
    }

    #[test]
    fn a_limit_in_products_beside_a_rate_trace_is_saved_in_bytes() {
        let text = TEXT.replacen("rate = \"12 Mbit/s\"", "rate_trace = \"12 Mbit/s\"", 1);
        let scenario = load(&text, "test", &[]).unwrap();
        let link = &scenario.expand().unwrap().links[0];
        let QueueSpec::Bytes(limit) = link.down.queue else {
            panic!("{:?}", link.down.queue);
        };
        let json = scenario.to_json();
        assert!(!json.contains("bdp"), "{json}");
        let saved = load(&json, "saved", &[]).unwrap();
        let link = &saved.expand().unwrap().links[0];
        assert_eq!(link.down.queue, QueueSpec::Bytes(limit));
    }
}
