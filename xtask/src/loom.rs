//! `cargo xtask loom`: every execution of the small models of the rings that two preemptions allow.
//!
//! The models need a build of their own, in which shared words are loom's; it is kept apart, so that
//! neither build throws away the other.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

/// Makes shared words loom's, and rings tiny.
const CFG: &str = "--cfg nanotape_loom";

const WORDS: [&str; 9] = [
    "test",
    "--package=nanotape-ring",
    "--test=loom",
    "--release",
    "--locked",
    "--",
    "--nocapture",
    "--test-threads=1",
    "--quiet",
];

/// Runs the models; `LOOM_MAX_PREEMPTIONS=3` explores more. Exit status 1 if one has an outcome that
/// it should not have, or lacks one.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(WORDS)
        .env("RUSTFLAGS", format!("{flags} {CFG}").trim())
        .env("CARGO_TARGET_DIR", root.join("target/loom"))
        .current_dir(root)
        .status()
        .context("cargo test")?;
    Ok(ExitCode::from(u8::from(!status.success())))
}
