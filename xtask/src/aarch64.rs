//! `cargo xtask aarch64`: compiles the crates that share memory for a processor that reorders loads
//! and stores.
//!
//! The loom models check memory orders of the language, for every processor, but not code that is
//! specific to a processor. Warnings are errors. With `run`, some tests run under QEMU, which
//! translates orders of aarch64 into those of this machine: they show that the program works there,
//! not that its orders are sufficient.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// Compiles C for that processor and links; Debian's package has the same name with the prefix
/// `gcc-`.
const LINKER: &str = "aarch64-linux-gnu-gcc";

/// Of Debian's packages `qemu-user` and `qemu-user-static`.
const EMULATORS: [&str; 2] = ["qemu-aarch64", "qemu-aarch64-static"];

/// Crates that need no C compiler.
const CRATES: [&str; 4] = ["nanotape-shm", "nanotape-clock", "nanotape-ring", "nanotape-latest"];

/// The crate that needs one.
const WITH_C: &str = "nanotape-journal";

/// Tests with real threads, and of rings against a list of messages.
const TESTS: [&str; 7] = [
    "--package=nanotape-ring",
    "--test=suite",
    "--locked",
    "--",
    "threads::",
    "model::",
    "index::",
];

/// Exit status 1 if something does not compile or fails, 2 without a result.
pub(crate) fn run(root: &Path, runs_tests: bool) -> Result<ExitCode> {
    if !is_there("rustup", &["target", "add", TARGET]) {
        eprintln!("SKIPPED: `rustup target add {TARGET}` failed, so nothing was compiled for it");
        return Ok(ExitCode::from(2));
    }
    let has_compiler = is_there(LINKER, &["--version"]);
    let mut crates = CRATES.to_vec();
    if has_compiler {
        crates.push(WITH_C);
    } else {
        eprintln!("SKIPPED: {LINKER} is not installed, so {WITH_C} was not compiled for {TARGET}");
    }
    let packages = crates.iter().map(|name| format!("--package={name}"));
    let mut is_good =
        cargo(root, "check", packages.chain(["--all-targets", "--locked"].map(str::to_owned)))?;
    if runs_tests && has_compiler && emulator().is_some() {
        is_good &= cargo(root, "test", TESTS.map(str::to_owned))?;
    } else if runs_tests {
        eprintln!("SKIPPED: tests need {} and {LINKER}, but one is missing", EMULATORS[0]);
    }
    Ok(ExitCode::from(if !is_good {
        1
    } else if has_compiler {
        0
    } else {
        2
    }))
}

fn emulator() -> Option<&'static str> {
    EMULATORS.into_iter().find(|emulator| is_there(emulator, &["--version"]))
}

fn is_there(program: &str, words: &[&str]) -> bool {
    Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

fn cargo(root: &Path, word: &str, words: impl IntoIterator<Item = String>) -> Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let status = Command::new(cargo)
        .args([word, "--target", TARGET])
        .args(words)
        .env("RUSTFLAGS", format!("{flags} -D warnings").trim())
        .env("CC_aarch64_unknown_linux_gnu", LINKER)
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
        .env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
            format!("{} -L /usr/aarch64-linux-gnu", emulator().unwrap_or(EMULATORS[0])),
        )
        .env("CARGO_TARGET_DIR", root.join("target/cross"))
        .current_dir(root)
        .status()
        .with_context(|| format!("cargo {word}"))?;
    Ok(status.success())
}
