use super::*;
use proptest::prelude::*;

/// Header fields of a packet.
#[derive(Clone, Debug)]
struct Fields {
    port: u16,
    tos: u8,
    ident: u16,
    dont_fragment: bool,
    ttl: u8,
    seq: u32,
    ack: u32,
    flags: u8,
    window: u16,
    checksum: u16,
    urgent: u16,
    ip_options: Vec<u8>,
    options: Vec<u8>,
    data: u32,
}

const START: Fields = Fields {
    port: 1024,
    tos: 0,
    ident: 100,
    dont_fragment: true,
    ttl: 64,
    seq: 0xffff_ff00,
    ack: 5000,
    flags: 0x10,
    window: 8760,
    checksum: 0x1234,
    urgent: 0,
    ip_options: Vec::new(),
    options: Vec::new(),
    data: 512,
};

impl Fields {
    fn bytes(&self) -> Vec<u8> {
        let ip = 20 + self.ip_options.len();
        let tcp = 20 + self.options.len();
        let mut out = vec![0; ip];
        out[0] = 0x40 | (ip / 4) as u8;
        out[1] = self.tos;
        put_half(&mut out, 2, (ip + tcp) as u16 + self.data as u16);
        put_half(&mut out, 4, self.ident);
        out[6] = u8::from(self.dont_fragment) << 6;
        out[8] = self.ttl;
        out[9] = 6;
        out[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        out[20..].copy_from_slice(&self.ip_options);
        let mut sum: u32 = (0..ip).step_by(2).map(|at| u32::from(half(&out, at))).sum();
        sum = (sum & 0xffff) + (sum >> 16);
        put_half(&mut out, 10, !(((sum & 0xffff) + (sum >> 16)) as u16));
        out.extend(self.port.to_be_bytes());
        out.extend(80_u16.to_be_bytes());
        out.extend(self.seq.to_be_bytes());
        out.extend(self.ack.to_be_bytes());
        out.extend([(tcp as u8 / 4) << 4, self.flags]);
        out.extend(self.window.to_be_bytes());
        out.extend(self.checksum.to_be_bytes());
        out.extend(self.urgent.to_be_bytes());
        out.extend(&self.options);
        out
    }

    /// Advances to the next packet of a one-way data stream.
    fn next(&mut self) {
        self.seq = self.seq.wrapping_add(self.data);
        self.ident = self.ident.wrapping_add(1);
        self.checksum = self.checksum.wrapping_add(77);
    }
}

/// Compressor and decompressor of a line.
struct Ends {
    from: Compressor,
    to: Decompressor,
}

impl Ends {
    fn new(config: Config) -> Self {
        Self {
            from: Compressor::new(config),
            to: Decompressor::new(config),
        }
    }

    fn send(&mut self, fields: &Fields) -> Form {
        let header = fields.bytes();
        assert_eq!(
            header_len(&[&header[..], &vec![0; fields.data as usize]].concat()),
            Some(header.len())
        );
        let plan = self.from.plan(&header);
        self.from.sent(&header, &plan);
        plan.form
    }

    fn receive(&mut self, form: &Form, fields: &Fields) -> Result<Vec<u8>, Discarded> {
        match form {
            Form::Ip => Ok(fields.bytes()),
            Form::Uncompressed(slot) => {
                self.to.uncompressed(*slot, &fields.bytes());
                Ok(fields.bytes())
            }
            Form::Compressed(bytes) => self.to.compressed(bytes, fields.data).map(<[u8]>::to_vec),
        }
    }

    /// Sends a header over the line without loss, checks the received header, and returns the form.
    fn cross(&mut self, fields: &Fields) -> Form {
        let form = self.send(fields);
        assert_eq!(
            self.receive(&form, fields),
            Ok(fields.bytes()),
            "{fields:?}"
        );
        form
    }

