//! Congestion controls written in Python: registration, and the controller that calls the class.

mod class;
mod controller;
mod objects;
mod steps;
mod watchdog;

pub(crate) use class::register_control;
pub(crate) use objects::{ControlEvent, ControlState};
pub(crate) use steps::Steps;
pub(crate) use watchdog::{Watchdog, run_attached, uses_python};
