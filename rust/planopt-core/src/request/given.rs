//! Questions as they are handed over, from whatever language: a tree of plain values, and how it
//! becomes a question. Everything that is wrong is collected, each with its place.

use std::cell::RefCell;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, Expected, IntoDeserializer,
    MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};

use crate::diagnostic::option::unknown_name;
use crate::diagnostic::{Diagnostic, code};

/// A value of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// Nothing.
    Nothing,
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Whole(i128),
    /// Any other number.
    Number(f64),
    /// A word or a name.
    Text(String),
    /// Values in their order.
    List(Vec<Given>),
    /// Values by their names.
    Table(Vec<(String, Given)>),
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
            Self::List(values) => write!(f, "a list of {}", values.len()),
            Self::Table(values) => write!(f, "a table of {}", values.len()),
        }
    }
}

impl From<serde_json::Value> for Given {
    fn from(value: serde_json::Value) -> Self {
        use serde_json::Value;
        match value {
            Value::Null => Self::Nothing,
            Value::Bool(flag) => Self::Flag(flag),
            Value::Number(number) => match number.as_i128() {
                Some(whole) => Self::Whole(whole),
                None => Self::of_float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Self::Text(text),
            Value::Array(values) => Self::List(values.into_iter().map(Self::from).collect()),
            Value::Object(values) => {
                let named = values.into_iter().map(|(name, value)| (name, value.into()));
                Self::Table(named.collect())
            }
        }
    }
}

impl Given {
    /// A number with a fraction, or one that is too large for whole numbers in 64 bits: JSON's
    /// reader has floats for both.
    fn of_float(number: f64) -> Self {
        if (WHOLE_IN_64_BITS..WHOLE_IN_128_BITS).contains(&number.abs()) {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "it is whole, and within 128 bits"
            )]
            return Self::Whole(number as i128);
        }
        Self::Number(number)
    }
}

const WHOLE_IN_64_BITS: f64 = 9_223_372_036_854_775_808.0;
const WHOLE_IN_128_BITS: f64 = 1e38;

/// Reads a question in JSON.
///
/// # Errors
///
/// As [`read`], and if it is no JSON.
pub fn read_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, Vec<Diagnostic>> {
    let given: serde_json::Value = serde_json::from_slice(json).map_err(|error| {
        let problem = Diagnostic::new(code::WRONG_TYPE, format!("this is no JSON: {error}"));
        vec![problem.field("request").accepted("a question in JSON")]
    })?;
    read(&Given::from(given))
}

/// Reads a question.
///
/// # Errors
///
/// Each key that nothing reads, each value of another type, each number that cannot be and each
/// word that is none of the choices, up to the first key that is absent.
pub fn read<T: DeserializeOwned>(given: &Given) -> Result<T, Vec<Diagnostic>> {
    read_at(Place::Top, given)
}

