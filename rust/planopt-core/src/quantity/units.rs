//! The units of each dimension, as data: which are accepted, and what each is in the base unit.
//!
//! A unit is a power of ten and a factor. Keeping them apart lets the parser read `82.58 TFLOPS`
//! as the very number `82.58e12`, without the rounding of a multiplication.

/// What a quantity is a quantity of, and with it the units it is accepted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Memory, in bytes; always with a unit, such as `24 GiB`.
    Bytes,
    /// Bandwidth, in bytes per second; always with a unit, such as `1008 GB/s` or `200 Gbps`.
    BytesPerSecond,
    /// Rate of arithmetic, in operations per second; always with a unit, such as `82.58 TFLOPS`.
    FlopsPerSecond,
    /// Duration, in seconds; always with a unit, such as `300ms` or `30d`.
    Seconds,
    /// Power, in watts; always with a unit, such as `450 W`.
    Watts,
    /// Money, in dollars; a bare number is dollars.
    Usd,
    /// Price of energy, in dollars per kWh; always with a unit, such as `$0.10/kWh`.
    UsdPerKwh,
    /// Price of tokens, in dollars per million; a bare number is that, as in `$0.90/Mtok`.
    UsdPerMillionTokens,
    /// Rent, in dollars per hour of 1/730 month; always with a unit, such as `$2.50/h` or `12/h`.
    UsdPerHour,
    /// Rent, in dollars per month of 730 hours; always with a unit, such as `$1500/month`.
    UsdPerMonth,
    /// Speed, in tokens per second; a bare number is that, and `30ms/tok` the time of a token.
    TokensPerSecond,
    /// Load, in requests per second; always with a unit, such as `3/s` or `12/h`.
    RequestsPerSecond,
    /// A whole number of tokens; a bare number is that.
    Tokens,
    /// A whole number of things; always bare, scaled at most, as in `20k`.
    Count,
    /// A part of a whole, 0 to 1; a bare number is that, and `15%` the same as `0.15`.
    Share,
    /// A number without a unit, 0 or more.
    Number,
}

/// What may stand before a unit: `value = number * 10^exponent * factor`.
pub(super) struct Prefix {
    pub(super) name: &'static str,
    pub(super) exponent: i32,
    pub(super) factor: f64,
}

const fn ten_to(exponent: i32, name: &'static str) -> Prefix {
    Prefix {
        name,
        exponent,
        factor: 1.0,
    }
}

const fn times(factor: f64, name: &'static str) -> Prefix {
    Prefix {
        name,
        exponent: 0,
        factor,
    }
}

const NONE: &[Prefix] = &[ten_to(0, "")];

const LARGE: &[Prefix] = &[
    ten_to(0, ""),
    ten_to(3, "k"),
    ten_to(6, "M"),
    ten_to(9, "G"),
    ten_to(12, "T"),
    ten_to(15, "P"),
    ten_to(18, "E"),
];

const LARGE_OR_BINARY: &[Prefix] = &[
    ten_to(0, ""),
    ten_to(3, "k"),
    ten_to(6, "M"),
    ten_to(9, "G"),
    ten_to(12, "T"),
    ten_to(15, "P"),
    ten_to(18, "E"),
    times(KIBI, "Ki"),
    times(MEBI, "Mi"),
    times(GIBI, "Gi"),
    times(TEBI, "Ti"),
    times(PEBI, "Pi"),
];

const SMALL: &[Prefix] = &[
    ten_to(0, ""),
    ten_to(-3, "m"),
    ten_to(-6, "u"),
    // The micro sign and the Greek letter, which look the same.
    ten_to(-6, "\u{b5}"),
    ten_to(-6, "\u{3bc}"),
    ten_to(-9, "n"),
];

/// As people count money and tokens.
const COUNTING: &[Prefix] = &[
    ten_to(0, ""),
    ten_to(3, "k"),
    ten_to(3, "K"),
    ten_to(6, "M"),
    ten_to(9, "B"),
    ten_to(12, "T"),
];

const KIBI: f64 = 1024.0;

const MEBI: f64 = KIBI * 1024.0;

const GIBI: f64 = MEBI * 1024.0;

const TEBI: f64 = GIBI * 1024.0;

const PEBI: f64 = TEBI * 1024.0;

const BYTES_PER_BIT: f64 = 0.125;

const PERCENT: i32 = -2;

const MINUTE: f64 = 60.0;

const HOUR: f64 = 3600.0;

const DAY: f64 = 24.0 * HOUR;

/// Hours of a twelfth of a year of 365 days.
const HOURS_PER_MONTH: f64 = 730.0;

/// A unit with the prefixes it takes. The first spelling of a unit is the one messages suggest.
pub(super) struct Unit {
    pub(super) name: &'static str,
    pub(super) prefixes: &'static [Prefix],
    pub(super) exponent: i32,
    pub(super) factor: f64,
}

const fn unit(name: &'static str, prefixes: &'static [Prefix]) -> Unit {
    Unit {
        name,
        prefixes,
        exponent: 0,
        factor: 1.0,
    }
}

const fn multiple(name: &'static str, prefixes: &'static [Prefix], factor: f64) -> Unit {
    Unit {
        name,
        prefixes,
        exponent: 0,
        factor,
    }
}

const BYTES: &[Unit] = &[unit("B", LARGE_OR_BINARY)];

const BYTES_PER_SECOND: &[Unit] = &[
    unit("B/s", LARGE_OR_BINARY),
    multiple("bps", LARGE, BYTES_PER_BIT),
    multiple("b/s", LARGE, BYTES_PER_BIT),
    multiple("bit/s", LARGE, BYTES_PER_BIT),
];

