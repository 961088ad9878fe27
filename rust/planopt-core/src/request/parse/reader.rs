//! Options as people write them become values, each as its entry of the table says.

use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

use super::names::by_id;
use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, code};
use crate::options::{Entry, Kind, LARGEST_COUNT, table};
use crate::quantity::{Dimension, parse};
use crate::request::ShareRequest;
use crate::request::given::whole;

/// Options by the arguments of the API, each as it was given.
pub type Options = Map<String, Value>;

/// How alike a word must be to one of a few for that to be offered.
const ALIKE: f64 = 0.6;

/// The argument of what money may be said in.
pub(super) const CURRENCY: &str = "currency";

const YES_NO: [&str; 2] = ["yes", "no"];

/// What a question takes for given, told with its answer.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Assumed {
    name: &'static str,
    value: String,
    why: Option<&'static str>,
}

/// What is asked, by the arguments of the API, what is taken for given, and everything that is wrong.
pub(super) struct Reader {
    taken: Vec<Entry>,
    given: Options,
    values: Map<String, Value>,
    problems: Vec<Diagnostic>,
    assumed: Vec<Assumed>,
    /// Whether it is a whole question with some words changed: then nothing is missed in it, and
    /// its numbers may go beyond what people may type.
    is_edited: bool,
}

impl Reader {
    pub(super) fn new(
        command: &str,
        mut given: Options,
        catalog: Option<&Catalog>,
        is_edited: bool,
    ) -> Self {
        given.retain(|_, value| !value.is_null());
        let mut reader = Self {
            taken: table().usual_of(command).collect(),
            given,
            values: Map::new(),
            problems: Vec::new(),
            assumed: Vec::new(),
            is_edited,
        };
        if let Some(catalog) = catalog {
            reader.name_by_id(catalog);
        }
        reader.contradictions();
        reader.read();
        reader.currencies();
        reader
    }

    /// Says what is taken for given, and why.
    pub(super) fn assume(
        &mut self,
        name: &'static str,
        value: impl Into<String>,
        why: Option<&'static str>,
    ) {
        let value = value.into();
        self.assumed.push(Assumed { name, value, why });
    }

    /// All that is taken for given.
    pub(super) fn assumed(&mut self) -> Vec<Assumed> {
        std::mem::take(&mut self.assumed)
    }

    /// What is read, or all that is wrong.
    pub(super) fn finish<T>(self, read: T) -> Result<T, Vec<Diagnostic>> {
        if self.problems.is_empty() {
            Ok(read)
        } else {
            Err(self.problems)
        }
    }

    /// The value of an option as it was given.
    pub(super) fn given(&self, argument: &str) -> Option<&Value> {
        self.given.get(argument)
    }

    pub(super) fn is_given(&self, argument: &str) -> bool {
        self.given(argument).is_some()
    }

    /// Remembers a problem, once.
    pub(super) fn push(&mut self, problem: Diagnostic) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Remembers a problem of an option, with its value as it was given.
    pub(super) fn wrong(
        &mut self,
        code: &'static str,
        argument: &str,
        message: impl Into<String>,
        accepted: impl Into<String>,
    ) {
        let problem = Diagnostic::new(code, message).field(flag(argument));
        let problem = problem.accepted(accepted);
        let value = self.given(argument).map(text);
        self.push(match value {
            Some(value) => problem.value(value),
            None => problem,
        });
    }

    /// Remembers what was found wrong elsewhere with the value of an option.
    pub(super) fn refuse(&mut self, argument: &str, problems: Vec<Diagnostic>) {
        for problem in problems {
            self.push(problem.field(flag(argument)));
        }
    }

    /// Remembers each of these options that is given: here it has nothing to say.
    pub(super) fn out_of_place(&mut self, arguments: &[&str], why: &str, accepted: &str) {
        for argument in arguments {
            if self.is_given(argument) {
                let message = format!("{} {why}", flag(argument));
                self.wrong(code::CONTRADICTION, argument, message, accepted);
            }
        }
    }

    /// Remembers that an option is missing that the command needs.
    pub(super) fn require(&mut self, argument: &str, accepted: &str) {
        if self.is_given(argument) {
            return;
        }
        let entry = self.entry(argument);
        let asked = entry.and_then(|entry| entry.required.clone());
        let message = asked.unwrap_or_else(|| format!("{} is missing", flag(argument)));
        self.wrong(code::MISSING_OPTION, argument, message, accepted);
    }

    /// Every option by its argument, as it was given or by default.
    pub(super) fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// Whether it is a whole question with some words changed.
    pub(super) fn is_edited(&self) -> bool {
        self.is_edited
    }

