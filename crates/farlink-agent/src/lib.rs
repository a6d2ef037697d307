//! Agents at routers: machines between the ends of a connection that read, change, drop,
//! hold and send packets.
//!
//! An agent is told the time and each packet that crosses its node, and answers what
//! becomes of it; it names the instant at which it wants to be called again. It sees a
//! packet through a [`View`], and cannot tell whether the packet is simulated or bytes of
//! a real program.

#[cfg(test)]
mod bed;
mod connections;
mod crossing;
mod ebsn;
mod eln;
mod middlebox;
mod snoop;
mod split;
mod spoof;
mod timers;
mod view;

pub use connections::{Connections, Kept, Limits};
pub use crossing::{Crossing, Ends};
pub use ebsn::Ebsn;
pub use eln::Eln;
pub use middlebox::{Act, Action, Agent, Injection, Leaving, Moved, Note, Out, Sent, Tag, Verdict};
pub use snoop::{Repair, SackHandling, Snoop, SnoopConfig, Tells};
pub use split::{Settings as SplitSettings, Split};
pub use spoof::{Settings as SpoofSettings, Spoof};
pub use view::{Path, View};
