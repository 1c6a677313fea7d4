//! The exit status of `.ci/run`: good if all steps pass, and bad if one fails. The programs that
//! its steps run are scripts of this test, which do nothing.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use nanotape_harness::{Bounded as _, Scratch};

/// Fails if its first argument is that of the variable, and does nothing otherwise.
const PROGRAM: &str = "#!/bin/sh\n[ \"$1\" != \"$FAILS\" ]\n";

/// A copy of `.ci`, and a program in the place of each one that it runs.
fn tree(name: &str) -> Scratch {
    let tree = Scratch::folder(name);
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["run", "skipped"] {
        let to = created(&tree.join(".ci").join(name));
        fs::copy(repository.join(".ci").join(name), to).unwrap();
    }
    let scripts = [
        "hostile-environments",
        "pages",
        "outside-program",
        "wheel",
        "databases",
        "day-proof/prove",
    ];
    let scripts = scripts.map(|script| tree.join("scripts").join(script));
    let programs =
        ["cargo", "rustup", "apt-get", "dpkg-query"].map(|name| tree.join("bin").join(name));
    for path in scripts.iter().chain(&programs) {
        fs::write(created(path), PROGRAM).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    tree
}

/// A path whose folder exists.
fn created(path: &Path) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    path.to_owned()
}

#[test]
fn the_status_is_good_only_if_all_steps_pass() {
    let tree = tree("ci-run");
    let path = format!("{}:{}", tree.join("bin").display(), env::var("PATH").unwrap());
    // `build` is that of both programs, beside the tests.
    for (fails, status) in [("nothing", 0), ("clippy", 1), ("test", 1), ("build", 1), ("run", 1)] {
        let mut command = Command::new(tree.join(".ci/run"));
        command.env("PATH", &path).env("FAILS", fails).env_remove("NANOTAPE_CI_LOG");
        let ran = command.bounded_output().unwrap();
        let printed = String::from_utf8_lossy(&ran.stdout);
        assert_eq!(ran.status.code(), Some(status), "{fails}: {printed}");
        assert_eq!(printed.contains("all steps passed"), status == 0, "{fails}: {printed}");
    }
}