    /// Whether a switch is on.
    pub(super) fn is_on(&self, argument: &str) -> bool {
        self.values.get(argument) == Some(&Value::Bool(true))
    }

    fn name_by_id(&mut self, catalog: &Catalog) {
        for (argument, value) in &mut self.given {
            let entry = self
                .taken
                .iter()
                .find(|entry| entry.argument() == *argument);
            if let Some(entry) = entry {
                *value = by_id(entry, value.clone(), catalog);
            }
        }
    }

    fn read(&mut self) {
        let taken = std::mem::take(&mut self.taken);
        for entry in &taken {
            if let Some(value) = self.value(entry) {
                self.values.insert(entry.argument(), value);
            }
        }
        self.taken = taken;
    }

    /// What is part of a question, by the groups of that; no names, and a word or a range in place
    /// of a number, leave it open.
    pub(super) fn groups(&self) -> Value {
        let is_open = |entry: &Entry| match self.values.get(&entry.argument()) {
            Some(Value::Array(names)) => names.is_empty() || entry.kind == Kind::Range,
            Some(Value::String(_)) => entry.kind == Kind::Count,
            _ => false,
        };
        let asked = |entry: &Entry| entry.path.clone().filter(|_| !is_open(entry));
        self.tables(asked).into()
    }

    /// The same by the names that a plan records it under.
    pub(super) fn recorded(&self) -> Map<String, Value> {
        let asked = |entry: &Entry| entry.path.is_some().then(|| entry.argument());
        self.tables(|entry| entry.recorded.clone().or_else(|| asked(entry)))
    }

    /// Values by other names, in a table where a name is `table.key`.
    fn tables(&self, name: impl Fn(&Entry) -> Option<String>) -> Map<String, Value> {
        let mut tables = Map::new();
        for entry in &self.taken {
            if let (Some(name), Some(value)) = (name(entry), self.values.get(&entry.argument())) {
                match (name.split_once('.'), value) {
                    (Some((table, "*")), Value::Object(pairs)) => {
                        for (key, value) in pairs {
                            tables.entry(table).or_insert_with(|| json!({}))[key] = value.clone();
                        }
                    }
                    (Some((table, key)), _) => {
                        tables.entry(table).or_insert_with(|| json!({}))[key] = value.clone();
                    }
                    (None, _) => drop(tables.insert(name, value.clone())),
                }
            }
        }
        tables
    }

    fn entry(&self, argument: &str) -> Option<&Entry> {
        self.taken.iter().find(|entry| entry.argument() == argument)
    }

    fn contradictions(&mut self) {
        let mut found = Vec::new();
        let is_on = |argument: &str| {
            let value = self.given(argument);
            value.is_some_and(|value| *value != false)
        };
        for (argument, _) in self.given.iter().filter(|(argument, _)| is_on(argument)) {
            for (other, both) in self
                .entry(argument)
                .iter()
                .flat_map(|entry| &entry.excludes)
            {
                let other = other.replace('-', "_");
                if is_on(&other) {
                    let message = format!("{} and {} {both}", flag(argument), flag(&other));
                    found.push((argument.clone(), message));
                }
            }
        }
        for (argument, message) in found {
            self.wrong(code::CONTRADICTION, &argument, message, "one of the two");
        }
    }

    fn value(&mut self, entry: &Entry) -> Option<Value> {
        let given = self.given(&entry.argument()).cloned();
        let default = || entry.default.clone().map(Value::String);
        if given.is_none() && entry.default_value.is_some() {
            return entry.default_value.map(Value::from);
        }
        match entry.kind {
            Kind::Switch => {
                let yes = entry.default.as_deref() == Some("yes");
                return Some(given.map_or(yes, |given| is_yes(&given)).into());
            }
            Kind::Pairs if given.is_none() => return Some(json!({})),
            Kind::Names | Kind::Choices | Kind::Files if given.is_none() => {
                let default = entry.default.iter().flat_map(|names| names.split(", "));
                return Some(default.collect());
            }
            _ => {}
        }
        let given = given.or_else(default)?;
        match entry.kind {
            Kind::Quantity => {
                let unit = entry.unit.as_deref().unwrap_or_default();
                self.quantity(entry, &given, unit).map(Value::from)
            }
            Kind::Count if entry.choices.contains(&text(&given)) => Some(text(&given).into()),
            Kind::Count => self.count(entry, &given).map(Value::from),
            Kind::Range => self.range(entry, &given),
            Kind::Money => {
                let hourly = given.as_str().is_some_and(|text| text.contains('/'));
                let unit = if hourly { "usd_per_hour" } else { "usd" };
                let usd = self.quantity(entry, &given, unit)?;
                Some(json!({ "usd": usd, "hourly": hourly }))
            }
            Kind::Text | Kind::Name | Kind::File => Some(text(&given).into()),
            Kind::Names | Kind::Choices | Kind::Files => Some(self.list(entry, &given).into()),
            Kind::Choice => {
                let words = entry.choices.iter().map(String::as_str);
                let words: Vec<&str> = words.collect();
                self.word(entry, &text(&given), &words).map(Value::from)
            }
            Kind::Switch => None,
            Kind::Truth => match given {
                Value::Bool(flag) => Some(flag.into()),
                given => {
                    let word = self.word(entry, &text(&given), &YES_NO)?;
                    Some((word == YES_NO[0]).into())
                }
            },
            Kind::Pairs => Some(self.pairs(entry, &given).into()),
        }
    }

