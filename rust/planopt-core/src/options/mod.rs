//! The one table of options: what each is called, what it means, and which commands take it.
//!
//! It is data, `options.toml`. The command line, the typed keywords of Python, the readers of files
//! and the reference page are made of it, so that an option is declared once.

use crate::quantity::{Dimension, parse};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// A millionth of a dollar, a second or a token per second: what amounts are counted in. What is
/// divided by less than that may leave the range of floating-point numbers.
const SMALLEST_QUANTITY: f64 = 1e-6;
/// A trillion dollars, watts or tokens per second: beyond anything there is, and its millionths are
/// still a 64-bit integer.
const LARGEST_QUANTITY: f64 = 1e12;
/// 2^31: more than there is of anything that is counted one by one.
pub(crate) const LARGEST_COUNT: f64 = 2_147_483_648.0;
/// The panel of how an answer is written.
const WRITTEN: &str = "Output";

/// Every option of every command.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Commands as they are typed.
    pub commands: Vec<String>,
    /// Groups of options in help and reference, in their order.
    pub panels: Vec<String>,
    /// Commands that ask what another one asks, in another place: they take its options, but for how
    /// it writes the answer.
    #[serde(default, skip_serializing)]
    pub like: BTreeMap<String, String>,
    /// The options, in the order of their panels.
    #[serde(rename(deserialize = "option"))]
    pub options: Vec<Entry>,
}

/// How the value of an option is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A number with a unit.
    Quantity,
    /// A whole number.
    Count,
    /// A whole number, or the least and the most of some: `1024..16384`.
    Range,
    /// Money, or money per hour or month.
    Money,
    /// Any text.
    Text,
    /// A name that is looked up.
    Name,
    /// Names between commas.
    Names,
    /// One of a few words.
    Choice,
    /// Some of a few words, between commas.
    Choices,
    /// There or not.
    Switch,
    /// Yes or no; in Python a truth value, too.
    Truth,
    /// Names with a number each.
    Pairs,
    /// A file or folder.
    File,
    /// Several files or folders.
    Files,
}

/// One option.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// As it is typed, without the dashes in front.
    pub name: String,
    /// Field of a request, `group.field`; none of what is not part of a question.
    pub path: Option<String>,
    /// Name in the request of a plan, where it has no path or that is not its argument; in a table,
    /// `table.name`.
    pub recorded: Option<String>,
    /// Group in the help.
    pub panel: String,
    /// How it is read.
    pub kind: Kind,
    /// What a quantity measures, as [`Dimension`] names it.
    pub unit: Option<String>,
    /// What a name is one of.
    pub of: Option<String>,
    /// An example of the value, or its name.
    #[serde(default)]
    pub metavar: String,
    /// One sentence without its full stop.
    pub help: String,
    /// The smallest number; filled in where the file leaves it out.
    pub least: Option<f64>,
    /// The largest number; filled in where the file leaves it out.
    pub most: Option<f64>,
    /// The words that it may be.
    #[serde(default)]
    pub choices: Vec<String>,
    /// Those whose number in a pair is a share.
    #[serde(default)]
    pub shares: Vec<String>,
    /// One of the pairs that it may be.
    pub example: Option<String>,
    /// The number of a name of a pair that says none: then `2xNAME` is a pair as well.
    pub each: Option<u32>,
    /// The name of a number of a pair that says none: then `N` and `NAME:N` are pairs as well.
    pub unnamed: Option<String>,
    /// What it is where it is not given.
    pub default: Option<String>,
    /// The same of a quantity, in base units; filled in.
    #[serde(skip_deserializing)]
    pub default_value: Option<f64>,
    /// What it is then in words, where that follows from other options.
    pub default_text: Option<String>,
    /// Argument of the API, where that is not its name.
    pub keyword: Option<String>,
    /// Other names, taken in silence.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Switches that stand for one of its values, taken in silence.
    #[serde(default)]
    pub switches: BTreeMap<String, String>,
    /// Other spellings of its values, taken in silence.
    #[serde(default)]
    pub spelled: BTreeMap<String, String>,
    /// Names under which its value is written without an ending: `--tpot 30ms` is
    /// `--target 30ms/tok`.
    #[serde(default)]
    pub endings: BTreeMap<String, String>,
    /// What other tools call it: suggested, not taken.
    #[serde(default)]
    pub also: Vec<String>,
    /// Whether the command line takes it several times.
    #[serde(default)]
    pub repeat: bool,
    /// Keys of files that mean the same, by kind of file.
    #[serde(default)]
    pub toml: BTreeMap<String, Vec<String>>,
    /// Who takes it, with what is different there.
    pub commands: BTreeMap<String, Command>,
    /// What is asked where the command that takes it needs it and it is missing.
    #[serde(skip)]
    pub required: Option<String>,
    /// Options that it cannot stand beside there, with what both say.
    #[serde(skip)]
    pub excludes: BTreeMap<String, String>,
}

