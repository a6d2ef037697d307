//! Messages for values out of range.

use farlink_tcp::Interval;

use super::decode::Problem;
use super::tree::Step;
use super::units::Time;

/// Longest time that is simulated: ten years.
pub(super) const LONGEST_RUN: Interval = Interval::from_secs(87_600 * 3600);
/// Longest delay of a link or a stage.
pub(super) const LONGEST_DELAY: Interval = Interval::from_secs(3600);

/// No time.
pub(super) const ZERO: Time = Time(Interval::ZERO);
/// A moment.
pub(super) const SHORTEST: Time = Time(Interval::from_nanos(1));
/// The unit of what is set in a radio.
pub(super) const MICROSECOND: Time = Time(Interval::from_micros(1));
/// The longest of most times.
pub(super) const HOUR: Time = Time(LONGEST_DELAY);

/// Fault of a key; `message` completes a sentence that begins with the key.
pub(super) fn fault(key: &str, message: impl Into<String>) -> Problem {
    Problem::new([key.into()], message)
}

/// Fault of a value; `message` begins with the value.
pub(super) fn out_of_range(path: impl IntoIterator<Item = Step>, message: &str) -> Problem {
    Problem::new(path, format!("= {message}"))
}

/// Refuses a time that is too long.
pub(super) fn at_most(key: &str, time: Time, most: Interval) -> Result<(), Problem> {
    if time.0 <= most {
        return Ok(());
    }
    let most = Time(most);
    let message = format!("= \"{time}\" is out of range; write at most \"{most}\"");
    Err(fault(key, message))
}

/// A key without what it needs.
pub(super) fn ignored(key: &str, needs: &str) -> Problem {
    fault(key, format!("would be ignored; it needs {needs}"))
}
