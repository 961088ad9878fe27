//! Formats of weights alone, as data: `catalogs/formats.toml`.

use crate::quantity::BITS_PER_BYTE;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Bytes per element of the matrices before the layers and behind them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    /// Of the embedding, unless it is the head's matrix, too.
    pub embedding: f64,
    /// Of the head.
    pub head: f64,
}

/// A format of `catalogs/formats.toml`: its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packed(u8);

/// A family of formats with where their figures are from.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    #[serde(rename = "cite")]
    _cite: String,
    #[serde(rename = "status")]
    _status: String,
    #[serde(default)]
    bits: BTreeMap<String, Bits>,
    #[serde(default)]
    called: BTreeMap<String, String>,
}

/// Bits of an element: of layers, or of layers, the embedding and the head.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Bits {
    Layers(f64),
    All([f64; 3]),
}

/// What `formats.toml` says.
struct Table {
    /// The formats in the order of their names.
    formats: Vec<(String, Bits)>,
    /// What else they and the plain ones are called.
    called: Vec<(String, String)>,
}

/// The table, read once.
///
/// # Panics
///
/// If `formats.toml` is wrong, which the tests of this module see.
fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let text = include_str!("../../../../catalogs/formats.toml");
        let families: Result<BTreeMap<String, Family>, _> = toml::from_str(text);
        let families = families.unwrap_or_else(|problem| panic!("formats.toml: {problem}"));
        let (bits, called): (Vec<_>, Vec<_>) = families
            .into_values()
            .map(|own| (own.bits, own.called))
            .unzip();
        let mut formats: Vec<_> = bits.into_iter().flatten().collect();
        formats.sort_by(|a, b| a.0.cmp(&b.0));
        let called = called.into_iter().flatten().collect();
        Table { formats, called }
    })
}

/// The name of the format that people call so.
pub(super) fn meant(called: &str) -> Option<&'static str> {
    let mut others = table().called.iter();
    let found = others.find(|(other, _)| other.eq_ignore_ascii_case(called));
    found.map(|(_, name)| name.as_str())
}

impl Packed {
    /// Every one of them.
    pub(super) fn all() -> impl Iterator<Item = Self> + Clone {
        (0..table().formats.len()).filter_map(|place| u8::try_from(place).ok().map(Self))
    }

    /// The name used in catalogs, flags and JSON.
    pub(super) fn name(self) -> &'static str {
        &table().formats[usize::from(self.0)].0
    }

    /// Bytes of an element of a layer.
    pub(super) fn bytes(self) -> f64 {
        match table().formats[usize::from(self.0)].1 {
            Bits::Layers(bits) | Bits::All([bits, ..]) => bits / BITS_PER_BYTE,
        }
    }

    /// Of the embedding and of the head, where they are quantised, too.
    pub(super) fn ends(self) -> Option<Ends> {
        match table().formats[usize::from(self.0)].1 {
            Bits::Layers(_) => None,
            Bits::All([_, embedding, head]) => Some(Ends {
                embedding: embedding / BITS_PER_BYTE,
                head: head / BITS_PER_BYTE,
            }),
        }
    }
}
