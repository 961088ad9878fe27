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
    bits: BTreeMap<String, Bits>,
}

/// Bits of an element: of layers, or of layers, the embedding and the head.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Bits {
    Layers(f64),
    All([f64; 3]),
}

/// The formats in the order of their names.
///
/// # Panics
///
/// If `formats.toml` is wrong, which the tests of this module see.
fn table() -> &'static [(String, Bits)] {
    static TABLE: OnceLock<Vec<(String, Bits)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let text = include_str!("../../../../catalogs/formats.toml");
        let families: Result<BTreeMap<String, Family>, _> = toml::from_str(text);
        let families = families.unwrap_or_else(|problem| panic!("formats.toml: {problem}"));
        let mut all: Vec<_> = families.into_values().flat_map(|own| own.bits).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    })
}

impl Packed {
    /// Every one of them.
    pub(super) fn all() -> impl Iterator<Item = Self> + Clone {
        (0..table().len()).filter_map(|place| u8::try_from(place).ok().map(Self))
    }

    /// The name used in catalogs, flags and JSON.
    pub(super) fn name(self) -> &'static str {
        &table()[usize::from(self.0)].0
    }

    /// Bytes of an element of a layer.
    pub(super) fn bytes(self) -> f64 {
        match table()[usize::from(self.0)].1 {
            Bits::Layers(bits) | Bits::All([bits, ..]) => bits / BITS_PER_BYTE,
        }
    }

    /// Of the embedding and of the head, where they are quantised, too.
    pub(super) fn ends(self) -> Option<Ends> {
        match table()[usize::from(self.0)].1 {
            Bits::Layers(_) => None,
            Bits::All([_, embedding, head]) => Some(Ends {
                embedding: embedding / BITS_PER_BYTE,
                head: head / BITS_PER_BYTE,
            }),
        }
    }
}
