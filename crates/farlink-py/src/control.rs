//! Classes in Python that the engine calls: congestion controls, laws of queues and sources of
//! messages.

mod class;
mod controller;
mod given;
mod objects;
mod steps;
mod watchdog;

pub(crate) use class::register_control;
pub(crate) use given::{ClassState, QueuedPacket, register_class};
pub(crate) use objects::{ControlEvent, ControlState};
pub(crate) use steps::Steps;
pub(crate) use watchdog::{Watchdog, run_attached, uses_python};
