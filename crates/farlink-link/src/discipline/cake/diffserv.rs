//! Tins by Diffserv codepoint, with the thresholds and weights of Linux's CAKE.

/// Set of tins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tins {
    /// Single tin.
    Besteffort,
    /// Bulk, best effort and voice.
    #[default]
    Diffserv3,
    /// Bulk, best effort, video and voice.
    Diffserv4,
    /// Eight tins.
    Diffserv8,
}

/// Share of a tin: numerator and denominator of its threshold in terms of the rate, and its weight
/// without a shaper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Share {
    pub(super) of_rate: (u64, u64),
    pub(super) weight: u32,
}

const fn share(of_rate: (u64, u64), weight: u32) -> Share {
    Share { of_rate, weight }
}

// Codepoints (RFC 2474, 2597, 3246, 5865, 8622), and those that the TOS bits of RFC 1349 give.
const LE: u8 = 1;
const TOS_THROUGHPUT: u8 = 2;
const TOS_DELAY: u8 = 4;
const CS1: u8 = 8;
const CS2: u8 = 16;
const CS3: u8 = 24;
const CS4: u8 = 32;
const CS5: u8 = 40;
const CS6: u8 = 48;
const CS7: u8 = 56;
const AF11: u8 = 10;
const AF12: u8 = 12;
const AF13: u8 = 14;
const AF21: u8 = 18;
const AF22: u8 = 20;
const AF23: u8 = 22;
const AF31: u8 = 26;
const AF32: u8 = 28;
const AF33: u8 = 30;
const AF41: u8 = 34;
const AF42: u8 = 36;
const AF43: u8 = 38;
const VA: u8 = 44;
const EF: u8 = 46;

impl Tins {
    /// Returns the tins, of which a later one precedes earlier ones that are within their
    /// thresholds, too.
    pub(super) fn shares(self) -> Vec<Share> {
        match self {
            Self::Besteffort => vec![share((1, 1), 65_535)],
            Self::Diffserv3 => vec![share((1, 1), 1024), share((1, 16), 64), share((1, 4), 256)],
            Self::Diffserv4 => vec![
                share((1, 1), 1024),
                share((1, 16), 64),
                share((1, 2), 512),
                share((1, 4), 256),
            ],
            // Each has 7/8 of the one before.
            Self::Diffserv8 => {
                let mut next = share((1, 1), 256);
                let shares = (0..8).map(|_| {
                    let tin = next;
                    let (numerator, denominator) = tin.of_rate;
                    next = share((numerator * 7, denominator * 8), tin.weight * 7 / 8);
                    tin
                });
                shares.collect()
            }
        }
    }

    /// Returns the number of the tin of a codepoint.
    pub(super) fn of(self, dscp: u8) -> usize {
        match self {
            Self::Besteffort => 0,
            Self::Diffserv3 => match dscp {
                LE | CS1 => 1,
                TOS_DELAY | VA | EF | CS6 | CS7 => 2,
                _ => 0,
            },
            Self::Diffserv4 => match dscp {
                LE | CS1 => 1,
                TOS_DELAY | CS2 | AF21 | AF22 | AF23 | CS3 | AF31 | AF32 | AF33 | AF41 | AF42
                | AF43 => 2,
                CS4 | CS5 | VA | EF | CS6 | CS7 => 3,
                _ => 0,
            },
            Self::Diffserv8 => match dscp {
                LE => 0,
                TOS_THROUGHPUT | CS1 | AF11 | AF12 | AF13 => 1,
                CS3 | AF31 | AF32 | AF33 | AF41 | AF42 | AF43 => 3,
                TOS_DELAY | AF21 | AF22 | AF23 => 4,
                CS2 => 5,
                CS4 | CS5 | VA | EF => 6,
                CS6 | CS7 => 7,
                _ => 2,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codepoints beside those of the default tin, in the order of Linux's tables.
    #[test]
    fn codepoints_have_the_tins_of_linux() {
        let of = |tins: Tins, default| {
            let others = (0..64).filter(|&dscp| tins.of(dscp) != default);
            others.map(|dscp| (dscp, tins.of(dscp))).collect::<Vec<_>>()
        };
        assert!(of(Tins::Besteffort, 0).is_empty());
        assert_eq!(
            of(Tins::Diffserv3, 0),
            [(1, 1), (4, 2), (8, 1), (44, 2), (46, 2), (48, 2), (56, 2)]
        );
        let four = of(Tins::Diffserv4, 0);
        let tin = |n| {
            four.iter()
                .filter(move |&&(_, tin)| tin == n)
                .map(|&(dscp, _)| dscp)
        };
        assert!(tin(1).eq([1, 8]));
        assert!(tin(2).eq([4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]));
        assert!(tin(3).eq([32, 40, 44, 46, 48, 56]));
        let eight = of(Tins::Diffserv8, 2);
        let tin = |n| {
            eight
                .iter()
                .filter(move |&&(_, tin)| tin == n)
                .map(|&(dscp, _)| dscp)
        };
        assert!(tin(0).eq([1]));
        assert!(tin(1).eq([2, 8, 10, 12, 14]));
        assert!(tin(3).eq([24, 26, 28, 30, 34, 36, 38]));
        assert!(tin(4).eq([4, 18, 20, 22]));
        assert!(tin(5).eq([16]));
        assert!(tin(6).eq([32, 40, 44, 46]));
        assert!(tin(7).eq([48, 56]));
    }

    #[test]
    fn eight_tins_fall_by_an_eighth_each() {
        let shares = Tins::Diffserv8.shares();
        let weights: Vec<_> = shares.iter().map(|share| share.weight).collect();
        assert_eq!(weights, [256, 224, 196, 171, 149, 130, 113, 98]);
        assert_eq!(shares[7].of_rate, (7_u64.pow(7), 8_u64.pow(7)));
    }
}
