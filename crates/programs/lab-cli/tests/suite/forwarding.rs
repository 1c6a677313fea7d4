//! How `nanotape` runs its second program: beside it, on PATH, missing, of another version.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::PermissionsExt as _,
    },
    path::Path,
    process::{Command, Output, Stdio},
};

use nanotape_harness::{Bounded as _, BoundedChild as _};
use serde_json::Value;

use crate::support::{Folder, lab_program, nanotape, program};

/// Prints its process, its name and its arguments; exit status 7.
const SCRIPT: &str = "#!/bin/sh\nprintf '%s\\0' \"$$\" \"$0\" \"$@\"\nexit 7\n";

/// A folder with a program `nanotape` and without `nanotape-lab`.
struct Installed(Folder);

impl Installed {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        for inner in ["bin", "path"] {
            fs::create_dir(folder.path(inner)).unwrap();
        }
        let own = folder.path("bin/nanotape");
        if fs::hard_link(program(), &own).is_err() {
            fs::copy(program(), &own).unwrap();
        }
        Self(folder)
    }

    /// Puts a script with the name of the second program into a folder.
    fn script(&self, folder: &str, text: &str, mode: u32) -> String {
        let path = self.0.write(&format!("{folder}/nanotape-lab"), text.as_bytes());
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(self.0.path("bin/nanotape"));
        let path =
            std::env::join_paths([Path::new("/no/such/folder"), self.0.path("path").as_ref()]);
        command.args(arguments).env("PATH", path.unwrap()).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).bounded_output().unwrap()
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The words that a script printed.
fn words(output: &Output) -> Vec<OsString> {
    let words = output.stdout.split(|&byte| byte == 0);
    let words: Vec<_> = words.map(|word| OsString::from_vec(word.to_vec())).collect();
    words[..words.len() - 1].to_vec()
}

fn version() -> String {
    let ran = nanotape(["--version"]);
    ran.stdout.trim_end().strip_prefix("nanotape ").unwrap().to_owned()
}

#[test]
fn the_program_beside_is_the_process_that_was_started() {
    let installed = Installed::new("forward-beside");
    let beside = installed.script("bin", SCRIPT, 0o755);
    installed.script("path", "#!/bin/sh\nexit 1\n", 0o755);
    // An argument need not be text.
    let odd = OsStr::from_bytes(b"\xffday\xfe");
    let arguments = ["-q", "lab", "bench", "a b", "", "--no-progress"].map(OsStr::new);
    let arguments = [&arguments[..], &[odd]].concat();
    let mut command = installed.command(&arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let process = child.id();
    let output = child.bounded_wait_with_output(&command);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(7), ""));
    let expected = [&process.to_string(), &beside, &format!("--for-nanotape={}", version())];
    let expected: Vec<&OsStr> = expected.into_iter().map(OsStr::new).chain(arguments).collect();
    assert_eq!(words(&output), expected);
}

#[test]
fn without_one_beside_the_first_program_on_the_path_that_can_run_is_taken() {
    let installed = Installed::new("forward-path");
    installed.script("bin", SCRIPT, 0o644);
    let on_path = installed.script("path", SCRIPT, 0o755);
    for arguments in [
        ["delay", "a", "b"].as_slice(),
        &["explain", "equities"],
        &["ring", "prove"],
        &["help", "journal", "prove"],
    ] {
        let output = installed.run(arguments);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(7), ""));
        let words = words(&output);
        assert_eq!(words[1], *on_path);
        assert_eq!(words[3..], *arguments);
    }
}

#[test]
fn a_missing_program_is_one_line_with_its_installation_and_the_rest_works() {
    let installed = Installed::new("forward-missing");
    let line = "nanotape: this command is in the program nanotape-lab, which is neither beside \
                nanotape nor in a folder of PATH: install it with cargo install --locked --path \
                crates/programs/lab-cli\n";
    for arguments in [["lab", "jitter", "--help"].as_slice(), &["delay"], &["journal", "prove"]] {
        let output = installed.run(arguments);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
        assert_eq!(text(&output.stderr), line);
    }
    let help = installed.run(&["--help"]);
    let commands = text(&help.stdout).lines().map(str::trim);
    let mut labs = commands.filter(|line| line.starts_with("lab  "));
    assert!(labs.any(|line| line.contains("Measure, compare")), "{help:?}");
    let script = installed.run(&["completions", "bash"]);
    assert_eq!((script.status.code(), text(&script.stderr)), (Some(0), ""));
    assert!(text(&script.stdout).contains("lab") && !text(&script.stdout).contains("jitter"));
}