/// How one command takes an option: what is given here goes before what the option says.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "most are as of the option")]
pub struct Command {
    /// Why it does not take it; then nothing else is said.
    pub refuse: Option<String>,
    /// What is asked where it is missing, but needed.
    pub required: Option<String>,
    /// Options that it cannot stand beside, with what both say.
    pub excludes: BTreeMap<String, String>,
    pub panel: Option<String>,
    pub path: Option<String>,
    pub kind: Option<Kind>,
    pub keyword: Option<String>,
    pub metavar: Option<String>,
    pub help: Option<String>,
    pub most: Option<f64>,
    pub choices: Option<Vec<String>>,
    pub default: Option<String>,
    pub default_text: Option<String>,
    pub aliases: Option<Vec<String>>,
    pub repeat: Option<bool>,
}

/// The table, read once.
///
/// # Panics
///
/// If `options.toml` is wrong, which the first test of this module sees.
pub fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let table = read(include_str!("options.toml"));
        table.unwrap_or_else(|problem| panic!("options.toml: {problem}"))
    })
}

/// The table as JSON.
pub fn options_json() -> &'static [u8] {
    static JSON: OnceLock<Vec<u8>> = OnceLock::new();
    JSON.get_or_init(|| serde_json::to_vec(table()).unwrap_or_default())
}

impl Table {
    /// The option of a name.
    pub fn option(&self, name: &str) -> Option<&Entry> {
        self.options.iter().find(|entry| entry.name == name)
    }

    /// The options of a command, each as it takes it; those that it refuses, or takes for how it
    /// writes its answer, are as usual.
    pub fn usual_of<'t>(&'t self, command: &'t str) -> impl Iterator<Item = Entry> + 't {
        let known = self.options.iter();
        let known = known.filter(move |entry| entry.commands.contains_key(command));
        known.map(move |entry| {
            let taken = entry.taken(command);
            let asks = taken.filter(|taken| taken.panel == entry.panel);
            asks.unwrap_or_else(|| entry.clone())
        })
    }

    /// The option that a key of a kind of file means, such as `class.target` of `fleet`.
    pub fn of_key(&self, file: &str, key: &str) -> Option<&Entry> {
        let means = |entry: &&Entry| {
            let keys = entry.toml.get(file);
            keys.is_some_and(|keys| keys.iter().any(|each| each == key))
        };
        self.options.iter().find(means)
    }
}

impl Entry {
    /// As it is typed.
    pub fn flag(&self) -> String {
        format!("--{}", self.name)
    }

    /// The argument of the API.
    pub fn argument(&self) -> String {
        let named = || self.name.replace('-', "_");
        self.keyword.clone().unwrap_or_else(named)
    }

    /// It as a command takes it; none if the command does not.
    pub fn taken(&self, command: &str) -> Option<Self> {
        let own = self.commands.get(command)?;
        if own.refuse.is_some() {
            return None;
        }
        let mut taken = self.clone();
        taken.excludes.clone_from(&own.excludes);
        taken.required.clone_from(&own.required);
        if own.path.is_some() {
            taken.path.clone_from(&own.path);
        }
        if own.keyword.is_some() {
            taken.keyword.clone_from(&own.keyword);
        }
        if let Some(panel) = &own.panel {
            taken.panel.clone_from(panel);
        }
        taken.kind = own.kind.unwrap_or(self.kind);
        taken.most = own.most.or(self.most);
        if let Some(choices) = &own.choices {
            taken.choices.clone_from(choices);
        }
        if own.default.is_some() || own.default_text.is_some() {
            taken.default.clone_from(&own.default);
            taken.default_value = None;
        }
        Some(taken)
    }

    /// What a quantity measures; of money, the plain kind.
    pub fn dimension(&self) -> Option<Dimension> {
        let unit = match self.kind {
            Kind::Money => "usd",
            Kind::Count | Kind::Range => "count",
            _ => self.unit.as_deref()?,
        };
        Dimension::from_name(unit)
    }

    /// The smallest and the largest number.
    pub fn range(&self) -> (f64, f64) {
        (
            self.least.unwrap_or(f64::MIN),
            self.most.unwrap_or(f64::MAX),
        )
    }

    fn fill_in(&mut self, like: &BTreeMap<String, String>) {
        for (command, other) in like.iter().filter(|_| self.panel != WRITTEN) {
            if let Some(own) = self.commands.get(other).cloned() {
                self.commands.entry(command.clone()).or_insert(own);
            }
        }
        if let (Kind::Quantity, Some(text), Some(unit)) =
            (self.kind, &self.default, self.dimension())
        {
            self.default_value = parse(text, unit).ok();
        }
        let (least, most) = match self.kind {
            Kind::Quantity | Kind::Money => (SMALLEST_QUANTITY, LARGEST_QUANTITY),
            Kind::Count | Kind::Range => (1.0, LARGEST_COUNT),
            Kind::Pairs => (0.0, LARGEST_QUANTITY),
            _ => return,
        };
        self.least.get_or_insert(least);
        self.most.get_or_insert(most);
    }
}

