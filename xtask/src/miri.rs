//! `cargo xtask miri`: tests of shared memory, rings and a journal's segments in an interpreter
//! that knows what the language gives no meaning to: aliasing, provenance, memory that was never
//! written.
//!
//! Regions are on the heap there, and tests have fewer cases; orders are loom's business.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

/// What runs there, each as cargo's arguments.
const TESTS: [&[&str]; 3] = [
    &["--package=nanotape-shm", "--lib", "--", "word"],
    &["--package=nanotape-ring", "--test=suite", "--", "model::", "threads::"],
    &["--package=nanotape-journal", "--lib", "--", "segment"],
];

/// Stacked borrows, the default, keep a record of every look at a region, for each of its words:
/// the model of the rings then takes longer than anybody waits.
const MODEL: &str = "-Zmiri-tree-borrows";

/// Runs the tests; exit status 1 if one fails, 2 if there is no Miri.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    // `cargo` may be the one of a toolchain; rustup's knows the others.
    let probe = Command::new("cargo").args(["+nightly", "miri", "--version"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!(
            "NOT RUN: Miri is not installed. Install it with\n    \
             rustup toolchain install nightly --component miri,rust-src"
        );
        return Ok(ExitCode::from(2));
    }
    let flags = std::env::var("MIRIFLAGS").unwrap_or_default();
    for words in TESTS {
        let status = Command::new("cargo")
            .args(["+nightly", "miri", "test", "--locked"])
            .args(words)
            .env("CARGO_TARGET_DIR", root.join("target/miri"))
            .env("MIRIFLAGS", format!("{flags} {MODEL}").trim())
            // Set by the `cargo xtask` around this, they would name the wrong compiler.
            .env_remove("CARGO")
            .env_remove("RUSTUP_TOOLCHAIN")
            .current_dir(root)
            .status()
            .context("cargo miri test")?;
        if !status.success() {
            return Ok(ExitCode::from(1));
        }
    }
    Ok(ExitCode::SUCCESS)
}
