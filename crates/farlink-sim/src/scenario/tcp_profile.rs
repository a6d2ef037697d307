//! The row that a TCP begins from, in the manner of its profile, and pacing.

use farlink_tcp::config::{Config, Pacing, Recovery, Undo};
use farlink_tcp::congestion;
use farlink_tcp::profile::{self, Profile};

use super::decode::{Problem, suggestion};
use super::tcp::{TcpSpec, fault};
use super::tcp_choices::ProfileName;
use super::units::Factor;

impl TcpSpec {
    /// The profile, that of the rows as they are if none is written.
    pub(super) fn profile(&self) -> &'static Profile {
        self.profile.map_or(&profile::RFC, ProfileName::value)
    }

    /// Name of the variant, the usual one of the profile if none is written.
    pub fn variant_name(&self) -> &str {
        self.variant.as_deref().unwrap_or(self.profile().usual)
    }

    /// The row of the variant in the manner of the profile.
    pub(super) fn base(&self) -> Result<Config, Problem> {
        let (name, profile) = (self.variant_name(), self.profile());
        profile
            .config(name)
            .ok_or_else(|| fault("variant", self.unknown(name)))
    }

    /// What to say of a name that the profile has no TCP of.
    fn unknown(&self, name: &str) -> String {
        if let Some((other, tcp)) = profile::split(name) {
            return format!(
                "= {name:?} has a profile before it; write profile = {:?} and variant = {tcp:?}",
                other.name
            );
        }
        let profile = self.profile();
        let known = profile.names();
        if profile.members.is_some() {
            return format!(
                "= {name:?} is not a TCP of profile = {:?}; it has {}",
                profile.name,
                known.join(", ")
            );
        }
        let mut hint = suggestion(name, &known, "variants");
        if hint.starts_with("did") {
            hint = format!("{hint} The variants are {}", known.join(", "));
        }
        format!("= {name:?} is not a TCP; {hint}")
    }

    /// Takes from a profile what other keys leave without its input; what is
    /// written here stays, and is refused.
    pub(super) fn without_what_it_needs(&self, config: &mut Config) {
        if self.receive_window.is_some() && self.receive_window_max.is_none() {
            // As SO_RCVBUF does, which ends autotuning.
            config.receiver.buffer_max = None;
        }
        if config.receiver.buffer_max.is_none() && self.gradual_window.is_none() {
            config.receiver.gradual_window = false;
        }
        if self.undo.is_none() {
            let coarse = !matches!(
                config.recovery,
                Recovery::Vegas {
                    coarse_timeout: false,
                    ..
                }
            );
            let able = congestion::can_undo(&config.congestion);
            config.undo = Undo {
                dsack: able && config.undo.dsack && config.receiver.dsack,
                eifel: able && config.undo.eifel && config.timestamps,
                frto: able && config.undo.frto && coarse,
            };
        }
    }

    pub(super) fn lay_pacing_over(&self, config: &mut Config) {
        let kept = config.pacing.unwrap_or_default();
        let on = self.pacing.unwrap_or(config.pacing.is_some());
        config.pacing = on.then(|| Pacing {
            slow_start: self.pacing_ss_ratio.map_or(kept.slow_start, |f| f.0),
            avoidance: self.pacing_ca_ratio.map_or(kept.avoidance, |f| f.0),
        });
    }

    pub(super) fn show_pacing(&mut self, config: &Config) {
        self.pacing = Some(config.pacing.is_some());
        self.pacing_ss_ratio = config.pacing.map(|p| Factor(p.slow_start));
        self.pacing_ca_ratio = config.pacing.map(|p| Factor(p.avoidance));
    }

    /// Ranges of the keys of pacing.
    pub(super) fn check_pacing(&self) -> Result<(), Problem> {
        for (key, value) in [
            ("pacing_ss_ratio", self.pacing_ss_ratio),
            ("pacing_ca_ratio", self.pacing_ca_ratio),
        ] {
            if let Some(ratio) = value.filter(|f| !(0.1..=10.0).contains(&f.0.as_f64())) {
                let says = format!("= {} is out of range; write 0.1 to 10", ratio.0.as_f64());
                return Err(fault(key, says));
            }
        }
        Ok(())
    }
}
