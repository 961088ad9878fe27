//! The doors of the core, and what each of them takes: told by the types themselves.

use serde::de::IntoDeserializer;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

use super::chains::PriceChains;
use super::engine::SimulateServing;
use super::islands::TrainIslands;
use super::neighbours::ServeNeighbours;
use super::pools::{DecodePool, SearchPools};
use super::search::SearchTraining;
use super::selection::Considered;
use super::serving::{EvaluateServing, SearchServing};
use super::training::EvaluateTraining;

/// The groups of a question with the keys of each; no keys where a key stands for itself.
pub type Groups = Vec<(&'static str, Vec<&'static str>)>;

/// What each door takes.
pub fn doors() -> BTreeMap<&'static str, Groups> {
    let loaded = groups_of::<SimulateServing>();
    let training = groups_of::<EvaluateTraining>();
    BTreeMap::from([
        ("evaluate_serving", groups_of::<EvaluateServing>()),
        ("search_serving", groups_of::<SearchServing>()),
        ("simulate_serving", loaded.clone()),
        ("estimate_serving", loaded),
        ("decode", groups_of::<DecodePool>()),
        ("search_pools", groups_of::<SearchPools>()),
        ("evaluate_training", training.clone()),
        ("evaluate_mixed", training),
        ("left_out", groups_of::<Considered>()),
        ("search_training", groups_of::<SearchTraining>()),
        ("train_islands", groups_of::<TrainIslands>()),
        ("price_chains", groups_of::<PriceChains>()),
        ("serve_neighbours", groups_of::<ServeNeighbours>()),
    ])
}

/// The groups of a type, and their keys.
pub(super) fn groups_of<T: DeserializeOwned>() -> Groups {
    let groups = keys_told(T::deserialize(Listener { on_the_way: &[] }));
    let keys = |group: &&'static str| {
        keys_told(T::deserialize(Listener {
            on_the_way: &[group],
        }))
    };
    groups.iter().map(|group| (*group, keys(group))).collect()
}

fn keys_told<T>(heard: Result<T, Heard>) -> Vec<&'static str> {
    heard.err().map_or_else(Vec::new, |Heard(keys)| keys)
}

/// The keys of a struct, which end the reading of it.
#[derive(Debug)]
struct Heard(Vec<&'static str>);

impl fmt::Display for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

impl std::error::Error for Heard {}

impl serde::de::Error for Heard {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(Vec::new())
    }
}

/// Hands over nothing, and listens to which keys a type asks for: its own, or those of a part.
#[derive(Clone, Copy)]
struct Listener<'p> {
    on_the_way: &'p [&'static str],
}

impl<'de> Deserializer<'de> for Listener<'_> {
    type Error = Heard;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Heard> {
        if self.on_the_way.is_empty() {
            return Err(Heard(keys.to_vec()));
        }
        visitor.visit_map(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Heard> {
        visitor.visit_some(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Heard> {
        Err(Heard(Vec::new()))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for Listener<'_> {
    type Error = Heard;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Heard> {
        let Some(key) = self.on_the_way.first() else {
            return Ok(None);
        };
        let key: StrDeserializer<'_, Heard> = (*key).into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Heard> {
        let on_the_way = self.on_the_way.get(1..).unwrap_or_default();
        seed.deserialize(Listener { on_the_way })
    }
}