    fn list(&mut self, entry: &Entry, given: &Value) -> Vec<Value> {
        let names = match (entry.kind, given) {
            (Kind::Files, Value::String(file)) => vec![file.clone()],
            (Kind::Files, Value::Array(files)) => files.iter().map(text).collect(),
            _ => self.names(entry, given),
        };
        let words: Vec<&str> = entry.choices.iter().map(String::as_str).collect();
        let names = names.into_iter().filter_map(|name| {
            if entry.kind == Kind::Choices {
                return self.word(entry, &name, &words);
            }
            Some(name)
        });
        names.map(Value::from).collect()
    }

    /// Names between commas, or a list of them; at least one.
    fn names(&mut self, entry: &Entry, given: &Value) -> Vec<String> {
        let parts: Vec<String> = match given {
            Value::String(names) => names.split(',').map(str::to_owned).collect(),
            Value::Array(names) => names.iter().map(text).collect(),
            Value::Object(pairs) => pairs.keys().cloned().collect(),
            other => vec![text(other)],
        };
        let trimmed = parts.iter().map(|part| part.trim());
        let names: Vec<String> = trimmed
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        if names.is_empty() && !parts.is_empty() {
            let problem = Diagnostic::new(
                code::MALFORMED_OPTION,
                format!("{} names nothing", entry.flag()),
            );
            let problem = problem.field(entry.flag()).value(text(given));
            self.push(problem.accepted("names between commas"));
        }
        names
    }

    /// Names with a number each: `rtx-4090=8`, or a list of such; of prices, dollars.
    fn pairs(&mut self, entry: &Entry, given: &Value) -> Map<String, Value> {
        let pairs: Vec<(String, Value)> = match given {
            Value::Object(pairs) => pairs.clone().into_iter().collect(),
            given => {
                let mut pairs = Vec::new();
                let names = self.names(entry, given);
                for name in names.iter().flat_map(|names| names.split(',')) {
                    match pair_of(entry, name) {
                        Some((part, number)) if !part.trim().is_empty() => {
                            pairs.push((part.trim().to_owned(), number.trim().into()));
                        }
                        _ => self.says_no_number(entry, name, &pair_accepted(entry)),
                    }
                }
                pairs
            }
        };
        let words: Vec<&str> = entry.choices.iter().map(String::as_str).collect();
        let mut read = Map::new();
        for (part, number) in pairs {
            if !words.is_empty() && self.word(entry, &part, &words).is_none() {
                continue;
            }
            let value = if number == "off" {
                Some(0.0.into())
            } else if entry.shares.contains(&part) {
                let most = Some(1.0);
                let entry = Entry {
                    most,
                    ..entry.clone()
                };
                self.quantity(&entry, &number, "share").map(Value::from)
            } else if entry.unit.as_deref() == Some("count") {
                self.count(entry, &number).map(Value::from)
            } else if let Some(unit) = entry.unit.as_deref() {
                self.quantity(entry, &number, unit).map(Value::from)
            } else if part.contains('/') {
                let said = text(&number);
                let per_time = said.contains('/');
                let hourly = if per_time { said } else { format!("{said}/h") };
                let hourly = self.quantity(entry, &hourly.into(), "usd_per_hour");
                hourly.map(Value::from)
            } else {
                self.quantity(entry, &number, "usd").map(Value::from)
            };
            if let Some(value) = value {
                read.insert(part, value);
            }
        }
        read
    }

