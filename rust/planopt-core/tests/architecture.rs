//! The house has an order: rooms stand above each other, files of a room make no circles, and the
//! methods of a type stand in its room, because a method call names no module.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};

/// The rooms, bottom to top. A room may use those before it; rooms beside each other may not use
/// one another.
const ROOMS: &[&[&str]] = &[
    &["course", "diagnostic"],
    &["quantity"],
    &["options"],
    &["format"],
    &["transformer"],
    &["catalog"],
    &["load"],
    &["hardware"],
    &["parallel"],
    &["compute"],
    &["memory"],
    &["cost"],
    &["bill"],
    &["serving", "training"],
    &["islands"],
    &["bulk", "search"],
    &["document"],
    &["plan"],
    &["request"],
];

/// What is still wrong. The list only gets shorter.
const KNOWN: &[&str] = &[];

type Names = Vec<String>;

/// What a file says of its names.
#[derive(Default)]
struct File {
    items: BTreeSet<String>,
    /// Local name (`*` for all), path, and whether others see it.
    imports: Vec<(String, Names, bool)>,
    /// Paths in its code.
    paths: Vec<Names>,
    /// Types with inherent methods here.
    types: Vec<Names>,
}

/// What a path leads to.
enum Place {
    Module(Names),
    Item(Names),
}

/// All files, by module.
#[derive(Default)]
struct House(BTreeMap<Names, File>);

impl House {
    fn new<'t>(files: impl IntoIterator<Item = (Names, &'t str)>) -> Self {
        let read = |text| {
            let mut file = File::default();
            file.visit_file(&syn::parse_file(text).expect("it compiles"));
            file
        };
        Self(
            files
                .into_iter()
                .map(|(module, text)| (module, read(text)))
                .collect(),
        )
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "it reads the source, not a catalog"
    )]
    fn read(source: &Path) -> Self {
        let mut texts = Vec::new();
        let mut folders = vec![(source.to_owned(), Names::new())];
        while let Some((folder, module)) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let stem = path
                    .file_stem()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned();
                let own = match stem.as_str() {
                    "lib" | "mod" => module.clone(),
                    _ => [&module[..], &[stem]].concat(),
                };
                if path.is_dir() {
                    folders.push((path, own));
                } else if path.extension().is_some_and(|kind| kind == "rs") {
                    texts.push((own, std::fs::read_to_string(path).expect("a text")));
                }
            }
        }
        Self::new(
            texts
                .iter()
                .map(|(module, text)| (module.clone(), text.as_str())),
        )
    }

    /// Follows a path that is read in `module`, through the names that facades pass on.
    fn place(&self, module: &[String], path: &[String], depth: u32) -> Option<Place> {
        let mut at = module.to_vec();
        for (index, name) in path.iter().enumerate() {
            let is_last = index + 1 == path.len();
            let below = [&at[..], std::slice::from_ref(name)].concat();
            let file = self.0.get(&at)?;
            match name.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => {
                    at.pop();
                }
                _ if file.items.contains(name) => return Some(Place::Item(at)),
                _ if !is_last && self.0.contains_key(&below) => at = below,
                _ => match self.imported(&at, name, depth) {
                    Some(Place::Module(other)) => at = other,
                    Some(item) => return Some(item),
                    None if self.0.contains_key(&below) => at = below,
                    None => return None,
                },
            }
        }
        Some(Place::Module(at))
    }

    fn imported(&self, module: &[String], name: &str, depth: u32) -> Option<Place> {
        let depth = depth.checked_sub(1)?;
        self.0[module]
            .imports
            .iter()
            .find_map(|(local, path, _)| match local.as_str() {
                "*" => match self.place(module, path, depth)? {
                    Place::Module(other) if other != module => {
                        self.place(&other, &[name.to_owned()], depth)
                    }
                    _ => None,
                },
                _ if local == name => self.place(module, path, depth),
                _ => None,
            })
    }

    fn home(&self, module: &[String], path: &[String]) -> Option<Names> {
        match self.place(module, path, 8)? {
            Place::Item(home) => Some(home),
            Place::Module(_) => None,
        }
    }

    /// The files that each file uses. What a facade passes on is no use of it.
    fn uses(&self) -> BTreeMap<&Names, BTreeSet<Names>> {
        let has_rooms = |module: &Names| {
            let below = |other: &Names| other.len() > module.len() && other.starts_with(module);
            self.0.keys().any(below)
        };
        let uses = self.0.iter().map(|(module, file)| {
            let is_facade = has_rooms(module);
            let own = file
                .imports
                .iter()
                .filter(|(_, _, passed_on)| !(is_facade && *passed_on));
            let paths = own.map(|(_, path, _)| path).chain(&file.paths);
            let homes = paths.filter_map(|path| self.home(module, path));
            (module, homes.filter(|home| home != module).collect())
        });
        uses.collect()
    }

    /// Everything that is out of order, a line each.
    fn wrongs(&self) -> Vec<String> {
        let rank = |module: &Names| {
            let room = module.first()?;
            ROOMS
                .iter()
                .position(|rooms| rooms.contains(&room.as_str()))
        };
        let mut wrongs = Vec::new();
        let uses = self.uses();
        for (module, file) in &self.0 {
            let Some(own) = rank(module) else {
                if !module.is_empty() {
                    wrongs.push(format!("{} is in no room", module.join("::")));
                }
                continue;
            };
            for other in &uses[module] {
                if other.first() != module.first() && rank(other) >= Some(own) {
                    wrongs.push(format!("{} uses {}", module.join("::"), other.join("::")));
                }
            }
            for path in &file.types {
                let home = self.home(module, path);
                if home.is_some_and(|home| home.first() != module.first()) {
                    let name = path.join("::");
                    wrongs.push(format!("{} has methods of {name}", module.join("::")));
                }
            }
        }
        let reached = |from: &Names| {
            let mut reached = BTreeSet::new();
            let mut next: Vec<&Names> = uses[from].iter().collect();
            while let Some(module) = next.pop() {
                if reached.insert(module) {
                    next.extend(&uses[module]);
                }
            }
            reached
        };
        let reached: BTreeMap<&Names, BTreeSet<&Names>> = uses
            .keys()
            .map(|module| (*module, reached(module)))
            .collect();
        let circles = reached.iter().map(|(module, others)| {
            let back = others
                .iter()
                .filter(|other| reached[**other].contains(*module));
            back.map(|other| other.join("::")).collect::<Vec<_>>()
        });
        let circles: BTreeSet<Vec<String>> = circles.filter(|circle| !circle.is_empty()).collect();
        wrongs.extend(
            circles
                .iter()
                .map(|circle| format!("circle of {}", circle.join(", "))),
        );
        wrongs
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    let is_test = |meta: &syn::MetaList| meta.tokens.to_string() == "test";
    let mut lists = attributes
        .iter()
        .filter_map(|attribute| attribute.meta.require_list().ok());
    lists.any(|list| list.path.is_ident("cfg") && is_test(list))
}

