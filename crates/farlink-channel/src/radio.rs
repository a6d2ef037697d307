//! Link budget and bit error rates of a low-rate radio (IEEE 802.15.4).

use std::f64::consts::PI;

use crate::fading::LIGHT;

/// Boltzmann's constant in J/K (CODATA 2002, the value of Vatne and Haugen 2006).
pub const BOLTZMANN: f64 = 1.380_650_5e-23;

/// A band of IEEE 802.15.4-2003.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Band {
    /// 868 to 868.6 MHz: BPSK, 20 kbit/s.
    Mhz868,
    /// 902 to 928 MHz: BPSK, 40 kbit/s.
    Mhz915,
    /// 2400 to 2483.5 MHz: O-QPSK with 16 quasi-orthogonal symbols, 250 kbit/s.
    Mhz2400,
}

impl Band {
    /// Returns the carrier frequency in Hz.
    pub fn carrier(self) -> f64 {
        match self {
            Self::Mhz868 => 868.3e6,
            Self::Mhz915 => 915e6,
            Self::Mhz2400 => 2.4e9,
        }
    }

    /// Returns the bit rate in bit/s.
    pub fn bit_rate(self) -> f64 {
        match self {
            Self::Mhz868 => 20e3,
            Self::Mhz915 => 40e3,
            Self::Mhz2400 => 250e3,
        }
    }
}

/// Path loss over distance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PathLoss {
    /// Free space (Friis 1946): (lambda / (4 pi d))^2.
    Friis,
    /// Free space up to 1 m, then proportional to d^-n.
    LogDistance {
        /// n.
        exponent: f64,
    },
    /// Path loss of the coexistence annex of IEEE 802.15.4-2006 (E.5.3) at 2.4 GHz: 40.2 + 20 log10
    /// d dB to 8 m, 58.5 + 33 log10(d / 8) dB from there.
    Ieee802154,
    /// Path loss 4 pi d^2 / lambda^2 as printed in equation 4 of section 5.2.2 of Vatne and Haugen
    /// (2006). The printed fraction is inverted, so it grows with distance.
    Vatne2006Printed,
}

/// Noise power.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Noise {
    /// k T in W/Hz.
    Thermal,
    /// Noise (bit rate / 2) k T as defined by Vatne and Haugen (2006; section 5.2.2, equation 5 and
    /// Table 3). With this definition Eb / N0 has a dimension.
    Vatne2006,
}

/// A link budget.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Budget {
    /// The band.
    pub band: Band,
    /// Power of the transmitter in dBm.
    pub power: f64,
    /// Sum of the gains of both antennas in dB.
    pub gain: f64,
    /// Noise temperature in K.
    pub temperature: f64,
    /// Noise figure of the receiver in dB.
    pub noise_figure: f64,
    /// Path loss.
    pub path_loss: PathLoss,
    /// Noise.
    pub noise: Noise,
}

impl Budget {
    /// Returns the ratio of received to sent power at `distance` metres. Below 1 m the value of 1 m
    /// is used, because none of the models is valid there.
    pub fn path(&self, distance: f64) -> f64 {
        let d = distance.max(1.0);
        let wavelength = LIGHT / self.band.carrier();
        let friis = |d: f64| {
            let ratio = wavelength / (4.0 * PI * d);
            ratio * ratio
        };
        match self.path_loss {
            PathLoss::Friis => friis(d),
            PathLoss::LogDistance { exponent } => friis(1.0) * libm::pow(d, -exponent),
            PathLoss::Ieee802154 => {
                let db = if d <= 8.0 {
                    40.2 + 20.0 * libm::log10(d)
                } else {
                    58.5 + 33.0 * libm::log10(d / 8.0)
                };
                ratio(-db)
            }
            PathLoss::Vatne2006Printed => 4.0 * PI * d * d / (wavelength * wavelength),
        }
    }

    /// Returns the energy per bit over the noise density, E_b / N0, at `distance` metres.
    pub fn snr(&self, distance: f64) -> f64 {
        let rate = self.band.bit_rate();
        let energy = ratio(self.power - 30.0) / rate * ratio(self.gain) * self.path(distance);
        let noise = BOLTZMANN * self.temperature * ratio(self.noise_figure);
        match self.noise {
            Noise::Thermal => energy / noise,
            Noise::Vatne2006 => energy / (rate / 2.0 * noise),
        }
    }
}