    /// Names with a number behind a colon: `a100-sxm-80:32,h100-sxm:32`.
    pub(super) fn shares(&mut self, argument: &str, names: &[String]) -> Vec<ShareRequest> {
        let Some(mut entry) = self.entry(argument).cloned() else {
            return Vec::new();
        };
        (entry.least, entry.most) = (Some(0.0), Some(LARGEST_COUNT));
        let mut shares = Vec::new();
        for name in names {
            let Some((part, number)) = name.rsplit_once(':') else {
                let accepted = "ID:N between commas, such as a100-sxm-80:32,h100-sxm:32";
                self.says_no_number(&entry, name, accepted);
                continue;
            };
            let number = self.count(&entry, &number.into());
            shares.push(ShareRequest {
                accelerator: part.trim().to_owned(),
                accelerators: number
                    .and_then(|many| u32::try_from(many).ok())
                    .unwrap_or(0),
            });
        }
        shares
    }

    fn says_no_number(&mut self, entry: &Entry, name: &str, accepted: &str) {
        let problem = Diagnostic::new(code::MALFORMED_OPTION, format!("`{name}` says no number"));
        let problem = problem.field(entry.flag()).value(name);
        self.push(problem.accepted(accepted));
    }

    /// One of a few words.
    fn word(&mut self, entry: &Entry, value: &str, words: &[&str]) -> Option<String> {
        if words.contains(&value) {
            return Some(value.to_owned());
        }
        self.push(unknown_word(&entry.argument(), value, words));
        None
    }

    /// Refuses names that could be part of another unit.
    fn currencies(&mut self) {
        let rates = self.values.get(CURRENCY).and_then(Value::as_object);
        let is_code =
            |name: &String| name.len() == 3 && name.bytes().all(|b| b.is_ascii_uppercase());
        if rates.is_some_and(|rates| !rates.keys().all(is_code)) {
            let message = "a currency is three capital letters";
            self.wrong(code::MALFORMED_OPTION, CURRENCY, message, "EUR=1.08");
        }
    }

    /// Money that is said in the currency of the question as the same number of dollars, and the
    /// dollars of one unit. The table has the currency before the first option of money.
    fn in_dollars<'a>(&self, text: &'a str) -> (Cow<'a, str>, f64) {
        let rates = self.values.get(CURRENCY).and_then(Value::as_object);
        let said = rates
            .into_iter()
            .flatten()
            .find(|(name, _)| text.contains(*name));
        match said.and_then(|(name, rate)| Some((name, rate.as_f64()?))) {
            Some((name, rate)) => (text.replacen(name, "$", 1).into(), rate),
            None => (text.into(), 1.0),
        }
    }

    /// A quantity within its limits; numbers are SI units.
    fn quantity(&mut self, entry: &Entry, given: &Value, unit: &str) -> Option<f64> {
        let read = match given {
            Value::String(text) => {
                let (said, times) = self.in_dollars(text);
                parse(&said, Dimension::from_name(unit)?).map(|number| number * times)
            }
            given => match number(given) {
                Some(number) => Ok(number),
                None => parse(&text(given), Dimension::from_name(unit)?),
            },
        };
        let problem = match read {
            Err(error) => {
                let code = if error.is_out_of_range() {
                    code::OPTION_OUT_OF_RANGE
                } else {
                    code::MALFORMED_OPTION
                };
                Diagnostic::new(code, error.to_string()).accepted(error.accepted())
            }
            Ok(number) => {
                let (least, most) = entry.range();
                let is_ours = self.is_edited && !given.is_string();
                if is_ours || (least..=most).contains(&number) {
                    return Some(number);
                }
                let (least, most) = (general(least), general(most));
                let message = format!(
                    "{} must be at least {least} and at most {most}",
                    entry.flag()
                );
                let problem = Diagnostic::new(code::OPTION_OUT_OF_RANGE, message);
                problem.accepted(format!("{least} to {most}{}", said_of(unit)))
            }
        };
        self.push(problem.field(entry.flag()).value(text(given)));
        None
    }

    /// A whole number, or the ends of a range of them.
    fn range(&mut self, entry: &Entry, given: &Value) -> Option<Value> {
        let said = text(given);
        let Some((least, most)) = said.split_once("..") else {
            return self.count(entry, given).map(Value::from);
        };
        let [least, most] = [least, most].map(|end| self.count(entry, &end.into()));
        let (least, most) = (least?, most?);
        if least > most {
            let message = format!("the range of {} ends before it begins", entry.flag());
            let problem = Diagnostic::new(code::OPTION_OUT_OF_RANGE, message);
            let problem = problem.field(entry.flag()).value(said);
            self.push(problem.accepted(format!("{most}..{least}")));
            return None;
        }
        Some(json!([least, most]))
    }

    /// A whole number.
    fn count(&mut self, entry: &Entry, given: &Value) -> Option<u64> {
        let (least, most) = entry.range();
        let read = match given {
            Value::String(text) => text.trim().replace('_', "").parse().ok(),
            given => number(given),
        };
        let whole = |number: &f64| (least..=most).contains(number) && number.fract() == 0.0;
        if let Some(count) = read.filter(whole) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a whole number from 0 to 2^31"
            )]
            return Some(count as u64);
        }
        let message = format!("{} must be a whole number from {least}", entry.flag());
        let problem = Diagnostic::new(code::OPTION_OUT_OF_RANGE, message);
        let problem = problem.field(entry.flag()).value(text(given));
        let accepted = format!("{least}, {}, {} ... {most}", least + 1.0, least + 2.0);
        self.push(problem.accepted(accepted));
        None
    }
}

