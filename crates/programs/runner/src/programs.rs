//! The programs that tests run. Cargo builds those of the package whose tests run; `nanotape` is
//! built here, once, if it is missing or older than one of its sources.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use nanotape_harness::Bounded as _;

/// The path of `nanotape`.
pub fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = beside("nanotape");
        // The tests of several packages may run at once.
        let lock = File::create(beside(".nanotape.lock")).unwrap();
        lock.lock().unwrap();
        if !is_fresh(&program) {
            build(program.parent().unwrap(), "nanotape-cli");
        }
        program.into_os_string().into_string().unwrap()
    })
}

/// The path of `nanotape-lab`, which Cargo builds for the tests of its package.
pub fn lab_program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| beside("nanotape-lab").into_os_string().into_string().unwrap())
}

/// A file in the folder of the programs, which is above that of the tests.
fn beside(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join(name)
}

/// Whether no file that Cargo lists as a source is newer than the program.
fn is_fresh(program: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    let (Some(built), Ok(sources)) =
        (changed(program), fs::read_to_string(program.with_extension("d")))
    else {
        return false;
    };
    let sources = sources.split_once(": ").map_or("", |(_, sources)| sources);
    let sources = sources.trim_end().replace("\\ ", "\0");
    let mut sources = sources.split(' ').map(|path| PathBuf::from(path.replace('\0', " ")));
    sources.all(|source| changed(&source).is_some_and(|changed| changed <= built))
}

fn build(folder: &Path, package: &str) {
    let profile = match folder.file_name().and_then(|name| name.to_str()).unwrap() {
        "debug" => "dev",
        profile => profile,
    };
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--package", package, "--profile", profile]);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).env("CARGO_TARGET_DIR", folder.parent().unwrap());
    assert!(cargo.bounded_status().unwrap().success(), "{package} could not be built");
}
