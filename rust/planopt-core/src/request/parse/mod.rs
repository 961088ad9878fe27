//! From options as people write them to a question: values read as the table says, names looked
//! up, what is left open assumed, and all that is wrong told at once.

mod defaults;
mod evaluate;
mod images;
mod islands;
mod load;
mod market;
mod names;
mod neighbours;
mod question;
mod reader;
mod request;
mod served;
mod serving;
mod sessions;
mod training;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use self::defaults::{DefaultOption, read_defaults};
pub use self::reader::Options;
use self::reader::Reader;
use self::request::Priced;
use super::read;
use crate::catalog::Catalog;
use crate::diagnostic::Diagnostic;

/// Reads the options of a command that asks nothing of a catalog, by their arguments.
pub fn read_options(command: &str, given: Options) -> Result<Value, Vec<Diagnostic>> {
    let reader = Reader::new(command, given, None, false);
    let values = reader.values().clone();
    reader.finish(Value::Object(values))
}

/// Reads the question that the options of a command ask, with some of them changed, or left out where
/// they are empty.
///
/// Of one that is edited nothing is missed that a whole question needs: an edit may take the last limit
/// away.
pub fn read_question(
    command: &str,
    given: Options,
    edit: Options,
    catalog: &Catalog,
) -> Result<Value, Vec<Diagnostic>> {
    let is_edited = !edit.is_empty();
    let mut options = given;
    options.retain(|name, _| !edit.contains_key(name));
    options.extend(edit.into_iter().filter(|(_, value)| *value != ""));
    let reader = Reader::new(command, options, Some(catalog), is_edited);
    match command {
        "train" => {
            let (reader, request) = typed(reader)?;
            response(training::question(reader, catalog, request))
        }
        "train --islands" => {
            let (reader, request) = typed(reader)?;
            response(islands::question(reader, catalog, request))
        }
        "solve --neighbours" => {
            let (reader, request) = typed(reader)?;
            response(neighbours::question(reader, catalog, &request))
        }
        "evaluate serving" => {
            let (reader, request) = typed(reader)?;
            response(evaluate::serving(reader, catalog, &request))
        }
        "evaluate training" => {
            let (reader, request) = typed(reader)?;
            response(evaluate::training(reader, catalog, request))
        }
        "solve" | "compare" | "compare --per-dollar" | "frontier" => {
            let (reader, request) = typed(reader)?;
            response(serving::question(reader, catalog, request))
        }
        _ => {
            let (mut reader, request) = typed::<Priced>(reader)?;
            market::look_up_prices(&mut reader, catalog, &request.money);
            let values = reader.values().clone();
            reader.finish(Value::Object(values))
        }
    }
}

/// The groups of a question, with what was read.
fn typed<T: DeserializeOwned>(reader: Reader) -> Result<(Reader, T), Vec<Diagnostic>> {
    match read(&reader.groups()) {
        Ok(request) => Ok((reader, request)),
        Err(problems) => {
            let mut told = reader.finish(()).err().unwrap_or_default();
            told.extend(problems);
            Err(told)
        }
    }
}

