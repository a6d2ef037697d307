//! AccECN option (RFC 9768, 3.2.3).

use farlink_tcp::{AccEcnOption, FieldOrder};

/// Option kind `AccECN0`.
pub(super) const ECT0_FIRST: u8 = 172;
/// Option kind `AccECN1`.
pub(super) const ECT1_FIRST: u8 = 174;
/// Bytes of a field.
const FIELD_LEN: usize = 3;

/// Appends the option.
pub(super) fn put(option: AccEcnOption, put: &mut impl FnMut(&[u8])) {
    let kind = match option.order() {
        FieldOrder::Ect0First => ECT0_FIRST,
        FieldOrder::Ect1First => ECT1_FIRST,
    };
    put(&[kind, len(option) as u8]);
    for field in option.fields() {
        put(&field.to_be_bytes()[1..]);
    }
}

/// Bytes of the option without padding.
pub(super) fn len(option: AccEcnOption) -> usize {
    2 + FIELD_LEN * option.fields().len()
}

/// Parses the option. If its length is not in table 5, the whole fields are used, and the rest is
/// padding.
pub(super) fn read(kind: u8, value: &[u8]) -> AccEcnOption {
    let order = if kind == ECT0_FIRST {
        FieldOrder::Ect0First
    } else {
        FieldOrder::Ect1First
    };
    let fields: Vec<u32> = value
        .chunks_exact(FIELD_LEN)
        .map(|field| u32::from_be_bytes([0, field[0], field[1], field[2]]))
        .collect();
    AccEcnOption::new(order, &fields)
}
