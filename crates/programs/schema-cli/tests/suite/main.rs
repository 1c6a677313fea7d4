//! The command line of `nanotape-schema`: its answers, its errors and its exit status.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use nanotape_harness::{Bounded as _, Scratch};

const LETTERS: &str =
    include_str!("../../../../market/schema/tests/suite/descriptions/letters.xml");

const EXPLAINED: &str = r#"
[[explained]]
aspect = "width"
messages = ["L"]
fields = ["weight"]
ours = "4"
theirs = "2"
reason = "An older one."

[[explained]]
aspect = "length"
messages = ["L"]
ours = "36"
theirs = "34"
reason = "An older one."
"#;

fn program(folder: &Path, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_nanotape-schema");
    Command::new(program).current_dir(folder).args(arguments).bounded_output().unwrap()
}

/// Exit status, standard output and standard error.
fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = program(folder, arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// A folder with a description, the schema of it, and a description that differs.
fn folder() -> Scratch {
    let scratch = Scratch::folder("described");
    let folder = scratch.path();
    fs::write(folder.join("letters.xml"), LETTERS).unwrap();
    let weight = "<Name>Weight</Name><Size>4</Size>";
    let other = LETTERS.replace(weight, &weight.replace('4', "2"));
    fs::write(folder.join("other.xml"), other).unwrap();
    fs::write(folder.join("explained.toml"), EXPLAINED).unwrap();
    let (status, _, error) = run(folder, &["import", "letters.xml", "-o", "letters.toml"]);
    assert_eq!((status, error.as_str()), (0, ""));
    scratch
}

#[test]
fn the_exit_status_is_that_of_the_differences() {
    let scratch = folder();
    let check = |more: &[&str]| {
        let (status, out, error) =
            run(scratch.path(), &[&["check", "letters.toml"], more].concat());
        (status, out.lines().count(), error)
    };
    let error = |text: &str| format!("nanotape: {text}\n");
    let none = error("2 messages, 0 differences, 0 explained");
    assert_eq!(check(&["letters.xml"]), (0, 1, none));
    let two = error("2 messages, 2 differences, 0 explained");
    assert_eq!(check(&["other.xml"]), (1, 3, two));
    let explained = error("2 messages, 2 differences, 2 explained");
    assert_eq!(check(&["other.xml", "--explained", "explained.toml"]), (0, 3, explained));
    let (status, rows, error) = check(&["letters.xml", "--explained", "explained.toml"]);
    assert_eq!((status, rows), (1, 1));
    assert!(error.contains("explained.toml:2: explained: no such difference"), "{error}");
    for usage in [&["other.xml", "--format", "xml"][..], &[], &["absent.xml"]] {
        assert_eq!(check(usage).0, 2, "{usage:?}");
    }
}

#[test]
fn a_difference_is_one_line_in_each_format() {
    let scratch = folder();
    let check = |format: &str| {
        let arguments = ["check", "letters.toml", "other.xml", "--format", format];
        run(scratch.path(), &arguments).1
    };
    let csv = "line,aspect,message,name,field,ours,theirs,reason\n\
               5,length,L,Letter,,36,34,\n\
               17,width,L,Letter,weight,4,2,\n";
    assert_eq!(check("csv"), csv);
    let json = check("json");
    let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    let expected = serde_json::json!({
        "line": 17, "aspect": "width", "message": "L", "name": "Letter", "field": "weight",
        "ours": "4", "theirs": "2",
    });
    assert_eq!(last, expected);
    let text = check("text");
    let last: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(last[..7], ["17", "width", "L", "Letter", "weight", "4", "2"]);
}

#[test]
fn a_damaged_description_is_one_line_with_its_position() {
    let scratch = folder();
    fs::write(
        scratch.path().join("bad.xml"),
        "<OmiIexTp>\n  <Messages><Message/></Messages>\n</OmiIexTp>",
    )
    .unwrap();
    let line = "nanotape: bad.xml:2:13: <Message> has no <Name>\n";
    for arguments in [&["import", "bad.xml"][..], &["check", "letters.toml", "bad.xml"]] {
        assert_eq!(run(scratch.path(), arguments), (1, String::new(), line.into()));
    }
    fs::write(scratch.path().join("bad.xml"), b"<a>\xff</a>").unwrap();
    let line = "nanotape: bad.xml: byte 3 is not UTF-8\n";
    assert_eq!(run(scratch.path(), &["import", "bad.xml"]), (1, String::new(), line.into()));
    fs::write(scratch.path().join("bad.toml"), "[protocol]\nname = 1\n").unwrap();
    let (status, out, error) = run(scratch.path(), &["check", "bad.toml", "letters.xml"]);
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(error.lines().all(|line| line.starts_with("nanotape: bad.toml:")), "{error}");
}

#[test]
fn an_imported_schema_overwrites_a_file_with_force_only() {
    let scratch = folder();
    let import = ["import", "other.xml", "-o", "letters.toml"];
    let (status, _, error) = run(scratch.path(), &import);
    assert_eq!((status, error.contains("use --force to overwrite it")), (2, true), "{error}");
    let (status, _, _) = run(scratch.path(), &[&import[..], &["--force"]].concat());
    assert_eq!(status, 0);
    assert_eq!(run(scratch.path(), &["check", "letters.toml", "other.xml"]).0, 0);
    let (status, out, _) = run(scratch.path(), &["import", "other.xml"]);
    assert_eq!(status, 0);
    assert_eq!(out, fs::read_to_string(scratch.path().join("letters.toml")).unwrap());
}

#[test]
fn help_has_examples() {
    let scratch = folder();
    for command in ["import", "check"] {
        let (status, help, _) = run(scratch.path(), &[command, "--help"]);
        assert_eq!(status, 0);
        assert!(help.contains(&format!("  nanotape-schema {command} ")), "{help}");
    }
}
