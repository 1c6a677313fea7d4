//! Records the build settings of this crate, so that a benchmark can report its compiler.
//!
//! Cargo passes the profile, the optimisation and the target features to a build script. It does
//! not pass link-time optimisation, so that is not recorded. All values go through variables of the
//! compilation as text; an empty one means unknown.

use std::{env, ffi::OsString, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    pass_on("NANOTAPE_LAB_COMPILER", &compiler().unwrap_or_default());
    pass_on("NANOTAPE_LAB_RUSTFLAGS", &rustflags());
    pass_on("NANOTAPE_LAB_TARGET", &variable("TARGET"));
    pass_on("NANOTAPE_LAB_TARGET_FEATURES", &variable("CARGO_CFG_TARGET_FEATURE"));
    pass_on("NANOTAPE_LAB_PROFILE", &variable("PROFILE"));
    pass_on("NANOTAPE_LAB_OPT_LEVEL", &variable("OPT_LEVEL"));
    pass_on("NANOTAPE_LAB_DEBUG", &variable("DEBUG"));
}

/// A line break in the value would end the instruction to cargo early.
fn pass_on(name: &str, value: &str) {
    let line: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    println!("cargo::rustc-env={name}={}", line.trim());
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// `rustc 1.95.0 (59807616e 2026-04-14)`.
fn compiler() -> Option<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let output = Command::new(rustc).arg("-V").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Cargo separates the flags by the unit separator, because a flag can contain spaces.
fn rustflags() -> String {
    variable("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " ")
}
