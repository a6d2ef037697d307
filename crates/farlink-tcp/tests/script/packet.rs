//! A packet in a script: its notation, and its comparison with a segment.

use super::options::number;
use farlink_tcp::{
    AccEcnOption, AckRateOption, Body, DataMapping, Dscp, Ecn, Extra, FastOpenCookie, FieldOrder,
    Flags, SackBlock, ScpsCapabilities, Segment, Seq, Snack, Timestamps,
};
use std::fmt::Write as _;

/// A packet as written in a script. Sequence numbers are relative to the initial one of the side
/// that sends the byte: the SYN is 0, the first byte of data is 1.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    flags: Flags,
    /// Bit AE, written as A.
    ae: bool,
    start: u32,
    len: u32,
    ack: Option<u32>,
    window: Option<u16>,
    ecn: Ecn,
    /// Set for a dummy segment: low priority and the reserved bit.
    dummy: bool,
    /// `None` matches any options (`<...>`).
    options: Option<Options>,
}

/// Options of a packet, with relative sequence numbers. `None` in a timestamp matches any value
/// (`*`).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Options {
    mss: Option<u16>,
    window_scale: Option<u8>,
    sack_permitted: bool,
    timestamps: Option<(Option<u32>, Option<u32>)>,
    sack: Vec<(u32, u32)>,
    scps: Option<u8>,
    accecn: Option<AccEcnOption>,
    extra: Extra,
    ack_rate: Option<AckRateOption>,
    eln: bool,
    ackp: bool,
    nack: bool,
}

/// Initial sequence numbers and clocks to which a packet is relative.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    /// Initial sequence number of the sending side.
    pub(crate) sender: Seq,
    /// Initial sequence number of the other side.
    pub(crate) receiver: Seq,
    /// Timestamp clock of the sending side at the start.
    pub(crate) sender_clock: u32,
    /// Timestamp clock of the other side at the start.
    pub(crate) receiver_clock: u32,
}

const LETTERS: [(char, Flags); 8] = [
    ('S', Flags::SYN),
    ('F', Flags::FIN),
    ('R', Flags::RST),
    ('P', Flags::PSH),
    ('U', Flags::URG),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
    ('.', Flags::ACK),
];

const CODEPOINTS: [(&str, Ecn); 3] = [("ect1", Ecn::Ect1), ("ect0", Ecn::Ect0), ("ce", Ecn::Ce)];

