//! TLS of both ends: ring's ciphers, with keys and random numbers that come from the seed, and one
//! fixed certificate.

use crate::random::Seeded;
use ed25519_compact::x25519;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::cipher_suite::{
    TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, KeyProvider, SecureRandom, SharedSecret, SupportedKxGroup,
    WebPkiSupportedAlgorithms,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::time_provider::TimeProvider;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, KeyLog, NamedGroup, PeerMisbehaved, ServerConfig,
    SignatureAlgorithm, SignatureScheme,
};
use std::fmt::Write;
use std::sync::{Arc, Mutex, OnceLock};

/// Name of the server in the certificate.
pub(crate) const SERVER_NAME: &str = "farlink";
/// Application protocol that both ends name, as QUIC demands (RFC 9001, 8.1): that of files over
/// QUIC without HTTP, which the interoperability tests of QUIC use.
const PROTOCOL: &[u8] = b"hq-interop";
/// Self-signed certificate of the server, of the key [`KEY_SEED`].
const CERTIFICATE: &[u8] = include_bytes!("certificate.der");

/// Returns the self-signed certificate of every server, in DER.
pub fn certificate() -> &'static [u8] {
    CERTIFICATE
}

/// Ed25519 key of the server. It protects nothing: every end is simulated.
const KEY_SEED: [u8; 32] = [
    0xf9, 0xc9, 0xa0, 0xe3, 0x8a, 0x6c, 0x26, 0x77, 0x83, 0x5a, 0xde, 0x86, 0x47, 0x19, 0x70, 0x53,
    0xd8, 0x6f, 0x60, 0x1e, 0x50, 0x43, 0x20, 0xe5, 0xff, 0x83, 0xea, 0x06, 0xa9, 0xcd, 0x61, 0xb0,
];

/// Returns the configuration of a client that writes its secrets to `secrets`, and accepts the
/// certificates that `verifier` accepts.
pub(crate) fn client(
    secrets: &Arc<Secrets>,
    verifier: Arc<dyn ServerCertVerifier>,
) -> Result<ClientConfig, Error> {
    let mut config = ClientConfig::builder_with_details(Arc::new(provider()), Arc::new(NoClock))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.enable_early_data = true;
    config.key_log = Arc::clone(secrets) as Arc<dyn KeyLog>;
    Ok(config)
}

/// Returns the configuration with another log of secrets.
pub(crate) fn with_log(mut config: ClientConfig, secrets: &Arc<Secrets>) -> ClientConfig {
    config.key_log = Arc::clone(secrets) as Arc<dyn KeyLog>;
    config
}

/// Returns the configuration of a server.
pub(crate) fn server() -> Result<ServerConfig, Error> {
    let mut config = ServerConfig::builder_with_details(Arc::new(provider()), Arc::new(NoClock))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(OneCertificate));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.max_early_data_size = u32::MAX;
    Ok(config)
}

fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![
            TLS13_AES_256_GCM_SHA384,
            TLS13_AES_128_GCM_SHA256,
            TLS13_CHACHA20_POLY1305_SHA256,
        ],
        kx_groups: vec![&X25519],
        signature_verification_algorithms: WebPkiSupportedAlgorithms {
            all: &[],
            mapping: &[],
        },
        secure_random: &Seeded,
        key_provider: &NoKeys,
    }
}

/// Secrets of a connection, as lines of a key log file (draft-ietf-tls-keylogfile).
#[derive(Debug, Default)]
pub(crate) struct Secrets(Mutex<String>);

impl Secrets {
    /// Returns the lines so far.
    pub(crate) fn lines(&self) -> String {
        self.0.lock().map(|lines| lines.clone()).unwrap_or_default()
    }
}

impl KeyLog for Secrets {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let Ok(mut lines) = self.0.lock() else {
            return;
        };
        lines.push_str(label);
        for bytes in [client_random, secret] {
            lines.push(' ');
            for byte in bytes {
                let _ = write!(lines, "{byte:02x}");
            }
        }
        lines.push('\n');
    }
}

/// Wall clock of a simulated host, which stands still. Only the lifetimes of tickets depend on it.
#[derive(Debug)]
pub(crate) struct NoClock;

/// Time of [`NoClock`]: in the validity of the certificate.
pub(crate) const CLOCK: std::time::Duration = std::time::Duration::from_secs(1_800_000_000);

impl TimeProvider for NoClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(CLOCK))
    }
}

/// Loads no keys: the server's key is built in.
#[derive(Debug)]
struct NoKeys;

impl KeyProvider for NoKeys {
    fn load_private_key(&self, _: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        Err(Error::General("the key is built in".to_owned()))
    }
}

/// Key exchange over Curve25519 (RFC 7748) with private keys from the seed. ring draws its own from
/// the operating system.
#[derive(Debug)]
struct Curve;

static X25519: Curve = Curve;

impl SupportedKxGroup for Curve {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut seed = [0; 32];
        Seeded.fill(&mut seed)?;
        let secret = x25519::SecretKey::new(seed);
        let public = secret
            .recover_public_key()
            .map_err(|_| Error::General("no public key".to_owned()))?;
        Ok(Box::new(Exchange { secret, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct Exchange {
    secret: x25519::SecretKey,
    public: x25519::PublicKey,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let wrong = |_| Error::from(PeerMisbehaved::InvalidKeyShare);
        let peer = x25519::PublicKey::from_slice(peer).map_err(wrong)?;
        let shared = peer.dh(&self.secret).map_err(wrong)?;
        Ok(SharedSecret::from(&shared[..]))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public[..]
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// The one certificate: its key signs for the server, and a client accepts no other.
#[derive(Debug)]
pub(crate) struct OneCertificate;

fn key() -> &'static Ed25519KeyPair {
    static KEY: OnceLock<Ed25519KeyPair> = OnceLock::new();
    KEY.get_or_init(|| {
        // The only error is a seed of another length.
        Ed25519KeyPair::from_seed_unchecked(&KEY_SEED).expect("a seed of 32 bytes")
    })
}

impl ResolvesServerCert for OneCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let chain = vec![CertificateDer::from(CERTIFICATE)];
        Some(Arc::new(CertifiedKey::new(chain, Arc::new(Self))))
    }
}

impl SigningKey for OneCertificate {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        offered
            .contains(&SignatureScheme::ED25519)
            .then(|| Box::new(Self) as Box<dyn Signer>)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ED25519
    }
}

impl Signer for OneCertificate {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(key().sign(message).as_ref().to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}

impl ServerCertVerifier for OneCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if end_entity.as_ref() == CERTIFICATE {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::General("another certificate".to_owned()))
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC has no TLS 1.2".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        _: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let public = UnparsedPublicKey::new(&ED25519, key().public_key());
        public
            .verify(message, signed.signature())
            .map(|()| HandshakeSignatureValid::assertion())
            .map_err(|_| Error::General("a wrong signature".to_owned()))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

/// Accepts every certificate, as real servers of a test have certificates of their own. The
/// signature of the handshake is verified.
#[derive(Debug)]
pub(crate) struct AnyCertificate;

fn algorithms() -> WebPkiSupportedAlgorithms {
    rustls::crypto::ring::default_provider().signature_verification_algorithms
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC has no TLS 1.2".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &algorithms())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        algorithms().supported_schemes()
    }
}
