//! The scenario language: from text to links, flows and TCPs.
//!
//! [`load`] reads TOML or JSON, fills in presets, applies overrides, and checks everything, so the
//! result can be built. [`Scenario::to_json`] writes a scenario with every default; that text loads
//! to the same scenario. [`Scenario::expand`] numbers nodes and expands counts.

#![forbid(unsafe_code)]

mod agent;
mod app;
mod arq;
pub mod background;
mod bdp;
mod burst;
mod cake;
mod channel;
#[cfg(test)]
mod channel_faults;
mod checks;
mod classes;
mod compression;
mod contacts;
mod control;
mod decode;
mod defaults;
mod discipline;
mod distribution;
mod dscp;
mod error;
mod expand;
mod expanded;
#[cfg(test)]
mod faults;
mod fec;
mod files;
mod flow;
mod fragments;
mod handoff;
mod host;
mod host_jitter;
mod ip;
mod library;
mod mac;
mod multipath;
mod preset;
pub mod process;
mod python_class;
mod queue;
mod quic;
mod quic_table;
#[cfg(test)]
mod reference;
mod roaming;
mod spec;
mod stp_half;
mod subflows;
mod super_packet;
mod table;
mod tcp;
#[cfg(test)]
mod tcp_pages;
mod tcp_together;
mod template;
#[cfg(test)]
mod tests;
mod trace;
mod traffic;
mod tree;
mod units;
mod value;
mod xtp_half;

use serde::Deserialize;

pub use agent::{AckpProtocol, AgentName, AgentSpec, ExpandedAgent, OpenName, SackName, TimerFrom};
pub use app::{App, HttpSpec, RepeatSpec, StreamSpec};
pub use arq::{AccessName, ArqLink, ArqName, ArqSpec, Directions, MacSpec, RetryFromName};
pub use background::{BackgroundDistribution, BackgroundSpec};
pub use burst::Burst;
pub use cake::{AckFilterName, FramingName, IsolationName, TinsName};
pub use channel::{Channel, ChannelSpec, Distribution, GilbertSpec, JitterSpec, ReorderSpec};
pub use classes::{ClassSpec, build as build_classes};
pub use compression::{CompressionName, CompressionSpec};
pub use control::ControlSpec;
use decode::Problem;
pub use discipline::{DisciplineName, DisciplineSpec, DisciplineTable};
pub use distribution::{
    DistributionName, SizeDistribution, SizeDistributionTable, TimeDistribution,
    TimeDistributionTable,
};
pub use error::ScenarioError;
pub use expanded::{DirectionSpec, Expanded, ExpandedFlow, ExpandedLink, HostJitter, RouteChange};
pub use fec::FecSpec;
pub use files::Reader;
pub use flow::{AppName, Connections, FlowSpec, IpName, Opener};
pub use handoff::{AgentHandoff, ExpandedHandoff, HandoffSpec, QueuedName};
pub use host::{HostJitterSpec, HostSpec};
pub use library::library;
pub use multipath::{CouplingName, MultipathSpec, PathSpec, SchedulerName, Subflow};
pub use preset::presets_json;
pub use process::*;
pub use python_class::{Builders, ClassText, Delivered, MessageSource, PythonClass, set_builders};
pub use queue::QueueSpec;
pub use quic::{QuicControl, QuicPages, QuicProgram, QuicService, QuicSpec};
pub use quic_table::QuicTable;
pub use spec::{DirectionTable, Fragments, LinkSpec, RouteSpec, Scenario};
pub use stp_half::StpHalfSpec;
pub use tcp::TcpSpec;
pub use template::{Template, expand_resolved};
pub use trace::{DelayTraceSpec, LossTraceSpec, RatePlan, RateTraceSpec, RateTraceTable, Start};
pub use traffic::{ConversationSpec, Protocol, UdpSpec, WebSpec, XtpSpec};
use tree::{Node, Step};
pub use units::{
    Factor, Frequency, Length, Probability, Rate, Scalar, Size, SizeLimit, Speed, SymbolRate, Time,
};
pub use xtp_half::XtpHalfSpec;