    /// Sends a header, and returns the compressed bytes. Fails if the header is sent uncompressed.
    fn compressed(&mut self, fields: &Fields) -> Vec<u8> {
        match self.cross(fields) {
            Form::Compressed(bytes) => bytes.to_vec(),
            other => panic!("{other:?} of {fields:?}"),
        }
    }
}

/// Returns a line after its first packet, and that packet.
fn begun() -> (Ends, Fields) {
    let mut ends = Ends::new(Config::default());
    assert_eq!(ends.cross(&START), Form::Uncompressed(0));
    (ends, START)
}

/// Compressed headers have the mask, the checksum and the changed fields (RFC 1144, 3.2.2). Each
/// row has the change of the second packet, and all bytes of its compressed header.
#[test]
fn compressed_headers_match_rfc1144() {
    type Change = fn(&mut Fields);
    let cases: &[(Change, &[u8])] = &[
        // One-way data takes three bytes.
        (|f| f.seq = f.seq.wrapping_add(512), &[0x0f, 0xab, 0xcd]),
        // In echoed typing, ACK and sequence number advance by the length of the previous data.
        (
            |f| {
                f.seq = f.seq.wrapping_add(512);
                f.ack += 512;
                f.flags = 0x18;
            },
            &[0x1b, 0xab, 0xcd],
        ),
        // An ACK that advances by up to 255 takes one more byte, by more than 255 three.
        (|f| f.ack += 255, &[0x04, 0xab, 0xcd, 255]),
        (|f| f.ack += 256, &[0x04, 0xab, 0xcd, 0, 1, 0]),
        (|f| f.ack += 0xffff, &[0x04, 0xab, 0xcd, 0, 255, 255]),
        // The sequence number advances by less than the length of the previous data.
        (|f| f.seq = f.seq.wrapping_add(2), &[0x08, 0xab, 0xcd, 2]),
        // The difference of a shrinking window is modulo 2^16.
        (|f| f.window -= 1, &[0x02, 0xab, 0xcd, 0, 255, 255]),
        // The differences have the order urgent pointer, window, acknowledgment, sequence number,
        // identification.
        (
            |f| {
                f.window += 1;
                f.ack += 2;
                f.seq = f.seq.wrapping_add(3);
                f.ident += 4; // 5 in all
            },
            &[0x2e, 0xab, 0xcd, 1, 2, 3, 5],
        ),
        (
            |f| {
                f.flags = 0x30;
                f.ack += 1;
            },
            &[0x05, 0xab, 0xcd, 0, 0, 0, 1],
        ),
        // The longest compressed header: 15 bytes, and one for the connection number.
        (
            |f| {
                f.flags = 0x30;
                f.urgent = 300;
                f.window += 300;
                f.ack += 300;
                f.ident += 299;
            },
            &[0x27, 0xab, 0xcd, 0, 1, 44, 0, 1, 44, 0, 1, 44, 0, 1, 44],
        ),
    ];
    for (change, bytes) in cases {
        let (mut ends, mut fields) = begun();
        fields.ident += 1;
        fields.checksum = 0xabcd;
        change(&mut fields);
        assert_eq!(ends.compressed(&fields), *bytes);
    }
}

/// The connection number is omitted while the connection stays the same. Without `compress_slot`
/// all packets have the number, and the longest header has 16 bytes.
#[test]
fn connection_number_is_sent_when_it_changes() {
    let (mut ends, mut a) = begun();
    let mut b = Fields {
        port: 1025,
        ..START
    };
    assert_eq!(ends.cross(&b), Form::Uncompressed(1));
    let mut lengths = Vec::new();
    for turn in [0, 0, 1, 1, 0] {
        let fields = if turn == 0 { &mut a } else { &mut b };
        fields.next();
        let bytes = ends.compressed(fields);
        let named = bytes[0] & 0x40 != 0;
        assert!(!named || bytes[1] == turn);
        lengths.push(bytes.len());
    }
    assert_eq!(lengths, [4, 3, 4, 3, 4]);

    let mut named = Ends::new(Config {
        compress_slot: false,
        ..Config::default()
    });
    let mut c = START;
    named.cross(&c);
    c.next();
    assert_eq!(named.compressed(&c).len(), 4);
    c.flags = 0x30;
    c.urgent = 300;
    c.window += 300;
    c.ack += 300;
    c.ident += 300;
    assert_eq!(named.compressed(&c).len(), MAX_COMPRESSED);
}

/// Packets with SYN, FIN or RST, or without ACK, are not compressed (RFC 1144, 3.2.3). Sent
/// uncompressed are changes that the mask cannot express, fields that decrease, and packets without
/// a change.
#[test]
fn inexpressible_change_is_sent_uncompressed() {
    type Change = fn(&mut Fields);
    let plain: &[Change] = &[
        |f| f.flags = 0x12,
        |f| f.flags = 0x11,
        |f| f.flags = 0x14,
        |f| f.flags = 0x00,
    ];
    for change in plain {
        let (mut ends, mut fields) = begun();
        fields.next();
        change(&mut fields);
        assert_eq!(ends.cross(&fields), Form::Ip);
    }
    let whole: &[Change] = &[
        |_| {},
        |f| f.seq = f.seq.wrapping_sub(512),
        |f| f.seq = f.seq.wrapping_add(0x1_0000),
        |f| f.ack -= 1,
        |f| f.ack += 0x1_0000,
        |f| f.tos = 3,
        |f| f.ttl = 63,
        |f| f.dont_fragment = false,
        |f| f.urgent = 1,
        |f| f.options = vec![1; 12],
        |f| f.ip_options = vec![1; 4],
        // Changes that happen to give the bits of the special cases.
        |f| {
            f.flags = 0x30;
            f.window += 1;
            f.seq = f.seq.wrapping_add(1);
        },
        |f| {
            f.flags = 0x30;
            f.window += 1;
            f.ack += 1;
            f.seq = f.seq.wrapping_add(1);
        },
    ];
    for (number, change) in whole.iter().enumerate() {
        let (mut ends, mut fields) = begun();
        fields.ident += 1;
        change(&mut fields);
        assert_eq!(ends.cross(&fields), Form::Uncompressed(0), "{number}");
        // The next header is compressed relative to this one.
        fields.next();
        if fields.flags == 0x10 {
            assert_eq!(ends.compressed(&fields).len(), 3, "{number}");
        }
    }
    let (mut ends, mut fields) = begun();
    fields.options = vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    ends.cross(&fields);
    fields.next();
    assert_eq!(ends.compressed(&fields).len(), 3, "the same options");
    fields.next();
    fields.options[7] = 2;
    assert_eq!(
        ends.cross(&fields),
        Form::Uncompressed(0),
        "another time stamp"
    );
}

/// The first data after an ACK changes no field, but is no retransmission.
#[test]
fn first_data_after_an_ack_is_compressed() {
    let mut ends = Ends::new(Config::default());
    let mut fields = Fields { data: 0, ..START };
    ends.cross(&fields);
    fields.ident += 1;
    fields.data = 9;
    assert_eq!(ends.compressed(&fields).len(), 3);
    fields.ident += 1;
    assert_eq!(ends.cross(&fields), Form::Uncompressed(0), "sent again");
}

/// The mask has no bit for the ECN flags, so the receiver uses the old flags, and the TCP checksum
/// fails.
#[test]
fn ecn_flags_are_not_compressed() {
    let (mut ends, mut fields) = begun();
    fields.next();
    fields.flags = 0x50;
    let form = ends.send(&fields);
    let made = ends.receive(&form, &fields).unwrap();
    assert_eq!(made[33], 0x10);
    assert_ne!(header_sum(&made), header_sum(&fields.bytes()));
}

#[test]
fn least_recently_used_slot_is_replaced() {
    let mut ends = Ends::new(Config {
        slots: 3,
        ..Config::default()
    });
    let of = |port| Fields { port, ..START };
    let mut all: Vec<Fields> = (0..4).map(of).collect();
    for (port, fields) in (0..3).zip(&all) {
        assert_eq!(ends.cross(fields), Form::Uncompressed(port));
    }
    all[0].next();
    assert_eq!(ends.compressed(&all[0]).len(), 4);
    assert_eq!(ends.cross(&all[3]), Form::Uncompressed(1));
    all[2].next();
    assert_eq!(ends.compressed(&all[2]).len(), 4);
    assert_eq!(ends.cross(&all[1]), Form::Uncompressed(0));
}

/// After a lost packet, the decompressed headers are wrong by that packet's differences. The
/// sender's retransmission has a lower sequence number, so it is sent uncompressed.
#[test]
fn loss_corrupts_headers_until_an_uncompressed_packet() {
    let (mut ends, mut fields) = begun();
    for _ in 0..3 {
        fields.next();
        ends.compressed(&fields);
    }
    let lost = fields.clone();
    fields.next();
    ends.send(&fields);
    for _ in 0..50 {
        fields.next();
        let form = ends.send(&fields);
        assert!(matches!(form, Form::Compressed(_)));
        let made = ends.receive(&form, &fields).unwrap();
        let behind = fields.seq.wrapping_sub(word(&made, 24));
        assert_eq!(behind, 512);
        assert_eq!(fields.ident - half(&made, 4), 1);
        assert_ne!(header_sum(&made), header_sum(&fields.bytes()));
    }
    // A retransmission and the next packet.
    let ident = fields.ident;
    fields = lost;
    fields.next();
    fields.ident = ident;
    for expected in [false, true, true] {
        let form = ends.cross(&fields);
        assert_eq!(matches!(form, Form::Compressed(_)), expected);
        fields.next();
    }
}

/// RFC 1144, 4.1: after a damaged frame only packets with a connection number are accepted.
#[test]
fn packets_are_discarded_after_an_error_until_a_connection_number() {
    let (mut ends, mut a) = begun();
    let mut b = Fields {
        port: 1025,
        ..START
    };
    ends.cross(&b);
    ends.to.error();
    b.next();
    let form = ends.send(&b);
    assert_eq!(ends.receive(&form, &b), Err(Discarded::Tossed));
    a.next();
    assert_eq!(ends.compressed(&a).len(), 4);
    ends.to.error();
    a.flags = 0x18;
    assert!(matches!(ends.cross(&a), Form::Uncompressed(0)));
    a.next();
    assert_eq!(ends.compressed(&a).len(), 3);
}

#[test]
fn packet_of_unknown_connection_is_discarded() {
    let mut to = Decompressor::new(Config::default());
    assert_eq!(to.compressed(&[0x0f, 1, 2], 0), Err(Discarded::Tossed));
    for bytes in [&[0x4f, 0, 1, 2][..], &[0x4f, 16, 1, 2], &[0x4f], &[]] {
        assert_eq!(
            to.compressed(bytes, 0),
            Err(Discarded::Unknown),
            "{bytes:?}"
        );
    }
    to.uncompressed(0, &START.bytes());
    assert_eq!(
        to.compressed(&[0x04, 1, 2, 0, 1], 0),
        Err(Discarded::Unknown)
    );
    assert_eq!(to.compressed(&[0x0f, 1, 2], 0), Err(Discarded::Tossed));
}

#[test]
fn only_unfragmented_tcp_segments_are_compressible() {
    let whole = [START.bytes(), vec![0; 512]].concat();
    assert_eq!(header_len(&whole), Some(40));
    let changed = |at: usize, value: u8| {
        let mut bytes = whole.clone();
        bytes[at] = value;
        header_len(&bytes)
    };
    assert_eq!(changed(9, 17), None, "UDP");
    assert_eq!(changed(6, 0x20), None, "more fragments");
    assert_eq!(changed(7, 1), None, "a later fragment");
    assert_eq!(changed(32, 0x40), None, "a header of 16 bytes");
    assert_eq!(changed(3, 39), Some(40));
    assert_eq!(header_len(&whole[..39]), None);
    assert_eq!(header_len(&START.bytes()[..40]), Some(40));
}

/// Change from one packet to the next. The steps together cause all differences and all forms.
#[derive(Clone, Debug)]
struct Step {
    connection: u16,
    seq: u32,
    ack: u32,
    window: u16,
    ident: u16,
    urgent: u16,
    flags: u8,
    data: u32,
    checksum: u16,
    goes_on: bool,
    options: u8,
}

fn step() -> impl Strategy<Value = Step> {
    let delta = || prop_oneof![4 => Just(0_u32), 3 => 0..600_u32, 1 => any::<u32>()];
    let flags = prop_oneof![6 => Just(0x10_u8), 3 => Just(0x18), 1 => Just(0x30), 1 => Just(0x11)];
    let ident = prop_oneof![4 => Just(1_u16), 1 => any::<u16>()];
    (
        (0..5_u16, delta(), delta(), delta(), ident),
        (
            any::<u16>(),
            flags,
            0..1461_u32,
            any::<u16>(),
            any::<bool>(),
        ),
        prop_oneof![12 => Just(0_u8), 1 => 1..4_u8],
    )
        .prop_map(|((connection, seq, ack, window, ident), rest, options)| {
            let (urgent, flags, data, checksum, goes_on) = rest;
            Step {
                connection,
                seq,
                ack,
                window: window as u16,
                ident,
                urgent,
                flags,
                data: if data % 3 == 0 { 0 } else { data },
                checksum,
                goes_on,
                options,
            }
        })
}

impl Step {
    fn take(&self, fields: &mut Fields) {
        fields.seq = fields
            .seq
            .wrapping_add(if self.goes_on { fields.data } else { self.seq });
        fields.ack = fields.ack.wrapping_add(self.ack);
        fields.window = fields.window.wrapping_add(self.window);
        fields.ident = fields.ident.wrapping_add(self.ident);
        fields.flags = self.flags;
        // ECN flags change only in packets that are sent uncompressed.
        fields.urgent = if self.flags & 0x20 == 0 {
            0
        } else {
            self.urgent
        };
        fields.data = self.data;
        fields.checksum = self.checksum;
        match self.options {
            1 => fields.options = vec![1; 4 * usize::from(self.window as u8 % 11)],
            2 => fields.ip_options = vec![1; 4 * usize::from(self.window as u8 % 11)],
            3 => fields.tos ^= 3,
            _ => {}
        }
    }
}

proptest! {
    /// Without loss every header is decompressed to the original, and no compressed header is
    /// longer than the original.
    #[test]
    fn every_header_survives_a_lossless_line(
        steps in proptest::collection::vec(step(), 1..120),
        slots in 1..6_u16,
        compress_slot: bool,
    ) {
        let mut ends = Ends::new(Config { slots, compress_slot });
        let mut all: Vec<Fields> = (0..5).map(|port| Fields { port, ..START }).collect();
        for step in &steps {
            let fields = &mut all[usize::from(step.connection)];
            step.take(fields);
            if let Form::Compressed(bytes) = ends.cross(fields) {
                prop_assert!((3..=MAX_COMPRESSED).contains(&bytes.len()));
            }
        }
    }

    /// No losses cause a panic, and uncompressed headers are right. A compressed header is right if
    /// the last header of its connection was right, and no packet of the connection was lost since
    /// then.
    #[test]
    fn uncompressed_packet_resynchronises_both_ends(
        steps in proptest::collection::vec((step(), any::<bool>()), 1..120),
        slots in 1..6_u16,
    ) {
        // Every packet has its connection number, so a loss affects only its own connection.
        let mut ends = Ends::new(Config { slots, compress_slot: false });
        let mut all: Vec<Fields> = (0..5).map(|port| Fields { port, ..START }).collect();
        let mut right = [false; 5];
        for (step, lost) in &steps {
            let fields = &mut all[usize::from(step.connection)];
            step.take(fields);
            let form = ends.send(fields);
            let known = &mut right[usize::from(step.connection)];
            if form == Form::Ip {
                continue;
            }
            if *lost {
                // A lost uncompressed header may have replaced any connection, so all count as
                // wrong.
                if let Form::Uncompressed(_) = form {
                    right = [false; 5];
                } else {
                    *known = false;
                }
                continue;
            }
            let made = ends.receive(&form, fields);
            match form {
                Form::Compressed(_) if *known => prop_assert_eq!(made, Ok(fields.bytes())),
                Form::Uncompressed(_) => *known = true,
                _ => {}
            }
        }
    }

    /// Random bytes are discarded or decompressed to some header. They never cause a panic.
    #[test]
    fn random_bytes_cause_no_panic(
        lines in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 1..50),
        data in 0..70_000_u32,
    ) {
        let mut to = Decompressor::new(Config::default());
        to.uncompressed(3, &START.bytes());
        for bytes in &lines {
            let _ = to.compressed(bytes, data);
        }
    }
}
