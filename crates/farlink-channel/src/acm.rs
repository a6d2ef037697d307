//! Adaptive coding and modulation of DVB-S2: the rate that a signal-to-noise ratio
//! allows (ETSI EN 302 307-1).

/// A modulation and code rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ModCod {
    /// Name in the standard.
    pub name: &'static str,
    /// Bits of user data per symbol, for normal frames of 64,800 bits without pilots. The header of
    /// each frame is subtracted.
    pub efficiency: f64,
    /// Es/N0 in dB at which the code is quasi error free (packet error ratio 1e-7) over an ideal
    /// channel.
    pub threshold: f64,
}

const fn row(name: &'static str, efficiency: f64, threshold: f64) -> ModCod {
    ModCod {
        name,
        efficiency,
        threshold,
    }
}

/// Table 13 of the standard.
pub const MODCODS: [ModCod; 28] = [
    row("QPSK 1/4", 0.490_243, -2.35),
    row("QPSK 1/3", 0.656_448, -1.24),
    row("QPSK 2/5", 0.789_412, -0.30),
    row("QPSK 1/2", 0.988_858, 1.00),
    row("QPSK 3/5", 1.188_304, 2.23),
    row("QPSK 2/3", 1.322_253, 3.10),
    row("QPSK 3/4", 1.487_473, 4.03),
    row("QPSK 4/5", 1.587_196, 4.68),
    row("QPSK 5/6", 1.654_663, 5.18),
    row("QPSK 8/9", 1.766_451, 6.20),
    row("QPSK 9/10", 1.788_612, 6.42),
    row("8PSK 3/5", 1.779_991, 5.50),
    row("8PSK 2/3", 1.980_636, 6.62),
    row("8PSK 3/4", 2.228_124, 7.91),
    row("8PSK 5/6", 2.478_562, 9.35),
    row("8PSK 8/9", 2.646_012, 10.69),
    row("8PSK 9/10", 2.679_207, 10.98),
    row("16APSK 2/3", 2.637_201, 8.97),
    row("16APSK 3/4", 2.966_728, 10.21),
    row("16APSK 4/5", 3.165_623, 11.03),
    row("16APSK 5/6", 3.300_184, 11.61),
    row("16APSK 8/9", 3.523_143, 12.89),
    row("16APSK 9/10", 3.567_342, 13.13),
    row("32APSK 3/4", 3.703_295, 12.73),
    row("32APSK 4/5", 3.951_571, 13.64),
    row("32APSK 5/6", 4.119_540, 14.28),
    row("32APSK 8/9", 4.397_854, 15.69),
    row("32APSK 9/10", 4.453_027, 16.05),
];

/// Returns the most efficient modulation and code whose threshold is at least `margin` dB below an
/// Es/N0 in dB, or `None` if the signal is too weak for all of them.
pub fn best(es_n0: f64, margin: f64) -> Option<&'static ModCod> {
    MODCODS
        .iter()
        .filter(|modcod| modcod.threshold + margin <= es_n0)
        .max_by(|a, b| a.efficiency.total_cmp(&b.efficiency))
}

/// Returns the rate in bit/s of a carrier of `symbols` per second at an Es/N0; 0 if the signal is
/// too weak.
pub fn rate(symbols: u64, es_n0: f64, margin: f64) -> u64 {
    best(es_n0, margin).map_or(0, |modcod| {
        libm::round(symbols as f64 * modcod.efficiency) as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn efficiencies_are_those_of_the_frames() {
        // Efficiency: bits of a BCH block by code rate (Table 5a) minus the header of 80 bits,
        // divided by the symbols of 64,800 bits and of the frame's header (90).
        let blocks = [
            ("1/4", 16_008),
            ("1/3", 21_408),
            ("2/5", 25_728),
            ("1/2", 32_208),
            ("3/5", 38_688),
            ("2/3", 43_040),
            ("3/4", 48_408),
            ("4/5", 51_648),
            ("5/6", 53_840),
            ("8/9", 57_472),
            ("9/10", 58_192),
        ];
        for modcod in &MODCODS {
            let (modulation, code) = modcod.name.split_once(' ').unwrap();
            let bits = match modulation {
                "QPSK" => 2,
                "8PSK" => 3,
                "16APSK" => 4,
                _ => 5,
            };
            let block = blocks.iter().find(|(name, _)| *name == code).unwrap().1;
            let symbols = 64_800 / bits + 90;
            let expected = f64::from(block - 80) / f64::from(symbols);
            assert!(
                (modcod.efficiency - expected).abs() < 1e-6,
                "{}",
                modcod.name
            );
        }
    }

    #[test]
    fn no_threshold_beats_shannon_and_each_modulation_rises() {
        for modcod in &MODCODS {
            let capacity = (1.0 + 10f64.powf(modcod.threshold / 10.0)).log2();
            assert!(modcod.efficiency < capacity, "{}", modcod.name);
            // The code is within about 2 dB of Shannon's limit.
            assert!(modcod.efficiency > 0.6 * capacity, "{}", modcod.name);
        }
        for pair in MODCODS.windows(2) {
            let kind = |m: &ModCod| m.name.split(' ').next();
            if kind(&pair[0]) == kind(&pair[1]) {
                assert!(pair[0].threshold < pair[1].threshold);
                assert!(pair[0].efficiency < pair[1].efficiency);
            }
        }
    }

    #[test]
    fn the_best_that_the_signal_allows_is_taken() {
        let name = |es_n0, margin| best(es_n0, margin).map(|modcod| modcod.name);
        assert_eq!(name(-2.36, 0.0), None);
        assert_eq!(name(-2.35, 0.0), Some("QPSK 1/4"));
        assert_eq!(name(6.5, 0.0), Some("QPSK 9/10"), "8PSK 3/5 carries less");
        assert_eq!(name(6.5, 1.0), Some("8PSK 3/5"));
        assert_eq!(
            name(11.0, 0.0),
            Some("16APSK 3/4"),
            "8PSK 9/10 carries less"
        );
        assert_eq!(name(40.0, 0.0), Some("32APSK 9/10"));
        assert_eq!(rate(30_000_000, 10.0, 1.0), 79_116_030);
        assert_eq!(rate(30_000_000, -10.0, 1.0), 0);
    }
}
