//! `cargo xtask fuzz`: builds one fuzz target with coverage and runs it for a given time.
//!
//! The stable compiler is enough: libFuzzer's coverage needs one pass of LLVM and a few of its
//! arguments. The address sanitizer would need a nightly compiler, and there is little unsafe code
//! for it to check; `cargo +nightly fuzz run` works on the same targets. Runs start with the inputs
//! in fuzz/seeds. New ones are kept in fuzz/corpus and failing ones in fuzz/artifacts, neither in
//! git.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail, ensure};

/// The flags of cargo-fuzz, without the sanitizer. Debug assertions come from the profile.
const FLAGS: [&str; 6] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// Default number of seconds: enough to show that it works.
const SECONDS: &str = "60";

/// Lists the targets.
pub(crate) fn list(root: &Path) -> Result<ExitCode> {
    for target in targets(root)? {
        println!("{target}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs one target, or all of them in turn, for `seconds` each; exit status 1 after a crash.
pub(crate) fn run(root: &Path, name: &str, seconds: Option<&str>) -> Result<ExitCode> {
    let seconds = seconds.unwrap_or(SECONDS);
    ensure!(seconds.parse::<u32>().is_ok(), "{seconds}: expected a number of seconds");
    let all = targets(root)?;
    let chosen: Vec<String> = all.into_iter().filter(|t| name == "all" || t == name).collect();
    if chosen.is_empty() {
        bail!("unknown fuzz target {name}; cargo xtask fuzz lists the targets");
    }
    for target in chosen {
        if !run_one(root, &target, seconds)? {
            return Ok(ExitCode::from(1));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn run_one(root: &Path, target: &str, seconds: &str) -> Result<bool> {
    let fuzz = root.join("fuzz");
    let (corpus, artifacts) =
        (fuzz.join("corpus").join(target), fuzz.join("artifacts").join(target));
    fs::create_dir_all(&corpus).context("fuzz/corpus")?;
    fs::create_dir_all(&artifacts).context("fuzz/artifacts")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Naming the host keeps the flags out of build scripts and procedural macros.
    let host = host()?;
    let seeds = fuzz.join("seeds").join(target);
    let status = Command::new(cargo)
        .args(["run", "--release", "--locked", "--target", &host, "--bin", target, "--"])
        .arg(&corpus)
        .args(seeds.is_dir().then_some(seeds))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg(format!("-max_total_time={seconds}"))
        .args(["-print_final_stats=1"])
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"))
        .current_dir(&fuzz)
        .status()
        .with_context(|| format!("fuzz target {target}"))?;
    Ok(status.success())
}

/// The targets, each a file in `fuzz/fuzz_targets`.
fn targets(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut names = Vec::new();
    for entry in entries {
        let path: PathBuf = entry.with_context(|| folder.display().to_string())?.path();
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        names.extend(
            path.file_stem().filter(|_| is_source).and_then(|n| n.to_str()).map(String::from),
        );
    }
    names.sort();
    Ok(names)
}

/// The triple of this machine, as rustc calls it.
fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().context("rustc -vV")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_in_the_manifest_and_every_binary_has_a_file() {
        let root = crate::root();
        let manifest = fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
        let mut listed: Vec<&str> = manifest
            .split("[[bin]]")
            .skip(1)
            .filter_map(|bin| bin.split("name = \"").nth(1)?.split('"').next())
            .collect();
        listed.sort_unstable();
        assert_eq!(targets(&root).unwrap(), listed);
    }
}