/// Reads and checks a scenario, and fills in defaults that depend on other keys.
///
/// `text` is JSON if it begins with a brace, otherwise TOML. `origin` is the file's name in error
/// messages. `overrides` are pairs (path, value) such as `("links.0.down.delay", "300ms")`.
///
/// # Errors
/// Fails for wrong syntax, for a key that is unknown or has no effect, for a value without a unit
/// or out of range, and for a flow without a path.
pub fn load(
    text: &str,
    origin: &str,
    overrides: &[(String, String)],
) -> Result<Scenario, ScenarioError> {
    let mut none = |_: &str| Err("a scenario loaded from text alone has no files".to_owned());
    load_with(text, origin, overrides, &mut none)
}

/// As [`load`], and replaces the names of files by their texts. `read` is called once for each
/// place that names a file.
///
/// # Errors
/// As [`load`], and errors of `read`.
pub fn load_with(
    text: &str,
    origin: &str,
    overrides: &[(String, String)],
    read: &mut Reader<'_>,
) -> Result<Scenario, ScenarioError> {
    Template::parse(text, origin)?.load_once(overrides, read)
}

/// Returns the JSON Schema of a scenario.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Scenario);
    schema.insert("title".to_owned(), "farlink scenario".into());
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

impl Scenario {
    /// Returns the scenario with every default as JSON that [`load`] reads. `tcp` has only the keys
    /// in the scenario, which overrides can change. `resolved_tcp` has all TCP keys of each entry
    /// of `flows`.
    pub fn to_json(&self) -> String {
        let mut whole = self.clone();
        whole.resolved_tcp = self.whole_tcp().ok();
        serde_json::to_string(&whole).unwrap_or_default()
    }

    /// Numbers the nodes, and expands counts and TCP configurations.
    ///
    /// # Errors
    /// Returns the errors of [`load`] if the scenario was changed after it was loaded.
    pub fn expand(&self) -> Result<Expanded, ScenarioError> {
        expand::expand(self).map_err(|problem| ScenarioError::bare(&problem))
    }

    /// Returns the keys of `[tcp]` without an effect in any flow. Each comes with the key or value
    /// that it would need.
    fn idle_keys(&self) -> Result<Vec<(&'static str, &'static str)>, Problem> {
        let mut idle: Option<Vec<_>> = None;
        for flow in self.flows.iter().filter(|flow| !flow.app.is_udp()) {
            let config = flow.tcp.over(&self.tcp).resolve()?;
            let own = self.tcp.idle(&config);
            match &mut idle {
                Some(idle) => idle.retain(|key| own.contains(key)),
                None => idle = Some(own),
            }
        }
        Ok(idle.unwrap_or_default())
    }

    /// Returns every TCP key of each entry of `flows`; for UDP no keys.
    fn whole_tcp(&self) -> Result<Vec<TcpSpec>, Problem> {
        let whole = |flow: &FlowSpec| {
            if flow.app.is_udp() {
                return Ok(TcpSpec::default());
            }
            self.tcp_of(flow).whole()
        };
        self.flows.iter().map(whole).collect()
    }

    /// Writes out defaults that depend on other keys.
    fn fill(&mut self) {
        for flow in self.flows.iter_mut().filter(|flow| !flow.app.is_udp()) {
            // A flow with a profile of its own has that profile's default variant.
            if flow.tcp.profile.is_some() && flow.tcp.variant.is_none() {
                let whole = flow.tcp.over(&self.tcp);
                flow.tcp.variant = Some(whole.variant_name().to_owned());
            }
        }
        self.tcp.variant = Some(self.tcp.variant_name().to_owned());
        self.tcp.profile = Some(self.tcp.profile().name);
        for link in &mut self.links {
            link.name = Some(link.name_or_default());
            // The values of the preset are now keys of the link.
            link.preset = None;
            if link.up.is_none() {
                link.up.clone_from(&link.down);
            }
            bdp::spell_out(link);
            for table in [&mut link.down, &mut link.up].into_iter().flatten() {
                if let Some(discipline) = &mut table.discipline {
                    discipline.spell_out();
                }
                let classes = table.classes.iter_mut();
                for discipline in classes.filter_map(|class| class.discipline.as_mut()) {
                    discipline.spell_out();
                }
            }
            if let Some(arq) = &mut link.arq {
                arq.spell_out();
            }
        }
        for agent in &mut self.agents {
            agent.fill();
        }
        for i in 0..self.flows.len() {
            self.flows[i].name = Some(self.flow_name(i));
            self.flows[i].fill();
        }
    }

