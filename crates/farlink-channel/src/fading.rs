//! Closed forms of Rayleigh fading against a threshold.
//!
//! The signal is a complex Gaussian process with the autocorrelation rho(t) = J0(2 pi fd t) (Clarke
//! 1968, Jakes 1974), where fd is the Doppler frequency. The signal is in a fade while its power is
//! below 1/F of its mean, where F is the fade margin.

use std::f64::consts::{PI, TAU};

/// A fade margin.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Margin(f64);

impl Margin {
    /// Creates the margin from F as a plain ratio, above 0.
    pub fn from_ratio(ratio: f64) -> Self {
        Self(ratio)
    }

    /// Creates the margin from F in dB.
    pub fn from_db(db: f64) -> Self {
        Self(libm::pow(10.0, db / 10.0))
    }

    /// Creates the margin from the share of time in a fade: F = -1 / ln(1 - share).
    pub fn from_share(share: f64) -> Self {
        Self(-1.0 / libm::log1p(-share))
    }

    /// Returns F as a plain ratio.
    pub fn ratio(self) -> f64 {
        self.0
    }

    /// Returns F in dB.
    pub fn db(self) -> f64 {
        10.0 * libm::log10(self.0)
    }

    /// Returns the share of time in a fade, 1 - exp(-1 / F).
    pub fn share(self) -> f64 {
        -libm::expm1(-1.0 / self.0)
    }

    /// Returns the rate at which fades begin (1/s) at the Doppler frequency `doppler` (Hz): sqrt(2
    /// pi) fd r exp(-r^2) with r = sqrt(1 / F) (Jakes 1974, eq. 1.3-35).
    pub fn crossing_rate(self, doppler: f64) -> f64 {
        libm::sqrt(TAU / self.0) * doppler * libm::exp(-1.0 / self.0)
    }

    /// Returns the mean length of a fade in seconds, share / crossing rate (Jakes 1974, eq.
    /// 1.3-41).
    pub fn fade_duration(self, doppler: f64) -> f64 {
        self.share() / self.crossing_rate(doppler)
    }

    /// Returns the probability that a signal in a fade is out of it at a time whose correlation
    /// with the present is `rho`. This is beta = 1 - P_BB of Zorzi, Rao and Milstein (1995).
    ///
    /// With theta = sqrt(2 / F / (1 - rho^2)) the paper has beta = (Q(theta, rho theta) - Q(rho
    /// theta, theta)) / (exp(1 / F) - 1), where Q is Marcum's function. With the finite-range
    /// integrals of Q (Simon and Alouini 1998) the difference becomes the mean over phi of (1 -
    /// exp(-w / F)) / w with w = (1 + 2 rho sin phi + rho^2) / (1 - rho^2). This form has no
    /// cancellation.
    pub fn leaves_fade(self, rho: f64) -> f64 {
        let rho = libm::fabs(rho);
        if rho >= 1.0 {
            return 0.0;
        }
        let inverse = 1.0 / self.0;
        let square = 1.0 - rho * rho;
        // The denominator is 1 + 2 rho sin phi + rho^2 = (1 - rho)^2 + 2 rho (1 + sin phi).
        let min = (1.0 - rho) * (1.0 - rho) / square;
        let term = |phi: f64| {
            let half = libm::sin(phi / 2.0);
            let w = min + 4.0 * rho * half * half / square;
            -libm::expm1(-w * inverse) / w
        };
        // The trapezoidal rule on a whole period converges geometrically, and the sum is even in
        // phi. Points are doubled until the sum no longer changes.
        let mut points = 32u32;
        let mut sum = f64::midpoint(term(0.0), term(PI));
        sum += (1..points)
            .map(|i| term(PI * f64::from(i) / f64::from(points)))
            .sum::<f64>();
        let mut mean = sum / f64::from(points);
        while points < 1 << 22 {
            let step = PI / f64::from(points);
            sum += (0..points)
                .map(|i| term((f64::from(i) + 0.5) * step))
                .sum::<f64>();
            points *= 2;
            let better = sum / f64::from(points);
            if libm::fabs(better - mean) <= 1e-14 * better {
                mean = better;
                break;
            }
            mean = better;
        }
        mean / libm::expm1(inverse)
    }

