//! Agents at routers: middleboxes that read, change, drop, hold and send packets of a connection.
//!
//! The caller passes each packet that crosses the node and the time to the agent. The agent returns
//! its verdict, and the time of its next deadline. A [`View`] hides from the agent whether a packet
//! is simulated or the raw bytes of a real program.

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
mod thin;
mod timers;
mod view;

pub use connections::{AgentState, Connections, Limits};
pub use crossing::{Crossing, Ends};
pub use ebsn::Ebsn;
pub use eln::Eln;
pub use middlebox::{
    Act, Action, Agent, Injection, Leaving, LinkEvent, Note, Out, Tag, TransferredState, Verdict,
};
pub use snoop::{Repair, SackHandling, SenderNotices, Snoop, SnoopConfig, TimerStart};
pub use split::{Far, Settings as SplitSettings, Split};
pub use spoof::{Settings as SpoofSettings, Spoof};
pub use thin::{Thin, ThinConfig};
pub use view::{Path, View};
