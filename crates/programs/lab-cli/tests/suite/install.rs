//! What an installation has besides the program: its version, shell completions, manual pages.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Output},
};

use nanotape_harness::{Bounded as _, skipped};

use crate::support::{Folder, nanotape};

/// Whether a program is installed; a notice if not.
fn has(program: &str) -> bool {
    let has = Command::new(program).arg("--version").bounded_output().is_ok();
    if !has {
        skipped(format_args!("no {program} on this machine"));
    }
    has
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_version_has_the_commit() {
    let version = nanotape(["--version"]).stdout;
    let package = concat!("nanotape ", env!("CARGO_PKG_VERSION"));
    let rest = version.trim_end().strip_prefix(package).unwrap_or_else(|| panic!("{version}"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    if !root.join(".git").exists() || !has("git") {
        assert_eq!(rest, "", "sources without a repository have a version only");
        return;
    }
    let show = ["show", "--no-patch", "--abbrev=7", "--format=%h %cs", "HEAD"];
    // Git shows a repository of another user only if it is configured to.
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "safe.directory");
    git.env("GIT_CONFIG_VALUE_0", root.canonicalize().unwrap());
    let head = stdout(&git.args(show).current_dir(root).bounded_output().unwrap());
    let (hash, date) = head.trim().split_once(' ').unwrap();
    assert_eq!(rest.replace("-dirty", ""), format!(" ({hash} {date})"));
}

/// The lines of the build script for sources in `root`.
fn built_in(script: &str, root: &str) -> (String, Vec<String>) {
    let package = Path::new(root).join("crates/programs/cli");
    let output = Command::new(script)
        .current_dir(&package)
        .env("CARGO_MANIFEST_DIR", &package)
        .env("CARGO_PKG_VERSION", "1.2.3")
        // A hook of another repository builds.
        .env("GIT_DIR", "/no/such/repository")
        .bounded_output()
        .unwrap();
    let lines: Vec<String> = stdout(&output).lines().map(str::to_owned).collect();
    let of = |key: &str| lines.iter().filter_map(|line| line.strip_prefix(key)).collect::<Vec<_>>();
    let [version] = of("cargo::rustc-env=NANOTAPE_VERSION=")[..] else { panic!("{lines:?}") };
    let watched: Vec<_> = of("cargo::rerun-if-changed=").into_iter().map(str::to_owned).collect();
    // A missing file would run the script in every build.
    assert!(watched.iter().all(|path| package.join(path).exists()), "{watched:?}");
    (version.to_owned(), watched)
}

#[test]
fn clones_worktrees_and_archives_have_the_version_that_they_can_have() {
    if !has("git") || !has("rustc") {
        return;
    }
    let folder = Folder::new("versions");
    let (script, source) =
        (folder.path("script"), concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/build.rs"));
    let rustc = ["--edition=2024", "--crate-name=build", "-Dwarnings", "-o", &script, source];
    let output = Command::new("rustc").args(rustc).bounded_output().unwrap();
    assert_eq!(stdout(&output), "");

    let repository = folder.path("repository");
    let git = |folder: &str, arguments: &[&str]| {
        let named = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let mut command = Command::new("git");
        command.env("GIT_COMMITTER_DATE", "2026-11-23T10:00:00Z").current_dir(folder);
        stdout(&command.args(named).args(arguments).bounded_output().unwrap())
    };
    let write = |root: &str, name: &str| {
        let path = Path::new(root).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let content = fs::read_to_string(&path).unwrap_or_default() + "more\n";
        fs::write(path, content).unwrap();
    };
    for name in [
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "crates/programs/cli/build.rs",
        "crates/programs/cli/src/main.rs",
    ] {
        write(&repository, name);
    }
    let version = |root: &str| built_in(&script, root).0;
    assert_eq!(version(&repository), "1.2.3", "an archive");

    git(&repository, &["init", "--quiet", "--initial-branch=main"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "--message=One"]);
    let head = || git(&repository, &["rev-parse", "--short=7", "HEAD"]).trim().to_owned();
    let first = head();
    assert_eq!(version(&repository), format!("1.2.3 ({first} 2026-11-23)"));
    let (_, watched) = built_in(&script, &repository);
    for name in [".git/HEAD", ".git/refs/heads/main", "crates/programs/cli/src", "Cargo.lock"] {
        assert!(watched.iter().any(|path| path.ends_with(name)), "{name} in {watched:?}");
    }

    // What is not part of the program, and an untracked file, do not count.
    write(&repository, "README.md");
    write(&repository, "notes.txt");
    assert_eq!(version(&repository), format!("1.2.3 ({first} 2026-11-23)"));
    write(&repository, "crates/programs/cli/src/main.rs");
    assert_eq!(version(&repository), format!("1.2.3 ({first}-dirty 2026-11-23)"));
    git(&repository, &["commit", "--quiet", "--all", "--message=Two"]);
    let second = head();
    assert_eq!(version(&repository), format!("1.2.3 ({second} 2026-11-23)"));

    // A worktree has a file .git, a fresh clone has its branch in packed-refs only.
    let [worktree, clone] = ["worktree", "clone"].map(|name| folder.path(name));
    git(&repository, &["worktree", "add", "--quiet", "--detach", &worktree, &first]);
    assert_eq!(version(&worktree), format!("1.2.3 ({first} 2026-11-23)"));
    git(&repository, &["clone", "--quiet", &repository, &clone]);
    git(&clone, &["pack-refs", "--all"]);
    assert_eq!(version(&clone), format!("1.2.3 ({second} 2026-11-23)"));

    // An archive inside another repository does not have the commit of that one.
    let inner = folder.path("repository/vendor/nanotape");
    for name in ["Cargo.toml", "crates/programs/cli/build.rs"] {
        write(&inner, name);
    }
    assert_eq!(version(&inner), "1.2.3");
}

/// The names of the packages of a workspace, each with those of its targets.
fn packages(root: &Path) -> BTreeSet<(String, Vec<String>)> {
    let metadata = ["metadata", "--locked", "--offline", "--no-deps", "--format-version=1"];
    let output = Command::new("cargo").args(metadata).current_dir(root).bounded_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| (name(package), package["targets"].as_array().unwrap().iter().map(name)))
        .map(|(package, targets)| (package, targets.collect()))
        .collect()
}

#[test]
fn the_layer_of_dependencies_of_the_container_is_of_the_whole_workspace() {
    if !has("cargo") {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let folder = Folder::new("manifests");
    let manifests = root.join("contrib/manifests");
    let layer = folder.path("layer");
    let output = Command::new(manifests).arg(&root).arg(&layer).bounded_output().unwrap();
    assert_eq!(stdout(&output), "", "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(packages(layer.as_ref()), packages(&root));
    let source = fs::read_to_string(folder.path("layer/crates/programs/cli/src/main.rs")).unwrap();
    assert_eq!(source, "fn main() {}\n", "a change of a source leaves the layer as it is");
}

/// What bash offers after these words, the last of which is not complete.
fn completed(script: &str, words: &[&str]) -> BTreeSet<String> {
    let [.., before, last] = words else { panic!("two words at least") };
    let run = r#"source "$1"; last=$2 before=$3; shift 3; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        COMPREPLY=(); _nanotape nanotape "$last" "$before"; printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", run, "bash", script, last, before]).args(words);
    stdout(&bash.bounded_output().unwrap()).lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    let folder = Folder::new("completions_bash");
    let script = folder.write("nanotape", nanotape(["completions", "bash"]).stdout.as_bytes());
    if !has("bash") {
        return;
    }
    let checked = Command::new("bash").args(["-n", &script]).bounded_output().unwrap();
    assert_eq!(stdout(&checked), "");
    for (words, expected) in [
        (["nanotape", "jour"].as_slice(), ["journal"].as_slice()),
        (&["nanotape", "journal", "repa"], &["repair"]),
        (&["nanotape", "stats", "--form"], &["--format"]),
        (&["nanotape", "stats", "--format", ""], &["csv", "html", "json", "text"]),
        (&["nanotape", "stats", "--format", "c"], &["csv"]),
        (&["nanotape", "completions", "z"], &["zsh"]),
        // Hidden: the option with which a plant starts its recorder.
        (&["nanotape", "journal", "record", "--for-p"], &[""]),
        // The shell completes file names by itself if there is nothing else.
        (&["nanotape", "stats", "day."], &[""]),
    ] {
        let expected: BTreeSet<String> = expected.iter().map(|&word| word.to_owned()).collect();
        assert_eq!(completed(&script, words), expected, "{words:?}");
    }
    let all = completed(&script, &["nanotape", ""]);
    for command in ["demo", "stats", "run", "tap", "journal", "lab", "completions", "man"] {
        assert!(all.contains(command), "{command} in {all:?}");
    }
}

#[test]
fn zsh_and_fish_accept_their_scripts() {
    let folder = Folder::new("completions_others");
    for (shell, check) in [("zsh", "-n"), ("fish", "--no-execute")] {
        let ran = nanotape(["completions", shell]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        assert!(!ran.stdout.contains("for-plant"), "hidden options stay hidden");
        let script = folder.write(shell, ran.stdout.as_bytes());
        if has(shell) {
            let checked = Command::new(shell).args([check, &script]).bounded_output().unwrap();
            assert_eq!(stdout(&checked), "", "{shell}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page_that_the_formatter_accepts() {
    let folder = Folder::new("man");
    let pages = folder.path("share/man/man1");
    let ran = nanotape(["man", "-o", &pages]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let names: BTreeSet<String> = fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(ran.stdout, format!("{} pages in {pages}\n", names.len()));
    for page in ["nanotape.1", "nanotape-stats.1", "nanotape-lab-bench-book.1", "nanotape-man.1"] {
        assert!(names.contains(page), "{page} in {names:?}");
    }
    let stats = fs::read_to_string(Path::new(&pages).join("nanotape-stats.1")).unwrap();
    for expected in
        [".TH \"NANOTAPE-STATS\" 1 ", ".SH \"EXAMPLES\"\n.nf\n  nanotape stats day.gz\n"]
    {
        assert!(stats.contains(expected), "{expected:?} in {stats}");
    }
    let record = fs::read_to_string(Path::new(&pages).join("nanotape-journal-record.1")).unwrap();
    assert!(!record.contains("for\\-plant"), "hidden options stay hidden: {record}");

    let ran = nanotape(["man", "-o", &pages]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("exists; use --force to overwrite it"), "{}", ran.stderr);
    assert_eq!(nanotape(["man", "-o", &pages, "--force"]).status, 0);

    if !has("groff") {
        return;
    }
    for name in names {
        let page = Path::new(&pages).join(&name);
        let output = Command::new("groff")
            .args(["-man", "-Tutf8", "-ww", "-P-cbou"])
            .arg(&page)
            .bounded_output()
            .unwrap();
        let text = stdout(&output);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name}");
        assert!(text.contains("SYNOPSIS") && text.contains("nanotape"), "{name}: {text}");
    }
}