/// A word that is none of a few.
pub(super) fn unknown_word(argument: &str, value: &str, words: &[&str]) -> Diagnostic {
    let message = format!("unknown {} `{value}`", argument.replace('_', " "));
    let problem = Diagnostic::new(code::UNKNOWN_NAME, message);
    let problem = problem.field(flag(argument)).value(value);
    let problem = problem.accepted(words.join(", "));
    let alike = |word: &&str| strsim::normalized_levenshtein(value, word);
    let words = words.iter().filter(|word| alike(word) >= ALIKE);
    match words.max_by(|a, b| alike(a).total_cmp(&alike(b))) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem,
    }
}

/// An option as it is typed.
pub(super) fn flag(argument: &str) -> String {
    let named = |entry: &&Entry| entry.argument() == argument;
    let known = table().options.iter().find(named);
    known.map_or_else(|| format!("--{}", argument.replace('_', "-")), Entry::flag)
}

/// A value as it was written.
pub(super) fn text(given: &Value) -> String {
    match given {
        Value::Null => "nothing".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => {
            whole(number).map_or_else(|| number.to_string(), |n| n.to_string())
        }
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(","),
        Value::Object(values) => {
            let pairs = values
                .iter()
                .map(|(name, value)| format!("{name}={}", text(value)));
            pairs.collect::<Vec<_>>().join(",")
        }
    }
}

fn is_yes(given: &Value) -> bool {
    match given {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(values) => !values.is_empty(),
    }
}

fn number(given: &Value) -> Option<f64> {
    let flag = given.as_bool().map(|flag| f64::from(u8::from(flag)));
    given.as_f64().or(flag)
}

/// A name and its number: `rtx-4090=8`; where a name alone is enough, `8xrtx-4090` too; where a number
/// alone is, `host:1`.
fn pair_of<'n>(entry: &'n Entry, name: &'n str) -> Option<(&'n str, Cow<'n, str>)> {
    if let Some((part, number)) = name.split_once('=') {
        return Some((part, number.into()));
    }
    if let Some(unnamed) = &entry.unnamed {
        return Some(match name.split_once(':') {
            Some((part, number)) => (part, number.into()),
            None => (unnamed, name.into()),
        });
    }
    let each = entry.each?;
    let counted = name.split_once(['x', 'X']).filter(|(number, _)| {
        let digits = number.trim();
        !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
    });
    Some(match counted {
        Some((number, part)) => (part, number.into()),
        None => (name, each.to_string().into()),
    })
}

fn pair_accepted(entry: &Entry) -> String {
    let example = entry.example.as_deref().unwrap_or_default();
    let form = match (entry.each, &entry.unnamed) {
        (Some(_), _) => "NxID",
        (_, Some(_)) => "N or NAME:N",
        _ => "ID=N",
    };
    format!("{form}, such as {example}")
}

/// The unit that the limits of a quantity are told in.
fn said_of(unit: &str) -> &'static str {
    match unit {
        "bytes" => " B",
        "requests_per_second" => "/s",
        "seconds" => " s",
        "tokens_per_second" => " tok/s",
        "usd" => " dollars",
        "usd_per_hour" => " dollars per hour",
        "usd_per_kwh" => " dollars per kWh",
        "watts" => " W",
        _ => "",
    }
}

/// A number of at most six digits, as people read it: `0.01`, `1e+12`.
fn general(number: f64) -> String {
    const DIGITS: i32 = 6;
    let written = format!("{number:.5e}");
    let Some((mantissa, exponent)) = written.split_once('e') else {
        return written;
    };
    let power: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        let text = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            text
        };
        text.to_owned()
    };
    if (-4..DIGITS).contains(&power) {
        let places = usize::try_from(DIGITS - 1 - power).unwrap_or(0);
        return trimmed(&format!("{number:.places$}"));
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), power.abs())
}
