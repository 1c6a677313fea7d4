//! The generator against rustc: a schema is refused with file and line, or its module compiles.
//!
//! Schemas with random mistakes and with every risky name go through the generator. The modules of
//! those that it accepts are compiled with this crate, as one crate and without warnings.

use std::{
    env,
    ffi::OsStr,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use nanotape_harness::{Bounded as _, Random, Scratch};
use nanotape_schema::{Interface, interface_code, interface_document, read_interface};

const SEED: u64 = 0x4745_4e21;
const MUTANTS: usize = 6_000;

/// Accepted mutants whose modules are compiled.
const MOST_COMPILED: usize = 80;

const SCHEMAS: [&str; 3] = [
    include_str!("../../../../schema/testing/greetings-1.toml"),
    include_str!("../../../../schema/testing/greetings-2.toml"),
    include_str!("../../../../schema/example-positions.toml"),
];

/// Values that replace others: names, types, numbers, and texts that end lines or literals.
const WORDS: [&str; 40] = [
    "\"\"",
    "\"self\"",
    "\"Self\"",
    "\"gen\"",
    "\"a b\"",
    "\"9a\"",
    "\"met\"",
    "\"who\"",
    "\"count\"",
    "\"a\\nb\"",
    "\"\\u202E\"",
    "\"*/ \\\" {}\"",
    "\"../a.rs\"",
    "\"a.rs\"",
    "\"a.md\"",
    "\"u8\"",
    "\"u16\"",
    "\"i64\"",
    "\"Price4\"",
    "\"Maybe<Price4>\"",
    "\"Alpha<3>\"",
    "\"Alpha<0>\"",
    "\"Text\"",
    "\"Bytes\"",
    "\"TailOffset\"",
    "0",
    "1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "16",
    "65535",
    "65536",
    "0xff00",
    "-1",
    "1.5",
    "true",
    "[]",
];

/// Characters that are inserted.
const CHARACTERS: [char; 12] =
    ['"', '\'', '=', ',', '[', ']', '#', '\n', 'x', '0', '\u{e4}', '\u{7}'];

/// Names that Rust, its prelude or generated code use in some place.
const NAMES: [&str; 98] = [
    "abstract",
    "as",
    "async",
    "at",
    "auto",
    "await",
    "become",
    "box",
    "break",
    "bytes",
    "clone",
    "const",
    "constants",
    "continue",
    "core",
    "crate",
    "debug",
    "default",
    "defaults",
    "dispatch",
    "do",
    "drop",
    "dyn",
    "earlier",
    "else",
    "encode",
    "enum",
    "err",
    "extern",
    "false",
    "field",
    "fields",
    "final",
    "fmt",
    "fn",
    "for",
    "gen",
    "handler",
    "if",
    "impl",
    "in",
    "interface",
    "into",
    "let",
    "loop",
    "macro",
    "macro_rules",
    "match",
    "message",
    "mod",
    "move",
    "mut",
    "nanotape_interface",
    "new",
    "none",
    "number",
    "offset",
    "ok",
    "older",
    "override",
    "priv",
    "pub",
    "put",
    "raw",
    "ref",
    "return",
    "safe",
    "self",
    "shapes",
    "since",
    "sink",
    "some",
    "static",
    "std",
    "str",
    "struct",
    "super",
    "tail",
    "text",
    "trait",
    "true",
    "try",
    "ts",
    "type",
    "typeof",
    "types",
    "u16",
    "u64",
    "union",
    "unknown",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "words",
    "yield",
];

/// The same for traits.
const TRAIT_NAMES: [&str; 26] = [
    "Alpha",
    "Clone",
    "Debug",
    "Default",
    "Drop",
    "Err",
    "Fn",
    "From",
    "H",
    "InPlaceSink",
    "Into",
    "Iterator",
    "Maybe",
    "Message",
    "None",
    "Ok",
    "Option",
    "Output",
    "Result",
    "S",
    "Self",
    "Send",
    "Sized",
    "Some",
    "String",
    "Vec",
];

/// A schema with every kind of row in the table of its module.
const NAMED: &str = r#"
[interface]
name = "INTERFACE"
title = "Title"
doc = "About."
output = "a.rs"
version = 2

[[method]]
number = 1
name = "METHOD"
length = 24
doc = "About."
fields = [
    { name = "FIELD", offset = 0, type = "Price4", doc = "About." },
    { name = "tail_at", offset = 4, type = "TailOffset", doc = "About." },
    { name = "b_FIELD", offset = 6, type = "u16", constant = 1, doc = "About." },
    { name = "c_FIELD", offset = 8, type = "Maybe<Price4>", since = 2, default = 7, doc = "About." },
    { name = "d", offset = 12, type = "Alpha<12>", since = 2, default = "e", doc = "About." },
    { name = "e_FIELD", offset = 24, type = "Text", doc = "About." },
]
"#;

fn mutant(random: &mut Random) -> String {
    let mut text = SCHEMAS[random.index(SCHEMAS.len())].to_owned();
    for _ in 0..random.between(1, 3) {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let at = random.index(lines.len());
        let other = random.index(lines.len());
        match random.below(8) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(other, lines[at].clone()),
            2 => lines.swap(at, other),
            3 => {
                let line: Vec<char> = lines[at].chars().collect();
                let (before, after) = line.split_at(random.index(line.len() + 1));
                let after =
                    if random.below(2) == 0 { after } else { after.get(1..).unwrap_or_default() };
                let inserted = [CHARACTERS[random.index(CHARACTERS.len())]];
                lines[at] = [before, &inserted, after].concat().into_iter().collect();
            }
            _ => lines[at] = with_another_word(&lines[at], random),
        }
        text = lines.join("\n") + "\n";
    }
    text
}

