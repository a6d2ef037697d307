//! The simulator: scenarios, the engine that runs them, and their results.
//!
//! ```
//! use farlink_sim::{Monitor, run, scenario};
//!
//! let text = r#"
//! [[links]]
//! between = ["server", "client"]
//! down = { rate = "2 Mbit/s", delay = "250 ms" }
//!
//! [[flows]]
//! from = "server"
//! to = "client"
//! size = "100 kB"
//! "#;
//! let scenario = scenario::load(text, "example", &[])?.expand()?;
//! let outcome = run(&scenario, 0, &Monitor::default())?;
//! assert!(outcome.simulated.as_secs_f64() > 0.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod app;
mod build;
mod digest;
mod drive;
mod event_queue;
mod flow;
mod live;
mod log;
mod metrics;
mod monitor;
mod multipath;
mod numbers;
#[cfg(feature = "threads")]
mod parallel;
mod probe;
mod quic;
mod run;
mod sample;
mod stepper;
mod story;
mod trajectory;
mod transit;
mod udp;
mod world;
mod xtp;

pub use digest::digest;
pub use farlink_scenario as scenario;
pub use live::{ChangeError, LinkReport, Live, MAX_QUEUE, Refused};
pub use metrics::{Combine, Kind, Metric, Scope, metrics};
pub use monitor::{Monitor, RunError};
pub use numbers::Group;
#[cfg(feature = "threads")]
pub use parallel::{Cores, run_each_parallel, run_parallel};
pub use probe::{
    Column, Holds, Piece, Quantity, Table, TraceColumn, TraceKind, columns_of, drop_causes,
    frame_kinds, limits, quantities, reasons, traces,
};
#[cfg(feature = "quic")]
pub use quic::config as quic_config;
pub use run::{Outcome, Trace, TraceOptions, run, trace, trace_into};
#[cfg(feature = "threads")]
pub use run::{run_all, run_each};
pub use sample::{Asked, MAX_PACKETS, Sample, SampleError, sample_channel};
pub use stepper::{Progress, Stepper};
pub use story::{STORY_TABLES, StoryLine, story};
pub use trajectory::{Trajectory, trajectory};
pub use world::Balance;
