//! Medium access in a scenario: what each kind of access needs and takes.

use farlink_net::mac::{Access, Aloha, CsmaCa, Others};
use farlink_net::rng;
use farlink_tcp::Interval;

use super::arq::{AccessName, LONGEST, MacSpec};
use super::checks::{at_most, fault, out_of_range};
use super::decode::Problem;
use super::units::Time;

/// IEEE 802.15.4-2006, table 86, and 2450 MHz.
const SYMBOL: Interval = Interval::from_micros(16);
const MIN_BE: u32 = 3;
const MAX_BE: u32 = 5;
const MAX_BACKOFFS: u32 = 4;
/// Ours.
const BACKOFF: u32 = 8;
const ATTEMPTS: u32 = 16;
const MOST_LOAD: f64 = 100.0;
const SHORTEST: Interval = Interval::from_micros(1);

fn within(key: &str, value: u32, least: u32, most: u32) -> Result<u32, Problem> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    let says = format!("{value} is out of range; write {least} to {most}");
    Err(out_of_range([key.into()], &says))
}

fn time(key: &str, time: Time) -> Result<Interval, Problem> {
    at_most(key, time, LONGEST)?;
    if time.0 < SHORTEST {
        let says = format!("\"{time}\" is out of range; write \"1 us\" to \"1 h\"");
        return Err(out_of_range([key.into()], &says));
    }
    Ok(time.0)
}

impl AccessName {
    fn text(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Constant => "constant",
            Self::Exponential => "exponential",
            Self::CsmaCa => "csma-ca",
            Self::Aloha => "aloha",
        }
    }
}

impl MacSpec {
    /// What is to be built; paths begin with the key.
    pub(super) fn resolve(&self) -> Result<Access, Problem> {
        self.refuse_ignored()?;
        if let Some(delay) = self.delay {
            at_most("delay", delay, LONGEST)?;
        }
        let delay = || {
            let says = "has no \"delay\"; write for example delay = \"10 ms\"";
            self.delay.ok_or_else(|| Problem::new([], says))
        };
        Ok(match self.access {
            AccessName::None => Access::None,
            AccessName::Constant => Access::Constant(delay()?.0),
            AccessName::Exponential => Access::Exponential(delay()?.0),
            AccessName::CsmaCa => Access::CsmaCa(self.csma_ca()?),
            AccessName::Aloha => Access::Aloha(self.aloha()?),
        })
    }

    /// Writes out what is left to its default.
    pub(super) fn fill(&mut self) {
        match self.access {
            AccessName::CsmaCa => {
                self.symbol.get_or_insert(Time(SYMBOL));
                self.min_be.get_or_insert(MIN_BE);
                self.max_be
                    .get_or_insert(MAX_BE.max(self.min_be.unwrap_or(MIN_BE)));
                self.max_backoffs.get_or_insert(MAX_BACKOFFS);
            }
            AccessName::Aloha => {
                self.backoff.get_or_insert(BACKOFF);
                self.attempts.get_or_insert(ATTEMPTS);
            }
            AccessName::None | AccessName::Constant | AccessName::Exponential => {}
        }
    }

    /// Keys that mean nothing to this kind of access.
    fn refuse_ignored(&self) -> Result<(), Problem> {
        use AccessName::{Aloha, Constant, CsmaCa, Exponential};
        let keys: [(&str, bool, &[AccessName]); 11] = [
            ("delay", self.delay.is_some(), &[Constant, Exponential]),
            ("load", self.load.is_some(), &[CsmaCa, Aloha]),
            ("stations", self.stations.is_some(), &[CsmaCa, Aloha]),
            ("busy", self.busy.is_some(), &[CsmaCa]),
            ("symbol", self.symbol.is_some(), &[CsmaCa]),
            ("min_be", self.min_be.is_some(), &[CsmaCa]),
            ("max_be", self.max_be.is_some(), &[CsmaCa]),
            ("max_backoffs", self.max_backoffs.is_some(), &[CsmaCa]),
            ("slot", self.slot.is_some(), &[Aloha]),
            ("backoff", self.backoff.is_some(), &[Aloha]),
            ("attempts", self.attempts.is_some(), &[Aloha]),
        ];
        for (key, written, of) in keys {
            if written && !of.contains(&self.access) {
                let says = format!("would be ignored; access is \"{}\"", self.access.text());
                return Err(fault(key, says));
            }
        }
        Ok(())
    }

    /// The others, from `load` and `stations`.
    fn others(&self, without: &str) -> Result<rng::Probability, Problem> {
        let Some(load) = self.load else {
            return Err(Problem::new([], without));
        };
        if !(0.0..=MOST_LOAD).contains(&load) {
            let says = format!("{load} is out of range; write 0 to {MOST_LOAD}");
            return Err(out_of_range(["load".into()], &says));
        }
        if let Some(n) = self.stations {
            within("stations", n, 1, 1_000_000)?;
            if load > n.into() {
                let says = format!(
                    "{load} is out of range; write at most {n}, one frame at a time of each of \
                     the stations"
                );
                return Err(out_of_range(["load".into()], &says));
            }
        }
        let others = Others {
            load,
            stations: self.stations,
        };
        Ok(others.silent())
    }

    fn csma_ca(&self) -> Result<CsmaCa, Problem> {
        let busy = match self.busy {
            Some(busy) => {
                for (key, written) in [
                    ("load", self.load.is_some()),
                    ("stations", self.stations.is_some()),
                ] {
                    if written {
                        let says = "would be ignored beside busy; write one of them";
                        return Err(fault(key, says));
                    }
                }
                rng::Probability::new(busy.0)
                    .map_err(|error| fault("busy", format!("= {error}")))?
            }
            None => self
                .others("has neither \"busy\" nor \"load\"; write for example busy = 0.3")?
                .complement(),
        };
        let min_be = within("min_be", self.min_be.unwrap_or(MIN_BE), 0, 8)?;
        let max_be = within(
            "max_be",
            self.max_be.unwrap_or(MAX_BE.max(min_be)),
            min_be,
            8,
        )?;
        let backoffs = self.max_backoffs.unwrap_or(MAX_BACKOFFS);
        Ok(CsmaCa {
            symbol: time("symbol", self.symbol.unwrap_or(Time(SYMBOL)))?,
            min_be: min_be as u8,
            max_be: max_be as u8,
            max_backoffs: within("max_backoffs", backoffs, 0, 5)? as u8,
            busy,
        })
    }

    fn aloha(&self) -> Result<Aloha, Problem> {
        let Some(slot) = self.slot else {
            let says = "has no \"slot\"; write for example slot = \"60 ms\"";
            return Err(Problem::new([], says));
        };
        Ok(Aloha {
            slot: time("slot", slot)?,
            silent: self.others("has no \"load\"; write for example load = 0.3")?,
            backoff: within("backoff", self.backoff.unwrap_or(BACKOFF), 1, 65_536)?,
            attempts: within("attempts", self.attempts.unwrap_or(ATTEMPTS), 1, 1000)?,
        })
    }
}
