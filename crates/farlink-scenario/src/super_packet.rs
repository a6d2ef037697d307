//! Key `super_packet` of a direction: number of segments that the channel loses together.

use super::checks::{fault, out_of_range};
use super::decode::Problem;
use super::expanded::DirectionSpec;
use super::spec::DirectionTable;

/// Returns the number of segments of a super-packet, 0 without.
pub(super) fn segments(table: &DirectionTable) -> Result<u32, Problem> {
    let at = "super_packet";
    match table.super_packet {
        None => Ok(0),
        Some(n) if !(2..=64).contains(&n) => {
            let message = format!("{n} is out of range; write 2 to 64, or leave the key out");
            Err(out_of_range([at.into()], &message))
        }
        Some(_) if table.channel.0.is_empty() => Err(fault(
            at,
            "would be ignored; it needs a channel that loses packets",
        )),
        Some(_) if table.discipline.is_some() => {
            Err(fault(at, "does not go with discipline; write one of them"))
        }
        Some(n) => Ok(n),
    }
}

/// Checks the key against keys of the whole link, which send packets in an order of their own.
pub(super) fn check(
    direction: &DirectionSpec,
    has_arq: bool,
    half_duplex: bool,
) -> Result<(), Problem> {
    let other = match (direction.super_packet, half_duplex, has_arq) {
        (0, ..) | (_, false, false) => return Ok(()),
        (_, true, _) => "half_duplex",
        (_, false, true) => "arq",
    };
    let message = format!("does not go with {other}; write one of them");
    Err(fault("super_packet", &message))
}

#[cfg(test)]
mod tests {
    use crate::tests::{GOOD, fault};

    /// Returns the error of the valid scenario with further keys of the direction and the link.
    fn error(down: &str, link: &str) -> String {
        let text = GOOD.replacen(
            "delay = \"250 ms\"",
            &format!("delay = \"250 ms\"\n{down}"),
            1,
        );
        assert_ne!(text, GOOD);
        fault(
            &text.replacen("[[links]]", &format!("[[links]]\n{link}"), 1),
            &[],
        )
    }

    const LOSSY: &str = "super_packet = 2\nchannel = { loss = 0.1 }";

    #[test]
    fn super_packets_need_a_channel_and_two_to_sixty_four_segments() {
        assert_eq!(error(LOSSY, ""), "no fault");
        let needed = error("super_packet = 2", "");
        assert!(
            needed
                .ends_with("super_packet would be ignored; it needs a channel that loses packets")
        );
        for n in ["0", "1", "65"] {
            let message = error(
                &format!("super_packet = {n}\nchannel = {{ loss = 0.1 }}"),
                "",
            );
            let wanted = format!(
                "links[0].down.super_packet = {n} is out of range; write 2 to 64, or leave the key out"
            );
            assert!(message.ends_with(&wanted), "{message}");
        }
    }

    #[test]
    fn super_packets_do_not_go_with_parts_that_reorder() {
        let discipline = error(&format!("{LOSSY}\ndiscipline = \"codel\""), "");
        assert!(
            discipline.ends_with("super_packet does not go with discipline; write one of them")
        );
        let half = error(LOSSY, "half_duplex = true");
        assert!(
            half.ends_with("down.super_packet does not go with half_duplex; write one of them"),
            "{half}"
        );
        let arq = error(LOSSY, "arq = { protocol = \"rlp\" }");
        assert!(
            arq.ends_with("down.super_packet does not go with arq; write one of them"),
            "{arq}"
        );
    }
}
