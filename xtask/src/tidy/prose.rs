//! Plain English: phrases that readers do not understand, comments that are too wide, and words
//! that the glossary bans in public names.
//!
//! Scope: string literals, the help of commands, the first paragraph of each module comment, and
//! Markdown. Decision notes are historical records, and generated documents follow their schema.

mod names;
mod phrases;

use super::{
    Problem,
    code::{Kind, pieces},
    repository::Repository,
};
pub(crate) use names::snake;
use phrases::phrases_in;

/// Maximum columns of a line of a comment.
const MOST_COLUMNS: usize = 100;

/// Documents that are not checked: records of decisions, and output of the generator.
const UNCHECKED: [&str; 5] = [
    "docs/decisions/",
    "docs/protocols/nasdaq-itch-5.0.md",
    "docs/protocols/moldudp64.md",
    "docs/protocols/soupbintcp.md",
    "schema/testing/",
];

/// Documents that still have banned phrases. The list must only shrink: a document that passes must
/// not be in it.
const UNFINISHED: [&str; 0] = [];

/// Texts that are values of a format, which cannot change.
const VALUES: [&str; 3] = ["asked to", "not asked for", "not pinned, as asked"];

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in repository.texts(&[".rs"]) {
        problems.extend(wide_comments(path, text));
        // These files are about banned phrases and have them as samples.
        if !path.starts_with("xtask/src/tidy/prose") {
            problems.extend(texts(path, text));
        }
    }
    problems.extend(documents(repository, &UNFINISHED));
    problems.extend(names::check(repository));
    problems
}

/// Lines of comments that are too wide. A line with an address and a row of a table stay whole.
fn wide_comments(path: &str, text: &str) -> Vec<Problem> {
    let is_whole = |line: &str| {
        line.contains("://")
            || line.trim_start().trim_start_matches(['/', '!', ' ']).starts_with('|')
    };
    let lines = (1..).zip(text.lines());
    lines
        .filter(|(_, line)| line.trim_start().starts_with("//"))
        .filter(|(_, line)| line.chars().count() > MOST_COLUMNS && !is_whole(line))
        .map(|(number, line)| {
            let columns = line.chars().count();
            Problem::at(
                path,
                number,
                format!("comment of {columns} columns, at most {MOST_COLUMNS}"),
            )
        })
        .collect()
}

/// Banned phrases in the texts that a user of the program or a reader of a file sees first.
fn texts(path: &str, source: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut report = |line: usize, text: &str| {
        let found = phrases_in(text).into_iter();
        problems.extend(found.map(|phrase| Problem::at(path, line, said_plainly(phrase))));
    };
    let has_help = has_help(source);
    let (mut line, mut opening, mut is_open) = (1, String::new(), true);
    // Consecutive lines of a comment are one text, since a line break may split a phrase.
    let (mut help, mut help_line) = (String::new(), 0);
    for (kind, piece) in pieces(source) {
        match kind {
            Kind::Text if !VALUES.contains(&piece.trim_matches('"')) => report(line, piece),
            Kind::Comment if piece.starts_with("//!") => {
                let text = piece.trim_start_matches("//!");
                is_open &= !text.trim().is_empty();
                if is_open {
                    opening = format!("{opening} {text}");
                }
            }
            Kind::Comment if has_help && piece.starts_with("///") => {
                help_line = if help.is_empty() { line } else { help_line };
                help = format!("{help} {}", &piece[3..]);
            }
            Kind::Code if piece.trim().is_empty() => {}
            _ => report(help_line, &std::mem::take(&mut help)),
        }
        line += piece.matches('\n').count();
    }
    report(help_line, &help);
    report(1, &opening);
    problems
}

/// Whether comments of a file are printed by `--help`.
fn has_help(source: &str) -> bool {
    let derives = source.lines().filter(|line| line.trim_start().starts_with("#[derive("));
    let of_clap = ["Args", "Parser", "Subcommand", "ValueEnum"];
    derives.into_iter().any(|line| of_clap.iter().any(|name| super::code::has_word(line, name)))
}

fn documents(repository: &Repository, unfinished: &[&str]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in repository.texts(&[".md"]) {
        if UNCHECKED.iter().any(|start| path.starts_with(start)) {
            continue;
        }
        let found = of_document(path, text);
        match unfinished.contains(&path) {
            true if found.is_empty() => {
                let what =
                    "has no banned phrase: remove it from UNFINISHED (xtask/src/tidy/prose.rs)";
                problems.push(Problem::of_file(path, what));
            }
            true => {}
            false => problems.extend(found),
        }
    }
    problems
}

