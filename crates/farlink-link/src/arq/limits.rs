//! Checks of protocol parameters.

use farlink_tcp::Interval;

/// Invalid parameter of a link-layer protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ArqError {
    /// Modulus other than 8 and 128.
    #[error("sequence numbers modulo {0} cannot be: write 8 or 128")]
    Modulus(u8),
    /// Window too large for the modulus of the sequence numbers.
    #[error(
        "a window of {window} frames cannot be: with numbers modulo {modulus} write 1 to {most}"
    )]
    Window {
        /// Requested window.
        window: u8,
        /// Modulus that was asked for.
        modulus: u8,
        /// Largest window of this protocol.
        most: u8,
    },
    /// Timer of 0 s; the value is the timer's name.
    #[error("{0} of 0 s cannot be: write a time above it")]
    NoTime(&'static str),
    /// N2 of 0.
    #[error("N2 = 0 would never send again: write 1 or more")]
    NoTry,
}

/// Returns the largest window of a go-back-N protocol, `modulus - 1`.
pub const fn most_go_back(modulus: u8) -> u8 {
    modulus - 1
}

/// Returns the largest window of a selective-repeat protocol, 2^(n-1) - 1 for n-bit numbers (Wong
/// 1998, 4.4.2).
pub const fn most_selective(modulus: u8) -> u8 {
    modulus / 2 - 1
}

pub(super) fn check_window(modulus: u8, window: u8, most: fn(u8) -> u8) -> Result<(), ArqError> {
    if modulus != 8 && modulus != 128 {
        return Err(ArqError::Modulus(modulus));
    }
    let most = most(modulus);
    if window == 0 || window > most {
        return Err(ArqError::Window {
            window,
            modulus,
            most,
        });
    }
    Ok(())
}

pub(super) fn check_time(name: &'static str, time: Interval) -> Result<(), ArqError> {
    if time.is_zero() {
        return Err(ArqError::NoTime(name));
    }
    Ok(())
}
