//! Configuration of quinn-proto: time, random numbers and keys from the seed of an end.

use crate::config::{Acks, Config};
use crate::control::{ControlStats, Factory};
use crate::tap::{Tap, Tapped};
use crate::tls;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig,
    IdleTimeout, ServerConfig, TimeSource, TransportConfig, VarInt,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use ring::{hkdf, hmac};
use std::fmt::Display;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// Idle time of quinn's default.
const IDLE: Duration = Duration::from_secs(30);
/// Number of packets in an idle time that keep a connection alive, so that one or two may be lost.
const KEEP_ALIVES: u32 = 3;

/// Length of connection IDs, as quinn's default.
const CID_LEN: usize = 8;
/// Length of the destination ID of a client's first packet, as quinn's default.
const FIRST_CID_LEN: usize = 20;

/// Returns quinn's time for a simulated one in nanoseconds.
pub(crate) fn at(nanos: u64) -> Instant {
    base() + Duration::from_nanos(nanos)
}

/// Instant of the simulated time zero. Only differences matter.
fn base() -> Instant {
    static BASE: OnceLock<Instant> = OnceLock::new();
    *BASE.get_or_init(Instant::now)
}

/// Returns the time in nanoseconds for one of quinn's.
pub(crate) fn nanos(instant: Instant) -> u64 {
    instant.saturating_duration_since(base()).as_nanos() as u64
}

/// Wall clock of a simulated host.
struct Wall;

impl TimeSource for Wall {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + tls::CLOCK
    }
}

/// Connection IDs from the seed.
struct Ids(Xoshiro256PlusPlus);

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.0.next_u64().to_le_bytes())
    }

    fn cid_len(&self) -> usize {
        CID_LEN
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

pub(crate) fn draw<const N: usize>(random: &mut Xoshiro256PlusPlus) -> [u8; N] {
    let mut bytes = [0; N];
    random.fill_bytes(&mut bytes);
    bytes
}

pub(crate) fn transport(
    config: &Config,
    seed: [u8; 16],
    control_stats: &Arc<Mutex<ControlStats>>,
) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(Factory {
        control: config.control,
        seed,
        control_stats: Arc::clone(control_stats),
    }));
    if let Some(window) = config.receive_window {
        let window = VarInt::from_u64(window).unwrap_or(VarInt::MAX);
        transport.stream_receive_window(window);
        transport.receive_window(window);
    }
    if let Some(window) = config.send_window {
        transport.send_window(window);
    }
    if let Some(time) = config.idle_timeout {
        // A time that does not fit in the transport parameter is as good as none.
        let time = Some(time).filter(|time| !time.is_zero());
        transport.max_idle_timeout(time.and_then(|time| IdleTimeout::try_from(time).ok()));
    }
    let idle = config.idle_timeout.unwrap_or(IDLE);
    if config.keeps_alive && !idle.is_zero() {
        transport.keep_alive_interval(Some(idle / KEEP_ALIVES));
    }
    if let Some(time) = config.initial_rtt {
        transport.initial_rtt(time);
    }
    transport.ack_frequency_config(config.acks.map(|acks| ack_frequency(&acks)));
    transport
}

fn ack_frequency(acks: &Acks) -> AckFrequencyConfig {
    let mut wish = AckFrequencyConfig::default();
    if let Some(packets) = acks.eliciting_threshold {
        wish.ack_eliciting_threshold(packets.into());
    }
    if let Some(packets) = acks.reordering_threshold {
        wish.reordering_threshold(packets.into());
    }
    wish.max_ack_delay(acks.max_delay);
    wish
}

fn refused(error: &dyn Display) -> String {
    format!("QUIC cannot start: {error}")
}

/// Returns the configuration of an endpoint.
pub(crate) fn endpoint(random: &mut Xoshiro256PlusPlus) -> EndpointConfig {
    let reset = hmac::Key::new(hmac::HMAC_SHA256, &draw::<64>(random));
    let mut own = EndpointConfig::new(Arc::new(reset));
    own.rng_seed(Some(draw(random)));
    let ids: [u8; 32] = draw(random);
    own.cid_generator(move || Box::new(Ids(Xoshiro256PlusPlus::from_seed(ids))));
    own
}

/// Returns the configuration of a client, with a tap for its packets.
pub(crate) fn client(
    tls: Result<rustls::ClientConfig, rustls::Error>,
    transport: Arc<TransportConfig>,
    random: &mut Xoshiro256PlusPlus,
    tap: Tap,
) -> Result<ClientConfig, String> {
    let tls = tls.map_err(|error| refused(&error))?;
    let tls = QuicClientConfig::try_from(tls).map_err(|error| refused(&error))?;
    let inner = Arc::new(tls);
    let mut made = ClientConfig::new(Arc::new(Tapped { inner, tap }));
    let first: [u8; FIRST_CID_LEN] = draw(random);
    made.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&first)));
    made.transport_config(transport);
    Ok(made)
}

/// Returns the configuration of a server, with a tap for its packets.
pub(crate) fn server(
    tls: Result<rustls::ServerConfig, rustls::Error>,
    transport: Arc<TransportConfig>,
    random: &mut Xoshiro256PlusPlus,
    tap: Tap,
) -> Result<ServerConfig, String> {
    let tls = tls.map_err(|error| refused(&error))?;
    let tls = QuicServerConfig::try_from(tls).map_err(|error| refused(&error))?;
    let key = draw::<64>(random);
    let token = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&key);
    let inner = Arc::new(tls);
    let mut made = ServerConfig::new(Arc::new(Tapped { inner, tap }), Arc::new(token));
    made.time_source(Arc::new(Wall));
    made.transport_config(transport);
    Ok(made)
}
