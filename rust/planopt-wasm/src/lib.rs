//! The core in a browser: files, questions and plans as JSON, through three functions of C. It adds
//! nothing up.
//!
//! What Python does around the core is not here: what could be bought beside the plan, how sure it
//! is, what would change it. What is bought is the same: one kind of unit of the closed form first,
//! then what the core's exact fronts settle under the load.
#![cfg(target_family = "wasm")]
#![allow(
    unsafe_code,
    reason = "memory is handed over by address, as WebAssembly has it"
)]

mod plan;
mod question;

use planopt_core::catalog::{self, Catalog};
use planopt_core::diagnostic::Diagnostic;
use planopt_core::request::Options;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where files are said to lie: those of the bundled catalogs, and the user's own over them.
const BUNDLED: &str = "/catalogs";
const OWN: &str = "/own";

static OPENED: Mutex<Option<Arc<Catalog>>> = Mutex::new(None);
static SAID: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// What a page says.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Asked {
    /// Texts of files by their paths, `/catalogs/accelerators/h100-sxm.toml`: a catalog is opened.
    Files(BTreeMap<PathBuf, String>),
    /// Options of `planopt solve`: what the closed form would buy.
    Estimate(BTreeMap<String, String>),
    /// The same, judged under its load.
    Plan(BTreeMap<String, String>),
}

/// Makes room for what is said.
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    Box::leak(vec![0; length].into_boxed_slice()).as_mut_ptr()
}

/// Answers what was written into that room, and gives it back: the address of the answer.
///
/// # Safety
///
/// The address and the length are those of a [`room`], handed over once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ask(at: *mut u8, length: usize) -> *const u8 {
    // SAFETY: it was leaked by `room`, and is taken back once.
    let said = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, length)) };
    let answer = match serde_json::from_slice(&said) {
        Ok(asked) => {
            answered(asked).unwrap_or_else(|problems| json!({ "problems": told(&problems) }))
        }
        Err(error) => json!({ "problems": [{ "code": "E002", "message": error.to_string() }] }),
    };
    let mut kept = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    *kept = serde_json::to_vec(&answer).unwrap_or_default();
    kept.as_ptr()
}

/// Bytes of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn said() -> usize {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).len()
}

fn answered(asked: Asked) -> Result<Value, Vec<Diagnostic>> {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    match asked {
        Asked::Files(files) => {
            let own = files.keys().any(|file| file.starts_with(OWN));
            let overlays = own.then(|| PathBuf::from(OWN));
            catalog::hold(files);
            let overlays: Vec<PathBuf> = overlays.into_iter().collect();
            let catalog = Catalog::load(Path::new(BUNDLED), &overlays, "calibrated")?;
            *opened = Some(Arc::new(catalog));
            Ok(json!({ "opened": overlays.len() }))
        }
        Asked::Estimate(options) => plan::answer(opened.as_ref(), given(options), false),
        Asked::Plan(options) => plan::answer(opened.as_ref(), given(options), true),
    }
}

fn given(options: BTreeMap<String, String>) -> Options {
    let as_typed = |(name, text)| (name, Value::String(text));
    options.into_iter().map(as_typed).collect()
}

fn told(problems: &[Diagnostic]) -> Vec<Value> {
    let told = problems.iter().map(|problem| {
        json!({
            "code": problem.code, "message": problem.message, "field": problem.field,
            "value": problem.value, "accepted": problem.accepted, "help": problem.help,
            "file": problem.file,
        })
    });
    told.collect()
}