impl Packet {
    /// Reads `FLAGS start:end(len) [ack N] [win N] [ect0] [dummy] [<options>]`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (header, options) = match text.split_once('<') {
            Some((header, rest)) => {
                let inner = rest
                    .trim_end()
                    .strip_suffix('>')
                    .ok_or("options do not end with >")?;
                let options = if inner == "..." {
                    None
                } else {
                    Some(Options::parse(inner)?)
                };
                (header, options)
            }
            None => (text, Some(Options::default())),
        };
        let mut words = header.split_whitespace();
        let (mut flags, mut ae) = (Flags::default(), false);
        for letter in words.next().ok_or("no flags")?.chars() {
            if letter == 'A' {
                ae = true;
                continue;
            }
            let (_, flag) = LETTERS
                .iter()
                .find(|(l, _)| *l == letter)
                .ok_or_else(|| format!("unknown flag {letter:?}"))?;
            flags = flags.with(*flag);
        }
        let (start, len) = span(words.next().ok_or("no start:end(len)")?)?;
        let mut packet = Self {
            flags,
            ae,
            start,
            len,
            ack: None,
            window: None,
            ecn: Ecn::NotEct,
            dummy: false,
            options,
        };
        while let Some(word) = words.next() {
            if let Some((_, ecn)) = CODEPOINTS.iter().find(|(name, _)| *name == word) {
                packet.ecn = *ecn;
                continue;
            }
            if word == "dummy" {
                packet.dummy = true;
                continue;
            }
            let value = words
                .next()
                .ok_or_else(|| format!("no number after {word}"))?;
            match word {
                "ack" => packet.ack = Some(number(value)?),
                "win" => packet.window = Some(number(value)?),
                _ => return Err(format!("{word:?} is neither ack nor win")),
            }
        }
        if packet.ack.is_some() != packet.flags.has(Flags::ACK) {
            return Err("the flag . and a number after ack go together".into());
        }
        Ok(packet)
    }

    /// Returns the Diffserv codepoint: LE for dummies and their ACKs.
    fn dscp(&self) -> Dscp {
        if self.dummy { Dscp::LE } else { Dscp::DEFAULT }
    }

    /// Builds the segment of this packet.
    pub(crate) fn segment(&self, numbering: Numbering) -> Result<Segment, String> {
        let options = self
            .options
            .as_ref()
            .ok_or("a packet that arrives needs its options")?;
        let fixed = |value: Option<u32>| value.ok_or("* is for packets that leave");
        let timestamps = match options.timestamps {
            Some((value, echo)) => Some(Timestamps {
                value: fixed(value)?.wrapping_add(numbering.sender_clock),
                echo: fixed(echo)?.wrapping_add(numbering.receiver_clock),
            }),
            None => None,
        };
        Ok(Segment {
            src_port: super::run::PEER_PORT,
            dst_port: super::run::PORT,
            seq: numbering.sender.at(u64::from(self.start)),
            ack: self
                .ack
                .map_or(Seq(0), |ack| numbering.receiver.at(u64::from(ack))),
            flags: self.flags,
            ae: self.ae,
            ecn: self.ecn,
            dscp: self.dscp(),
            dummy: self.dummy,
            window: self.window.ok_or("a packet that arrives needs win")?,
            options: farlink_tcp::Options::from(timestamps).with(farlink_tcp::RareOptions {
                mss: options.mss,
                window_scale: options.window_scale,
                sack_permitted: options.sack_permitted,
                sack: options
                    .sack
                    .iter()
                    .map(|&(left, right)| SackBlock {
                        left: numbering.receiver.at(u64::from(left)),
                        right: numbering.receiver.at(u64::from(right)),
                    })
                    .collect(),
                scps: options.scps.map(|bits| ScpsCapabilities {
                    bits,
                    connection: 0,
                }),
                accecn: options.accecn,
                extra: options.extra,
                ack_rate: options.ack_rate,
                eln: options.eln,
                ackp: options.ackp,
                nack: options.nack,
            }),
            body: Body::of_len(self.len),
        })
    }

    /// Returns whether a sent segment matches this packet. The window is compared only if the
    /// script states one, and PSH only if the script has it.
    pub(crate) fn matches(&self, segment: &Segment, numbering: Numbering) -> bool {
        let push = if self.flags.has(Flags::PSH) {
            0
        } else {
            Flags::PSH.0
        };
        let relative = |seq: Seq| seq.0.wrapping_sub(numbering.sender.0);
        self.flags.0 | push == segment.flags.0 | push
            && self.ae == segment.ae
            && self.start == relative(segment.seq)
            && self.len == segment.body.len()
            && self.ecn == segment.ecn
            && self.dummy == segment.dummy
            && self.dscp() == segment.dscp
            && self
                .ack
                .is_none_or(|ack| numbering.receiver.at(u64::from(ack)) == segment.ack)
            && self.window.is_none_or(|window| window == segment.window)
            && self
                .options
                .as_ref()
                .is_none_or(|options| options.matches(&Options::of(segment, numbering)))
    }
}

