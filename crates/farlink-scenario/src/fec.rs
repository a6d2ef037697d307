//! Block codes in a scenario.

use farlink_channel::fec::{BlockCode, FecError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::channel::ChannelSpec;
use super::checks::fault;
use super::decode::Problem;
use super::process::MobileSpec;
use super::table::table;

table! {
    /// A block code on a direction of a link: Reed-Solomon, or another code that corrects a known
    /// number of symbols per block.
    #[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct FecSpec {
        /// A Reed-Solomon code as "rs(n,k)", for example "rs(255,223)". Replaces `n` and `k`.
        code?: String;
        /// Number of symbols of a block, up to 65535.
        n?: u32;
        /// Number of data symbols of a block; the code rate is k / n.
        k?: u32;
        /// Number of bits of a symbol, 1 to 16; 1 is a binary code.
        #[serde(default = "byte")]
        symbol_bits: u32;
        /// Number of wrong symbols that the code corrects in each block, at most (n - k) / 2, which
        /// is the default. Required for symbols of 1 bit.
        correctable?: u32;
    }
}

fn byte() -> u32 {
    8
}

const FORMS: &str = "write { code = \"rs(255,223)\" } or { n = 2047, k = 1923, symbol_bits = 1, \
                     correctable = 11 }";

/// Returns the code of a direction, checked against the direction's channel. Paths in errors begin
/// with `fec`.
pub(super) fn resolve(
    spec: Option<&FecSpec>,
    channel: &[ChannelSpec],
) -> Result<Option<BlockCode>, Problem> {
    let Some(spec) = spec else { return Ok(None) };
    let code = spec.build().map_err(|problem| problem.within("fec"))?;
    meets(channel)?;
    Ok(Some(code))
}

impl FecSpec {
    fn symbols(&self) -> Result<(u32, u32), Problem> {
        let Some(code) = &self.code else {
            return match (self.n, self.k) {
                (Some(n), Some(k)) => Ok((n, k)),
                (None, None) => Err(Problem::new([], format!("has no \"code\"; {FORMS}"))),
                (None, _) => Err(Problem::new([], format!("has no \"n\"; {FORMS}"))),
                (_, None) => Err(Problem::new([], format!("has no \"k\"; {FORMS}"))),
            };
        };
        for (key, value) in [("n", self.n), ("k", self.k)] {
            if value.is_some() {
                return Err(fault(
                    key,
                    "would be ignored beside code; write one of them",
                ));
            }
        }
        let inner = code
            .strip_prefix("rs(")
            .and_then(|rest| rest.strip_suffix(')'));
        let numbers = inner.and_then(|inner| inner.split_once(','));
        let number = |text: &str| text.trim().parse().ok();
        numbers
            .and_then(|(n, k)| Some((number(n)?, number(k)?)))
            .ok_or_else(|| fault("code", format!("= {code:?} is not a code; {FORMS}")))
    }

    fn build(&self) -> Result<BlockCode, Problem> {
        let (n, k) = self.symbols()?;
        if self.symbol_bits == 1 && self.correctable.is_none() {
            let message = "has no \"correctable\"; a binary code corrects fewer than (n - k) / 2 \
                        bits: write how many, for example n = 2047, k = 1923, correctable = 11";
            return Err(Problem::new([], message));
        }
        let correctable = self.correctable.unwrap_or_else(|| n.saturating_sub(k) / 2);
        let code = BlockCode::new(n, k, self.symbol_bits, correctable).map_err(|error| {
            let symbols = if self.code.is_some() { "code" } else { "n" };
            let key = match error {
                FecError::Symbols { .. } | FecError::Expansion { .. } => symbols,
                FecError::SymbolBits(_) => "symbol_bits",
                FecError::Correctable { .. } => "correctable",
            };
            fault(key, format!("is wrong: {error}"))
        })?;
        // A Reed-Solomon code, extended by one symbol, has at most 2^m symbols.
        if self.correctable.is_none() && n > 1 << self.symbol_bits {
            let bits = u32::BITS - (n - 1).leading_zeros();
            let message = format!(
                "= {} is too few: a Reed-Solomon block of {n} symbols needs 2^m of at least {n}; \
                 write symbol_bits = {bits}, or how many symbols are correctable",
                self.symbol_bits
            );
            return Err(fault("symbol_bits", message));
        }
        Ok(code)
    }
}

