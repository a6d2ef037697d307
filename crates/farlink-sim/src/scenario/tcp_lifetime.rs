//! Keys of how a connection begins, and of what ends it when its peer is gone.

use farlink_tcp::Interval;
use farlink_tcp::config::{Config, FastOpen, KeepAlive};

use super::decode::Problem;
use super::tcp::TcpSpec;
use super::tcp_choices::FastOpenName;
use super::units::Time;

impl TcpSpec {
    pub(super) fn lay_lifetime_over(&self, config: &mut Config) {
        if let Some(how) = self.fast_open {
            config.fast_open = match how {
                FastOpenName::Off => FastOpen::Off,
                FastOpenName::Request => FastOpen::Request,
                FastOpenName::Cookie => FastOpen::Cookie,
            };
        }
        let kept = config.keepalive;
        if self.keepalive.is_some() || kept.is_some() {
            let kept = kept.unwrap_or_default();
            config.keepalive = Some(KeepAlive {
                idle: self.keepalive.map_or(kept.idle, |t| t.0),
                interval: self.keepalive_interval.map_or(kept.interval, |t| t.0),
                probes: self.keepalive_probes.unwrap_or(kept.probes),
            });
        }
        config.user_timeout = self.user_timeout.map(|t| t.0).or(config.user_timeout);
        config.fin_wait_2 = self.fin_wait_2_timeout.map(|t| t.0).or(config.fin_wait_2);
    }

    pub(super) fn show_lifetime(&mut self, config: &Config) {
        self.fast_open = Some(match config.fast_open {
            FastOpen::Off => FastOpenName::Off,
            FastOpen::Request => FastOpenName::Request,
            FastOpen::Cookie => FastOpenName::Cookie,
        });
        if let Some(keepalive) = config.keepalive {
            self.keepalive = Some(Time(keepalive.idle));
            self.keepalive_interval = Some(Time(keepalive.interval));
            self.keepalive_probes = Some(keepalive.probes);
        }
        self.user_timeout = config.user_timeout.map(Time);
        self.fin_wait_2_timeout = config.fin_wait_2.map(Time);
    }

    /// Ranges of these keys.
    pub(super) fn check_lifetime(&self) -> Result<(), Problem> {
        let (least, most) = (
            Time(Interval::from_millis(1)),
            Time(Interval::from_secs(30 * 86_400)),
        );
        for (key, value) in [
            ("keepalive", self.keepalive),
            ("keepalive_interval", self.keepalive_interval),
            ("user_timeout", self.user_timeout),
            ("fin_wait_2_timeout", self.fin_wait_2_timeout),
        ] {
            if let Some(time) = value.filter(|t| !(least..=most).contains(t)) {
                let says = format!("= \"{time}\" is out of range; write \"{least}\" to \"{most}\"");
                return Err(Problem::new([key.into()], says));
            }
        }
        if let Some(n) = self
            .keepalive_probes
            .filter(|n| !(1..=1_000_000).contains(n))
        {
            let says = format!("= {n} is out of range; write 1 to 1000000");
            return Err(Problem::new(["keepalive_probes".into()], says));
        }
        Ok(())
    }
}
