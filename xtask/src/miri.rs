//! `cargo xtask miri`: tests of shared memory, rings and a journal's segments in an interpreter
//! that detects undefined behaviour: aliasing, provenance, uninitialised memory.
//!
//! Regions are on the heap there, and tests have fewer cases; loom checks memory orders.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use crate::nightly::{TIMED_OUT, bounded};

/// The tests, each as arguments of cargo. A filter is a module with its colons: a word would also
/// take modules that make system calls.
const TESTS: [&[&str]; 3] = [
    &["--package=nanotape-shm", "--lib", "--", "word::"],
    &["--package=nanotape-ring", "--test=suite", "--", "model::", "threads::"],
    &["--package=nanotape-journal", "--lib", "--", "segment::"],
];

/// The bound of one of them, with its build; each takes some minutes.
const MINUTES: u64 = 30;

/// Stacked borrows, the default, record every access to a region, for each of its words. The model
/// of the rings would then take too long.
const MODEL: &str = "-Zmiri-tree-borrows";

/// Runs the tests; exit status 1 if one fails, 2 without Miri.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    // `cargo` may belong to one toolchain; rustup's `cargo` can select others.
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
        let status = bounded("cargo", MINUTES)
            .args(["+nightly", "miri", "test", "--locked"])
            .args(words)
            .env("CARGO_TARGET_DIR", root.join("target/miri"))
            .env("MIRIFLAGS", format!("{flags} {MODEL}").trim())
            // Set by the outer `cargo xtask`, these would select the wrong compiler.
            .env_remove("CARGO")
            .env_remove("RUSTUP_TOOLCHAIN")
            .current_dir(root)
            .status()
            .context("cargo miri test")?;
        if status.code() == Some(TIMED_OUT) {
            eprintln!("miri: {words:?} did not end within {MINUTES} minutes");
        }
        if !status.success() {
            return Ok(ExitCode::from(1));
        }
    }
    Ok(ExitCode::SUCCESS)
}
