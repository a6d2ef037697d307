//! Cryptographic primitives for Noise, from single-purpose crates in the versions that farlink uses
//! already. The built-in resolver of `snow` would add older versions of these crates to the build.

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::aead::inout::InOutBuf;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit, Nonce, Tag};
use ed25519_compact::x25519::{PublicKey, SecretKey};
use sha2::{Digest, Sha256};
use snow::Error;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::CryptoResolver;
use snow::types::{Cipher, Dh, Hash, Random};

/// Bytes of an authentication tag (RFC 8439).
pub(super) const TAG: usize = 16;

/// Resolver that maps the names in the Noise pattern to these primitives.
pub(super) struct Primitives;

impl CryptoResolver for Primitives {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(System))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        matches!(choice, DHChoice::Curve25519).then(|| Box::<X25519>::default() as Box<dyn Dh>)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        matches!(choice, HashChoice::SHA256)
            .then(|| Box::new(Hash256(Sha256::new())) as Box<dyn Hash>)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        matches!(choice, CipherChoice::ChaChaPoly)
            .then(|| Box::<ChaChaPoly>::default() as Box<dyn Cipher>)
    }
}

/// The system's random number generator.
struct System;

impl Random for System {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), Error> {
        getrandom::fill(dest).map_err(|_| Error::Rng)
    }
}

/// Diffie-Hellman over Curve25519 (RFC 7748).
#[derive(Default)]
struct X25519 {
    secret: [u8; 32],
    public: [u8; 32],
}

impl Dh for X25519 {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        32
    }

    fn priv_len(&self) -> usize {
        32
    }

    fn set(&mut self, privkey: &[u8]) {
        self.secret.copy_from_slice(privkey);
        // A clamped secret never gives the point at infinity.
        let public = SecretKey::new(self.secret).recover_public_key();
        self.public = public.map_or([0; 32], |public| *public);
    }

    fn generate(&mut self, rng: &mut dyn Random) -> Result<(), Error> {
        let mut secret = [0; 32];
        rng.try_fill_bytes(&mut secret)?;
        self.set(&secret);
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        &self.secret
    }

    fn dh(&self, pubkey: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let public: [u8; 32] = pubkey[..32].try_into().map_err(|_| Error::Dh)?;
        // Points of small order are rejected, because with them the shared secret does not depend
        // on the key.
        let shared = PublicKey::new(public).dh(&SecretKey::new(self.secret));
        out[..32].copy_from_slice(&*shared.map_err(|_| Error::Dh)?);
        Ok(())
    }
}

/// SHA-256 (FIPS 180-4).
struct Hash256(Sha256);

impl Hash for Hash256 {
    fn name(&self) -> &'static str {
        "SHA256"
    }

    fn block_len(&self) -> usize {
        64
    }

    fn hash_len(&self) -> usize {
        32
    }

    fn reset(&mut self) {
        self.0 = Sha256::new();
    }

    fn input(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn result(&mut self, out: &mut [u8]) {
        out[..32].copy_from_slice(&self.0.finalize_reset());
    }
}

/// ChaCha20-Poly1305 (RFC 8439) with Noise's nonce: 32 zero bits, then the little-endian number.
#[derive(Default)]
struct ChaChaPoly {
    key: [u8; 32],
}

impl ChaChaPoly {
    fn nonce(number: u64) -> Nonce {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&number.to_le_bytes());
        nonce.into()
    }

    fn cipher(&self) -> ChaCha20Poly1305 {
        ChaCha20Poly1305::new(&self.key.into())
    }
}

