//! What people call an entity: its id, its full name, or an alias that its file states.

use super::entry::Entry;
use crate::format::Format;
use std::collections::BTreeMap;

/// The id and the entry of what is called so: exactly, or as only one is called when nobody looks
/// at capitals, blanks and dashes. `Qwen/Qwen3-8B` is also called `Qwen3-8B`.
pub(super) fn called<'a, T>(
    entries: &'a BTreeMap<String, Entry<T>>,
    name: &str,
) -> Option<(&'a str, &'a Entry<T>)> {
    let exactly = entries.get_key_value(name);
    let found = exactly.or_else(|| {
        let wanted = plain(name);
        let mut alike = entries
            .iter()
            .filter(|(id, entry)| names(id, entry).any(|name| plain(name) == wanted));
        alike.next().filter(|_| alike.next().is_none())
    });
    found.map(|(id, entry)| (id.as_str(), entry))
}

/// The id of what is called by the start of a name, and the format that its end says:
/// `Qwen3-8B-AWQ`.
pub(super) fn quantised<'a, T>(
    entries: &'a BTreeMap<String, Entry<T>>,
    name: &str,
) -> Option<(&'a str, &'static str)> {
    let mut dashes = name.match_indices('-');
    dashes.find_map(|(dash, _)| {
        let format = Format::from_name(&name[dash + 1..])?;
        let (id, _) = called(entries, &name[..dash])?;
        Some((id, format.name()))
    })
}

/// All that an entity is called, aliases with and without the organisation they start with.
fn names<'a, T>(id: &'a str, entry: &'a Entry<T>) -> impl Iterator<Item = &'a str> {
    let aliases = entry.aliases.iter().map(String::as_str);
    let short = aliases
        .clone()
        .filter_map(|alias| alias.split_once('/').map(|(_, short)| short));
    [id, entry.full_name()]
        .into_iter()
        .chain(aliases)
        .chain(short)
}

/// A name without what people write in different ways.
fn plain(name: &str) -> String {
    name.to_lowercase().replace([' ', '_', '-'], "")
}
