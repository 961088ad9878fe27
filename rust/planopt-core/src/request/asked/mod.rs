//! From options as people write them to a question: values read as the table says, names looked
//! up, what is left open assumed, and all that is wrong told at once.

mod evaluate;
mod market;
mod reader;
mod request;
mod served;
mod serving;
mod training;

use serde::Serialize;
use serde_json::Value;

use self::market::Prices;
use self::reader::Reader;
use self::request::Request;
use super::Given;
use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, code};

/// Options by the arguments of the API, each as it was given.
pub type Options = Vec<(String, Given)>;

/// Reads the options of a command that asks nothing of a catalog, by their arguments.
///
/// # Errors
///
/// Everything that is wrong with them.
pub fn read_options(command: &str, given: Options) -> Result<Value, Vec<Diagnostic>> {
    let reader = Reader::new(command, given, false);
    let values = reader.values().clone();
    reader.finish(Value::Object(values))
}

/// Reads the question that the options of a command ask.
///
/// # Errors
///
/// Everything that is wrong with them.
pub fn read_question(
    command: &str,
    given: Options,
    catalog: &Catalog,
) -> Result<Value, Vec<Diagnostic>> {
    question(command, given, catalog, false)
}

/// Reads a question with some of its options changed, or left out where they are empty.
///
/// Nothing is missed that a whole question needs: an edit may take the last limit away.
///
/// # Errors
///
/// Everything that is wrong with them.
pub fn read_edited(
    command: &str,
    given: Options,
    edit: Options,
    catalog: &Catalog,
) -> Result<Value, Vec<Diagnostic>> {
    let kept = given.into_iter();
    let kept = kept.filter(|(name, _)| edit.iter().all(|(edited, _)| edited != name));
    let mut options: Options = kept.collect();
    let left_out = Given::Text(String::new());
    options.extend(edit.into_iter().filter(|(_, value)| *value != left_out));
    question(command, options, catalog, true)
}

fn question(
    command: &str,
    given: Options,
    catalog: &Catalog,
    is_edited: bool,
) -> Result<Value, Vec<Diagnostic>> {
    let mut reader = Reader::new(command, given, is_edited);
    let request = Request::deserialize_from(reader.groups())?;
    match command {
        "train" => told(training::question(reader, catalog, &request)),
        "evaluate serving" => told(evaluate::serving(reader, catalog, &request)),
        "evaluate training" => told(evaluate::training(reader, catalog, &request)),
        "solve" | "compare" | "compare --per-dollar" | "frontier" => {
            told(serving::question(reader, catalog, &request))
        }
        _ => {
            let prices = Prices::of(&mut reader, catalog, &request.money);
            let mut values = reader.values().clone();
            if let Value::Object(prices) = serde_json::to_value(prices).unwrap_or_default() {
                values.extend(prices);
            }
            reader.finish(Value::Object(values))
        }
    }
}

fn told(question: Result<impl Serialize, Vec<Diagnostic>>) -> Result<Value, Vec<Diagnostic>> {
    question.map(|question| serde_json::to_value(question).unwrap_or_default())
}

impl Request {
    /// What the table and the types say apart would be a fault of planopt; tests hold them
    /// together.
    fn deserialize_from(groups: Value) -> Result<Self, Vec<Diagnostic>> {
        serde_json::from_value(groups)
            .map_err(|error| vec![Diagnostic::new(code::WRONG_TYPE, error.to_string())])
    }
}

#[cfg(test)]
mod tests {
    use super::super::doors::groups_of;
    use super::*;
    use crate::options::{Kind, table};
    use std::collections::BTreeSet;

    #[test]
    fn every_path_is_a_field_and_every_field_has_an_entry() {
        let told = groups_of::<Request>();
        let fields = told.iter().flat_map(|(group, keys)| {
            assert!(!keys.is_empty(), "`{group}` has no fields");
            keys.iter().map(move |key| format!("{group}.{key}"))
        });
        let fields: BTreeSet<String> = fields.collect();
        let paths = table()
            .options
            .iter()
            .filter_map(|entry| entry.path.clone());
        let paths: BTreeSet<String> = paths.collect();
        assert_eq!(fields, paths);
    }

    /// A value that an option may have.
    fn example(kind: Kind, words: &[String], unit: Option<&str>) -> Given {
        let word = || words.first().map_or("a", String::as_str).to_owned();
        match kind {
            Kind::Quantity | Kind::Money => Given::Number(0.5),
            Kind::Count => Given::Whole(2),
            Kind::Switch | Kind::Truth => Given::Flag(true),
            Kind::Pairs if unit.is_some() => Given::Text("a=2".to_owned()),
            Kind::Pairs => Given::Text("a=2.5,b/c/d=3".to_owned()),
            _ => Given::Text(word()),
        }
    }

    #[test]
    fn a_value_of_each_kind_is_one_of_its_field() {
        for command in &table().commands {
            for entry in table().taken_by(command) {
                let mut value = example(entry.kind, &entry.choices, entry.unit.as_deref());
                if let Given::Number(number) = value {
                    let (least, most) = entry.range();
                    value = Given::Number(number.clamp(least, most));
                }
                let given = vec![(entry.argument(), value)];
                let reader = Reader::new(command, given, false);
                let read = Request::deserialize_from(reader.groups());
                assert!(read.is_ok(), "{command} {}: {read:?}", entry.name);
                assert_eq!(reader.finish(()), Ok(()), "{command} {}", entry.name);
            }
        }
    }
}