impl Cipher for ChaChaPoly {
    fn name(&self) -> &'static str {
        "ChaChaPoly"
    }

    fn set(&mut self, key: &[u8; 32]) {
        self.key = *key;
    }

    fn encrypt(&self, nonce: u64, authtext: &[u8], plaintext: &[u8], out: &mut [u8]) -> usize {
        let n = plaintext.len();
        out[..n].copy_from_slice(plaintext);
        let tag = self
            .cipher()
            .encrypt_inout_detached(&Self::nonce(nonce), authtext, InOutBuf::from(&mut out[..n]))
            // Encryption only fails above 256 GiB, and a Noise message has at most 64 KiB.
            .expect("a message of Noise is short");
        out[n..n + TAG].copy_from_slice(&tag);
        n + TAG
    }

    fn decrypt(
        &self,
        nonce: u64,
        authtext: &[u8],
        ciphertext: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let n = ciphertext.len().checked_sub(TAG).ok_or(Error::Decrypt)?;
        let tag = Tag::try_from(&ciphertext[n..]).map_err(|_| Error::Decrypt)?;
        out[..n].copy_from_slice(&ciphertext[..n]);
        self.cipher()
            .decrypt_inout_detached(
                &Self::nonce(nonce),
                authtext,
                InOutBuf::from(&mut out[..n]),
                &tag,
            )
            .map_err(|_| Error::Decrypt)?;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digit = |i: usize| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(digit).collect()
    }

    /// Test vector of RFC 7748, 5.2: the base point multiplied by itself.
    #[test]
    fn curve25519_matches_rfc_7748() {
        let mut nine = X25519::default();
        let secret: Vec<u8> = [9].into_iter().chain([0; 31]).collect();
        nine.set(&secret);
        let product = "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079";
        assert_eq!(nine.pubkey(), bytes(product));
        let mut shared = [0; 32];
        nine.dh(&secret, &mut shared).unwrap();
        assert_eq!(shared[..], bytes(product));
    }

    /// Test vector of this pattern from cacophony, the Haskell implementation of Noise: the
    /// handshake and two messages. It covers cipher, nonces and hash together.
    #[test]
    fn noise_matches_the_cacophony_vector() {
        let end = |ephemeral: &str| {
            let builder = snow::Builder::with_resolver(
                "Noise_NNpsk0_25519_ChaChaPoly_SHA256".parse().unwrap(),
                Box::new(Primitives),
            );
            (builder, bytes(ephemeral))
        };
        let psk = *b"This is my Austrian perspective!";
        let (first, ours) = end("893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a");
        let (second, theirs) =
            end("bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b");
        let ready = |builder: snow::Builder<'static>| {
            builder
                .prologue(b"John Galt")
                .unwrap()
                .psk(0, Box::leak(Box::new(psk)))
                .unwrap()
        };
        let (ours, theirs) = (Box::leak(Box::new(ours)), Box::leak(Box::new(theirs)));
        let first = ready(first).fixed_ephemeral_key_for_testing_only(ours);
        let second = ready(second).fixed_ephemeral_key_for_testing_only(theirs);
        let mut first = first.build_initiator().unwrap();
        let mut second = second.build_responder().unwrap();
        let (mut sent, mut got) = ([0; 200], [0; 200]);
        let n = first.write_message(b"Ludwig von Mises", &mut sent).unwrap();
        let expected = "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c794479b962b8\
                        aff8485742ac32f905ba45369e2465fb59e138a93d67a0d1266b6a54";
        assert_eq!(sent[..n], bytes(expected));
        second.read_message(&sent[..n], &mut got).unwrap();
        let n = second.write_message(b"Murray Rothbard", &mut sent).unwrap();
        let expected = "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843d6062704\
                        d5a9c422a8e834423f8c1feada7e8d0d910a1a2cd030fb584221e3";
        assert_eq!(sent[..n], bytes(expected));
        first.read_message(&sent[..n], &mut got).unwrap();
        let first = first.into_stateless_transport_mode().unwrap();
        let n = first.write_message(0, b"F. A. Hayek", &mut sent).unwrap();
        let expected = "e632c3763d7669067383433197a3baddf146e9e70ad4b4e9e59e0f";
        assert_eq!(sent[..n], bytes(expected));
        let n = first
            .write_message(1, b"Jean-Baptiste Say", &mut sent)
            .unwrap();
        let expected = "e2fa0bed0603b62d3ccac2ecabbf3fe33f3e86514909b323361626266cb2471cc8";
        assert_eq!(sent[..n], bytes(expected));
    }
}
