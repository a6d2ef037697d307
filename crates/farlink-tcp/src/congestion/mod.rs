//! Congestion control: one file per algorithm, hooks named after the event.
//!
//! A controller owns `cwnd` and `ssthresh` only. It reads the time, the flight size and the RTT
//! estimate from [`Context`], has no access to the connection, and schedules nothing. Recovery
//! ([`crate::recovery`]) decides *when* a loss occurred; the controller decides how the loss
//! changes the window.

mod adalr;
mod aggregation;
mod algorithm;
mod bbr;
mod bbr3;
mod copa;
mod counting;
mod coupled;
mod cubic;
mod dctcp;
mod dummies;
mod extras;
mod fraction;
mod hooks;
mod htcp;
mod hybla;
mod hystart;
mod hystart_classic;
mod illinois;
mod ledbat;
mod metric;
mod mix;
mod peach;
mod prague;
mod recent;
mod registry;
mod reno;
mod resume;
mod search;
mod slow_start;
#[cfg(test)]
mod undo_tests;
mod unlimited;
mod vegas;
mod westwood;

use crate::config::Config;
pub(crate) use crate::key::Word;
pub use adalr::Adalr;
pub use algorithm::{
    Algorithm, Control, Input, Parameter, Range, RecoveryWindow, Setting, SettingError, Start,
};
pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use copa::Copa;
pub use counting::ByteCounting;
pub use coupled::Coupled;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use dummies::DummySegments;
pub use extras::{
    Access, EndSlowStart, Extras, LossSampled, MarkCounting, PeerWindow, RateSampled, Repair,
    Resumable, UndoReduction,
};
pub use hooks::{
    Ack, CongestionControl, Context, Feedback, InForce, Loss, MarkReport, RoundTrip, Undone,
};
pub(crate) use hooks::{PACED_HEADERS, half_flight};
pub use htcp::Htcp;
pub use hybla::Hybla;
pub use illinois::Illinois;
pub use ledbat::{LEDBAT, LEDBAT_PLUS_PLUS};
pub use metric::Metric;
pub use peach::Peach;
pub use prague::Prague;
pub use registry::{Abort, is_added, lookup, metric_names, register};
pub use reno::Reno;
pub(crate) use resume::{Delivery, Resume};
pub(crate) use slow_start::SlowStart;
pub use slow_start::SlowStartExit;
pub use unlimited::Unlimited;
pub use vegas::Vegas;
pub use westwood::{WESTWOOD, WESTWOOD_PLUS};

pub use crate::rate::{LostSegment, RateSample};

/// All algorithms, in the order of the documentation.
pub static ALGORITHMS: &[&Algorithm] = &[
    &Unlimited::ALGORITHM,
    &Reno::ALGORITHM,
    &Vegas::ALGORITHM,
    &Cubic::ALGORITHM,
    &WESTWOOD,
    &WESTWOOD_PLUS,
    &Hybla::ALGORITHM,
    &Adalr::ALGORITHM,
    &Peach::ALGORITHM,
    &Bbr::ALGORITHM,
    &Bbr3::ALGORITHM,
    &Dctcp::ALGORITHM,
    &Prague::ALGORITHM,
    &Illinois::ALGORITHM,
    &Htcp::ALGORITHM,
    &LEDBAT,
    &LEDBAT_PLUS_PLUS,
    &Copa::ALGORITHM,
];

/// Builds the controller that `config` selects, for the MSS in use.
pub(crate) fn build(config: &Config, mss: u32) -> Box<dyn CongestionControl> {
    let start = Start {
        window: config.window.initial.bytes(mss),
        ssthresh: config.window.initial_ssthresh.unwrap_or(u64::MAX),
        byte_counting: config.window.byte_counting,
        paced: config.window.pacing.is_some(),
    };
    if config.window.slow_start == SlowStartExit::Standard {
        return config.congestion.build(start);
    }
    // The rule of the connection replaces CUBIC's own; other controllers have no such parameter.
    let mut control = config.congestion.clone();
    let _ = control.set("hystart", Setting::Choice("off"));
    control.build(start)
}

/// Returns whether the algorithm can undo a reduction of its window.
pub fn can_undo(control: &Control) -> bool {
    control.algorithm().extras.undo.is_some()
}

/// Returns whether the algorithm can follow Careful Resume. Sudden Start probes the same window in
/// the same round trip by dummy segments.
pub fn can_resume(control: &Control) -> bool {
    let extras = &control.algorithm().extras;
    let sudden = extras.dummies.is_some() && control.flag("sudden_start");
    extras.slow_start.is_some() || (extras.resume.is_some() && !sudden)
}

/// Returns whether the algorithm uses the part `input` of [`Config`].
pub fn uses_input(control: &Control, input: Input) -> bool {
    control.algorithm().inputs.contains(&input)
}

/// Returns whether the controller sets cwnd itself during loss recovery; PRR is then off.
pub fn owns_recovery_window(control: &Control) -> bool {
    (control.algorithm().recovery_window)(control) == RecoveryWindow::Controller
}

/// Returns whether the algorithm sends dummy segments.
pub fn sends_dummies(control: &Control) -> bool {
    control.algorithm().extras.dummies.is_some()
}
