//! `cargo xtask gen SCHEMA` as a program: each mistake of a schema is one line with file and line,
//! and no file is written. Random mistakes are in `crates/base/interface/tests/generator.rs`.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use nanotape_harness::{Bounded as _, Scratch};

/// Its interface is on line 1, its method on line 9, its fields on lines 15 and 16.
const GOOD: &str = r#"[interface]
name = "Quotes"
title = "Quotes"
doc = "Prices."
version = 2
output = "quotes.rs"
runtime = "nanotape::interface"

[[method]]
number = 1
name = "quoted"
length = 12
doc = "A price."
fields = [
    { name = "price", offset = 0, type = "u64", doc = "The price." },
    { name = "size", offset = 8, type = "u32", since = 2, default = 5, doc = "The size." },
]
"#;

const SECOND: &str = r#"
[[method]]
number = 2
name = "closed"
length = 0
doc = "The end."
"#;

/// What is replaced in the schema, by what, and its errors after the name of the file.
const MISTAKES: &[(&str, &str, &str)] = &[
    // Names.
    ("\"Quotes\"", "\"\"", "2: interface: 'name' must not be empty"),
    ("\"Quotes\"", "\"quotes\"", "2: interface: name 'quotes' must be CamelCase"),
    (
        "\"Quotes\"",
        "\"Self\"",
        "2: interface: name 'Self' is a keyword of Rust, expected another CamelCase name",
    ),
    (
        "\"Quotes\"",
        "\"Result\"",
        "1: interface: generated code has a type 'Result', expected another name",
    ),
    (
        "\"Quotes\"",
        "\"Price4\"",
        "1: interface: generated code has a type 'Price4', expected another name",
    ),
    ("\"Quotes\"", "\"S\"", "1: interface: generated code has a type 'S', expected another name"),
    (
        "\"Quotes\"",
        "\"QuotesWriter\"",
        "1: interface: name 'QuotesWriter' is that of a writer, expected one without it",
    ),
    ("\"quoted\"", "\"\"", "11: method: 'name' must not be empty"),
    ("\"quoted\"", "\"a b\"", "11: method 'a b': name 'a b' must be snake_case"),
    ("\"quoted\"", "\"a__b\"", "11: method 'a__b': name 'a__b' must be snake_case"),
    ("\"quoted\"", "\"\u{e4}\"", "11: method '\u{e4}': name '\u{e4}' must be snake_case"),
    ("\"quoted\"", "\"a\\nb\"", "11: method: 'name' must be one line without control characters"),
    (
        "\"quoted\"",
        "\"yield\"",
        "11: method 'yield': name 'yield' is a keyword of Rust, expected another snake_case name",
    ),
    (
        "\"quoted\"",
        "\"gen\"",
        "11: method 'gen': name 'gen' is a keyword of Rust, expected another snake_case name",
    ),
    (
        "\"quoted\"",
        "\"unknown\"",
        "9: method 'unknown': generated code has a function of this name, expected another name",
    ),
    (
        "\"quoted\"",
        "\"into\"",
        "9: method 'into': generated code has a function of this name, expected another name",
    ),
    ("\"price\"", "\"\"", "15: method 'quoted': 'name' must not be empty"),
    (
        "\"price\"",
        "\"self\"",
        "15: method 'quoted' field 'self': name 'self' is a keyword of Rust, expected another \
         snake_case name",
    ),
    ("\"price\"", "\"size\"", "16: method 'quoted' field 'size': the name is on line 15 too"),
    // Paths.
    (
        "::interface",
        "::a b!",
        "7: interface: runtime 'nanotape::a b!' must be a path of Rust, such as \
         nanotape::interface",
    ),
    (
        "quotes.rs",
        "../quotes.rs",
        "6: interface: output '../quotes.rs' must be the path of a file *.rs below the current \
         folder, without '.' and '..'",
    ),
    (
        "quotes.rs",
        "/tmp/quotes.rs",
        "6: interface: output '/tmp/quotes.rs' must be the path of a file *.rs below the current \
         folder, without '.' and '..'",
    ),
    (
        "quotes.rs",
        "schema.toml",
        "6: interface: output 'schema.toml' must be the path of a file *.rs below the current \
         folder, without '.' and '..'",
    ),
    (
        "quotes.rs",
        "published/schema.txt",
        "6: interface: output 'published/schema.txt' must be the path of a file *.rs below the \
         current folder, without '.' and '..'",
    ),
    (
        "runtime =",
        "document = \"quotes.rs\"\nruntime =",
        "7: interface: document 'quotes.rs' must be the path of a file *.md below the current \
         folder, without '.' and '..'",
    ),
    (
        "quotes.rs",
        "own.rs",
        "6: own.rs: exists and is not generated: give another path in the schema",
    ),
    (
        "quotes.rs",
        "other.rs",
        "6: other.rs: is generated from other.toml: give another path in the schema",
    ),
    (
        "quotes.rs",
        "own.rs/quotes.rs",
        "6: own.rs/quotes.rs: cannot be replaced by a generated file: Not a directory (os error \
         20)",
    ),
    // Numbers.
    (
        "number = 1",
        "number = 65536",
        "10: method 'quoted': 'number' must be from 0 to 65535, not 65536",
    ),
    (
        "number = 1",
        "number = 0xff00",
        "10: method 'quoted': number 0xff00 is reserved for formats of nanotape, expected 0x0000 \
         to 0xfeff",
    ),
    (
        "number = 1",
        "number = 0xfff0",
        "10: method 'quoted': number 0xfff0 is reserved for formats of nanotape, expected 0x0000 \
         to 0xfeff",
    ),
    (
        "version = 2",
        "version = 2\nreserved_numbers = true",
        "11: method 'quoted': number 0x0001 is not reserved, expected 0xff00 to 0xffff\n\
         21: method 'closed': number 0x0002 is not reserved, expected 0xff00 to 0xffff",
    ),
    ("number = 2", "number = 1", "19: method 'closed': number 1 is taken by 'quoted' on line 9"),
    ("\"closed\"", "\"quoted\"", "19: method 'quoted': the name is on line 9 too"),
    (
        "\"closed\"",
        "\"quo_ted\"",
        "19: method 'quo_ted': differs from 'quoted' on line 9 in underscores only, expected \
         another name",
    ),
    (
        "default = 5",
        "default = 0xffffffffffffffffffffffffffffffffff",
        "16: method 'quoted' field 'size': 'default' must be a whole number from 0 to 4294967295",
    ),
    (
        "default = 5",
        "default = 0x1_0000_0000",
        "16: method 'quoted' field 'size': 'default' must be a whole number from 0 to 4294967295",
    ),
    ("version = 2", "version = 0", "1: interface: the first version is 1, not 0"),
    ("version = 2", "version = 65535", "1: interface: version 3 adds nothing"),
    (
        "since = 2",
        "since = 3",
        "16: method 'quoted' field 'size': since 3, but versions are 1 to 2",
    ),
    // Keys and values.
    ("title = \"Quotes\"", "title = 7", "3: interface: 'title' must be text, not integer"),
    ("doc = \"Prices.\"\n", "", "1: interface: 'doc' is missing"),
    (
        "doc = \"Prices.\"",
        "doc = \"A\\nb\"",
        "4: interface: 'doc' must be one line without control characters",
    ),
    (
        "\"A price.\"",
        "\"\\u202E\"",
        "13: method 'quoted': 'doc' must be one line without control characters",
    ),
    ("version = 2", "version = 2\n\"a\\nb\" = 1", "6: interface: unknown key 'a\\nb'"),
    (
        "length = 12",
        "length = 12.5",
        "12: method 'quoted': 'length' must be a whole number, not float",
    ),
    ("[interface]", "[protocol]", "1: table [interface] or [value] is missing"),
    // TOML.
    ("[[method]]", "[[method]", "9: not TOML: unclosed array table, expected `]`"),
    ("length = 12", "length = 12\nlength = 12", "13: not TOML: duplicate key"),
    ("doc = \"Prices.\"", "doc = \"Prices.", "4: not TOML: invalid basic string, expected `\"`"),
];

