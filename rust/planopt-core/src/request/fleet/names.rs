//! Names that a fleet may refer to.

use crate::catalog;
use crate::catalog::{Catalog, Entry, Fields};
use crate::diagnostic::{Diagnostic, code};

/// What names may refer to.
pub(super) struct Names<'n> {
    pub(crate) catalog: &'n Catalog,
    pub(crate) providers: &'n std::collections::BTreeMap<String, Entry<catalog::Provider>>,
    pub(crate) regions: Vec<&'n str>,
    pub(crate) curves: Vec<&'n str>,
    pub(crate) classes: Vec<&'n str>,
}

impl Names<'_> {
    /// A region of the file.
    pub(super) fn region(&self, fields: &mut Fields<'_>) -> String {
        one_of(fields, "region", "region", &self.regions)
    }
}

/// A name that another table of the file has.
pub(crate) fn one_of(
    fields: &mut Fields<'_>,
    key: &'static str,
    what: &str,
    known: &[&str],
) -> String {
    let name = fields.text(key);
    if !name.is_empty() && !known.contains(&name.as_str()) {
        let message = format!("no {what} of this file is called `{name}`");
        let problem = Diagnostic::new(code::UNKNOWN_REFERENCE, message)
            .help(format!("add a table `[[{what}]]` with that name"))
            .one_of(&name, known.iter().copied());
        fields.reject(key, problem);
    }
    name
}
