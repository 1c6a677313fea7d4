//! `cargo xtask loom`: every execution of the small models of rings and journals that two
//! preemptions allow.
//!
//! The models need a build of their own, in which shared words are loom's; it is kept apart, so
//! that neither build throws away the other.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

/// Makes shared words loom's, and rings and segments tiny.
const CFG: &str = "--cfg nanotape_loom";

/// Which tests have the models of a crate.
const MODELS: [[&str; 2]; 3] = [
    ["--package=nanotape-shm", "--lib"],
    ["--package=nanotape-ring", "--test=loom"],
    ["--package=nanotape-journal", "--lib"],
];

const WORDS: [&str; 6] =
    ["--release", "--locked", "--", "--nocapture", "--test-threads=1", "--quiet"];

/// Runs the models; `LOOM_MAX_PREEMPTIONS=3` explores more. Exit status 1 if one has an outcome
/// that it should not have, or lacks one.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut is_good = true;
    for models in MODELS {
        let status = Command::new(&cargo)
            .arg("test")
            .args(models)
            .args(WORDS)
            .env("RUSTFLAGS", format!("{flags} {CFG}").trim())
            .env("CARGO_TARGET_DIR", root.join("target/loom"))
            .current_dir(root)
            .status()
            .context("cargo test")?;
        is_good &= status.success();
    }
    Ok(ExitCode::from(u8::from(!is_good)))
}
