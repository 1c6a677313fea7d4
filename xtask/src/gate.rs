//! The regression gate: compares the hot path of the working tree with main.
//!
//! It only chooses the benchmarks and their limits. `nanotape-lab`, built from the working tree,
//! does the comparison.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

/// The benchmarks that are compared, each by its full name.
const WATCHED: [&str; 3] = ["decode/hot", "book/hot", "book/day"];

/// A change below this percentage is ignored.
const SMALLEST_EFFECT_PERCENT: &str = "1.5";

/// The accepted instruction counts.
const BASELINE: &str = "bench/instructions.json";

/// Compares times of `base` and the working tree.
pub(crate) fn time(root: &Path, base: &str, more: &[&str]) -> Result<ExitCode> {
    let mut words = vec!["compare", base, "worktree", "--package", "nanotape-bench"];
    words.extend(["--bench", "hot", "--effect", SMALLEST_EFFECT_PERCENT]);
    for name in WATCHED {
        words.extend(["--only", name]);
    }
    words.extend(more);
    lab(root, &words)
}

/// Compares instruction counts with the accepted ones.
pub(crate) fn instructions(root: &Path, more: &[&str]) -> Result<ExitCode> {
    let mut words = vec!["count", "--baseline", BASELINE];
    words.extend(more);
    lab(root, &words)
}

fn lab(root: &Path, words: &[&str]) -> Result<ExitCode> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["run", "--quiet", "--release", "--locked", "--package", "nanotape-lab-cli", "--"])
        .args(words)
        .current_dir(root)
        .status()
        .context("cargo run")?;
    // After a signal there is no verdict: 2.
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2);
    Ok(ExitCode::from(code))
}