/// A folder with a file of its own, one that another schema has, and the schema.
fn folder(schema: impl AsRef<[u8]>) -> Scratch {
    let folder = Scratch::folder("gen");
    fs::write(folder.join("schema.toml"), schema).unwrap();
    fs::write(folder.join("own.rs"), "fn main() {}\n").unwrap();
    fs::write(folder.join("other.toml"), GOOD.replace("quotes.rs", "other.rs")).unwrap();
    let made = generate(folder.path(), "other.toml");
    assert!(made.status.success(), "{made:?}");
    folder
}

fn generate(folder: &Path, schema: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(["gen", schema]).current_dir(folder).bounded_output().unwrap()
}

/// The error of a schema in a folder, which has the same files after it.
#[track_caller]
fn refused(folder: &Path) -> String {
    let files = || fs::read_dir(folder).unwrap().count();
    let before = files();
    let output = generate(folder, "schema.toml");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!((output.stdout, files()), (Vec::new(), before), "{error}");
    error
}

#[test]
fn a_mistake_is_one_line_with_file_and_line() {
    for (from, to, expected) in MISTAKES {
        let good = format!("{GOOD}{SECOND}");
        let broken = good.replacen(from, to, 1);
        assert_ne!(broken, good, "{from} is not in the schema");
        let error = refused(folder(broken).path());
        let expected: Vec<String> =
            expected.lines().map(|problem| format!("schema.toml:{problem}")).collect();
        assert_eq!(error.lines().collect::<Vec<_>>(), expected, "{from} became {to}");
    }
}