#[test]
fn a_program_that_cannot_start_is_an_error_with_its_path() {
    let installed = Installed::new("forward-broken");
    let broken = installed.script("bin", "#!/no/such/interpreter\n", 0o755);
    for arguments in [["lab", "clock"], ["completions", "bash"]] {
        let output = installed.run(&arguments);
        assert_eq!(output.status.code(), Some(2));
        let expected = format!("nanotape: cannot run {broken}: No such file or directory");
        assert!(text(&output.stderr).starts_with(&expected), "{output:?}");
    }
}

#[test]
fn programs_of_two_versions_are_refused_with_both_versions() {
    let version = version();
    let direct = Command::new(lab_program()).arg("--version").bounded_output().unwrap();
    assert_eq!(text(&direct.stdout), format!("nanotape-lab {version}\n"));
    let line = format!(
        "nanotape: nanotape-lab is {version}, nanotape is 0.0.1 (abc): install both from one \
         commit, see docs/install.md\n"
    );
    let installed = Installed::new("forward-version");
    let old =
        format!("#!/bin/sh\nshift\nexec {} '--for-nanotape=0.0.1 (abc)' \"$@\"\n", lab_program());
    installed.script("bin", &old, 0o755);
    for arguments in [["lab", "clock"], ["completions", "fish"], ["man", "-oman"]] {
        let output = installed.run(&arguments);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
        assert_eq!(text(&output.stderr), line, "{arguments:?}");
    }
}

#[test]
fn help_is_the_same_however_it_is_requested() {
    let own = |words: &str| {
        let output =
            Command::new(lab_program()).args(words.split_whitespace()).bounded_output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{words}");
        text(&output.stdout).to_owned()
    };
    for (command, direct) in [
        ("lab jitter", "jitter"),
        ("lab bench book", "bench book"),
        ("delay", "feed-delay"),
        ("explain", "explain"),
        ("ring prove", "ring-prove"),
        ("journal prove", "journal-prove"),
    ] {
        let help = nanotape(format!("{command} --help").split_whitespace());
        assert_eq!((help.status, help.stderr.as_str()), (0, ""));
        let usage = format!("Usage: nanotape {command} ");
        assert!(help.stdout.contains(&usage), "{command}: {}", help.stdout);
        assert!(help.stdout.contains("\nGlobal options:\n  -q, --quiet\n"), "{}", help.stdout);
        assert_eq!(nanotape(format!("help {command}").split_whitespace()).stdout, help.stdout);
        assert_eq!(own(&format!("{direct} --help")), help.stdout);
    }
    let lab = nanotape(["lab", "--help"]).stdout;
    assert!(lab.contains("Usage: nanotape lab [OPTIONS] <COMMAND>"), "{lab}");
    assert!(!lab.contains("feed-delay") && own("--help").contains("feed-delay"), "{lab}");
}

#[test]
fn both_programs_describe_a_command_with_the_same_line() {
    let mark = format!("--for-nanotape={}", version());
    let output = Command::new(lab_program()).args([&mark, "describe"]).bounded_output().unwrap();
    let description: Value = serde_json::from_slice(&output.stdout).unwrap();
    let commands = |description: &Value| description["commands"].as_array().unwrap().clone();
    let mut compared = Vec::new();
    let mut compare = |words: &[&str], command: &Value| {
        let (name, about) = (command["name"].as_str().unwrap(), command["about"].as_str().unwrap());
        let help = nanotape(words.iter().chain(&["--help"])).stdout;
        let line = help.lines().find(|line| line.trim_start().starts_with(&format!("{name}  ")));
        let line = line.unwrap_or_else(|| panic!("{name} in {help}"));
        assert_eq!(line.trim_start()[name.len()..].trim_start(), about);
        compared.push([words, &[name]].concat().join(" "));
    };
    for command in commands(&description) {
        match command["name"].as_str().unwrap() {
            name @ ("ring" | "journal" | "latest") => {
                compare(&[name], &commands(&command)[0]);
            }
            _ => compare(&[], &command),
        }
    }
    compared.sort();
    assert_eq!(
        compared,
        ["delay", "explain", "journal prove", "lab", "latest prove", "ring prove"]
    );
}

#[test]
fn a_path_that_is_no_text_is_read_by_the_second_program() {
    let folder = Folder::new("forward-bytes");
    let day = folder.day(2_000, 5);
    let odd = Path::new(&day).with_file_name(OsStr::from_bytes(b"\xffday\xfe.itch50"));
    fs::copy(&day, &odd).unwrap();
    let queue = |path: &OsStr| {
        let words = ["lab", "queue", "--service", "1us", "--format", "csv"].map(OsStr::new);
        nanotape(words.into_iter().chain([path]))
    };
    let [of_plain, of_odd] = [queue(day.as_ref()), queue(odd.as_ref())];
    assert_eq!((of_odd.status, of_plain.status), (0, 0), "{}", of_odd.stderr);
    assert_eq!(of_odd.stdout, of_plain.stdout);
}
