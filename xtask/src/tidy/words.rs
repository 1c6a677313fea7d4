//! Words that are refused in names of Rust sources, because the field has better ones: `sample`,
//! `poll` and `check` for a look, `request` and `query` for a question, `report`, `receive`, `fix`.

use std::collections::BTreeSet;

use super::{Problem, code::code_of, prose::snake, repository::Repository};

/// Parts of a name: between underscores, or of `CamelCase`.
const REFUSED: [&str; 11] =
    ["mend", "mended", "hear", "heard", "tell", "tells", "told", "ask", "asks", "asked", "look"];

/// Names that stay: words of two parts, an option, names of the crates dbn and hftbacktest, and
/// fields of a state.
const ACCEPTED: [&str; 19] = [
    "LookAhead",
    "LookUp",
    "look_ahead",
    "look_up",
    "ask_above",
    "trace_ask_above",
    "Ask",
    "BidAskPair",
    "ask_ct",
    "ask_orders",
    "ask_price",
    "ask_size",
    "set_ask_orders",
    "set_ask_price",
    "set_ask_size",
    "ask_px",
    "ask_sz",
    "ask_qty_at_tick",
    "best_ask_tick",
];

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    let sources = repository.texts(&[".rs"]);
    sources.flat_map(|(path, text)| refused_names(path, &code_of(text))).collect()
}

fn refused_names(path: &str, code: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(code.lines()) {
        let names = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        // A name that is twice in a line is one problem.
        for name in names.collect::<BTreeSet<_>>() {
            let word = snake(name);
            let word = word.split('_').find(|part| REFUSED.contains(part));
            if let Some(word) = word.filter(|_| !ACCEPTED.contains(&name)) {
                let what = format!("{name}: a better word than {word} (xtask/src/tidy/words.rs)");
                problems.push(Problem::at(path, number, what));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(source: &str) -> usize {
        check(&Repository::of(&[("crates/a/src/lib.rs", source)])).len()
    }

    #[test]
    fn a_refused_word_is_found_in_every_form_of_a_name() {
        for bad in ["fn look()", "struct NotAsked;", "const LOOK_EVERY: u8 = 1;", "let is_told"] {
            assert_eq!(found_in(bad), 1, "{bad}");
        }
    }

    #[test]
    fn accepted_names_other_words_comments_and_texts_pass() {
        let good = "struct LookAhead; // look\nlet task = \"ask\"; hears(look_up, umask);\n";
        assert_eq!(found_in(good), 0);
    }
}
