//! What is read, exactly, and what is refused, and why.

use super::{QuantityFault, parse};
use crate::quantity::units::Dimension;
use proptest::prelude::*;

#[test]
fn quantities_of_the_contract_are_read_exactly() {
    use Dimension as D;
    let cases: &[(&str, Dimension, f64)] = &[
        ("5tok/s", D::TokensPerSecond, 5.0),
        ("5 tokens/s", D::TokensPerSecond, 5.0),
        ("20000", D::TokensPerSecond, 20_000.0),
        ("25ms/tok", D::TokensPerSecond, 40.0),
        ("0.5 s/token", D::TokensPerSecond, 2.0),
        ("300ms", D::Seconds, 0.3),
        ("3 us", D::Seconds, 3e-6),
        ("0.25 \u{b5}s", D::Seconds, 0.25e-6),
        ("30d", D::Seconds, 2_592_000.0),
        ("20000", D::Usd, 20_000.0),
        ("$20k", D::Usd, 20_000.0),
        ("20k$", D::Usd, 20_000.0),
        ("20 k$", D::Usd, 20_000.0),
        ("$20,000", D::Usd, 20_000.0),
        ("$1_599.99", D::Usd, 1599.99),
        ("12/h", D::RequestsPerSecond, 12.0 / 3600.0),
        ("3/s", D::RequestsPerSecond, 3.0),
        ("2T", D::Tokens, 2e12),
        ("1.5B tokens", D::Tokens, 1.5e9),
        ("512", D::Tokens, 512.0),
        ("80GB", D::Bytes, 80e9),
        ("80GiB", D::Bytes, 85_899_345_920.0),
        ("0 GB", D::Bytes, 0.0),
        ("10Gbps", D::BytesPerSecond, 1.25e9),
        ("200Gb/s", D::BytesPerSecond, 25e9),
        ("100 Gbit/s", D::BytesPerSecond, 12.5e9),
        ("31.508 GB/s", D::BytesPerSecond, 31.508e9),
        ("400W", D::Watts, 400.0),
        ("1.2 kW", D::Watts, 1200.0),
        ("1.5 PFLOPS", D::FlopsPerSecond, 1.5e15),
        ("1.5 PFLOP/s", D::FlopsPerSecond, 1.5e15),
        ("989.4 TFLOPS", D::FlopsPerSecond, 989.4e12),
        ("1979 TOPS", D::FlopsPerSecond, 1979e12),
        ("1e3 GFLOPS", D::FlopsPerSecond, 1e12),
        ("0.12$/kWh", D::UsdPerKwh, 0.12),
        ("$0.10/kWh", D::UsdPerKwh, 0.10),
        ("$1500/month", D::UsdPerMonth, 1500.0),
        ("$1500/month", D::UsdPerHour, 1500.0 / 730.0),
        ("$2.5/h", D::UsdPerHour, 2.5),
        ("15%", D::Share, 0.15),
        ("0.15", D::Share, 0.15),
        ("1e-9", D::Number, 1e-9),
        ("+8", D::Count, 8.0),
    ];
    for (text, dimension, expected) in cases {
        let value = parse(text, *dimension).unwrap_or_else(|error| panic!("{error}"));
        assert!(
            (value - expected).abs() <= f64::EPSILON * expected,
            "{text} is {value}"
        );
    }
}

#[test]
fn decimal_units_round_only_once() {
    for (text, written_out) in [("82.58 TFLOPS", 82.58e12), ("0.7 TFLOPS", 0.7e12)] {
        let value = parse(text, Dimension::FlopsPerSecond).map(f64::to_bits);
        assert_eq!(value, Ok(f64::to_bits(written_out)), "{text}");
    }
}