    /// Returns the probability of going into a fade, alpha = 1 - P_GG: beta share / (1 - share).
    pub fn enters_fade(self, rho: f64) -> f64 {
        self.leaves_fade(rho) * libm::expm1(1.0 / self.0)
    }
}

/// Returns the correlation of the signal with itself `time` seconds later, J0(2 pi fd t).
pub fn correlation(doppler: f64, time: f64) -> f64 {
    libm::j0(TAU * doppler * time)
}

/// Returns the Doppler frequency in Hz at a speed in m/s and a carrier in Hz.
pub fn doppler(speed: f64, carrier: f64) -> f64 {
    speed * carrier / LIGHT
}

/// Speed of light in m/s, rounded as in the studies.
pub const LIGHT: f64 = 3e8;

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns: fd T, P_E, and alpha and beta recomputed with 30 digits.
    const ROWS: [(f64, f64, f64, f64); 9] = [
        (0.01, 0.001, 0.000_671_219_6, 0.670_548_4),
        (0.01, 0.01, 0.002_481_769, 0.245_695_1),
        (0.01, 0.1, 0.008_127_652, 0.073_148_87),
        (0.08, 0.001, 0.000_992_753_1, 0.991_760_4),
        (0.08, 0.01, 0.009_320_342, 0.922_713_8),
        (0.08, 0.1, 0.059_645_8, 0.536_812_2),
        (0.64, 0.001, 0.000_999_814_4, 0.998_814_6),
        (0.64, 0.01, 0.009_981_474, 0.988_165_9),
        (0.64, 0.1, 0.098_180_42, 0.883_623_8),
    ];

    /// Columns of Table 5 of Vatne and Haugen (2006): F in dB, P_GG, P_BB, alpha, beta, 1 / beta.
    const PRINTED: [[f64; 6]; 9] = [
        [29.998, 0.99933, 0.32945, 0.000_671, 0.670_548, 1.49132],
        [19.978, 0.99752, 0.75431, 0.002_482, 0.245_692, 4.07013],
        [9.7732, 0.99187, 0.92685, 0.008_128, 0.073_149, 13.6708],
        [29.998, 0.99901, 0.00824, 0.000_993, 0.991_761, 1.00831],
        [19.978, 0.99069, 0.07729, 0.009_314, 0.922_714, 1.08376],
        [9.7732, 0.94035, 0.46319, 0.059_646, 0.536_812, 1.86285],
        [29.998, 0.999, 0.00119, 0.001, 0.998_815, 1.00238],
        [19.978, 0.94035, 0.01183, 0.059_646, 0.988_166, 1.01198],
        [9.7732, 0.90182, 0.11638, 0.09818, 0.883_624, 1.1317],
    ];

    fn row(i: usize) -> [f64; 6] {
        let (fdt, share, ..) = ROWS[i];
        let margin = Margin::from_share(share);
        let rho = correlation(fdt, 1.0);
        let (alpha, beta) = (margin.enters_fade(rho), margin.leaves_fade(rho));
        [
            margin.db(),
            1.0 - alpha,
            1.0 - beta,
            alpha,
            beta,
            1.0 / beta,
        ]
    }

    #[test]
    fn transition_probabilities_are_those_of_an_independent_computation() {
        for (i, (_, _, alpha, beta)) in ROWS.iter().enumerate() {
            let measured = row(i);
            assert!(
                (measured[3] / alpha - 1.0).abs() < 2e-7,
                "row {i}: {}",
                measured[3]
            );
            assert!(
                (measured[4] / beta - 1.0).abs() < 2e-7,
                "row {i}: {}",
                measured[4]
            );
        }
    }

    /// Table 5 is right except in four places. 1 / beta of row 7 is misprinted, and row 8 repeats
    /// P_GG and alpha of row 6. In rows 2 and 5 the authors' computation is less exact than the
    /// printed digits.
    #[test]
    fn table_5_is_reproduced_and_its_misprints_are_shown() {
        // The tolerance is two units of the last printed digit.
        let units = [1e-3, 1e-5, 1e-5, 1e-6, 1e-6, 1e-5];
        let mut wrong = Vec::new();
        for (i, printed) in PRINTED.iter().enumerate() {
            for (column, (measured, printed)) in row(i).iter().zip(printed).enumerate() {
                let unit = if column == 5 && *printed > 10.0 {
                    1e-4
                } else {
                    units[column]
                };
                if (measured - printed).abs() > unit {
                    wrong.push((i + 1, column));
                }
            }
        }
        let misprints = [(7, 5), (8, 1), (8, 3)];
        let imprecise = [(2, 4), (2, 5), (5, 1), (5, 3)];
        let expected: Vec<_> = wrong
            .iter()
            .copied()
            .filter(|place| misprints.contains(place) || imprecise.contains(place))
            .collect();
        assert_eq!(wrong, expected);
        for place in misprints {
            assert!(wrong.contains(&place), "{place:?}");
        }
        // Correct values in place of the misprints.
        assert!((row(6)[5] - 1.00119).abs() < 5e-6);
        assert!((row(7)[1] - 0.990_019).abs() < 5e-7 && (row(7)[3] - 0.009_981).abs() < 5e-7);
        // With the printed values row 8 would lose 5.7 % of the packets instead of 1 %.
        let stationary = PRINTED[7][3] / (PRINTED[7][3] + PRINTED[7][4]);
        assert!((stationary - 0.0569).abs() < 5e-5, "{stationary}");
        assert_eq!(PRINTED[7][1], PRINTED[5][1]);
        assert_eq!(PRINTED[7][3], PRINTED[5][3]);
    }

    /// Returns Marcum's Q of first order, computed as a Poisson mixture of gamma tails.
    fn marcum(a: f64, b: f64) -> f64 {
        let (x, y) = (a * a / 2.0, b * b / 2.0);
        let (mut weight, mut term) = ((-x).exp(), (-y).exp());
        let (mut tail, mut sum) = (term, 0.0);
        for j in 1..2000 {
            sum += weight * tail;
            weight *= x / f64::from(j);
            term *= y / f64::from(j);
            tail += term;
        }
        sum
    }

    #[test]
    fn the_integral_is_the_difference_of_marcums_functions() {
        for rho in [0.1, 0.5, 0.9, 0.99, 0.999] {
            for db in [0.0, 3.0, 10.0, 20.0] {
                let margin = Margin::from_db(db);
                let inverse = 1.0 / margin.ratio();
                let theta = (2.0 * inverse / (1.0 - rho * rho)).sqrt();
                let literal =
                    (marcum(theta, rho * theta) - marcum(rho * theta, theta)) / inverse.exp_m1();
                let measured = margin.leaves_fade(rho);
                assert!(
                    (measured / literal - 1.0).abs() < 1e-9,
                    "{rho} {db}: {measured} {literal}"
                );
            }
        }
    }

    #[test]
    fn the_limits_are_right() {
        let margin = Margin::from_db(10.0);
        assert_eq!(margin.leaves_fade(1.0), 0.0);
        // Without correlation the next state is independent of this one.
        assert!((margin.leaves_fade(0.0) - (1.0 - margin.share())).abs() < 1e-15);
        // For a step much shorter than a fade, beta / T is the rate of leaving the fade.
        let (doppler, step) = (10.0, 1e-6);
        let rate = margin.leaves_fade(correlation(doppler, step)) / step;
        assert!((rate * margin.fade_duration(doppler) - 1.0).abs() < 1e-3);
        assert!((Margin::from_share(0.01).share() - 0.01).abs() < 1e-15);
        assert!((Margin::from_db(20.0).ratio() - 100.0).abs() < 1e-12);
        // vatne2006 sec. 6.2: 0.65, 5.21 and 41.67 m/s with T = 1.92 ms.
        for (speed, fdt) in [(0.65, 0.01), (5.21, 0.08), (41.67, 0.64)] {
            assert!((doppler_step(speed) - fdt).abs() < 2e-4);
        }
    }

    fn doppler_step(speed: f64) -> f64 {
        doppler(speed, 2.4e9) * 0.00192
    }
}
