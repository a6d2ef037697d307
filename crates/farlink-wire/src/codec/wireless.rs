//! Options of SCPS-TP (CCSDS 714.0-B), and of the mechanisms for wireless links in west1997.

use super::error::WireError;
use super::options::NOP;
use farlink_tcp::{AckRateOption, Extra, Options, ScpsCapabilities, Snack};
use std::num::NonZeroU16;

const SCPS: u8 = 20;
const SNACK: u8 = 21;
/// Option kind for experiments, each distinguished by an identifier (RFC 6994). The papers specify
/// no kind, so the identifiers below are our choice.
const EXPERIMENT: u8 = 253;
/// Second kind for experiments, and the identifier of TARR (draft-ietf-tcpm-ack-rate-request).
const EXPERIMENT_2: u8 = 254;
const TARR: [u8; 2] = [0x00, 0xac];
/// Bits of R beside the reserved bit V.
const R: u8 = 0x7f;
const ELN: [u8; 2] = *b"EL";
const ACKP: [u8; 2] = *b"AP";
const NACK: [u8; 2] = *b"NA";

/// Appends these options, each aligned to four bytes.
pub(super) fn put(options: &Options, put: &mut impl FnMut(&[u8])) {
    if let Some(scps) = options.scps {
        put(&[SCPS, 4, scps.bits, scps.connection]);
    }
    if let Some(snack) = options.extra.snack() {
        let vector = &snack.bits.to_be_bytes()[..snack.vector_len()];
        for _ in 6 + vector.len()..snack.wire_len() as usize {
            put(&[NOP]);
        }
        put(&[SNACK, 6 + vector.len() as u8]);
        put(&snack.offset.to_be_bytes());
        put(&snack.size.get().to_be_bytes());
        put(vector);
    }
    for (there, [high, low]) in [
        (options.eln, ELN),
        (options.ackp, ACKP),
        (options.nack, NACK),
    ] {
        if there {
            put(&[EXPERIMENT, 4, high, low]);
        }
    }
    let [high, low] = TARR;
    match options.ack_rate {
        None => {}
        Some(AckRateOption::Capable) => put(&[EXPERIMENT_2, 4, high, low]),
        Some(AckRateOption::Every(rate)) => {
            put(&[NOP, NOP, NOP, EXPERIMENT_2, 5, high, low, rate & R]);
        }
    }
}

/// Parses an option of SCPS-TP or of wireless links. `wrong` is the error for a length that the
/// kind does not allow.
pub(super) fn take(
    options: &mut Options,
    kind: u8,
    value: &[u8],
    wrong: WireError,
) -> Result<(), WireError> {
    match (kind, value) {
        (SCPS, &[bits, connection]) => {
            options.scps = Some(ScpsCapabilities { bits, connection });
        }
        (SNACK, &[a, b, c, d, ref vector @ ..]) => {
            let mut bits = [0; 8];
            let n = vector.len().min(bits.len());
            bits[..n].copy_from_slice(&vector[..n]);
            // A hole of size zero is ignored.
            if let Some(size) = NonZeroU16::new(u16::from_be_bytes([c, d])) {
                options.extra = Extra::Snack(Snack {
                    offset: u16::from_be_bytes([a, b]),
                    size,
                    bits: u64::from_be_bytes(bits),
                });
            }
        }
        (SNACK, _) => return Err(wrong),
        (EXPERIMENT | EXPERIMENT_2, &[high, low]) if [high, low] == TARR => {
            options.ack_rate = Some(AckRateOption::Capable);
        }
        (EXPERIMENT | EXPERIMENT_2, &[high, low, rate]) if [high, low] == TARR => {
            options.ack_rate = Some(AckRateOption::Every(rate & R));
        }
        (EXPERIMENT, &[high, low]) if [high, low] == ELN => options.eln = true,
        (EXPERIMENT, &[high, low]) if [high, low] == ACKP => options.ackp = true,
        (EXPERIMENT, &[high, low]) if [high, low] == NACK => options.nack = true,
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_tcp::RareOptions;

    fn bytes(options: &Options) -> Vec<u8> {
        let mut out = Vec::new();
        put(options, &mut |bytes| out.extend_from_slice(bytes));
        assert_eq!(out.len() as u32, options.wire_len());
        out
    }

    #[test]
    fn wireless_options_encode_to_known_bytes() {
        let offer = RareOptions {
            scps: Some(ScpsCapabilities {
                bits: ScpsCapabilities::SNACK_SHORT | ScpsCapabilities::SNACK_LONG,
                connection: 0,
            }),
            ackp: true,
            nack: true,
            ..RareOptions::NONE
        };
        let both = [253, 4, b'A', b'P', 253, 4, b'N', b'A'];
        assert_eq!(
            bytes(&offer.into()),
            [&[20, 4, 0x60, 0][..], &both].concat()
        );
        let snack = |bits| RareOptions {
            extra: NonZeroU16::new(3).map_or(Extra::None, |size| {
                Extra::Snack(Snack {
                    offset: 258,
                    size,
                    bits,
                })
            }),
            eln: true,
            ..RareOptions::NONE
        };
        let eln = [253, 4, b'E', b'L'];
        let short = [&[1, 1, 21, 6, 1, 2, 0, 3][..], &eln].concat();
        assert_eq!(bytes(&snack(0).into()), short);
        // The bits 1011 take one byte of vector; 1011 0000 0000 01 take two.
        let long = [&[1, 21, 7, 1, 2, 0, 3, 0xb0][..], &eln].concat();
        assert_eq!(bytes(&snack(0xb << 60).into()), long);
        let long = [&[21, 8, 1, 2, 0, 3, 0xb0, 0x04][..], &eln].concat();
        assert_eq!(bytes(&snack(0xb004 << 48).into()), long);
    }

    #[test]
    fn requests_of_the_ack_rate_encode_to_known_bytes() {
        for (option, wire) in [
            (AckRateOption::Capable, &[254, 4, 0x00, 0xac][..]),
            (AckRateOption::Every(0), &[1, 1, 1, 254, 5, 0x00, 0xac, 0]),
            (
                AckRateOption::Every(127),
                &[1, 1, 1, 254, 5, 0x00, 0xac, 127],
            ),
        ] {
            let options = Options::from(RareOptions {
                ack_rate: Some(option),
                ..RareOptions::NONE
            });
            assert_eq!(bytes(&options), wire);
            // Either kind for experiments is read, and the reserved bit V is ignored.
            for kind in [253, 254] {
                let mut read = Options::default();
                let value = &wire[wire.len() / 8 * 3 + 2..];
                let mut value = value.to_vec();
                if let Some(rate) = value.get_mut(2) {
                    *rate |= 0x80;
                }
                take(&mut read, kind, &value, WireError::TcpChecksum).unwrap();
                assert_eq!(read, options);
            }
        }
    }

    #[test]
    fn foreign_options_of_the_same_kind_are_skipped() {
        let wrong = WireError::TcpChecksum;
        let mut options = Options::default();
        for (kind, value) in [
            (EXPERIMENT, &[0xde, 0xad][..]),
            (EXPERIMENT, b"EL!"),
            (SCPS, &[1, 0x10, 0, 0]), // extended capabilities
            (SNACK, &[0, 1, 0, 0]),   // a hole of no size
        ] {
            take(&mut options, kind, value, wrong.clone()).unwrap();
        }
        assert_eq!(options, Options::default());
        let short = take(&mut options, SNACK, &[0, 1], wrong.clone());
        assert_eq!(short, Err(wrong));
    }
}
