//! Keys of fragmentation: `mtu` and `fragments` of a direction, `reassembly_timeout` of a flow.

use super::checks::out_of_range;
use super::decode::Problem;
use super::flow::FlowSpec;
use super::spec::{DirectionTable, Fragments};
use super::units::{Size, Time};
use farlink_tcp::{Interval, IpVersion};
use farlink_wire::fragment::Mtu;

/// Minimum MTU of any link (RFC 791, 3.2).
const MIN_MTU: Size = Size(68);
const MAX_MTU: Size = Size(65_535);
/// Default reassembly time-out (RFC 791, 3.2).
const TIMEOUT: Interval = Interval::from_secs(15);
/// Default reassembly time-out of IPv6 (RFC 8200, 4.5).
const TIMEOUT_V6: Interval = Interval::from_secs(60);
const MIN_TIMEOUT: Interval = Interval::from_millis(1);
const MAX_TIMEOUT: Interval = Interval::from_secs(3600);

pub(super) fn mtu(table: &DirectionTable) -> Result<Option<Mtu>, Problem> {
    let Some(mtu) = table.mtu else {
        return match table.fragments {
            Some(_) => Err(Problem::new(
                ["fragments".into()],
                "would be ignored; it needs mtu",
            )),
            None => Ok(None),
        };
    };
    if mtu < MIN_MTU || mtu > MAX_MTU {
        let message = format!("\"{mtu}\" is out of range; write \"68 B\" to \"65535 B\"");
        return Err(out_of_range(["mtu".into()], &message));
    }
    let unit = match table.fragments {
        Some(Fragments::Wong1998) => 1,
        Some(Fragments::Rfc791) | None => 8,
    };
    Ok(Some(Mtu {
        bytes: mtu.0 as u32,
        unit,
    }))
}

pub(super) fn reassembly_timeout(flow: &FlowSpec, ip: IpVersion) -> Result<Interval, Problem> {
    let is_cut = match ip {
        IpVersion::V4 => !flow.dont_fragment,
        // The sender of datagrams fragments them.
        IpVersion::V6 => flow.app.is_udp(),
    };
    let Some(time) = flow.reassembly_timeout else {
        return Ok(match ip {
            IpVersion::V4 => TIMEOUT,
            IpVersion::V6 => TIMEOUT_V6,
        });
    };
    if !is_cut {
        let message = match ip {
            IpVersion::V4 => "would be ignored; it needs dont_fragment = false",
            IpVersion::V6 => "would be ignored; TCP over IPv6 sends no fragments",
        };
        return Err(Problem::new(["reassembly_timeout".into()], message));
    }
    if time.0 < MIN_TIMEOUT || time.0 > MAX_TIMEOUT {
        let message = format!(
            "\"{time}\" is out of range; write \"{}\" to \"{}\"",
            Time(MIN_TIMEOUT),
            Time(MAX_TIMEOUT)
        );
        return Err(out_of_range(["reassembly_timeout".into()], &message));
    }
    Ok(time.0)
}
