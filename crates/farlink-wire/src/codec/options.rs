//! TCP options as bytes (RFC 9293, 7323, 2018, 7413).

use super::accecn;
use super::dss;
use super::error::WireError;
use super::wireless;
use arrayvec::ArrayVec;
use farlink_tcp::{Extra, FastOpenCookie, Options, SackBlock, SackBlocks, Seq, Timestamps};

/// Maximum length of the options of a TCP header. Its length field allows fifteen words of four
/// bytes, and five of them are fixed.
pub const MAX_OPTIONS_LEN: u32 = 40;

pub(super) const END: u8 = 0;
pub(super) const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const FAST_OPEN: u8 = 34;

/// Encodes the options, each aligned to four bytes. [`Options::wire_len`] is the length.
pub(super) fn options_bytes(options: &Options) -> ArrayVec<u8, { MAX_OPTIONS_LEN as usize }> {
    let mut out = ArrayVec::new();
    let mut put = |bytes: &[u8]| out.extend(bytes.iter().copied());
    if let Some(mss) = options.mss {
        let [high, low] = mss.to_be_bytes();
        put(&[MSS, 4, high, low]);
    }
    match (options.sack_permitted, options.timestamps) {
        (true, Some(_)) => put(&[SACK_PERMITTED, 2]),
        (true, None) => put(&[NOP, NOP, SACK_PERMITTED, 2]),
        (false, Some(_)) => put(&[NOP, NOP]),
        (false, None) => {}
    }
    if let Some(timestamps) = options.timestamps {
        put(&[TIMESTAMPS, 10]);
        put(&timestamps.value.to_be_bytes());
        put(&timestamps.echo.to_be_bytes());
    }
    if let Some(shift) = options.window_scale {
        put(&[NOP, WINDOW_SCALE, 3, shift]);
    }
    let blocks = options.sack.as_slice();
    if !blocks.is_empty() {
        put(&[NOP, NOP, SACK, 2 + 8 * blocks.len() as u8]);
        for block in blocks {
            put(&block.left.0.to_be_bytes());
            put(&block.right.0.to_be_bytes());
        }
    }
    match options.extra {
        Extra::CookieRequest => put(&[NOP, NOP, FAST_OPEN, 2]),
        Extra::Cookie(FastOpenCookie(cookie)) => {
            put(&[NOP, NOP, FAST_OPEN, 10]);
            put(&cookie.to_be_bytes());
        }
        Extra::DataAck(_) | Extra::Mapping(_) => dss::put(options.extra, &mut put),
        Extra::None | Extra::Snack(_) => {}
    }
    if let Some(option) = options.accecn {
        for _ in accecn::len(option)..option.wire_len() as usize {
            put(&[NOP]);
        }
        accecn::put(option, &mut put);
    }
    wireless::put(options, &mut put);
    out
}

/// Parses options. An option of wrong length, or beyond the end of the header, makes the segment
/// malformed (RFC 9293, 3.1, MUST-7).
pub(super) fn parse_options(bytes: &[u8]) -> Result<Options, WireError> {
    let mut options = Options::default();
    let mut at = 0;
    while let Some(&kind) = bytes.get(at) {
        match kind {
            END => break,
            NOP => {
                at += 1;
                continue;
            }
            _ => {}
        }
        let wrong = WireError::Option { kind, at };
        let len = match bytes.get(at + 1) {
            Some(&len) if len >= 2 => usize::from(len),
            _ => return Err(wrong),
        };
        let Some(value) = bytes.get(at + 2..at + len) else {
            return Err(wrong);
        };
        match (kind, value) {
            (MSS, &[high, low]) => options.mss = Some(u16::from_be_bytes([high, low])),
            (WINDOW_SCALE, &[shift]) => options.window_scale = Some(shift),
            (SACK_PERMITTED, []) => options.sack_permitted = true,
            (SACK, _) if !value.is_empty() && value.len().is_multiple_of(8) => {
                options.sack = value
                    .chunks_exact(8)
                    .map(|block| SackBlock {
                        left: Seq(word(block)),
                        right: Seq(word(&block[4..])),
                    })
                    .collect::<SackBlocks>();
            }
            (TIMESTAMPS, _) if value.len() == 8 => {
                options.timestamps = Some(Timestamps {
                    value: word(value),
                    echo: word(&value[4..]),
                });
            }
            (accecn::ECT0_FIRST | accecn::ECT1_FIRST, _) => {
                options.accecn = Some(accecn::read(kind, value));
            }
            (dss::MPTCP, _) => dss::take(&mut options, value),
            (FAST_OPEN, _) => take_fast_open(&mut options, value),
            (MSS | WINDOW_SCALE | SACK_PERMITTED | SACK | TIMESTAMPS, _) => return Err(wrong),
            _ => wireless::take(&mut options, kind, value, wrong)?,
        }
        at += len;
    }
    Ok(options)
}

/// Parses Fast Open. A cookie of another valid length is treated as a cookie request. A cookie of
/// invalid length is ignored (RFC 7413, 4.1.1).
fn take_fast_open(options: &mut Options, value: &[u8]) {
    match (<[u8; 8]>::try_from(value), value.len()) {
        (Ok(cookie), _) => {
            options.extra = Extra::Cookie(FastOpenCookie(u64::from_be_bytes(cookie)));
        }
        (_, 0 | 4 | 6 | 10 | 12 | 14 | 16) => options.extra = Extra::CookieRequest,
        _ => {}
    }
}

/// Reads the first four bytes as a big-endian number.
pub(super) fn word(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
