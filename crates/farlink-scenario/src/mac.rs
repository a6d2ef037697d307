//! Medium access in a scenario: the keys that each kind of access needs or allows.

use farlink_channel::rng;
use farlink_link::mac::{Access, Aloha, CsmaCa, Others};

use super::arq::{AccessName, MacSpec};
use super::checks::{fault, out_of_range};
use super::decode::Problem;
use super::table::within;

impl MacSpec {
    /// Returns the medium access. Paths in errors begin with the key.
    pub(super) fn resolve(&self) -> Result<Access, Problem> {
        self.check_keys()?;
        let delay = || {
            let message = "has no \"delay\"; write for example delay = \"10 ms\"";
            self.delay.ok_or_else(|| Problem::new([], message))
        };
        Ok(match self.access {
            AccessName::None => Access::None,
            AccessName::Constant => Access::Constant(delay()?.0),
            AccessName::Exponential => Access::Exponential(delay()?.0),
            AccessName::CsmaCa => Access::CsmaCa(self.csma_ca()?),
            AccessName::Aloha => Access::Aloha(self.aloha()?),
        })
    }

    /// Writes out all defaults.
    pub(super) fn spell_out(&mut self) {
        self.fill();
        if self.access == AccessName::CsmaCa {
            self.max_be = Some(self.greatest_be());
        }
    }

    fn greatest_be(&self) -> u32 {
        self.max_be.unwrap_or(self.min_be().max(5))
    }

    /// Returns the probability that no other station sends, from `load` and `stations`.
    fn others(&self, without: &str) -> Result<rng::Probability, Problem> {
        let Some(load) = self.load else {
            return Err(Problem::new([], without));
        };
        if let Some(n) = self.stations
            && load > n.into()
        {
            let message = format!(
                "{load} is out of range; write at most {n}, one frame at a time of each of \
                     the stations"
            );
            return Err(out_of_range(["load".into()], &message));
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
                        let message = "would be ignored beside busy; write one of them";
                        return Err(fault(key, message));
                    }
                }
                rng::Probability::new(busy.0)
                    .map_err(|error| fault("busy", format!("= {error}")))?
            }
            None => self
                .others("has neither \"busy\" nor \"load\"; write for example busy = 0.3")?
                .complement(),
        };
        let max_be = self.greatest_be();
        within("max_be", &max_be, &(self.min_be()..=8), "")?;
        Ok(CsmaCa {
            symbol: self.symbol().0,
            min_be: self.min_be() as u8,
            max_be: max_be as u8,
            max_backoffs: self.max_backoffs() as u8,
            busy,
        })
    }

    fn aloha(&self) -> Result<Aloha, Problem> {
        let Some(slot) = self.slot else {
            let message = "has no \"slot\"; write for example slot = \"60 ms\"";
            return Err(Problem::new([], message));
        };
        Ok(Aloha {
            slot: slot.0,
            silent: self.others("has no \"load\"; write for example load = 0.3")?,
            backoff: self.backoff(),
            attempts: self.attempts(),
        })
    }
}
