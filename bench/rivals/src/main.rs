//! One program of the comparison: reads a day file with the named library and prints one JSON line.
//!
//! `rivals PROGRAM FILE`, and `rivals first-half FILE COPY`, which makes a day that ends while its
//! books are full. `./run` starts every program of the comparison in turns and makes the
//! table. Each program is a process of its own, so that memory and CPU time are its alone.
#![forbid(unsafe_code)]

mod digest;
#[cfg(feature = "hftbacktest")]
mod hftbacktest_depth;
#[cfg(feature = "itch5")]
mod itch5_parser;
#[cfg(feature = "itchy")]
mod itchy_parser;
mod nanotape;
mod outcome;
mod records;

use std::{path::Path, process::ExitCode};

use outcome::{Failure, Outcome};

type Program = fn(&Path) -> Result<Outcome, Failure>;

/// What was compiled in, by the names that the table shows.
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
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if let [verb, file, copy] = words.as_slice()
        && verb == "first-half"
    {
        return finish("first-half", records::first_half(Path::new(file), Path::new(copy)));
    }
    let [name, file] = words.as_slice() else { return usage("two arguments are needed") };
    let program = PROGRAMS.iter().find(|(known, _)| name == known);
    let Some((name, program)) = program else {
        return usage(&format!("no program is called {}", name.to_string_lossy()));
    };
    finish(name, program(Path::new(file)).map(|outcome| println!("{}", outcome.json(name))))
}

fn finish(name: &str, result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{name}: {failure}");
            ExitCode::from(1)
        }
    }
}

fn usage(what: &str) -> ExitCode {
    let names: Vec<_> = PROGRAMS.iter().map(|(name, _)| *name).collect();
    eprintln!("{what}; usage: rivals PROGRAM FILE, where PROGRAM is one of {}", names.join(", "));
    ExitCode::from(2)
}