/// Checks that the channel has bit errors for the code to correct, and no stage that loses packets
/// in another way.
fn meets(channel: &[ChannelSpec]) -> Result<(), Problem> {
    let mut bits = false;
    for (i, table) in channel.iter().enumerate() {
        let within = |problem: Problem| {
            let problem = if channel.len() > 1 {
                problem.within(i)
            } else {
                problem
            };
            problem.within("channel")
        };
        if table.correctable_bits.is_some() {
            let message = "would be ignored beside fec, which says what is corrected; leave it out";
            return Err(within(fault("correctable_bits", message)));
        }
        if let Some(radio) = &table.radio
            && radio.correctable_bits.is_some()
        {
            let message = "would be ignored beside fec, which says what is corrected; leave it out";
            let problem = fault("correctable_bits", message).within("radio");
            return Err(within(problem));
        }
        for (key, there) in [
            ("rayleigh", table.rayleigh.is_some()),
            ("byte_errors", table.byte_errors.is_some()),
        ] {
            if there {
                let message = "does not tell which bits are wrong, so fec cannot correct them; write \
                            ber, satellite, radio or mobile with ber_bad, or leave fec out";
                return Err(within(fault(key, message)));
            }
        }
        bits |= table.ber.is_some() || table.satellite.is_some() || table.radio.is_some();
        bits |= table.mobile.as_ref().is_some_and(MobileSpec::has_ber);
    }
    if bits {
        Ok(())
    } else {
        Err(fault(
            "fec",
            "would correct nothing: the channel has no bit errors; write channel = { ber = 1e-4 } \
             (0 for none), satellite, radio or mobile with ber_bad",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Scenario, load};
    use farlink_channel::fec::BlockCode;

    fn read(direction: &str) -> Result<Scenario, String> {
        let text = format!(
            "[[links]]\nbetween = [\"a\", \"b\"]\ndown = {{ rate = \"1 Mbit/s\", delay = \"1 ms\", \
             {direction} }}\n[[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n"
        );
        load(&text, "x.toml", &[]).map_err(|e| e.to_string())
    }

    fn code(fec: &str) -> BlockCode {
        let scenario = read(&format!("channel = {{ ber = 1e-5 }}, fec = {fec}")).unwrap();
        let again = load(&scenario.to_json(), "x.json", &[]).unwrap();
        assert_eq!(again, scenario);
        let expanded = scenario.expand().unwrap();
        // If `up` is absent, `up` equals `down`.
        assert_eq!(expanded.links[0].up.fec, expanded.links[0].down.fec);
        expanded.links[0].down.fec.unwrap()
    }

    #[test]
    fn codes_are_parsed_and_written_back() {
        let of = |n, k, m, t| BlockCode::new(n, k, m, t).unwrap();
        let rs = of(255, 223, 8, 16);
        assert_eq!(code("{ code = \"rs(255,223)\" }"), rs);
        assert_eq!(code("{ code = \"rs(255, 223)\" }"), rs);
        assert_eq!(code("{ n = 255, k = 223 }"), rs);
        assert_eq!(
            code("{ code = \"rs(544,514)\", symbol_bits = 10 }"),
            of(544, 514, 10, 15)
        );
        assert_eq!(
            code("{ n = 2047, k = 1923, symbol_bits = 1, correctable = 11 }"),
            of(2047, 1923, 1, 11)
        );
    }

    /// Rest of the direction, and the end of the message after `x.toml:3: links[0].down.`.
    const FAULTS: &[(&str, &str)] = &[
        (
            "channel = { ber = 1e-5 }, fec = {}",
            "fec has no \"code\"; write { code = \"rs(255,223)\" } or { n = 2047, k = 1923, \
             symbol_bits = 1, correctable = 11 }",
        ),
        (
            "channel = { ber = 1e-5 }, fec = { code = \"turbo\" }",
            "fec.code = \"turbo\" is not a code; write { code = \"rs(255,223)\" } or { n = 2047, k \
             = 1923, symbol_bits = 1, correctable = 11 }",
        ),
        (
            "channel = { ber = 1e-5 }, fec = { code = \"rs(223,255)\" }",
            "fec.code is wrong: a block of n = 223 symbols with k = 255 of data cannot be: write 1 \
             <= k < n <= 65535",
        ),
        (
            "channel = { ber = 1e-5 }, fec = { code = \"rs(544,514)\" }",
            "fec.symbol_bits = 8 is too few: a Reed-Solomon block of 544 symbols needs 2^m of at \
             least 544; write symbol_bits = 10, or how many symbols are correctable",
        ),
        (
            "channel = { ber = 1e-5 }, fec = { code = \"rs(255,223)\", n = 255 }",
            "fec.n would be ignored beside code; write one of them",
        ),
        (
            "channel = { ber = 1e-5 }, fec = { n = 255 }",
            "fec has no \"k\"; write { code = \"rs(255,223)\" } or { n = 2047, k = 1923, \
             symbol_bits = 1, correctable = 11 }",
        ),
        (
            "channel = { ber = 1e-5 }, fec = { n = 255, k = 223, correctable = 17 }",
            "fec.correctable is wrong: 17 correctable symbols cannot be: n - k = 32 allow 16 at \
             most",
        ),
        (
            "channel = { ber = 1e-5 }, fec = { n = 2047, k = 1923, symbol_bits = 1 }",
            "fec has no \"correctable\"; a binary code corrects fewer than (n - k) / 2 bits: write \
             how many, for example n = 2047, k = 1923, correctable = 11",
        ),
        (
            "fec = { code = \"rs(255,223)\" }",
            "fec would correct nothing: the channel has no bit errors; write channel = { ber = \
             1e-4 } (0 for none), satellite, radio or mobile with ber_bad",
        ),
        (
            "channel = { loss = 0.1 }, fec = { code = \"rs(255,223)\" }",
            "fec would correct nothing: the channel has no bit errors; write channel = { ber = \
             1e-4 } (0 for none), satellite, radio or mobile with ber_bad",
        ),
        (
            "channel = { ber = 1e-4, correctable_bits = 3 }, fec = { code = \"rs(255,223)\" }",
            "channel.correctable_bits would be ignored beside fec, which says what is corrected; \
             leave it out",
        ),
        (
            "channel = [{ ber = 1e-4 }, { radio = { band = \"2400 MHz\", distance = \"10 m\", correctable_bits = 1 } }], \
             fec = { code = \"rs(255,223)\" }",
            "channel[1].radio.correctable_bits would be ignored beside fec, which says what is \
             corrected; leave it out",
        ),
        (
            "channel = { mobile = { speed = \"75 km/h\", carrier = \"850 MHz\", fade_margin = 30, \
             loss_bad = 0.1 } }, fec = { code = \"rs(255,223)\" }",
            "fec would correct nothing: the channel has no bit errors; write channel = { ber = \
             1e-4 } (0 for none), satellite, radio or mobile with ber_bad",
        ),
        (
            "channel = { ber = 1e-4, byte_errors = { distance = \"64 KiB\" } }, fec = { code = \
             \"rs(255,223)\" }",
            "channel.byte_errors does not tell which bits are wrong, so fec cannot correct them; \
             write ber, satellite, radio or mobile with ber_bad, or leave fec out",
        ),
    ];

    #[test]
    fn channels_without_bit_errors_exclude_a_code() {
        for (direction, message) in FAULTS {
            let error = read(direction).unwrap_err();
            let expected = format!("x.toml:3: links[0].down.{message}");
            assert_eq!(error, expected, "{direction}");
        }
    }
}
