//! One program of the comparison: reads a day file with the named library and prints one JSON line.
//!
//! `rivals-books PROGRAM FILE`, and `rivals-books first-half FILE COPY`, which makes a day that
//! ends while its books are full. `bench/rivals/run books` runs all programs of the comparison in
//! turns and prints the table. Each program is a process of its own, because memory and CPU time
//! are measured for a process.
#![forbid(unsafe_code)]

mod digest;
#[cfg(feature = "hftbacktest")]
mod hftbacktest_depth;
#[cfg(feature = "itch5")]
mod itch5_parser;
#[cfg(feature = "itchy")]
mod itchy_parser;
mod measured;
mod nanotape;
mod records;

use std::{ffi::OsString, path::Path, process::ExitCode};

use measured::Outcome;
use rivals_measure::{Failure, finish};
use serde_json::json;

type Program = fn(&Path) -> Result<Outcome, Failure>;

/// The compiled programs, under their names in the table.
const PROGRAMS: &[(&str, Program)] = &[
    ("nanotape-decode", nanotape::decode),
    ("nanotape-books", nanotape::books),
    #[cfg(feature = "itch5")]
    ("itch5", itch5_parser::run),
    #[cfg(feature = "itchy")]
    ("itchy", itchy_parser::run),
    #[cfg(feature = "hftbacktest")]
    ("hftbacktest-btree", hftbacktest_depth::btree),
    #[cfg(feature = "hftbacktest")]
    ("hftbacktest-hash", hftbacktest_depth::hash),
];

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let name = words.first().and_then(|name| name.to_str()).unwrap_or("rivals-books");
    finish(name, run(&words, name))
}

fn run(words: &[OsString], name: &str) -> Result<Option<String>, Failure> {
    if let [verb, file, copy] = words
        && verb == "first-half"
    {
        return records::first_half(file.as_ref(), copy.as_ref()).map(|()| None);
    }
    let [_, file] = words else { return Err("needs a program and a file".into()) };
    let (_, program) = PROGRAMS.iter().find(|(known, _)| name == *known).ok_or_else(|| {
        let names: Vec<_> = PROGRAMS.iter().map(|(name, _)| *name).collect();
        format!("no such program; compiled in: {}", names.join(", "))
    })?;
    let mut line = json!(program(file.as_ref())?);
    line["name"] = json!(name);
    Ok(Some(line.to_string()))
}
