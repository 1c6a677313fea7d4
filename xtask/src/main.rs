//! Repository chores: `cargo xtask <command>`.
#![forbid(unsafe_code)]

mod aarch64;
mod figures;
mod fuzz;
mod gate;
mod r#gen;
mod loom;
mod miri;
mod nightly;
mod tidy;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

const USAGE: &str = "\
usage: cargo xtask <command>

  gen            write everything that is derived from schema/
  gen --check    only list what would change; exit status 1 if a file would
  gen SCHEMA     write what is derived from the schema of an interface in another repository, below
                 the current folder (docs/interfaces.md)
  tidy           check the rules of the repository; exit status 1 if a file breaks one
  gate [BASE]    compare the hot path's time: BASE (main) against the working tree; exit status 0
                 nothing is slower, 1 something is, 2 undecided
  gate instructions [--accept]
                 compare its instruction counts with bench/instructions.json; --accept writes them
  figures        measure the numbers of the README on this machine, append them to
                 bench/record/figures.jsonl, and write the table
  fuzz           list the fuzz targets
  fuzz T [S]     run target T, or all, for S seconds each (60); exit status 1 after a crash
  aarch64        check that the crates with shared memory compile for aarch64 without warnings; exit
                 status 2 if the target is not installed
  aarch64 run    the same, and run tests under QEMU
  loom           run the models of the memory orders; exit status 1 on an unexpected outcome
  miri           run tests of shared memory in Miri; exit status 1 after a failure, 2 without Miri
  nightly [ROW]  run every check of docs/TESTING.md that .ci/run does not, or the named ones, each with
                 a bound, and append the outcomes to bench/record/nightly.jsonl; --list lists them
";

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["gen"] => r#gen::write(),
        ["gen", "--check"] => r#gen::check(),
        ["gen", schema] => r#gen::write_of(schema),
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
        ["--help" | "-h" | "help"] => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            eprint!("{USAGE}");
            Ok(ExitCode::from(2))
        }
    }
}

/// The repository root, for any working directory of cargo.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}
