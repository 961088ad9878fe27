//! A question as it is told.

use super::market::architecture;
use super::reader::{Assumed, Reader};
use crate::catalog::Catalog;
use crate::diagnostic::Diagnostic;
use serde::Serialize;
use serde_json::{Map, Value};

/// A question with what was assumed of it.
#[derive(Debug, Serialize)]
pub(super) struct Question<Q> {
    /// As a plan records it.
    #[serde(flatten)]
    pub(super) recorded: Map<String, Value>,
    /// As a door of the core takes it.
    pub(super) asked: Q,
    pub(super) assumed: Vec<Assumed>,
}

impl<Q> Question<Q> {
    /// About a model, with what it is where it is a file; or all that is wrong.
    pub(super) fn of_model(
        mut reader: Reader,
        catalog: &Catalog,
        model: &str,
        mut recorded: Map<String, Value>,
        asked: Q,
    ) -> Result<Self, Vec<Diagnostic>> {
        let assumed = reader.assumed();
        reader.finish(())?;
        let architecture = architecture(catalog, model)?;
        recorded.insert("architecture".to_owned(), architecture.into());
        Ok(Self {
            recorded,
            asked,
            assumed,
        })
    }
}
