//! Repository chores: `cargo xtask <command>`.
#![forbid(unsafe_code)]

mod aarch64;
mod figures;
mod fuzz;
mod gate;
mod r#gen;
mod help;
mod loom;
mod miri;
mod nightly;
mod tidy;

use std::{
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use nanotape_schema::Problems;

/// Wrong words on the command line: exit status 2.
#[derive(Debug)]
struct Usage(String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let words = words.ok_or_else(|| Usage("an argument is not UTF-8, expected text".into()).into());
    words.and_then(|words| run(&words)).unwrap_or_else(|error| {
        // A problem of a schema begins with its file and line, as editors expect.
        match error.is::<Problems>() {
            true => eprintln!("{error}"),
            false => eprintln!("xtask: {error:#}"),
        }
        ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
    })
}

fn run(words: &[&str]) -> Result<ExitCode> {
    if let Some(help) = help::of(words) {
        print!("{help}");
        return Ok(ExitCode::SUCCESS);
    }
    match words {
        ["gen"] => r#gen::write(),
        ["gen", "--check"] => r#gen::check(),
        ["gen", schema] if !schema.starts_with('-') => r#gen::write_of(schema),
        ["tidy"] => tidy::run(&root()),
        ["gate", "instructions", more @ ..] => gate::instructions(&root(), more),
        ["gate"] => gate::time(&root(), "main", &[]),
        ["gate", base, more @ ..] => gate::time(&root(), base, more),
        ["figures"] => figures::run(&root()),
        ["fuzz"] => fuzz::list(&root()),
        ["fuzz", target] => fuzz::run(&root(), target, None),
        ["fuzz", target, seconds] => fuzz::run(&root(), target, Some(seconds)),
        ["aarch64"] => aarch64::run(&root(), false),
        ["aarch64", "run"] => aarch64::run(&root(), true),
        ["loom"] => loom::run(&root()),
        ["miri"] => miri::run(&root()),
        ["nightly", "--list"] => Ok(nightly::list()),
        ["nightly", rows @ ..] => nightly::run(&root(), rows),
        _ => Err(Usage(help::wrong(words)).into()),
    }
}

/// The repository root, for any working directory of cargo.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}
