//! Questions as they are handed over, from whatever language: JSON, and how it becomes a question.
//! Everything that is wrong is collected, each with its place.

use std::cell::RefCell;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, Expected, IntoDeserializer,
    MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};

use serde_json::{Map, Number, Value};

use crate::diagnostic::option::unknown_name;
use crate::diagnostic::{Diagnostic, code};

/// Reads a question in JSON.
///
/// # Errors
///
/// As [`read`], and if it is no JSON.
pub fn read_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, Vec<Diagnostic>> {
    let given: Value = serde_json::from_slice(json).map_err(|error| {
        let problem = Diagnostic::new(code::WRONG_TYPE, format!("this is no JSON: {error}"));
        vec![problem.field("request").accepted("a question in JSON")]
    })?;
    read(&given)
}

/// Reads a question.
///
/// # Errors
///
/// Each key that nothing reads, each value of another type, each number that cannot be and each
/// word that is none of the choices, up to the first key that is absent.
pub fn read<T: DeserializeOwned>(given: &Value) -> Result<T, Vec<Diagnostic>> {
    let problems = RefCell::default();
    let read = T::deserialize(Reader {
        given,
        place: Place::Top,
        problems: &problems,
    });
    let mut problems = problems.into_inner();
    match read {
        Ok(question) if problems.is_empty() => Ok(question),
        Ok(_) => Err(problems),
        Err(wrong) => {
            problems.push(*wrong.problem);
            Err(problems)
        }
    }
}

/// A value as messages quote it.
fn told(given: &Value) -> String {
    match given {
        Value::Null => "nothing".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => match (whole(number), number.as_f64()) {
            (None, Some(number)) => number.to_string(),
            (whole, _) => whole.unwrap_or_default().to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Array(values) => format!("a list of {}", values.len()),
        Value::Object(values) => format!("a table of {}", values.len()),
    }
}

/// A whole number; JSON's reader has floats for those that are too large for 64 bits.
pub(super) fn whole(number: &Number) -> Option<i128> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is whole, and within 128 bits"
    )]
    let beyond = |float: f64| {
        let is_whole = (WHOLE_IN_64_BITS..WHOLE_IN_128_BITS).contains(&float.abs());
        is_whole.then_some(float as i128)
    };
    number
        .as_i128()
        .or_else(|| number.as_f64().and_then(beyond))
}

const WHOLE_IN_64_BITS: f64 = 9_223_372_036_854_775_808.0;
const WHOLE_IN_128_BITS: f64 = 1e38;

/// Where a value stands: `load.sizes`, `shares[1].accelerator`.
#[derive(Clone, Copy, Debug)]
enum Place<'p> {
    /// A whole question.
    Top,
    /// The value of a key.
    Key(&'p Place<'p>, &'p str),
    /// A value of a list.
    Item(&'p Place<'p>, usize),
}

impl<'p> Place<'p> {
    /// The last key on the way.
    fn key(&self) -> &'p str {
        match *self {
            Self::Top => "request",
            Self::Key(_, key) => key,
            Self::Item(within, _) => within.key(),
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => Ok(()),
            Self::Key(Self::Top, key) => f.write_str(key),
            Self::Key(within, key) => write!(f, "{within}.{key}"),
            Self::Item(within, item) => write!(f, "{within}[{item}]"),
        }
    }
}

/// A problem after which a question cannot be read on.
#[derive(Debug)]
struct Wrong {
    problem: Box<Diagnostic>,
    /// Whether its field says where in the question it is, and not where in a part of it.
    is_placed: bool,
}

impl Wrong {
    fn new(problem: Diagnostic) -> Self {
        Self {
            problem: Box::new(problem),
            is_placed: false,
        }
    }

    fn at(mut self, place: Place<'_>) -> Self {
        if !self.is_placed {
            let within = place.to_string();
            let field = match self.problem.field.take() {
                Some(field) if within.is_empty() => field,
                Some(field) => format!("{within}.{field}"),
                None if within.is_empty() => "request".to_owned(),
                None => within,
            };
            self.problem.field = Some(field);
            self.is_placed = true;
        }
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for Wrong {}

/// What types say of values that they cannot take.
impl Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        let problem = Diagnostic::new(code::WRONG_TYPE, message.to_string());
        Self::new(problem.accepted("what docs/reference says of it"))
    }

    fn invalid_type(value: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::new(of_another_type(value.to_string(), &wanted.to_string()))
    }

    fn invalid_value(value: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::new(out_of_range(value.to_string(), &wanted.to_string()))
    }

    fn invalid_length(length: usize, wanted: &dyn Expected) -> Self {
        let value = format!("a list of {length}");
        Self::new(of_another_type(value, &wanted.to_string()))
    }

