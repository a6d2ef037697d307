//! Limits of values, and messages for values beyond them.

use farlink_tcp::Interval;

use super::decode::Problem;
use super::tree::Step;
use super::units::Time;

/// Maximum simulated time: ten years.
pub(super) const LONGEST_RUN: Interval = Interval::from_secs(87_600 * 3600);
/// Maximum delay of a link or a stage.
pub(super) const LONGEST_DELAY: Interval = Interval::from_secs(3600);

/// Zero, as a bound of keys.
pub(super) const ZERO: Time = Time(Interval::ZERO);
/// Shortest time above zero, as a bound of keys.
pub(super) const SHORTEST: Time = Time(Interval::from_nanos(1));
/// Shortest time of the keys of a radio.
pub(super) const MICROSECOND: Time = Time(Interval::from_micros(1));
/// Longest time of most keys.
pub(super) const HOUR: Time = Time(LONGEST_DELAY);

/// Builds the problem of a key. `message` completes a sentence that begins with the key.
pub(super) fn fault(key: &str, message: impl Into<String>) -> Problem {
    Problem::new([key.into()], message)
}

/// Builds the problem of a value. `message` begins with the value.
pub(super) fn out_of_range(path: impl IntoIterator<Item = Step>, message: &str) -> Problem {
    Problem::new(path, format!("= {message}"))
}

/// Refuses a time above `most`.
pub(super) fn at_most(key: &str, time: Time, most: Interval) -> Result<(), Problem> {
    if time.0 <= most {
        return Ok(());
    }
    let most = Time(most);
    let message = format!("= \"{time}\" is out of range; write at most \"{most}\"");
    Err(fault(key, message))
}

/// Builds the problem of a key that has no effect because what it needs is absent.
pub(super) fn ignored(key: &str, needs: &str) -> Problem {
    fault(key, format!("would be ignored; it needs {needs}"))
}