#[test]
fn bytes_that_are_no_text_are_an_error_with_their_line() {
    let folder = folder([GOOD.as_bytes(), b"# \xff\n"].concat());
    assert_eq!(refused(folder.path()), "schema.toml:18: not UTF-8, expected text\n");
    fs::write(folder.join("schema.toml"), GOOD).unwrap();
    fs::create_dir_all(folder.join("published")).unwrap();
    for (list, expected) in [
        (&b"# list\n\xff"[..], "2: not UTF-8, expected text\n"),
        (b"# list\n<<<<\n", "2: '<<<<' is no line of `cargo xtask gen`, expected one such as"),
    ] {
        fs::write(folder.join("published/schema.txt"), list).unwrap();
        let error = refused(folder.path());
        assert!(error.starts_with(&format!("published/schema.txt:{expected}")), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_schema_outside_of_the_folder_is_wrong_usage() {
    let folder = folder(GOOD);
    for schema in ["/schema.toml", "../schema.toml", "own.rs", "schema"] {
        let output = generate(folder.path(), schema);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        let start = format!("xtask: schema '{schema}': expected the path of a file *.toml below");
        assert!(error.starts_with(&start) && error.lines().count() == 1, "{error}");
    }
    let output = generate(folder.path(), "none.toml");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "xtask: none.toml: cannot read: No such file or directory (os error 2)\n"
    );
}

#[test]
fn a_schema_without_mistakes_is_written_once() {
    let folder = folder(format!("{GOOD}{SECOND}"));
    let first = generate(folder.path(), "./schema.toml");
    assert_eq!(
        String::from_utf8(first.stdout).unwrap(),
        "wrote published/schema.txt\nwrote quotes.rs\n"
    );
    let second = generate(folder.path(), "schema.toml");
    assert_eq!(String::from_utf8(second.stdout).unwrap(), "all generated files are up to date\n");
}

#[test]
fn a_value_is_written_and_what_it_has_published_stays() {
    let schema = r#"[value]
name = "Level"
title = "Level"
doc = "A price level."
output = "level.rs"

[[field]]
name = "price"
offset = 0
type = "i64"
doc = "The price."
"#;
    let folder = folder(schema);
    let first = generate(folder.path(), "schema.toml");
    let wrote = "wrote published/schema.txt\nwrote level.rs\n";
    assert_eq!(String::from_utf8(first.stdout).unwrap(), wrote);
    let code = fs::read_to_string(folder.join("level.rs")).unwrap();
    assert!(code.contains("nanotape_latest::value! {"), "{code}");
    fs::write(folder.join("schema.toml"), schema.replace("i64", "u64")).unwrap();
    let error = refused(folder.path());
    let start = "schema.toml:7: published/schema.txt:5 has published: byte 0, price, i64, since 1";
    assert!(error.starts_with(start), "{error}");
}