impl File {
    fn import(&mut self, tree: &syn::UseTree, mut path: Names, public: bool) {
        match tree {
            syn::UseTree::Path(next) => {
                path.push(next.ident.to_string());
                self.import(&next.tree, path, public);
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, path.clone(), public);
                }
            }
            syn::UseTree::Glob(_) => self.imports.push(("*".to_owned(), path, public)),
            syn::UseTree::Name(syn::UseName { ident })
            | syn::UseTree::Rename(syn::UseRename { ident, .. }) => {
                if ident != "self" {
                    path.push(ident.to_string());
                }
                let local = match tree {
                    syn::UseTree::Rename(renamed) => renamed.rename.to_string(),
                    _ => path.last().cloned().unwrap_or_default(),
                };
                self.imports.push((local, path, public));
            }
        }
    }
}

impl<'ast> Visit<'ast> for File {
    fn visit_file(&mut self, file: &'ast syn::File) {
        use syn::Item;
        let name = |item: &Item| match item {
            Item::Const(item) => Some(item.ident.to_string()),
            Item::Enum(item) => Some(item.ident.to_string()),
            Item::Fn(item) => Some(item.sig.ident.to_string()),
            Item::Static(item) => Some(item.ident.to_string()),
            Item::Struct(item) => Some(item.ident.to_string()),
            Item::Trait(item) => Some(item.ident.to_string()),
            Item::Type(item) => Some(item.ident.to_string()),
            Item::Mod(item) if item.content.is_some() => Some(item.ident.to_string()),
            Item::Macro(item) => item.ident.as_ref().map(ToString::to_string),
            _ => None,
        };
        self.items = file.items.iter().filter_map(name).collect();
        // A macro that is called here makes the struct that it declares, or types of all its names.
        for item in &file.items {
            if let Item::Macro(made) = item
                && made.ident.is_none()
            {
                let tokens = made.mac.tokens.to_string();
                let (_, declared) = tokens.split_once("pub struct ").unwrap_or_default();
                let declared = words(declared).into_iter().flatten().take(1);
                let named = words(&tokens).into_iter().flatten();
                let named = named.filter(|word| word.starts_with(char::is_uppercase));
                if tokens.contains("pub struct ") {
                    self.items.extend(declared);
                } else {
                    self.items.extend(named);
                }
            }
        }
        visit::visit_file(self, file);
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let public = !matches!(item.vis, syn::Visibility::Inherited);
        self.import(&item.tree, Names::new(), public);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let (None, syn::Type::Path(of)) = (&item.trait_, &*item.self_ty) {
            self.types.push(segments(&of.path));
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.paths.push(segments(path));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.paths.extend(words(&called.tokens.to_string()));
        visit::visit_macro(self, called);
    }
}

fn segments(path: &syn::Path) -> Names {
    path.segments
        .iter()
        .map(|segment| segment.ident.to_string())
        .collect()
}

/// The paths in the tokens of a macro.
fn words(tokens: &str) -> Vec<Names> {
    let joined = tokens
        .replace(" :: ", "::")
        .replace(":: ", "::")
        .replace(" ::", "::");
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let paths = joined
        .split(|letter| !is_part(letter))
        .filter(|word| !word.is_empty());
    paths
        .map(|word| word.split("::").map(str::to_owned).collect())
        .collect()
}

#[test]
fn the_house_is_in_order() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let wrongs = House::read(&source).wrongs();
    let new: Vec<&String> = wrongs
        .iter()
        .filter(|wrong| !KNOWN.contains(&wrong.as_str()))
        .collect();
    assert!(new.is_empty(), "{new:#?}");
    let gone: Vec<&&str> = KNOWN
        .iter()
        .filter(|known| !wrongs.iter().any(|wrong| wrong == **known))
        .collect();
    assert!(
        gone.is_empty(),
        "no longer wrong, take them off the list: {gone:#?}"
    );
}

