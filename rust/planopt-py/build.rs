//! Refuses to build a package without catalogs.
//!
//! They reach the package by the link `python/planopt/catalogs`. A checkout without symbolic
//! links (Windows by default) has a file in its place, and the package would be built empty.

use std::path::Path;

/// The default model stands for all of them: watching every file would build the bindings anew
/// whenever a figure changes.
const MODEL: &str = "../../python/planopt/catalogs/models/llama-2-70b.toml";

fn main() {
    println!("cargo::rerun-if-changed={MODEL}");
    if !Path::new(MODEL).is_file() {
        println!(
            "cargo::error=no catalogs at python/planopt/catalogs: it must be a link to ../../catalogs; \
             clone with `git -c core.symlinks=true clone`, or copy the folder there"
        );
    }
}