    fn unknown_variant(word: &str, choices: &'static [&'static str]) -> Self {
        let message = format!("`{word}` is none of the choices");
        let problem = Diagnostic::new(code::WRONG_TYPE, message).value(word);
        Self::new(problem.one_of(word, choices.iter().copied()))
    }

    fn unknown_field(key: &str, keys: &'static [&'static str]) -> Self {
        Self::new(unknown_key(key, "something", keys).field(key))
    }

    fn missing_field(key: &'static str) -> Self {
        let problem = Diagnostic::new(code::MISSING_KEY, format!("`{key}` is needed"));
        Self::new(
            problem
                .field(key)
                .value("nothing")
                .accepted(format!("a value of `{key}`")),
        )
    }

    fn duplicate_field(key: &'static str) -> Self {
        let problem = Diagnostic::new(code::UNKNOWN_KEY, format!("`{key}` is there twice"));
        Self::new(problem.field(key).accepted("each key once"))
    }
}

fn unknown_key(key: &str, value: impl Into<String>, keys: &'static [&'static str]) -> Diagnostic {
    Diagnostic::new(code::UNKNOWN_KEY, format!("nothing reads `{key}`"))
        .value(value)
        .one_of(key, keys.iter().copied())
}

fn of_another_type(value: String, wanted: &str) -> Diagnostic {
    let message = format!("{value} where {wanted} is wanted");
    Diagnostic::new(code::WRONG_TYPE, message)
        .value(value)
        .accepted(wanted)
}

fn out_of_range(value: String, wanted: &str) -> Diagnostic {
    let message = format!("{value} cannot be: it is to be {wanted}");
    Diagnostic::new(code::OUT_OF_RANGE, message)
        .value(value)
        .accepted(wanted)
}

/// Hands a value over to the type that wants one. What is wrong with it is noted, and something
/// else handed over, so that the rest of the question is looked at, too.
#[derive(Clone, Copy)]
struct Reader<'r> {
    given: &'r Value,
    place: Place<'r>,
    problems: &'r RefCell<Vec<Diagnostic>>,
}

impl<'r> Reader<'r> {
    fn note(self, problem: Diagnostic) {
        let place = self.place.to_string();
        let field = if place.is_empty() {
            "request".to_owned()
        } else {
            place
        };
        self.problems.borrow_mut().push(problem.field(field));
    }

    /// Notes that another type was wanted.
    fn unlike<T: Default>(self, wanted: &str) -> T {
        self.note(of_another_type(told(self.given), wanted));
        T::default()
    }

    /// Says where it is of what a type says of a value.
    fn placed<T>(self, read: Result<T, Wrong>) -> Result<T, Wrong> {
        read.map_err(|wrong| wrong.at(self.place))
    }

    /// The same with another value of the same place.
    fn with<'s>(self, given: &'s Value) -> Reader<'s>
    where
        'r: 's,
    {
        Reader { given, ..self }
    }

    fn whole(self, least: i128, most: i128) -> i128 {
        match self.given.as_number().and_then(whole) {
            Some(number) if (least..=most).contains(&number) => number,
            Some(number) => {
                let wanted = format!("a whole number from {least} to {most}");
                self.note(out_of_range(number.to_string(), &wanted));
                0
            }
            None => self.unlike("a whole number"),
        }
    }

    fn number(self) -> f64 {
        let number = self.given.as_f64();
        number.unwrap_or_else(|| self.unlike("a number"))
    }

    /// One of some words; the first where it is none of them.
    fn choice(self, choices: &'static [&'static str]) -> &'static str {
        let first = choices.first().copied().unwrap_or_default();
        let Value::String(word) = self.given else {
            self.unlike::<()>(&format!("one of {}", choices.join(", ")));
            return first;
        };
        let known = choices.iter().find(|choice| *choice == word);
        known.copied().unwrap_or_else(|| {
            // A word comes from whoever types it, who knows its option and no place.
            let problem = unknown_name(self.place.key(), word, choices.join(", "));
            self.problems.borrow_mut().push(problem);
            first
        })
    }

    fn table(self, wanted: &str) -> Vec<Pair<'r>> {
        let pairs = self.given.as_object().map(pairs);
        pairs.unwrap_or_else(|| self.unlike(wanted))
    }

    fn text(self) -> String {
        let text = self.given.as_str().map(str::to_owned);
        text.unwrap_or_else(|| self.unlike("a word or a name"))
    }
}

/// A key with its value.
type Pair<'r> = (&'r str, &'r Value);

fn pairs(table: &Map<String, Value>) -> Vec<Pair<'_>> {
    table
        .iter()
        .map(|(key, given)| (key.as_str(), given))
        .collect()
}