/// What is wrong with files that are planted.
fn planted(files: &[(&str, &str)]) -> Vec<String> {
    let module = |name: &str| {
        name.split("::")
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let rooms = [
        ("", ""),
        ("catalog", "pub mod a; pub use a::A;"),
        ("load", ""),
    ];
    let files = rooms
        .iter()
        .chain(files)
        .map(|(name, text)| (module(name), *text));
    House::new(files).wrongs()
}

#[test]
fn what_is_in_order_passes() {
    let wrongs = planted(&[
        ("catalog::a", "pub struct A; impl A { fn new() {} }"),
        (
            "load::b",
            "use crate::catalog::A; impl From<A> for B { } pub struct B;",
        ),
    ]);
    assert!(wrongs.is_empty(), "{wrongs:?}");
}

#[test]
fn an_edge_upward_is_refused() {
    let upward = |text| planted(&[("catalog::a", text), ("load::b", "pub struct B;")]);
    let expected = ["catalog::a uses load::b"];
    assert_eq!(
        upward("use crate::{load::b::{B}, quantity::Bytes};"),
        expected
    );
    assert_eq!(upward("fn f() { crate::load::b::B; }"), expected);
    assert_eq!(
        upward("fn f() { assert!(crate::load::b::B > 1); }"),
        expected
    );
    assert_eq!(
        upward("use super::super::load::b; fn f(b: b::B) {}"),
        expected
    );
    assert!(upward("#[cfg(test)] mod tests { use crate::load::b::B; }").is_empty());
}

#[test]
fn an_edge_through_a_facade_is_refused() {
    let wrongs = planted(&[
        ("catalog::a", "use crate::load::B;"),
        ("load", "mod b; pub(crate) use self::b::B;"),
        ("load::b", "pub struct B;"),
    ]);
    assert_eq!(wrongs, ["catalog::a uses load::b"]);
}

#[test]
fn an_edge_beside_is_refused() {
    let wrongs = planted(&[
        ("serving", "pub struct Replica;"),
        ("training", "use crate::serving::Replica;"),
    ]);
    assert_eq!(wrongs, ["training uses serving"]);
}

#[test]
fn a_circle_of_files_is_refused() {
    let circle = |other| {
        planted(&[
            ("catalog::a", "use super::c::C; pub struct A;"),
            ("catalog::c", other),
            ("catalog::d", "use super::A;"),
        ])
    };
    let expected = ["circle of catalog::a, catalog::c"];
    assert_eq!(circle("use super::A; pub struct C;"), expected);
    assert_eq!(
        circle("pub struct C; fn f() { use super::a::A; }"),
        expected
    );
    assert!(circle("pub struct C;").is_empty());
}

#[test]
fn methods_in_another_room_are_refused() {
    let wrongs = planted(&[
        ("catalog::a", "pub struct A;"),
        (
            "load::b",
            "use crate::catalog::A; impl A { fn b(&self) {} }",
        ),
    ]);
    assert_eq!(wrongs, ["load::b has methods of A"]);
}

#[test]
fn a_file_outside_of_every_room_is_refused() {
    assert_eq!(planted(&[("attic", "")]), ["attic is in no room"]);
}
