//! Circular orbits as seen by a user on the ground.

use std::f64::consts::{FRAC_PI_2, TAU};

/// Mean radius of the Earth in metres (IUGG).
pub const EARTH: f64 = 6_371_008.8;
/// Gravitational parameter of the Earth in m^3/s^2 (WGS 84).
pub const MU: f64 = 3.986_004_418e14;
/// Rotation of the Earth in rad/s (WGS 84).
pub const ROTATION: f64 = 7.292_115e-5;
/// Speed of light in m/s.
pub const LIGHT: f64 = 299_792_458.0;

/// Satellites on circular orbits that pass over a user one after the other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Passes {
    /// Height over the ground in metres.
    pub altitude: f64,
    /// Elevation in radians below which a satellite is not used.
    pub min_elevation: f64,
    /// Elevation in radians at the highest point of a pass; pi/2 is overhead.
    pub max_elevation: f64,
    /// Inclination of the orbit in radians, from which the Earth's rotation is computed; `None`
    /// leaves the rotation out.
    pub inclination: Option<f64>,
}

impl Passes {
    fn radius(&self) -> f64 {
        EARTH + self.altitude
    }

    /// Returns the period of an orbit in seconds, 2 pi sqrt(r^3 / mu).
    pub fn period(&self) -> f64 {
        let r = self.radius();
        TAU * libm::sqrt(r * r * r / MU)
    }

    /// Returns the angular speed over the ground in rad/s: the speed of the orbit minus the
    /// component omega_E cos i of the Earth's rotation (Ali, Al-Dhahir, Hershey 1999).
    pub fn speed(&self) -> f64 {
        let along = self
            .inclination
            .map_or(0.0, |inclination| ROTATION * libm::cos(inclination));
        TAU / self.period() - along
    }

    /// Returns the angle at the centre of the Earth between the user and a satellite at
    /// `elevation`: acos(R cos(e) / r) - e.
    pub fn central_angle(&self, elevation: f64) -> f64 {
        libm::acos(EARTH * libm::cos(elevation) / self.radius()) - elevation
    }

    /// Returns the distance in metres at this angle: sqrt(R^2 + r^2 - 2 R r cos).
    pub fn range(&self, central_angle: f64) -> f64 {
        let r = self.radius();
        // The form (r - R)^2 + 4 R r sin^2(angle / 2) avoids cancellation near the zenith.
        let half = libm::sin(central_angle / 2.0);
        libm::sqrt(self.altitude * self.altitude + 4.0 * EARTH * r * half * half)
    }

    /// Returns the time of use of a satellite in seconds, from `min_elevation` up and down again.
    pub fn duration(&self) -> f64 {
        let (edge, top) = (
            self.central_angle(self.min_elevation),
            self.central_angle(self.max_elevation),
        );
        let ratio = libm::cos(edge) / libm::cos(top);
        2.0 * libm::acos(ratio.min(1.0)) / self.speed()
    }

    /// Returns the distance in metres `time` seconds after the satellite came into use.
    pub fn range_at(&self, time: f64) -> f64 {
        let along = self.speed() * (time - self.duration() / 2.0);
        let top = self.central_angle(self.max_elevation);
        // cos c = cos(top) cos(along), by half angles to avoid cancellation.
        let (a, b) = (libm::sin(top / 2.0), libm::sin(along / 2.0));
        let square = a * a + b * b - 2.0 * a * a * b * b;
        self.range(2.0 * libm::asin(libm::sqrt(square.clamp(0.0, 1.0))))
    }

    /// Returns whether a pass is possible. Its highest point must be above the least elevation, and
    /// the satellite must be faster than the ground.
    pub fn is_possible(&self) -> bool {
        let elevations = 0.0..=FRAC_PI_2;
        elevations.contains(&self.min_elevation)
            && elevations.contains(&self.max_elevation)
            && self.min_elevation < self.max_elevation
            && self.altitude > 0.0
            && self.speed() > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leo(min: f64, max: f64) -> Passes {
        Passes {
            altitude: 550e3,
            min_elevation: min.to_radians(),
            max_elevation: max.to_radians(),
            inclination: None,
        }
    }

    #[test]
    fn periods_are_keplers() {
        // The period is 95.50 min at 550 km over the mean radius. It is a sidereal day at GEO,
        // 35,786 km over the equator and 7 km more over the mean radius.
        assert!((leo(25.0, 90.0).period() / 60.0 - 95.50).abs() < 0.01);
        let geo = Passes {
            altitude: 35_793e3,
            ..leo(10.0, 90.0)
        };
        assert!(
            (geo.period() / 86_164.1 - 1.0).abs() < 3e-4,
            "{}",
            geo.period()
        );
        // A geostationary satellite stands still over the equator.
        let still = Passes {
            inclination: Some(0.0),
            ..geo
        };
        assert!(still.speed().abs() < 1e-3 * ROTATION * 3.0);
    }

    #[test]
    fn ranges_are_those_of_the_triangle() {
        let pass = leo(25.0, 90.0);
        // The distance overhead is the altitude; at 25 degrees it is 1123 km (law of sines).
        assert!((pass.range_at(pass.duration() / 2.0) - 550e3).abs() < 1e-3);
        let (r, e) = (EARTH + 550e3, 25f64.to_radians());
        let slant = (r * r - EARTH * EARTH * e.cos().powi(2)).sqrt() - EARTH * e.sin();
        for time in [0.0, pass.duration()] {
            assert!((pass.range_at(time) - slant).abs() < 1e-3, "{slant}");
        }
        assert!((slant / 1e3 - 1123.0).abs() < 1.0);
        // A pass that culminates lower is shorter and farther away.
        let low = leo(25.0, 50.0);
        assert!(low.duration() < pass.duration());
        let top = low.range_at(low.duration() / 2.0);
        let e = 50f64.to_radians();
        let expected = (r * r - EARTH * EARTH * e.cos().powi(2)).sqrt() - EARTH * e.sin();
        assert!((top - expected).abs() < 1e-3);
    }

    #[test]
    fn a_pass_takes_the_time_of_its_arc() {
        let pass = leo(25.0, 90.0);
        let arc = 2.0 * pass.central_angle(pass.min_elevation);
        let share = pass.duration() / pass.period();
        assert!((share - arc / TAU).abs() < 1e-12);
        // 16.9 of 360 degrees take 4.49 minutes. The Earth's rotation lengthens passes of
        // satellites that fly east.
        assert!(
            (pass.duration() / 60.0 - 4.49).abs() < 0.01,
            "{}",
            pass.duration()
        );
        let turning = Passes {
            inclination: Some(53f64.to_radians()),
            ..pass
        };
        let ratio = turning.duration() / pass.duration();
        assert!((ratio - 1.042).abs() < 0.002, "{ratio}");
    }

    #[test]
    fn impossible_orbits_are_detected() {
        assert!(leo(25.0, 90.0).is_possible());
        assert!(!leo(50.0, 40.0).is_possible());
        let beyond = Passes {
            altitude: 40_000e3,
            inclination: Some(0.0),
            ..leo(10.0, 90.0)
        };
        assert!(!beyond.is_possible());
    }
}