impl Options {
    fn parse(text: &str) -> Result<Self, String> {
        let mut options = Self::default();
        for item in text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            let words: Vec<&str> = item.split_whitespace().collect();
            match words.as_slice() {
                ["nop" | "eol"] => {}
                ["mss", n] => options.mss = Some(number(n)?),
                ["wscale", n] => options.window_scale = Some(number(n)?),
                ["sackOK"] => options.sack_permitted = true,
                ["scps", forms @ ..] => {
                    let mut bits = 0;
                    for form in forms {
                        bits |= match *form {
                            "snack1" => ScpsCapabilities::SNACK_SHORT,
                            "snack2" => ScpsCapabilities::SNACK_LONG,
                            _ => return Err(format!("scps {form:?}: snack1 or snack2")),
                        };
                    }
                    options.scps = Some(bits);
                }
                ["snack", hole] => options.extra = Extra::Snack(snack(hole, "")?),
                ["snack", hole, vector] => options.extra = Extra::Snack(snack(hole, vector)?),
                ["FO"] => options.extra = Extra::CookieRequest,
                ["FO", cookie] => options.extra = Extra::Cookie(FastOpenCookie(number(cookie)?)),
                ["AccECN0", fields @ ..] => {
                    options.accecn = Some(accecn(FieldOrder::Ect0First, fields)?);
                }
                ["AccECN1", fields @ ..] => {
                    options.accecn = Some(accecn(FieldOrder::Ect1First, fields)?);
                }
                ["tarr"] => options.ack_rate = Some(AckRateOption::Capable),
                ["tarr", n] => options.ack_rate = Some(AckRateOption::Every(number(n)?)),
                ["eln"] => options.eln = true,
                ["ackp"] => options.ackp = true,
                ["nack"] => options.nack = true,
                ["TS", "val", value, "ecr", echo] => {
                    let field = |text: &str| {
                        if text == "*" {
                            Ok(None)
                        } else {
                            number(text).map(Some)
                        }
                    };
                    options.timestamps = Some((field(value)?, field(echo)?));
                }
                ["sack", blocks @ ..] => {
                    for block in blocks {
                        let (left, right) =
                            block.split_once(':').ok_or("a SACK block is left:right")?;
                        options.sack.push((number(left)?, number(right)?));
                    }
                }
                _ => return Err(format!("unknown option {item:?}")),
            }
        }
        Ok(options)
    }

    fn of(segment: &Segment, numbering: Numbering) -> Self {
        let relative = |seq: Seq| seq.0.wrapping_sub(numbering.receiver.0);
        let options = &segment.options;
        Self {
            mss: options.mss,
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            timestamps: options.timestamps.map(|ts| {
                let value = ts.value.wrapping_sub(numbering.sender_clock);
                let echo = ts.echo.wrapping_sub(numbering.receiver_clock);
                (Some(value), Some(echo))
            }),
            sack: options
                .sack
                .as_slice()
                .iter()
                .map(|b| (relative(b.left), relative(b.right)))
                .collect(),
            scps: options.scps.map(|scps| scps.bits),
            accecn: options.accecn,
            extra: options.extra,
            ack_rate: options.ack_rate,
            eln: options.eln,
            ackp: options.ackp,
            nack: options.nack,
        }
    }

    fn matches(&self, got: &Self) -> bool {
        let timestamps = match (self.timestamps, got.timestamps) {
            (Some(want), Some(got)) => {
                (want.0.is_none() || want.0 == got.0) && (want.1.is_none() || want.1 == got.1)
            }
            (want, got) => want == got,
        };
        timestamps
            && Self {
                timestamps: None,
                ..self.clone()
            } == Self {
                timestamps: None,
                ..got.clone()
            }
    }
}

/// Parses the fields of an AccECN option, which may be fewer than three.
fn accecn(order: FieldOrder, fields: &[&str]) -> Result<AccEcnOption, String> {
    let fields: Result<Vec<u32>, _> = fields.iter().map(|field| number(field)).collect();
    Ok(AccEcnOption::new(order, &fields?))
}

/// Parses `OFFSET+SIZE` in blocks, and the bit vector as 0 and 1.
fn snack(hole: &str, vector: &str) -> Result<Snack, String> {
    let (offset, size) = hole.split_once('+').ok_or("a SNACK is OFFSET+SIZE BITS")?;
    let digits = vector.len() as u32;
    let bits = if vector.is_empty() {
        0
    } else {
        let bits = u64::from_str_radix(vector, 2).map_err(|_| format!("{vector:?} is no bits"))?;
        bits << (u64::BITS - digits)
    };
    Ok(Snack {
        offset: number(offset)?,
        size: number(size)?,
        bits,
    })
}

