//! `cargo xtask loom`: every execution of the small models of rings and journals that two
//! preemptions allow.
//!
//! The models need a build of their own, in which shared words are loom's. Their profile keeps it
//! apart, so that neither build throws away the other.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

/// Makes shared words loom's, and rings and segments tiny.
const CFG: &str = "--cfg nanotape_loom";

/// Where the models are, and the profile that compiles them: it optimises what runs, and little
/// else.
const TESTS: [&str; 13] = [
    "test",
    "--profile=models",
    "--package=nanotape-shm",
    "--package=nanotape-ring",
    "--package=nanotape-journal",
    "--lib",
    "--test=loom",
    "--no-fail-fast",
    "--locked",
    "--",
    "--nocapture",
    "--test-threads=1",
    "--quiet",
];

/// Runs the models; `LOOM_MAX_PREEMPTIONS=3` explores more. Exit status 1 if one has an outcome
/// that it should not have, or lacks one.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(TESTS)
        .env("RUSTFLAGS", format!("{flags} {CFG}").trim())
        .current_dir(root)
        .status()
        .context("cargo test")?;
    Ok(ExitCode::from(u8::from(!status.success())))
}
