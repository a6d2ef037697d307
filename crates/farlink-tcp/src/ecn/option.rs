//! AccECN option (RFC 9768, 3.2.3): counters of bytes that arrived with each codepoint.

/// Order of the fields of an AccECN option, from which fields at the end may be missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldOrder {
    /// ECT(0), CE, ECT(1): `AccECN0`, kind 172.
    Ect0First,
    /// ECT(1), CE, ECT(0): `AccECN1`, kind 174.
    Ect1First,
}

/// AccECN option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccEcnOption {
    order: FieldOrder,
    len: u8,
    fields: [u32; 3],
}

/// Bits of a field.
const FIELD: u32 = 0xff_ffff;

impl AccEcnOption {
    /// Builds an option with up to three fields, of which the low 24 bits count.
    pub fn new(order: FieldOrder, fields: &[u32]) -> Self {
        let len = fields.len().min(3);
        let mut all = [0; 3];
        for (to, from) in all.iter_mut().zip(fields) {
            *to = from & FIELD;
        }
        Self {
            order,
            len: len as u8,
            fields: all,
        }
    }

    /// Returns the order of the fields.
    pub const fn order(&self) -> FieldOrder {
        self.order
    }

    /// Returns the fields that are present, in their order.
    pub fn fields(&self) -> &[u32] {
        &self.fields[..usize::from(self.len)]
    }

    /// Returns the field of the bytes that arrived with ECT(0), if present.
    pub fn ect0(&self) -> Option<u32> {
        self.field(FieldOrder::Ect0First)
    }

    /// Returns the field of the bytes that arrived with CE, if present.
    pub fn ce(&self) -> Option<u32> {
        self.fields().get(1).copied()
    }

    /// Returns the field of the bytes that arrived with ECT(1), if present.
    pub fn ect1(&self) -> Option<u32> {
        self.field(FieldOrder::Ect1First)
    }

    fn field(&self, first_in: FieldOrder) -> Option<u32> {
        let place = if self.order == first_in { 0 } else { 2 };
        self.fields().get(place).copied()
    }

    /// Bytes of the option in a header, with its padding.
    pub const fn wire_len(&self) -> u32 {
        Self::padded_len(self.len as u32)
    }

    /// Returns the bytes of an option with `fields` fields in a header, with its padding.
    pub(crate) const fn padded_len(fields: u32) -> u32 {
        (2 + 3 * fields).next_multiple_of(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768, 3.2.3, figure 4 and table 5; each length is padded to words.
    #[test]
    fn fields_are_found_in_both_orders() {
        let option = AccEcnOption::new(FieldOrder::Ect0First, &[1, 2, 0x0100_0003]);
        let fields = |o: AccEcnOption| (o.ect0(), o.ce(), o.ect1());
        assert_eq!(fields(option), (Some(1), Some(2), Some(3)));
        let option = AccEcnOption::new(FieldOrder::Ect1First, &[1, 2]);
        assert_eq!(fields(option), (None, Some(2), Some(1)));
        let option = AccEcnOption::new(FieldOrder::Ect1First, &[7, 8, 9]);
        assert_eq!(fields(option), (Some(9), Some(8), Some(7)));
        let lengths = [0, 1, 2, 3].map(AccEcnOption::padded_len);
        assert_eq!(lengths, [4, 8, 8, 12]);
        assert_eq!(option.wire_len(), 12);
    }
}