/// Parses `start:end(len)` to start and length, and checks them against each other.
fn span(text: &str) -> Result<(u32, u32), String> {
    let malformed = || format!("{text:?} is not start:end(len)");
    let (start, rest) = text.split_once(':').ok_or_else(malformed)?;
    let (end, len) = rest.split_once('(').ok_or_else(malformed)?;
    let len = len.strip_suffix(')').ok_or_else(malformed)?;
    let (start, end, len): (u32, u32, u32) = (number(start)?, number(end)?, number(len)?);
    if start.wrapping_add(len) != end {
        return Err(format!("{text}: {start} + {len} is not {end}"));
    }
    Ok((start, len))
}

/// Formats a segment in the notation of scripts.
pub(crate) fn show(segment: &Segment, numbering: Numbering) -> String {
    let mut text = String::new();
    for (letter, flag) in LETTERS {
        if segment.flags.has(flag) {
            text.push(letter);
        }
    }
    if segment.ae {
        text.push('A');
    }
    let start = segment.seq.0.wrapping_sub(numbering.sender.0);
    let len = segment.body.len();
    let mut write = |args: std::fmt::Arguments<'_>| {
        text.write_fmt(args).expect("writing to a string");
    };
    write(format_args!(" {start}:{}({len})", start.wrapping_add(len)));
    if segment.flags.has(Flags::ACK) {
        write(format_args!(
            " ack {}",
            segment.ack.0.wrapping_sub(numbering.receiver.0)
        ));
    }
    write(format_args!(" win {}", segment.window));
    if let Some((name, _)) = CODEPOINTS.iter().find(|(_, ecn)| *ecn == segment.ecn) {
        write(format_args!(" {name}"));
    }
    if segment.dummy {
        write(format_args!(" dummy"));
    }
    let options = Options::of(segment, numbering);
    let mut items = Vec::new();
    items.extend(options.mss.map(|n| format!("mss {n}")));
    if options.sack_permitted {
        items.push("sackOK".into());
    }
    if let Some((Some(value), Some(echo))) = options.timestamps {
        items.push(format!("TS val {value} ecr {echo}"));
    }
    items.extend(options.window_scale.map(|n| format!("wscale {n}")));
    if !options.sack.is_empty() {
        let blocks: Vec<String> = options
            .sack
            .iter()
            .map(|(l, r)| format!("{l}:{r}"))
            .collect();
        items.push(format!("sack {}", blocks.join(" ")));
    }
    if let Some(bits) = options.scps {
        let forms = [(0x40, " snack1"), (0x20, " snack2")];
        let named = forms.iter().filter(|(bit, _)| bits & bit != 0);
        items.push(format!("scps{}", named.map(|f| f.1).collect::<String>()));
    }
    match options.extra {
        Extra::CookieRequest => items.push("FO".into()),
        Extra::Cookie(FastOpenCookie(cookie)) => items.push(format!("FO {cookie}")),
        Extra::DataAck(ack) => items.push(format!("dss ack {ack}")),
        Extra::Mapping(DataMapping {
            dsn,
            subflow_seq,
            len,
        }) => items.push(format!("dss {dsn} {subflow_seq} {len}")),
        Extra::None | Extra::Snack(_) => {}
    }
    if let Some(snack) = options.extra.snack() {
        let known = (u64::BITS - snack.bits.trailing_zeros()) as usize;
        let vector = format!("{:064b}", { snack.bits });
        let text = format!("snack {}+{} {}", snack.offset, snack.size, &vector[..known]);
        items.push(text.trim_end().to_owned());
    }
    if let Some(option) = options.accecn {
        let fields = option.fields().iter().map(|field| format!(" {field}"));
        let kind = match option.order() {
            FieldOrder::Ect0First => "AccECN0",
            FieldOrder::Ect1First => "AccECN1",
        };
        items.push(format!("{kind}{}", fields.collect::<String>()));
    }
    items.extend(options.eln.then(|| "eln".into()));
    items.extend(options.ackp.then(|| "ackp".into()));
    items.extend(options.nack.then(|| "nack".into()));
    if !items.is_empty() {
        write(format_args!(" <{}>", items.join(",")));
    }
    text
}