fn read(text: &str) -> Result<Table, String> {
    let mut table: Table = toml::from_str(text).map_err(|error| error.to_string())?;
    let like = &table.like;
    (table.options.iter_mut()).for_each(|entry| entry.fill_in(like));
    check(&table)?;
    Ok(table)
}

/// Refuses names that are taken twice by a command, and words that mean nothing.
fn check(table: &Table) -> Result<(), String> {
    let mut taken = BTreeSet::new();
    let mut paths = BTreeSet::new();
    for entry in &table.options {
        let wrong = |what: &str| Err(format!("`{}` {what}", entry.name));
        let taking = entry.commands.iter();
        for (command, own) in taking.filter(|(_, own)| own.refuse.is_none()) {
            let keyword = own.keyword.as_ref().or(entry.keyword.as_ref());
            let flags = [&entry.name].into_iter().chain(keyword);
            let flags = flags.chain(own.aliases.as_ref().unwrap_or(&entry.aliases));
            let mut flags = flags
                .chain(entry.switches.keys())
                .chain(entry.endings.keys());
            if let Some(name) = flags.find(|name| !taken.insert((command, *name))) {
                return wrong(&format!("is called `{name}` as another option is"));
            }
            if let Some(path) = &entry.path
                && (!paths.insert((command, path)) || path.split('.').count() != 2)
            {
                return wrong("needs a path of its own, `group.field`");
            }
        }
        if !table.panels.contains(&entry.panel) {
            return wrong("is in a panel that there is not");
        }
        if entry.kind == Kind::Quantity && entry.dimension().is_none() {
            return wrong("needs a unit");
        }
        if matches!(entry.kind, Kind::Choice | Kind::Choices) && entry.choices.is_empty() {
            return wrong("needs choices");
        }
        if entry.commands.is_empty() {
            return wrong("is taken by nobody");
        }
        for (name, command) in &entry.commands {
            if !table.commands.contains(name) {
                return wrong(&format!("is taken by `{name}`, which there is not"));
            }
            for other in command.excludes.keys() {
                if table.option(other).is_none() {
                    return wrong(&format!("excludes `{other}`, which there is not"));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"
        commands = ["solve"]
        panels = ["Promises"]
        [[option]]
        name = "target"
        panel = "Promises"
        kind = "quantity"
        unit = "tokens_per_second"
        help = "Decode speed of each user"
        commands = { solve = {} }
    "#;

    fn problem(text: &str) -> String {
        read(text).expect_err("this is wrong")
    }

    #[test]
    fn the_table_is_right() {
        assert!(table().options.len() > 100);
        assert!(table().option("target").is_some());
        let target = table().of_key("fleet", "class.target").expect("a key");
        assert_eq!(target.dimension(), Some(Dimension::TokensPerSecond));
        assert!(!options_json().is_empty());
    }

    #[test]
    fn bounds_are_filled_in() {
        let table = read(ONE).expect("it is right");
        assert_eq!(
            table.options[0].range(),
            (SMALLEST_QUANTITY, LARGEST_QUANTITY)
        );
    }

    #[test]
    fn a_command_that_is_like_another_takes_its_question() {
        let taken_by = |command| {
            let options = table().options.iter();
            options.filter_map(move |entry| entry.taken(command))
        };
        let solve: Vec<_> = taken_by("solve").collect();
        let asks = solve.iter().filter(|entry| entry.panel != WRITTEN);
        let explore = taken_by("explore").map(|entry| entry.name);
        let explore: BTreeSet<_> = explore.collect();
        let refused = |entry: &Entry| entry.commands["explore"].refuse.is_some();
        assert!(
            asks.into_iter()
                .all(|entry| explore.contains(&entry.name) || refused(entry))
        );
        assert!(!explore.contains("out") && explore.contains("port"));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let twice = format!("{ONE}\n{}", &ONE[ONE.find("[[option]]").expect("one")..]);
        assert!(problem(&twice).contains("as another option is"));
        let nobody = ONE.replace("solve = {}", "");
        assert!(problem(&nobody).contains("nobody"));
        let unknown = ONE.replace("{ solve", "{ sovle");
        assert!(problem(&unknown).contains("sovle"));
        let panel = ONE.replace(r#"panel = "Promises""#, r#"panel = "Promise""#);
        assert!(problem(&panel).contains("panel"));
        let unit = ONE.replace("tokens_per_second", "furlongs");
        assert!(problem(&unit).contains("unit"));
        let key = ONE.replace("help", "halp");
        assert!(problem(&key).contains("halp"));
        let excludes = ONE.replace("solve = {}", r#"solve = { excludes = { a = "b" } }"#);
        assert!(problem(&excludes).contains("excludes"));
        let path = ONE.replace("panel = \"P", "path = \"target\"\npanel = \"P");
        assert!(problem(&path).contains("path"));
    }
}