/// Converts dB to a power ratio.
fn ratio(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

/// Modulation of the bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Modulation {
    /// Coherent BPSK.
    Bpsk,
    /// O-QPSK of IEEE 802.15.4 with 16 quasi-orthogonal sequences, as the coexistence annex
    /// computes it (IEEE 802.15.4-2006, E.4.1.8).
    OQpsk,
}

/// Binomial coefficients C(16, k) for k = 2 ... 16.
const OF_16: [f64; 15] = [
    120.0, 560.0, 1820.0, 4368.0, 8008.0, 11440.0, 12870.0, 11440.0, 8008.0, 4368.0, 1820.0, 560.0,
    120.0, 16.0, 1.0,
];

impl Modulation {
    /// Returns the bit error rate at E_b / N0 = `snr` without fading. BPSK: erfc(sqrt(snr)) / 2.
    /// O-QPSK: 8/15 1/16 sum (-1)^k C(16, k) exp(20 s (1/k - 1)) over k = 2 ... 16, with s = snr /
    /// 8, the ratio of powers in the 2 MHz of the band.
    pub fn bit_error_rate(self, snr: f64) -> f64 {
        match self {
            Self::Bpsk => 0.5 * libm::erfc(libm::sqrt(snr)),
            Self::OQpsk => Self::alternating(|k| libm::exp(2.5 * snr * (1.0 / k - 1.0))),
        }
    }

    /// Returns the mean bit error rate over Rayleigh fading with the mean `snr`. BPSK: (1 -
    /// sqrt(snr / (1 + snr))) / 2 (Proakis 2001, 14.3-7; equation 1 of Vatne and Haugen 2006 at
    /// code rate 1). O-QPSK: exp(-a s) becomes 1 / (1 + a s).
    pub fn mean_over_rayleigh(self, snr: f64) -> f64 {
        match self {
            // The form (1 - x) / (1 + sqrt(x)) of 1 - sqrt(x) avoids cancellation.
            Self::Bpsk => 0.5 / (1.0 + snr) / (1.0 + libm::sqrt(snr / (1.0 + snr))),
            Self::OQpsk => Self::alternating(|k| 1.0 / (1.0 + 2.5 * snr * (1.0 - 1.0 / k))),
        }
    }

