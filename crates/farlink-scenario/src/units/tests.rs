//! Tests of exact values, short texts and refusals.

use proptest::prelude::*;

use super::*;

fn text(s: &str) -> Scalar {
    Scalar::Text(s.to_owned())
}

#[test]
fn quantities_are_exact() {
    assert_eq!("2.048 Mbit/s".parse(), Ok(Rate(2_048_000)));
    assert_eq!("2048kbps".parse(), Ok(Rate(2_048_000)));
    assert_eq!("19.2 kb/s".parse(), Ok(Rate(19_200)));
    assert_eq!("50 MiB".parse(), Ok(Size(52_428_800)));
    assert_eq!("1.5 KiB".parse(), Ok(Size(1536)));
    assert_eq!("0.1 s".parse(), Ok(Time(Interval::from_millis(100))));
    assert_eq!(" 1.5 min ".parse(), Ok(Time(Interval::from_secs(90))));
    assert_eq!("0.000000001s".parse(), Ok(Time(Interval::from_nanos(1))));
    assert_eq!("18446744073709551615 ns".parse(), Ok(Time(Interval::MAX)));
    assert_eq!("75 km/h".parse(), Ok(Speed(75_000_000)));
    assert_eq!("1 m/s".parse::<Speed>(), "3.6 km/h".parse());
    assert_eq!("1.5 km".parse(), Ok(Length(1_500_000)));
    assert_eq!("27.5 MBd".parse(), Ok(SymbolRate(27_500_000)));
    assert_eq!("2.4 GHz".parse(), Ok(Frequency(2_400_000_000)));
}

#[test]
fn quantities_are_written_short() {
    for text in [
        "2048 kbit/s",
        "19.2 kbit/s",
        "1.5 Mbit/s",
        "10 Gbit/s",
        "1 bit/s",
        "1234567 bit/s",
    ] {
        assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
    }
    for text in [
        "278.5 ms",
        "250 ms",
        "1.5 s",
        "90 s",
        "1 min",
        "24 h",
        "1234567 ns",
        "0 s",
    ] {
        assert_eq!(text.parse::<Time>().unwrap().to_string(), text);
    }
    for text in [
        "65535 B", "1460 B", "1500 B", "64 KiB", "64 kB", "50 MiB", "900 kB", "0 B",
    ] {
        assert_eq!(text.parse::<Size>().unwrap().to_string(), text);
    }
    for text in ["75 km/h", "20 m/s", "1.5 km/h", "7 km/s", "1 mm/h"] {
        assert_eq!(text.parse::<Speed>().unwrap().to_string(), text);
    }
    for text in ["2 km", "100 m", "1.5 km", "35786 km", "0 m"] {
        assert_eq!(text.parse::<Length>().unwrap().to_string(), text);
    }
    for text in ["850 MHz", "2.4 GHz", "868.3 MHz"] {
        assert_eq!(text.parse::<Frequency>().unwrap().to_string(), text);
    }
}

#[test]
fn refusals_state_what_to_write() {
    let cases: &[(Result<u64, String>, &str)] = &[
        (
            RATE.read(&Scalar::Integer(2048)),
            "= 2048 has no unit; write for example \"2048 kbit/s\"",
        ),
        (
            RATE.read(&Scalar::Float(12e6)),
            "= 12000000 has no unit; write for example \"12 Mbit/s\"",
        ),
        (
            FREQUENCY.read(&Scalar::Integer(868_300_000)),
            "= 868300000 has no unit; write for example \"868.3 MHz\"",
        ),
        (
            TIME.read(&Scalar::Integer(250_000)),
            "= 250000 has no unit; write for example \"250000 ms\"",
        ),
        (
            TIME.read(&Scalar::Float(-0.25)),
            "= -0.25 has no unit; write for example \"0.25 ms\"",
        ),
        (
            SIZE.read(&text("64")),
            "= \"64\" has no unit; write for example \"64 B\"",
        ),
        (
            TIME.read(&text("-5 ms")),
            "= \"-5 ms\" is negative; write a time of 0 s or more",
        ),
        (
            TIME.read(&text("5 parsecs")),
            "= \"5 parsecs\" has the unknown unit \"parsecs\"; the units of a time are ns, us, \
             ms, s, min, h",
        ),
        (
            RATE.read(&text("1 kB/s")),
            "= \"1 kB/s\" has the unknown unit \"kB/s\"; the units of a rate are bit/s, \
             kbit/s, Mbit/s, Gbit/s",
        ),
        (
            TIME.read(&text("0.5 ns")),
            "= \"0.5 ns\" is not a whole number of nanoseconds; write fewer digits",
        ),
        (
            SIZE.read(&text("0.0001 kB")),
            "= \"0.0001 kB\" is not a whole number of bytes; write fewer digits",
        ),
        (
            SIZE.read(&text("99999999999 GiB")),
            "= \"99999999999 GiB\" is too large for a size",
        ),
        (
            RATE.read(&text("fast")),
            "= \"fast\" is not a rate; write for example \"100 Mbit/s\"",
        ),
        (
            SIZE.read(&text("1..5 B")),
            "= \"1..5 B\" is not a size; write for example \"100 B\"",
        ),
        (
            TIME.read(&text("")),
            "= \"\" is not a time; write for example \"100 ms\"",
        ),
        (
            TIME.read(&Scalar::Bool(true)),
            "= true is not a time; write for example \"100 ms\"",
        ),
    ];
    for (got, want) in cases {
        assert_eq!(got.as_ref().unwrap_err(), want);
    }
}

#[test]
fn probabilities_are_numbers_or_percentages() {
    assert_eq!(Probability::read(&text("2.5 %")), Ok(Probability(0.025)));
    assert_eq!(Probability::read(&text("100%")), Ok(Probability(1.0)));
    assert_eq!(
        Probability::read(&Scalar::Float(1e-6)),
        Ok(Probability(1e-6))
    );
    assert_eq!(Probability::read(&Scalar::Integer(0)), Ok(Probability(0.0)));
    for bad in [
        Scalar::Float(-0.1),
        Scalar::Float(f64::NAN),
        Scalar::Integer(2),
        text("101 %"),
    ] {
        assert!(
            Probability::read(&bad)
                .unwrap_err()
                .contains("number from 0 to 1")
        );
    }
}

proptest! {
    #[test]
    fn a_written_quantity_reads_back(n in any::<u64>(), shift in 0u32..64) {
        let n = n >> shift;
        prop_assert_eq!(Rate(n).to_string().parse::<Rate>(), Ok(Rate(n)));
        prop_assert_eq!(Size(n).to_string().parse::<Size>(), Ok(Size(n)));
        let time = Time(Interval::from_nanos(n));
        prop_assert_eq!(time.to_string().parse::<Time>(), Ok(time));
    }

    #[test]
    fn a_decimal_point_loses_nothing(ns in 0u64..1 << 53) {
        let seconds = format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000);
        prop_assert_eq!(seconds.parse::<Time>(), Ok(Time(Interval::from_nanos(ns))));
    }

    #[test]
    fn a_factor_survives_being_a_json_number(n in any::<u32>()) {
        let factor = Factor(Ratio::from_millionths(n));
        let back: Factor =
            serde_json::from_str(&serde_json::to_string(&factor).unwrap()).unwrap();
        prop_assert_eq!(back, factor);
    }

    #[test]
    fn no_text_panics(s in "\\PC{0,12}") {
        let _ = (s.parse::<Rate>(), s.parse::<Size>(), s.parse::<Time>());
        let _ = (Probability::read(&text(&s)), Factor::read(&text(&s)));
    }
}