/// Banned phrases in Markdown, outside of code blocks; a paragraph is one text.
fn of_document(path: &str, text: &str) -> Vec<Problem> {
    let (mut problems, mut in_code) = (Vec::new(), false);
    let (mut paragraph, mut start) = (String::new(), 1);
    let ends = std::iter::once((0, ""));
    for (number, line) in (1..).zip(text.lines()).chain(ends) {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        let is_outside = in_code || is_fence || line.trim().is_empty();
        if is_outside || is_block(line) {
            for phrase in phrases_in(&paragraph) {
                problems.push(Problem::at(path, start, said_plainly(phrase)));
            }
            paragraph.clear();
        }
        if is_outside {
            continue;
        }
        start = if paragraph.is_empty() { number } else { start };
        paragraph = format!("{paragraph} {line}");
    }
    problems
}

/// Whether a line of Markdown begins a new text: an item, a row, a heading.
fn is_block(line: &str) -> bool {
    let line = line.trim_start();
    let after_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_item = line.starts_with("- ") || after_number.starts_with(". ");
    is_item || line.starts_with('|') || line.starts_with('#')
}

fn said_plainly(phrase: &phrases::Phrase) -> String {
    format!("\"{}\" is not plain English: {}", phrase.words, phrase.instead)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(source: &str) -> Vec<String> {
        texts("a.rs", source).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn a_banned_phrase_in_a_string_is_found_with_its_line() {
        let source = "//! Good.\nfn f() {\n    bail!(\"gone, and nobody \\\n        knows\");\n}\n";
        let found = found_in(source);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a.rs:3: \"nobody\" is not plain English: "), "{found:?}");
        assert!(found_in("//! Good.\n// nobody\nfn nobody() {}\n").is_empty());
        assert!(found_in("//! Good.\nconst NAME: &str = \"asked to\";\n").is_empty());
        assert_eq!(found_in("//! Good.\nconst A: &str = \"was asked to end\";\n").len(), 1);
    }

    #[test]
    fn only_the_first_paragraph_of_a_module_comment_counts() {
        assert_eq!(found_in("//! For whoever\n//! reads.\n").len(), 1);
        assert_eq!(found_in("//! Two looks at\n//! nothing.\n").len(), 1);
        assert!(found_in("//! Good.\n//!\n//! For whoever reads.\n").is_empty());
    }

    #[test]
    fn comments_are_checked_where_they_are_help() {
        let field = "    /// What somebody\n    /// wants\n    #[arg(long)]\n    wanted: bool,\n";
        let of =
            |derives: &str| format!("//! Good.\n#[derive({derives})]\nstruct A {{\n{field}}}\n");
        let found = found_in(&of("Args, Debug"));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("a.rs:4: \"somebody\""), "{found:?}");
        assert!(found_in(&of("Debug")).is_empty());
    }

    #[test]
    fn a_wide_comment_is_found() {
        let wide = format!("    // {}\n", "word ".repeat(20));
        assert_eq!(wide_comments("a.rs", &format!("fn f() {{}}\n{wide}")).len(), 1);
        assert!(wide_comments("a.rs", &wide[..100]).is_empty());
        let address = format!("// https://example.org/{}\n", "a".repeat(90));
        assert!(wide_comments("a.rs", &address).is_empty());
        assert!(wide_comments("a.rs", &format!("//! | {} |\n", "cell | ".repeat(20))).is_empty());
    }

    #[test]
    fn documents_are_checked_outside_of_code_and_the_list_only_shrinks() {
        let bad = "Good.\n\nA line that may\nnot stay.\n\n```\nnobody\n```\n";
        let items = of_document("a.md", "- Two may\n- not be.\n- One may\n  not be.\n");
        assert_eq!(items.len(), 1, "{items:?}");
        assert_eq!(items[0].line, Some(3));
        let files = [("a.md", bad), ("b.md", "Good.\n"), (concat!("docs/", "decisions/1.md"), bad)];
        let repository = Repository::of(&files);
        let found = documents(&repository, &[]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].to_string().starts_with("a.md:3: \"may not\""), "{found:?}");
        let found = documents(&repository, &["a.md", "b.md"]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].to_string().starts_with("b.md: has no banned phrase"), "{found:?}");
    }
}