    /// Compares the TCPs stored in a resolved scenario with those that its other keys give. A
    /// changed table of variants must not silently change an old result.
    fn compare(&self, text: &[TcpSpec]) -> Result<(), Problem> {
        const HELP: &str = "if the change is meant, remove resolved_tcp";
        let given = self.whole_tcp()?;
        if given.len() != text.len() {
            let message = format!(
                "has {} elements for {} flows; {HELP}",
                text.len(),
                given.len()
            );
            return Err(Problem::new(["resolved_tcp".into()], message));
        }
        for (i, (given, text)) in given.iter().zip(text).enumerate() {
            if let Some((key, message)) = text.difference(given) {
                let path = [
                    Step::from("resolved_tcp"),
                    Step::from(i),
                    key.as_str().into(),
                ];
                return Err(Problem::new(path, format!("{message}; {HELP}")));
            }
        }
        Ok(())
    }
}

/// Refuses TCP keys without an effect. Keys of the scenario may lose their effect if the user or a
/// sweep overrides the scenario's TCP, now or when the scenario was resolved. Keys that are set
/// together with that TCP may not.
fn refuse_idle(
    scenario: &Scenario,
    resolved: bool,
    overrides: &[(String, String)],
) -> Result<(), Problem> {
    let puts = |tcp: &str, key: &str| {
        let paths = overrides.iter().map(|(path, _)| path.strip_prefix(tcp));
        paths.flatten().any(|path| tcp::path_writes(path, key))
    };
    let put = |key: &str| puts("tcp.", key);
    let others = resolved || ["variant", "profile"].into_iter().any(put);
    for (i, flow) in scenario.flows.iter().enumerate() {
        let config = flow.tcp.over(&scenario.tcp).resolve()?;
        let own = |key: &str| !others || puts(&format!("flows.{i}.tcp."), key);
        let idle = flow.tcp.idle(&config);
        if let Some((key, needs)) = idle.into_iter().find(|(key, _)| own(key)) {
            let problem = checks::ignored(key, needs).within("tcp");
            return Err(problem.within(i).within("flows"));
        }
        if own("quic") {
            let whole = scenario.tcp_of(flow);
            quic::refuse_idle(flow.tcp.quic.as_ref(), std::iter::once(&whole))
                .map_err(|problem| problem.within(i).within("flows"))?;
        }
    }
    if !others || put("quic") {
        let tcps = scenario.flows.iter().map(|flow| scenario.tcp_of(flow));
        let tcps: Vec<_> = tcps.collect();
        quic::refuse_idle(scenario.tcp.quic.as_ref(), tcps.iter())?;
    }
    let idle = scenario.idle_keys()?.into_iter();
    match idle.into_iter().find(|(key, _)| !others || put(key)) {
        Some((key, needs)) => Err(checks::ignored(key, needs).within("tcp")),
        None => Ok(()),
    }
}

fn whole(tree: &mut Node, overrides: &[(String, String)]) -> Result<Scenario, Problem> {
    preset::apply(tree)?;
    let mut scenario = Scenario::deserialize(&*tree)?;
    let text = scenario.resolved_tcp.take();
    expand::expand(&scenario)?;
    refuse_idle(&scenario, text.is_some(), overrides)?;
    scenario.fill();
    let own_tcp = |(path, _): &(String, String)| {
        path.starts_with("tcp") || path.starts_with("flows") || path.starts_with("resolved_tcp")
    };
    if let Some(text) = text
        && !overrides.iter().any(own_tcp)
    {
        scenario.compare(&text)?;
    }
    Ok(scenario)
}
