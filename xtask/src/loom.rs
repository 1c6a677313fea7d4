//! `cargo xtask loom`: every execution of the small models of rings and journals with up to two
//! preemptions.
//!
//! The models need a separate build, in which shared words are loom's. Its own profile prevents
//! that the two builds replace each other.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

/// Makes shared words loom's, and rings and segments tiny.
const CFG: &str = "--cfg nanotape_loom";

/// The tests with models, and their profile, which optimises the code that runs, and little else.
const TESTS: [&str; 15] = [
    "test",
    "--profile=models",
    "--package=nanotape-shm",
    "--package=nanotape-ring",
    "--package=nanotape-journal",
    "--package=nanotape-replication",
    "--package=nanotape-latest",
    "--lib",
    "--test=loom",
    "--no-fail-fast",
    "--locked",
    "--",
    "--nocapture",
    "--test-threads=1",
    "--quiet",
];

/// Runs the models; `LOOM_MAX_PREEMPTIONS=3` explores more. Exit status 1 if a model has an
/// unexpected outcome, or lacks an expected one.
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