/// Reads a value that stands for itself.
///
/// # Errors
///
/// As [`read`].
pub fn read_at<T: DeserializeOwned>(place: Place<'_>, given: &Given) -> Result<T, Vec<Diagnostic>> {
    let problems = RefCell::default();
    let read = T::deserialize(Reader {
        given,
        place,
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

/// Where a value stands: `load.sizes`, `shares[1].accelerator`.
#[derive(Clone, Copy, Debug)]
pub enum Place<'p> {
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
    given: &'r Given,
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
        self.note(of_another_type(self.given.to_string(), wanted));
        T::default()
    }

    /// Says where it is of what a type says of a value.
    fn placed<T>(self, read: Result<T, Wrong>) -> Result<T, Wrong> {
        read.map_err(|wrong| wrong.at(self.place))
    }

    fn whole(self, least: i128, most: i128) -> i128 {
        match *self.given {
            Given::Whole(number) if (least..=most).contains(&number) => number,
            Given::Whole(number) => {
                let wanted = format!("a whole number from {least} to {most}");
                self.note(out_of_range(number.to_string(), &wanted));
                0
            }
            _ => self.unlike("a whole number"),
        }
    }

    fn number(self) -> f64 {
        match *self.given {
            #[expect(clippy::cast_precision_loss, reason = "the nearest number will do")]
            Given::Whole(number) => number as f64,
            Given::Number(number) if number.is_finite() => number,
            Given::Number(number) => {
                self.note(out_of_range(number.to_string(), "a finite number"));
                0.0
            }
            _ => self.unlike("a number"),
        }
    }

    /// One of some words; the first where it is none of them.
    fn choice(self, choices: &'static [&'static str]) -> &'static str {
        let first = choices.first().copied().unwrap_or_default();
        let Given::Text(word) = self.given else {
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

    fn table(self, wanted: &str) -> &'r [(String, Given)] {
        if let Given::Table(values) = self.given {
            values
        } else {
            self.unlike::<()>(wanted);
            &[]
        }
    }

    fn text(self) -> String {
        match self.given {
            Given::Text(text) => text.clone(),
            _ => self.unlike("a word or a name"),
        }
    }
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
            Given::Nothing => visitor.visit_unit(),
            Given::Flag(flag) => visitor.visit_bool(*flag),
            Given::Whole(number) => match (u64::try_from(*number), i64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_u64(number),
                (_, Ok(number)) => visitor.visit_i64(number),
                _ => visitor.visit_i128(*number),
            },
            Given::Number(_) => visitor.visit_f64(self.number()),
            Given::Text(text) => visitor.visit_str(text),
            Given::List(values) => visitor.visit_seq(Items {
                reader: self,
                values,
                next: 0,
            }),
            Given::Table(values) => visitor.visit_map(Keys::new(self, values)),
        })
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_bool(match self.given {
            Given::Flag(flag) => *flag,
            _ => self.unlike("yes or no"),
        })
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
            Given::Nothing => visitor.visit_none(),
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
        let values: &[Given] = if let Given::List(values) = self.given {
            values
        } else {
            self.unlike::<()>("a list");
            &[]
        };
        let items = Items {
            reader: self,
            values,
            next: 0,
        };
        self.placed(visitor.visit_seq(items))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.given {
            Given::List(values) if values.len() == length => self.deserialize_seq(visitor),
            other => {
                let wanted = format!("a list of {length}");
                Err(Wrong::new(of_another_type(other.to_string(), &wanted)).at(self.place))
            }
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let values = self.table("a table");
        let keys = Keys::new(self, values);
        self.placed(visitor.visit_map(keys))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let values = self.table(&format!("a table of {}", fields.join(", ")));
        let (known, unknown): (Vec<_>, Vec<_>) =
            (values.iter()).partition(|(key, _)| fields.contains(&key.as_str()));
        for (key, value) in unknown {
            let within = Reader {
                place: Place::Key(&self.place, key),
                ..self
            };
            within.note(unknown_key(key, value.to_string(), fields));
        }
        let keys = Keys {
            reader: self,
            values: known,
            next: 0,
        };
        self.placed(visitor.visit_map(keys))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        choices: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let (word, rest) = match self.given {
            Given::Table(values) => {
                let (kind, rest): (Vec<_>, Vec<_>) =
                    (values.iter().cloned()).partition(|(key, _)| key == KIND);
                (kind.into_iter().next().map(|(_, kind)| kind), rest)
            }
            word => (Some(word.clone()), Vec::new()),
        };
        let of_table = matches!(self.given, Given::Table(_));
        let place = Place::Key(&self.place, KIND);
        let given = word.unwrap_or(Given::Nothing);
        let named = Reader {
            given: &given,
            place: if of_table { place } else { self.place },
            ..self
        };
        let chosen = Chosen {
            word: named.choice(choices),
            rest: of_table.then_some(Given::Table(rest)),
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
    rest: Option<Given>,
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
        let given = self.rest.unwrap_or(Given::Nothing);
        seed.deserialize(Reader {
            given: &given,
            ..self.reader
        })
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Wrong> {
        let given = self.rest.unwrap_or(Given::Nothing);
        Reader {
            given: &given,
            ..self.reader
        }
        .deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let given = self.rest.unwrap_or(Given::Nothing);
        Reader {
            given: &given,
            ..self.reader
        }
        .deserialize_struct(self.word, fields, visitor)
    }
}

/// The values of a list, one after the other.
struct Items<'r> {
    reader: Reader<'r>,
    values: &'r [Given],
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Wrong;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Wrong> {
        let Some(given) = self.values.get(self.next) else {
            return Ok(None);
        };
        let place = Place::Item(&self.reader.place, self.next);
        self.next += 1;
        let read = seed.deserialize(Reader {
            given,
            place,
            ..self.reader
        });
        read.map(Some).map_err(|wrong| wrong.at(place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.values.len() - self.next)
    }
}

/// The keys of a table with their values.
struct Keys<'r> {
    reader: Reader<'r>,
    values: Vec<&'r (String, Given)>,
    next: usize,
}

impl<'r> Keys<'r> {
    fn new(reader: Reader<'r>, values: &'r [(String, Given)]) -> Self {
        Self {
            reader,
            values: values.iter().collect(),
            next: 0,
        }
    }
}

impl<'de> MapAccess<'de> for Keys<'_> {
    type Error = Wrong;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Wrong> {
        let Some((key, _)) = self.values.get(self.next) else {
            return Ok(None);
        };
        let key: StrDeserializer<'_, Wrong> = key.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Wrong> {
        let (key, given) = self.values[self.next];
        self.next += 1;
        let place = Place::Key(&self.reader.place, key);
        let read = seed.deserialize(Reader {
            given,
            place,
            ..self.reader
        });
        read.map_err(|wrong| wrong.at(place))
    }
}