#[test]
fn what_is_wrong_is_told_apart() {
    use Dimension as D;
    use QuantityFault as F;
    let cases: &[(&str, Dimension, QuantityFault)] = &[
        ("", D::Bytes, F::Empty),
        ("  ", D::Usd, F::Empty),
        ("GB", D::Bytes, F::NotANumber),
        ("$", D::Usd, F::NotANumber),
        (".", D::Usd, F::NotANumber),
        ("1.2.3", D::Number, F::NotANumber),
        ("1,5", D::Usd, F::NotANumber),
        ("1,5000", D::Usd, F::NotANumber),
        ("1__0", D::Usd, F::NotANumber),
        ("24", D::Bytes, F::MissingUnit),
        ("5", D::Seconds, F::MissingUnit),
        ("5", D::RequestsPerSecond, F::MissingUnit),
        ("0.10", D::UsdPerKwh, F::MissingUnit),
        ("24 GB/s", D::Bytes, F::WrongUnit),
        ("24 Gb", D::Bytes, F::WrongUnit),
        ("5 tok", D::TokensPerSecond, F::WrongUnit),
        ("15%", D::Number, F::WrongUnit),
        ("8.5", D::Count, F::NotWhole),
        ("-5 W", D::Watts, F::Negative),
        ("-$5", D::Usd, F::Negative),
        ("$-5", D::Usd, F::Negative),
        ("nan", D::Number, F::NotFinite),
        ("-inf", D::Number, F::NotFinite),
        ("1e999 W", D::Watts, F::NotFinite),
        ("1e99999999999 W", D::Watts, F::NotFinite),
        ("75", D::Share, F::MoreThanAll),
    ];
    for (text, dimension, fault) in cases {
        let found = parse(text, *dimension).map_err(|error| error.fault);
        assert_eq!(found, Err(*fault), "{text:?}");
    }
}

#[test]
fn the_unit_that_may_be_meant_is_offered() {
    use Dimension as D;
    let cases = [
        (
            "10 GBps",
            D::BytesPerSecond,
            "did you mean `GB/s` or `Gbps`?",
        ),
        (
            "10 gb/s",
            D::BytesPerSecond,
            "did you mean `GB/s` or `Gbps`?",
        ),
        ("5 tok", D::TokensPerSecond, "did you mean `tok/s`?"),
        ("$0.1/kwh", D::UsdPerKwh, "did you mean `$/kWh`?"),
        ("24 gib", D::Bytes, "did you mean `GiB`?"),
    ];
    for (text, dimension, help) in cases {
        let found = parse(text, dimension).map_err(|error| error.help);
        assert_eq!(found, Err(Some(help.to_owned())), "{text:?}");
    }
}

#[test]
fn scripts_name_dimensions() {
    assert_eq!(
        Dimension::from_name("usd_per_kwh"),
        Some(Dimension::UsdPerKwh)
    );
    assert_eq!(Dimension::from_name("USD"), None);
}

#[test]
fn out_of_range_is_told_from_malformed() {
    let out_of_range =
        |text| parse(text, Dimension::Watts).is_err_and(|error| error.is_out_of_range());
    assert!(out_of_range("-5 W"));
    assert!(!out_of_range("5 V") && !out_of_range("nan"));
}

proptest! {
    #[test]
    fn no_text_panics_or_gives_an_impossible_number(text in "\\PC*") {
        for (_, dimension) in Dimension::NAMED {
            if let Ok(value) = parse(&text, dimension) {
                prop_assert!(value.is_finite() && value >= 0.0);
            }
        }
    }

    #[test]
    fn nothing_like_a_quantity_panics_either(
        text in "[-+$]{0,2} ?[0-9.,_]{0,6}([eE][-+]?[0-9]{0,12})? ?[kKMGTPEium$%]{0,3}(B|b|W|s|FLOPS|tok)?(/s|/h|/kWh)?"
    ) {
        for (_, dimension) in Dimension::NAMED {
            match parse(&text, dimension) {
                Ok(value) => prop_assert!(value.is_finite() && value >= 0.0),
                Err(error) => prop_assert_eq!(&error.text, &text),
            }
        }
    }
}