/// Whole numbers of a type.
macro_rules! whole {
    ($($method:ident $visit:ident $number:ty),*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
            let number = self.whole(i128::from(<$number>::MIN), i128::from(<$number>::MAX));
            let number = <$number>::try_from(number).unwrap_or_default();
            self.placed(visitor.$visit(number))
        }
    )* };
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Wrong;

    whole!(
        deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16, deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64, deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32, deserialize_i64 visit_i64 i64
    );

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.placed(match self.given {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(self.number()),
            },
            Value::String(text) => visitor.visit_str(text),
            Value::Array(values) => visitor.visit_seq(Items::new(self, values)),
            Value::Object(values) => visitor.visit_map(Keys::new(self, pairs(values))),
        })
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let flag = self.given.as_bool();
        visitor.visit_bool(flag.unwrap_or_else(|| self.unlike("yes or no")))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.placed(visitor.visit_f64(self.number()))
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.placed(visitor.visit_string(self.text()))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.given {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let values = self.given.as_array().map_or_else(
            || {
                self.unlike::<()>("a list");
                &[][..]
            },
            Vec::as_slice,
        );
        self.placed(visitor.visit_seq(Items::new(self, values)))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.given {
            Value::Array(values) if values.len() == length => self.deserialize_seq(visitor),
            other => {
                let wanted = format!("a list of {length}");
                Err(Wrong::new(of_another_type(told(other), &wanted)).at(self.place))
            }
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let keys = Keys::new(self, self.table("a table"));
        self.placed(visitor.visit_map(keys))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let values = self.table(&format!("a table of {}", fields.join(", ")));
        let (known, unknown): (Vec<_>, Vec<_>) = values
            .into_iter()
            .partition(|(key, _)| fields.contains(key));
        for (key, value) in unknown {
            let within = Reader {
                place: Place::Key(&self.place, key),
                ..self
            };
            within.note(unknown_key(key, told(value), fields));
        }
        self.placed(visitor.visit_map(Keys::new(self, known)))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        choices: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let mut rest = self.given.as_object().cloned();
        let place = Place::Key(&self.place, KIND);
        let (word, place) = match &mut rest {
            Some(table) => (table.shift_remove(KIND).unwrap_or_default(), place),
            None => (self.given.clone(), self.place),
        };
        let named = Reader {
            given: &word,
            place,
            ..self
        };
        let chosen = Chosen {
            word: named.choice(choices),
            rest: rest.map(Value::Object),
            reader: self,
        };
        self.placed(visitor.visit_enum(chosen))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        char bytes byte_buf unit unit_struct tuple_struct identifier
    }
}

/// The key that says of which kind a table is.
const KIND: &str = "kind";

/// What a word stands for, with the rest of the table that it is the kind of.
struct Chosen<'r> {
    word: &'static str,
    /// None where the word stands for itself.
    rest: Option<Value>,
    reader: Reader<'r>,
}

impl<'de> EnumAccess<'de> for Chosen<'_> {
    type Error = Wrong;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Wrong> {
        let word: StrDeserializer<'_, Wrong> = self.word.into_deserializer();
        seed.deserialize(word).map(|choice| (choice, self))
    }
}

impl<'de> VariantAccess<'de> for Chosen<'_> {
    type Error = Wrong;

    fn unit_variant(self) -> Result<(), Wrong> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Wrong> {
        let given = self.rest.unwrap_or_default();
        seed.deserialize(self.reader.with(&given))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Wrong> {
        let given = self.rest.unwrap_or_default();
        self.reader.with(&given).deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let given = self.rest.unwrap_or_default();
        let reader = self.reader.with(&given);
        reader.deserialize_struct(self.word, fields, visitor)
    }
}

/// The values of a list, one after the other.
struct Items<'r> {
    reader: Reader<'r>,
    values: std::iter::Enumerate<std::slice::Iter<'r, Value>>,
}

impl<'r> Items<'r> {
    fn new(reader: Reader<'r>, values: &'r [Value]) -> Self {
        let values = values.iter().enumerate();
        Self { reader, values }
    }
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Wrong;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Wrong> {
        let Some((item, given)) = self.values.next() else {
            return Ok(None);
        };
        let place = Place::Item(&self.reader.place, item);
        let read = seed.deserialize(Reader {
            given,
            place,
            ..self.reader
        });
        read.map(Some).map_err(|wrong| wrong.at(place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.values.len())
    }
}

/// The keys of a table with their values, and the one whose value is next.
struct Keys<'r> {
    reader: Reader<'r>,
    values: std::vec::IntoIter<Pair<'r>>,
    next: Option<Pair<'r>>,
}

impl<'r> Keys<'r> {
    fn new(reader: Reader<'r>, values: Vec<Pair<'r>>) -> Self {
        Self {
            reader,
            values: values.into_iter(),
            next: None,
        }
    }
}

impl<'de> MapAccess<'de> for Keys<'_> {
    type Error = Wrong;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Wrong> {
        self.next = self.values.next();
        let Some((key, _)) = self.next else {
            return Ok(None);
        };
        let key: StrDeserializer<'_, Wrong> = key.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Wrong> {
        let (key, given) = self.next.unwrap_or(("", &Value::Null));
        let place = Place::Key(&self.reader.place, key);
        let read = seed.deserialize(Reader {
            given,
            place,
            ..self.reader
        });
        read.map_err(|wrong| wrong.at(place))
    }
}
