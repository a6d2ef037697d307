//! Queue limits in bandwidth-delay products.

use farlink_tcp::Interval;

use super::decode::Problem;
use super::queue::QueueSpec;
use super::spec::{DirectionTable, LinkSpec};
use super::tree::Step;
use super::units::{Rate, Time};

/// Returns the limit in bytes if `limit` is in bandwidth-delay products (rate x round trip x share,
/// rounded up), otherwise `limit`.
pub(super) fn in_bytes(limit: QueueSpec, rate: Rate, round_trip: Interval) -> QueueSpec {
    let QueueSpec::Bdp { share, rtt } = limit else {
        return limit;
    };
    let round_trip = rtt.map_or(round_trip, |rtt| rtt.0);
    // The product of bits per second, nanoseconds and millionths is below 2^128.
    let millionths = u128::from(share.0.millionths());
    let product = u128::from(rate.0) * u128::from(round_trip.as_nanos()) * millionths;
    let bytes = product.div_ceil(8 * 1_000_000_000 * 1_000_000);
    QueueSpec::Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// Checks a limit in bandwidth-delay products. Paths in errors begin with `key`.
pub(super) fn check(
    key: &str,
    limit: QueueSpec,
    rate: Rate,
    round_trip: Interval,
) -> Result<(), Problem> {
    if !matches!(limit, QueueSpec::Bdp { .. }) {
        return Ok(());
    }
    match in_bytes(limit, rate, round_trip) {
        QueueSpec::Bytes(n) if n == 0 || n > 1 << 40 => {
            let rtt = match limit {
                QueueSpec::Bdp { rtt: Some(rtt), .. } => rtt,
                _ => Time(round_trip),
            };
            let message = format!(
                "times \"{rate}\" for \"{rtt}\" makes {n} bytes; write what makes 1 B to 1024 GiB \
                 (rtt = \"600 ms\" beside it names another round trip), or {key} = \"unlimited\""
            );
            Err(Problem::new([Step::from(key), Step::from("bdp")], message))
        }
        _ => Ok(()),
    }
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
            Some(Rate(
                table.rate_trace.as_ref()?.plan().ok()?.trace.mean().max(1),
            ))
        };
        let Some(rate) = table.rate.or_else(traced) else {
            continue;
        };
        table.queue = in_bytes(table.queue, rate, round_trip);
        table.mark = in_bytes(table.mark, rate, round_trip);
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