    fn alternating(term: impl Fn(f64) -> f64) -> f64 {
        let mut sum = 0.0;
        for (i, coefficient) in OF_16.iter().enumerate() {
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            sum += sign * coefficient * term(i as f64 + 2.0);
        }
        (sum * 8.0 / 15.0 / 16.0).clamp(0.0, 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(path_loss: PathLoss, noise: Noise) -> Budget {
        Budget {
            band: Band::Mhz2400,
            power: 10.0,
            gain: 0.0,
            temperature: 190.0,
            noise_figure: 0.0,
            path_loss,
            noise,
        }
    }

    /// Returns P_pd of 480 bits (equation 7).
    fn loss(budget: Budget, distance: f64) -> f64 {
        let p = Modulation::Bpsk.mean_over_rayleigh(budget.snr(distance));
        -libm::expm1(480.0 * libm::log1p(-p))
    }

    /// vatne2006 sec. 5.2.2 in three readings: the equations as they were meant, with a plain N0 =
    /// k T, and as printed.
    #[test]
    fn the_budget_of_the_study_in_its_three_interpretations() {
        let meant = study(PathLoss::Friis, Noise::Vatne2006);
        for (distance, expected, digit) in [
            (1.0, 0.0099, 1e-4),
            (5.0, 0.220, 1e-3),
            (15.0, 0.890, 1e-3),
            (50.0, 1.0, 1e-3),
        ] {
            let measured = loss(meant, distance);
            assert!(
                (measured - expected).abs() <= digit / 2.0,
                "{distance}: {measured}"
            );
        }
        let thermal = study(PathLoss::Friis, Noise::Thermal);
        for (distance, expected) in [
            (1.0, 7.95e-8),
            (15.0, 1.79e-5),
            (50.0, 1.99e-4),
            (200.0, 3.18e-3),
        ] {
            let measured = loss(thermal, distance);
            assert!(
                (measured / expected - 1.0).abs() < 4e-3,
                "{distance}: {measured}"
            );
        }
        let printed = study(PathLoss::Vatne2006Printed, Noise::Vatne2006);
        let db = 10.0 * printed.snr(1.0).log10();
        assert!((db - 109.9).abs() < 0.05, "{db}");
        assert!((loss(printed, 1.0) / 1.2e-9 - 1.0).abs() < 0.03);
        // In the misprinted equation the loss falls with distance.
        assert!(loss(printed, 15.0) < loss(printed, 1.0));
        assert!(loss(meant, 15.0) > loss(meant, 1.0));
    }

    #[test]
    fn the_path_losses_are_those_of_their_sources() {
        let db =
            |path_loss, distance| -10.0 * study(path_loss, Noise::Thermal).path(distance).log10();
        // The loss is 40.05 dB at 1 m and 2.4 GHz, and 20 dB more at ten times the distance.
        assert!((db(PathLoss::Friis, 1.0) - 40.05).abs() < 0.01);
        assert!((db(PathLoss::Friis, 10.0) - 60.05).abs() < 0.01);
        let square = PathLoss::LogDistance { exponent: 2.0 };
        assert!((db(square, 37.0) - db(PathLoss::Friis, 37.0)).abs() < 1e-9);
        let steep = PathLoss::LogDistance { exponent: 3.5 };
        assert!((db(steep, 10.0) - db(steep, 1.0) - 35.0).abs() < 1e-9);
        // The loss is 40.2 dB at 1 m. The two pieces differ by 0.3 dB at 8 m, as in the standard.
        assert!((db(PathLoss::Ieee802154, 1.0) - 40.2).abs() < 1e-9);
        assert!((db(PathLoss::Ieee802154, 8.0) - 58.26).abs() < 0.01);
        assert!((db(PathLoss::Ieee802154, 80.0) - 91.5).abs() < 1e-9);
        // A distance below 1 m counts as 1 m.
        assert_eq!(db(PathLoss::Friis, 0.0), db(PathLoss::Friis, 1.0));
    }

    #[test]
    fn bit_error_rates_are_those_of_the_textbook() {
        let at = |db: f64| 10f64.powf(db / 10.0);
        // BPSK: 1e-5 at 9.588 dB.
        let bpsk = Modulation::Bpsk.bit_error_rate(at(9.588));
        assert!((bpsk / 1e-5 - 1.0).abs() < 1e-2, "{bpsk}");
        // Without a signal half of the bits are wrong.
        for modulation in [Modulation::Bpsk, Modulation::OQpsk] {
            assert!((modulation.bit_error_rate(0.0) - 0.5).abs() < 1e-12);
            assert!((modulation.mean_over_rayleigh(0.0) - 0.5).abs() < 1e-12);
        }
        // The standard's O-QPSK has a bit error rate below 1e-9 above 4 dB of SNR, which is 13 dB
        // of Eb/N0.
        assert!(Modulation::OQpsk.bit_error_rate(at(13.05)) < 1e-9);
        assert!(Modulation::OQpsk.bit_error_rate(at(9.0)) > 1e-6);
    }

    /// The closed forms over fading are compared with the integral of exp(-x) BER(x snr).
    #[test]
    fn means_over_rayleigh_are_the_integrals() {
        for modulation in [Modulation::Bpsk, Modulation::OQpsk] {
            for snr in [0.3, 3.0, 30.0, 300.0] {
                // The integral is in u = sqrt(x), because the rate of BPSK has a vertical tangent
                // at 0.
                let n = 100_000;
                let step = 6.5 / f64::from(n);
                let integral: f64 = (0..n)
                    .map(|i| {
                        let u = (f64::from(i) + 0.5) * step;
                        let x = u * u;
                        2.0 * u * (-x).exp() * modulation.bit_error_rate(x * snr) * step
                    })
                    .sum();
                let measured = modulation.mean_over_rayleigh(snr);
                assert!(
                    (measured / integral - 1.0).abs() < 1e-4,
                    "{snr}: {measured} {integral}"
                );
            }
        }
    }
}
