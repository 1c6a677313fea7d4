//! The readers, which are Python.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use nanotape_harness::{Bounded as _, skipped};
use nanotape_trace::export::Format;

/// Packages with Perfetto's published definitions.
const PACKAGES: [&str; 2] = ["perfetto==0.59.1", "protobuf"];
const IMPORTS: &str = "from perfetto.protos.perfetto.trace import perfetto_trace_pb2";

/// The Python of a reader; `None` with a notice if there is none.
pub(crate) fn with_packages_for(format: Format) -> Option<PathBuf> {
    static PERFETTO: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = match format {
        Format::Perfetto => PERFETTO.get_or_init(with_perfetto).clone(),
        _ => runs(Path::new("python3"), &["--version"]).map(|()| "python3".into()),
    };
    found.map_err(|why| skipped(format_args!("{} is not read back: {why}", format.name()))).ok()
}

/// The Python that `NANOTAPE_PYTHON` names, or one beside the build with the packages from the
/// network, which stay there.
fn with_perfetto() -> Result<PathBuf, String> {
    let has = |python: &Path| runs(python, &["-c", IMPORTS]);
    if let Some(python) = std::env::var_os("NANOTAPE_PYTHON") {
        let python = PathBuf::from(python);
        if has(&python).is_ok() {
            return Ok(python);
        }
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("perfetto-python");
    let python = folder.join("bin/python");
    if has(&python).is_ok() {
        return Ok(python);
    }
    let folder = folder.to_str().ok_or("the folder of the build is not text")?;
    runs(Path::new("python3"), &["-m", "venv", folder])?;
    let install = ["-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "20"];
    runs(&python, &[&install[..], &PACKAGES].concat())?;
    has(&python).map(|()| python)
}

fn runs(python: &Path, arguments: &[&str]) -> Result<(), String> {
    let ran = Command::new(python).args(arguments).bounded_output();
    let ran = ran.map_err(|error| format!("{} cannot be started: {error}", python.display()))?;
    let error = String::from_utf8_lossy(&ran.stderr);
    let last = error.lines().last().unwrap_or_default();
    if ran.status.success() {
        Ok(())
    } else {
        Err(format!("{} {}: {last}", python.display(), arguments.join(" ")))
    }
}

/// The lines of each file.
pub(crate) fn read(python: &Path, format: Format, files: &[PathBuf]) -> Vec<Vec<String>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/export/read_traces.py");
    let ran =
        Command::new(python).args([script, format.name()]).args(files).bounded_output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let text = String::from_utf8(ran.stdout).unwrap();
    let mut found: Vec<Vec<String>> = Vec::new();
    for line in text.lines() {
        match found.last_mut() {
            _ if line == "file" => found.push(Vec::new()),
            Some(lines) => lines.push(line.to_owned()),
            None => panic!("{line:?} before the first file"),
        }
    }
    found
}