const FLOPS_PER_SECOND: &[Unit] = &[
    unit("FLOPS", LARGE),
    unit("FLOP/s", LARGE),
    unit("OPS", LARGE),
];

const SECONDS: &[Unit] = &[
    unit("s", SMALL),
    multiple("min", NONE, MINUTE),
    multiple("h", NONE, HOUR),
    multiple("d", NONE, DAY),
    multiple("w", NONE, 7.0 * DAY),
];

const WATTS: &[Unit] = &[unit("W", LARGE)];

const USD: &[Unit] = &[unit("$", COUNTING), unit("", COUNTING)];

const USD_PER_KWH: &[Unit] = &[unit("$/kWh", NONE)];

const USD_PER_MILLION_TOKENS: &[Unit] = &[unit("$/Mtok", NONE), unit("$", NONE), unit("", NONE)];

const USD_PER_HOUR: &[Unit] = &[
    unit("$/h", COUNTING),
    unit("/h", COUNTING),
    multiple("$/month", COUNTING, 1.0 / HOURS_PER_MONTH),
    multiple("/month", COUNTING, 1.0 / HOURS_PER_MONTH),
];

const USD_PER_MONTH: &[Unit] = &[
    unit("$/month", COUNTING),
    multiple("$/h", COUNTING, HOURS_PER_MONTH),
];

const TOKENS_PER_SECOND: &[Unit] = &[
    unit("tok/s", COUNTING),
    unit("token/s", COUNTING),
    unit("tokens/s", COUNTING),
    unit("", COUNTING),
];

const REQUESTS_PER_SECOND: &[Unit] = &[
    unit("/s", NONE),
    multiple("/min", NONE, 1.0 / MINUTE),
    multiple("/h", NONE, 1.0 / HOUR),
    multiple("/d", NONE, 1.0 / DAY),
];

const TOKENS: &[Unit] = &[
    unit("", COUNTING),
    unit("tok", COUNTING),
    unit("tokens", COUNTING),
];

const COUNT: &[Unit] = &[unit("", COUNTING)];

const SHARE: &[Unit] = &[
    unit("", NONE),
    Unit {
        name: "%",
        prefixes: NONE,
        exponent: PERCENT,
        factor: 1.0,
    },
];

const NUMBER: &[Unit] = &[unit("", NONE)];

impl Dimension {
    /// Every dimension with its name, as scripts write it.
    pub const NAMED: [(&'static str, Self); 16] = [
        ("bytes", Self::Bytes),
        ("bytes_per_second", Self::BytesPerSecond),
        ("flops_per_second", Self::FlopsPerSecond),
        ("seconds", Self::Seconds),
        ("watts", Self::Watts),
        ("usd", Self::Usd),
        ("usd_per_kwh", Self::UsdPerKwh),
        ("usd_per_million_tokens", Self::UsdPerMillionTokens),
        ("usd_per_hour", Self::UsdPerHour),
        ("usd_per_month", Self::UsdPerMonth),
        ("tokens_per_second", Self::TokensPerSecond),
        ("requests_per_second", Self::RequestsPerSecond),
        ("tokens", Self::Tokens),
        ("count", Self::Count),
        ("share", Self::Share),
        ("number", Self::Number),
    ];

    /// The dimension of that name, such as `tokens_per_second`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMED
            .into_iter()
            .find(|(own, _)| *own == name)
            .map(|(_, dimension)| dimension)
    }

    /// The units that are accepted.
    pub(super) fn units(self) -> &'static [Unit] {
        match self {
            Self::Bytes => BYTES,
            Self::BytesPerSecond => BYTES_PER_SECOND,
            Self::FlopsPerSecond => FLOPS_PER_SECOND,
            Self::Seconds => SECONDS,
            Self::Watts => WATTS,
            Self::Usd => USD,
            Self::UsdPerKwh => USD_PER_KWH,
            Self::UsdPerMillionTokens => USD_PER_MILLION_TOKENS,
            Self::UsdPerHour => USD_PER_HOUR,
            Self::UsdPerMonth => USD_PER_MONTH,
            Self::TokensPerSecond => TOKENS_PER_SECOND,
            Self::RequestsPerSecond => REQUESTS_PER_SECOND,
            Self::Tokens => TOKENS,
            Self::Count => COUNT,
            Self::Share => SHARE,
            Self::Number => NUMBER,
        }
    }

    /// What it is called in a message, and examples of it.
    pub fn accepted(self) -> &'static str {
        match self {
            Self::Bytes => "an amount of memory, such as `80 GB` or `24 GiB`",
            Self::BytesPerSecond => {
                "a bandwidth, in bytes such as `1008 GB/s` or in bits such as `200 Gbps`"
            }
            Self::FlopsPerSecond => "a rate of arithmetic, such as `82.58 TFLOPS` or `1.5 PFLOP/s`",
            Self::Seconds => "a duration, such as `3 us`, `300ms` or `30d`",
            Self::Watts => "a power, such as `450 W`",
            Self::Usd => "an amount of money, such as `$20,000`, `20k$` or `20000`",
            Self::UsdPerKwh => "a price of energy, such as `$0.10/kWh`",
            Self::UsdPerMillionTokens => "a price of tokens, such as `$0.90/Mtok`",
            Self::UsdPerHour | Self::UsdPerMonth => "a rent, such as `$2.50/h` or `$1500/month`",
            Self::TokensPerSecond => "a speed, such as `5tok/s`, `5` or `30ms/tok`",
            Self::RequestsPerSecond => "a rate of requests, such as `3/s` or `12/h`",
            Self::Tokens => "a number of tokens, such as `2T` or `4096`",
            Self::Count => "a whole number, such as `8`",
            Self::Share => "a share, such as `0.15` or `15%`",
            Self::Number => "a number, such as `2.5`",
        }
    }
}
