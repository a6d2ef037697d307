//! The key that unit and gateways share, and its text form.

use sha2::{Digest, Sha256};
use std::fmt::{self, Write};
use std::str::FromStr;

/// Bytes of a key, and of its check sum.
const SECRET: usize = 32;
const CHECK: usize = 4;

/// A shared key. Its text form has 72 hexadecimal digits. The last eight are the first four bytes
/// of the key's SHA-256, by which an incomplete copy is detected.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key([u8; SECRET]);

impl Key {
    /// Draws a random key.
    pub(crate) fn random() -> std::io::Result<Self> {
        let mut secret = [0; SECRET];
        getrandom::fill(&mut secret).map_err(std::io::Error::other)?;
        Ok(Self(secret))
    }

    pub(crate) fn secret(&self) -> &[u8; SECRET] {
        &self.0
    }

    fn check(&self) -> [u8; CHECK] {
        let digest = Sha256::digest(self.0);
        [digest[0], digest[1], digest[2], digest[3]]
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.0.iter().copied().chain(self.check());
        bytes.try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Does not print the secret.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let digits = 2 * (SECRET + CHECK);
        if text.len() != digits || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            let mut why = format!("a key has {digits} hexadecimal digits");
            let _ = write!(why, ", and this has {} characters", text.chars().count());
            return Err(why + "; copy the whole of what farlink unit prints");
        }
        let byte = |i: usize| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap_or_default();
        let key = Self(std::array::from_fn(byte));
        let check: [u8; CHECK] = std::array::from_fn(|i| byte(SECRET + i));
        if check == key.check() {
            Ok(key)
        } else {
            Err(
                "a digit of the key is wrong; copy the whole of what farlink unit prints"
                    .to_owned(),
            )
        }
    }
}
