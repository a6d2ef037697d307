//! Medium access in a scenario: the keys that each kind of access needs or allows.

use farlink_channel::rng;
use farlink_link::arq::Protocol;
use farlink_link::mac::{Access, Aloha, CsmaCa, Dama, Others};

use super::arq::{AccessName, ArqLink, MacSpec};
use super::checks::{fault, out_of_range};
use super::decode::Problem;
use super::expanded::DirectionSpec;
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
            AccessName::Dama => Access::Dama(self.dama()?),
        })
    }

    /// Writes out all defaults.
    pub(super) fn spell_out(&mut self) {
        self.fill();
        if self.access == AccessName::CsmaCa {
            self.max_be = Some(self.greatest_be());
        }
        if self.access == AccessName::Dama {
            self.max_slots = self.max_slots.or(self.slots);
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

    fn dama(&self) -> Result<Dama, Problem> {
        let lacking = |message| Problem::new([], message);
        let frame = self
            .frame
            .ok_or_else(|| lacking("has no \"frame\"; write for example frame = \"50 ms\""))?;
        let slots = self
            .slots
            .ok_or_else(|| lacking("has no \"slots\"; write for example slots = 20"))?;
        within(
            "max_slots",
            &self.max_slots.unwrap_or(slots),
            &(1..=slots),
            "",
        )?;
        let max_slots = self.max_slots.unwrap_or(slots);
        within("constant", &self.constant(), &(0..=max_slots), "")?;
        Ok(Dama {
            frame: frame.0,
            slots,
            constant: self.constant(),
            max_slots,
            free: rng::Probability::new(self.free().0)
                .map_err(|error| fault("free", format!("= {error}")))?,
            request_every: self.request_every(),
            piggyback: self.piggyback(),
            grant_delay: self.grant_delay.map(|time| time.0),
        })
    }
}

/// Checks demand assignment against the rest of its link. Paths in errors begin with the link's key.
pub(super) fn check_dama(
    arq: &ArqLink,
    directions: [&DirectionSpec; 2],
    half_duplex: bool,
) -> Result<(), Problem> {
    let mac = |message: String| fault("access", message).within("mac").within("arq");
    for (access, direction) in arq.access.iter().zip(directions) {
        let Access::Dama(dama) = access else {
            continue;
        };
        if arq.config.protocol != Protocol::Plain {
            return Err(mac("= \"dama\" needs protocol = \"none\"".into()));
        }
        if half_duplex {
            let message = "= \"dama\" does not go with half_duplex; leave half_duplex out";
            return Err(mac(message.into()));
        }
        if direction.rate_trace.is_some() {
            return Err(mac(
                "= \"dama\" does not go with rate_trace; write a rate".into()
            ));
        }
        if direction.discipline.is_some() || !direction.classes.is_empty() {
            let message = "= \"dama\" does not go with a discipline, whose drops no request \
                           withdraws; leave out discipline and classes";
            return Err(mac(message.into()));
        }
        if dama.slot_bytes(direction.rate) == 0 {
            let message = "= \"dama\" has slots of less than a byte; write fewer slots or a \
                           longer frame";
            return Err(mac(message.into()));
        }
    }
    Ok(())
}