fn response(question: Result<impl Serialize, Vec<Diagnostic>>) -> Result<Value, Vec<Diagnostic>> {
    question.map(|question| serde_json::to_value(question).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::doors::groups_of;
    use super::request::{OneReplica, OneRun, Request, RunRequest};
    use super::*;
    use crate::options::{Kind, table};
    use std::collections::BTreeSet;

    /// All but `import`, which hands what it takes to those that evaluate and solve.
    fn commands() -> impl Iterator<Item = &'static String> {
        let all = table().commands.iter();
        all.filter(|command| *command != "import")
    }

    #[test]
    fn every_path_is_a_field_and_every_field_has_an_entry() {
        let mut named = BTreeSet::new();
        let mut known = BTreeSet::new();
        for command in commands() {
            let known_here = fields(command);
            let options = table().options.iter();
            let taken = options.filter_map(|entry| entry.taken(command)?.path);
            for path in taken {
                let there = known_here.contains(&path) || is_of_a_run(command, &path);
                assert!(there, "{command}: {path}");
                named.insert(path);
            }
            known.extend(known_here);
        }
        let unnamed: Vec<&String> = known.difference(&named).collect();
        assert_eq!(unnamed, NO_OPTIONS);
    }

    /// Fields of a door that scripts and plans fill in, and people do not type.
    const NO_OPTIONS: [&str; 16] = [
        "engine.graph_tokens",
        "engine.slower",
        "engine.step_tokens",
        "engine.usable_fraction",
        "hardware.owned",
        "hardware.power_limit_watts",
        "hardware.terms",
        "model.head_bits",
        "model.image_patches",
        "model.image_tokens",
        "model.weight_bits",
        "scheduler.batch_wait_share",
        "scheduler.batch_wait_steps",
        "scheduler.kv_policy",
        "scheduler.kv_tokens",
        "scheduler.receive_interval",
    ];

    fn fields(command: &str) -> BTreeSet<String> {
        let told = match command {
            "train" | "train --islands" => groups_of::<RunRequest>(),
            "evaluate serving" | "calibrate" => groups_of::<OneReplica>(),
            "evaluate training" => groups_of::<OneRun>(),
            _ => groups_of::<Request>(),
        };
        let each = told.into_iter().flat_map(|(group, keys)| {
            assert!(!keys.is_empty(), "`{group}` has no fields");
            keys.into_iter().map(move |key| format!("{group}.{key}"))
        });
        each.collect()
    }

    /// A question of `compare` or `explore` that is about a run is one of `train`.
    fn is_of_a_run(command: &str, path: &str) -> bool {
        matches!(command, "compare" | "explore")
            && fields("train").contains(path)
            && !fields(command).contains(path)
    }

    /// A value that an option may have.
    fn example(kind: Kind, words: &[String], unit: Option<&str>) -> Value {
        let word = || words.first().map_or("a", String::as_str);
        match kind {
            Kind::Quantity | Kind::Money => 0.5.into(),
            Kind::Count | Kind::Range => 2.into(),
            Kind::Switch | Kind::Truth => true.into(),
            Kind::Pairs if unit == Some("share") => "a=2%".into(),
            Kind::Pairs if unit == Some("seconds") => "a=2w".into(),
            Kind::Pairs if unit.is_some() => format!("{}=2", word()).into(),
            Kind::Pairs => "a=2.5,b/c/d=3".into(),
            _ => word().into(),
        }
    }

    #[test]
    fn a_value_of_each_kind_is_one_of_its_field() {
        for command in commands() {
            let options = table().options.iter();
            for entry in options.filter_map(|entry| entry.taken(command)) {
                if entry
                    .path
                    .as_ref()
                    .is_some_and(|path| is_of_a_run(command, path))
                {
                    continue;
                }
                let mut value = example(entry.kind, &entry.choices, entry.unit.as_deref());
                if let (reader::CURRENCY, Some(said)) = (entry.name.as_str(), &entry.example) {
                    value = said.as_str().into();
                }
                let (least, most) = entry.range();
                value = match value.as_f64() {
                    Some(number) if value.is_f64() => number.clamp(least, most).into(),
                    Some(_) if least > 2.0 => least.to_string().into(),
                    _ => value,
                };
                let given = [(entry.argument(), value)].into_iter().collect();
                let reader = Reader::new(command, given, None, false);
                let read = match command.as_str() {
                    "train" | "train --islands" => {
                        typed::<RunRequest>(reader).map(|(reader, _)| reader)
                    }
                    "calibrate" => Ok(reader),
                    "evaluate serving" => typed::<OneReplica>(reader).map(|(reader, _)| reader),
                    "evaluate training" => typed::<OneRun>(reader).map(|(reader, _)| reader),
                    _ => typed::<Request>(reader).map(|(reader, _)| reader),
                };
                let read = read.and_then(|reader| reader.finish(()));
                assert_eq!(read, Ok(()), "{command} {}", entry.name);
            }
        }
    }
}