/// The line with one of its values replaced.
fn with_another_word(line: &str, random: &mut Random) -> String {
    let starts: Vec<usize> = line.match_indices("= ").map(|(at, _)| at + 2).collect();
    let Some(&start) = starts.get(random.index(starts.len().max(1))) else {
        return line.to_owned();
    };
    let rest = &line[start..];
    let end = match rest.strip_prefix('"') {
        Some(text) => text.find('"').map_or(rest.len(), |end| end + 2),
        None => rest.find([',', ' ']).unwrap_or(rest.len()),
    };
    format!("{}{}{}", &line[..start], WORDS[random.index(WORDS.len())], &rest[end..])
}

/// The interface, or nothing after a check of its problems.
fn accepted(schema: &str, name: &str) -> Option<Interface> {
    let problems = match read_interface("a/b.toml", schema) {
        Ok(interface) => {
            assert!(!interface_document(&interface).is_empty());
            let published = interface.published();
            assert_eq!(
                interface.check_published("a/b.txt", &published),
                Ok(()),
                "{name}\n{schema}"
            );
            return Some(interface);
        }
        Err(problems) => problems,
    };
    assert!(!problems.0.is_empty());
    for problem in &problems.0 {
        let line = problem.to_string();
        let rest = line.strip_prefix("a/b.toml:").and_then(|rest| rest.split_once(": "));
        let number = rest.and_then(|(number, _)| number.parse::<usize>().ok()).unwrap_or(0);
        let is_line = (1..=schema.lines().count() + 1).contains(&number);
        assert!(is_line && !line.contains(char::is_control), "{name}: {line:?}\n{schema}");
    }
    None
}

/// This crate as rustc made it for this test. Other builds leave theirs in the same folder.
fn runtime(deps: &Path) -> PathBuf {
    let is_runtime = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        name.starts_with("libnanotape_interface-") && name.ends_with(".rlib")
    };
    let files = fs::read_dir(deps).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(is_runtime).collect();
    files.sort_by_key(|path| fs::metadata(path).and_then(|file| file.modified()).ok());
    let good = read_interface("good.toml", SCHEMAS[0]).unwrap();
    let errors = files.iter().rev().map(|runtime| {
        let output = compiled(deps, runtime, &[("good".into(), good.clone())]);
        (runtime.clone(), output)
    });
    let mut last = String::new();
    for (runtime, output) in errors {
        if output.status.success() {
            return runtime;
        }
        last = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    panic!("no library of this crate compiles the first schema: {files:?}\n{last}");
}

/// Compiles the modules of interfaces as one crate.
fn compiled(deps: &Path, runtime: &Path, interfaces: &[(String, Interface)]) -> Output {
    let folder = Scratch::folder("modules");
    let mut lib = String::new();
    for (index, (_, interface)) in interfaces.iter().enumerate() {
        fs::write(folder.join(format!("m{index}.rs")), interface_code(interface)).unwrap();
        writeln!(lib, "pub mod m{index};").unwrap();
    }
    fs::write(folder.join("lib.rs"), lib).unwrap();
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition=2024", "--crate-type=lib", "--crate-name=modules", "--emit=metadata"]);
    rustc.args(["-Dwarnings", "lib.rs"]).arg("-L").arg(deps).arg("--extern");
    rustc.arg(format!("nanotape_interface={}", runtime.display()));
    rustc.current_dir(folder.path()).bounded_output().unwrap()
}

#[track_caller]
fn check(interfaces: &[(String, Interface)]) {
    let program = env::current_exe().unwrap();
    let deps = program.parent().unwrap();
    let output = compiled(deps, &runtime(deps), interfaces);
    if output.status.success() {
        return;
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let at = errors.split("--> m").nth(1).and_then(|rest| rest.split('.').next());
    let first = at.and_then(|index| index.parse::<usize>().ok()).map(|index| &interfaces[index].0);
    panic!("rustc refuses the module of: {}\n{errors}", first.map_or("?", |name| name));
}

#[test]
fn a_changed_schema_is_refused_with_its_line_or_its_module_compiles() {
    let mut random = Random::new(SEED);
    let (mut good, mut refused) = (Vec::new(), 0);
    let is_here = |interface: &Interface| interface.runtime == "nanotape_interface";
    for number in 0..MUTANTS {
        let schema = mutant(&mut random);
        match accepted(&schema, &format!("seed {SEED:#x}, mutant {number}")) {
            Some(interface) if is_here(&interface) => good.push((schema, interface)),
            Some(_) => {}
            None => refused += 1,
        }
    }
    println!("{} accepted, {refused} refused", good.len());
    assert!(good.len() > MOST_COMPILED && refused > MUTANTS / 2, "the mutants test too little");
    let each = good.len() / MOST_COMPILED;
    let some: Vec<_> = good.into_iter().step_by(each).take(MOST_COMPILED).collect();
    check(&some);
}

#[test]
fn a_name_is_refused_or_its_module_compiles() {
    let of = |interface: &str, method: &str, field: &str| {
        let schema = NAMED.replace("INTERFACE", interface);
        let schema = schema.replace("METHOD", method).replace("FIELD", field);
        let name = format!("{interface} {method} {field}");
        accepted(&schema, &name).map(|found| (name, found))
    };
    let mut all: Vec<_> = NAMES.iter().filter_map(|name| of("Quotes", "quoted", name)).collect();
    all.extend(NAMES.iter().filter_map(|name| of("Quotes", name, name)));
    all.extend(TRAIT_NAMES.iter().filter_map(|name| of(name, "quoted", "price")));
    assert!(all.len() > 100, "{}", all.len());
    check(&all);
}
