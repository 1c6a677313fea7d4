//! The help of `cargo xtask` and of each of its commands, and the line of a wrong command.
//!
//! `main` has the words of the commands; a test compares both.

/// One command, with the lines of its help.
struct Chore {
    name: &'static str,
    help: &'static str,
    /// How it is used, beyond what the lines above show.
    examples: &'static [(&'static str, &'static str)],
}

const fn chore(
    name: &'static str,
    help: &'static str,
    examples: &'static [(&'static str, &'static str)],
) -> Chore {
    Chore { name, help, examples }
}

const CHORES: [Chore; 9] = [
    chore(
        "gen",
        "  gen            write everything that is derived from schema/
  gen --check    only list what would change; exit status 1 if a file would
  gen SCHEMA     write what is derived from the schema of an interface or a value in another
                 repository, below the current folder (docs/interfaces.md); exit status 1 if the
                 schema has a mistake
",
        &[
            ("cargo xtask gen", "after a change of a file in schema/"),
            (
                "cargo run --manifest-path ../nanotape/xtask/Cargo.toml -- gen schema/fills.toml",
                "in a repository of your own",
            ),
        ],
    ),
    chore(
        "tidy",
        "  tidy           check the rules of the repository; exit status 1 if a file breaks one
",
        &[("git add -A && cargo xtask tidy", "before a commit: it reads the files that git has")],
    ),
    chore(
        "gate",
        "  gate [BASE]    compare the hot path's time: BASE (main) against the working tree; exit status 0
                 nothing is slower, 1 something is, 2 undecided
  gate instructions [--accept]
                 compare its instruction counts with bench/instructions.json; --accept writes them
",
        &[("cargo xtask gate main --cap 400", "with more seconds for the comparison")],
    ),
    chore(
        "figures",
        "  figures        measure the numbers of the README on this machine, append them to
                 bench/record/figures.jsonl, and write the table
",
        &[("cargo xtask figures", "on a quiet machine")],
    ),
    chore(
        "fuzz",
        "  fuzz           list the fuzz targets
  fuzz T [S]     run target T, or all, for S seconds each (60); exit status 1 after a crash
",
        &[("cargo xtask fuzz interfaces 600", "one target for ten minutes")],
    ),
    chore(
        "aarch64",
        "  aarch64        check that the crates with shared memory compile for aarch64 without
                 warnings; exit status 2 if the target is not installed
  aarch64 run    the same, and run tests under QEMU
",
        &[("rustup target add aarch64-unknown-linux-gnu && cargo xtask aarch64", "once")],
    ),
    chore(
        "loom",
        "  loom           run the models of the memory orders; exit status 1 on an unexpected
                 outcome
",
        &[("cargo xtask loom", "after a change of an atomic operation")],
    ),
    chore(
        "miri",
        "  miri           run tests of shared memory in Miri; exit status 1 after a failure, 2 without
                 Miri
",
        &[("cargo xtask miri", "after a change of unsafe code")],
    ),
    chore(
        "nightly",
        "  nightly [ROW]  run every check of docs/TESTING.md that .ci/run does not, or the named ones,
                 each with a bound, and append the outcomes to bench/record/nightly.jsonl; --list
                 lists them
",
        &[("cargo xtask nightly --list", "the rows with their bounds")],
    ),
];

/// The help of one command or of all, if the words have an option for it.
pub(crate) fn of(words: &[&str]) -> Option<String> {
    let is_help = |word: &&str| ["--help", "-h"].contains(word);
    let command = match words {
        ["help", rest @ ..] => rest.first(),
        words if words.iter().any(is_help) => words.iter().find(|word| !is_help(word)),
        _ => return None,
    };
    let one = command.and_then(|name| CHORES.iter().find(|chore| chore.name == *name));
    Some(one.map_or_else(all, of_one))
}

fn all() -> String {
    let mut out = String::from("usage: cargo xtask <command>\n\n");
    out.extend(CHORES.iter().map(|chore| chore.help));
    out + "\ncargo xtask <command> --help has examples. Exit status 2: wrong usage.\n"
}

fn of_one(chore: &Chore) -> String {
    let mut out = format!("usage: cargo xtask {}\n\n{}\nexamples:\n", chore.name, chore.help);
    for (command, when) in chore.examples {
        out.push_str(&format!("  {command}\n                 {when}\n"));
    }
    out
}

/// The line about words that no command has.
pub(crate) fn wrong(words: &[&str]) -> String {
    match words {
        [] => "no command given: cargo xtask --help lists them".into(),
        [name, rest @ ..] if CHORES.iter().any(|chore| chore.name == *name) => {
            let rest = rest.join(" ");
            format!("{name}: unexpected arguments '{rest}': see cargo xtask {name} --help")
        }
        [name, ..] => format!("unknown command '{name}': cargo xtask --help lists the commands"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_main_has_help_with_an_example() {
        let main = include_str!("main.rs");
        for Chore { name, help, examples } in &CHORES {
            assert!(main.contains(&format!("[\"{name}\"")), "{name}");
            assert!(help.starts_with(&format!("  {name} ")), "{name}");
            assert!(!examples.is_empty(), "{name}");
            let text = of(&[name, "--help"]).unwrap();
            assert!(text.contains(help) && text.contains(examples[0].0), "{text}");
            assert_eq!(of(&["help", name]).as_ref(), Some(&text));
            assert!(of(&["--help"]).unwrap().contains(help), "{name}");
        }
        let arms = main.lines().filter_map(|line| line.trim().strip_prefix("[\""));
        for name in arms.filter_map(|arm| arm.split('"').next()) {
            assert!(CHORES.iter().any(|chore| chore.name == name), "{name} has no help");
        }
        assert_eq!(of(&["gen"]), None);
    }

    #[test]
    fn wrong_words_are_one_line_that_names_the_help() {
        for (words, expected) in [
            (&[][..], "no command given: cargo xtask --help lists them"),
            (&["gem"], "unknown command 'gem': cargo xtask --help lists the commands"),
            (&["tidy", "-x"], "tidy: unexpected arguments '-x': see cargo xtask tidy --help"),
        ] {
            assert_eq!(wrong(words), expected);
        }
    }
}
