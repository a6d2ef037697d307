//! Segments with one field changed on the path, one for each condition of the fast paths.

use super::chance::Chance;
use farlink_tcp::{
    Body, Ecn, Extra, Flags, Options, RareOptions, SackBlock, Segment, Snack, Timestamps,
};
use std::num::NonZeroU16;

/// Changes one field of a segment that is on its way.
pub(crate) fn tamper(chance: &mut Chance, segment: &mut Segment) {
    match chance.within(0, 16) {
        0 => segment.dummy = true,
        1 => segment.ecn = Ecn::Ce,
        2 => flip(segment, Flags::ECE),
        3 => flip(segment, Flags::CWR),
        4 => flip(segment, chance.pick(&[Flags::ACK, Flags::SYN, Flags::PSH])),
        5 if chance.per_mille(200) => flip(segment, chance.pick(&[Flags::FIN, Flags::RST])),
        6 | 7 => segment.options.timestamps = stamps(chance, segment),
        8 => segment.seq = segment.seq.at(near(chance)),
        9 => segment.ack = segment.ack.at(near(chance)),
        10 => segment.window = chance.pick(&[0, 1, 300, 9_000, u16::MAX]),
        11 if !segment.body.is_empty() => segment.body = Body::EMPTY,
        _ => report(chance, segment),
    }
}

fn flip(segment: &mut Segment, flag: Flags) {
    segment.flags = Flags(segment.flags.0 ^ flag.0);
}

/// Draws a distance in sequence numbers, mostly short, in either direction.
fn near(chance: &mut Chance) -> u64 {
    let far = chance.pick(&[1, 1, 536, 1_460, 40_000, 1 << 31]);
    let distance = chance.within(0, far) + 1;
    if chance.flip() {
        distance
    } else {
        (1 << 32) - distance
    }
}

/// Returns timestamps that are missing, unexpected, or of another time.
fn stamps(chance: &mut Chance, segment: &Segment) -> Option<Timestamps> {
    let Timestamps { value, echo } = segment.options.timestamps?;
    match chance.within(0, 4) {
        0 => None,
        1 => Some(Timestamps {
            value,
            echo: echo.wrapping_sub(chance.pick(&[1, 700, 1 << 31])),
        }),
        _ => Some(Timestamps {
            value: value.wrapping_sub(chance.pick(&[1, 1, 700, 700, 1 << 31])),
            echo,
        }),
    }
}

/// Adds an option that reports losses.
fn report(chance: &mut Chance, segment: &mut Segment) {
    let mut rare: RareOptions = *segment.options;
    match chance.within(0, 5) {
        0 => rare.eln = true,
        1 => rare.ackp = true,
        2 => {
            rare.extra = Extra::Snack(Snack {
                offset: chance.within(0, 3) as u16,
                size: NonZeroU16::MIN,
                bits: chance.next() & chance.next(),
            });
        }
        _ => {
            let left = segment.ack.at(near(chance));
            let right = left.at(chance.within(1, 3_000));
            rare.sack.push(SackBlock { left, right });
        }
    }
    segment.options = Options::from(segment.options.timestamps).with(rare);
}
