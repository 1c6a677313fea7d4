//! Names in schemas: what generated Rust code can use as the name of a type, a function or an
//! argument. A name that passes here is never an error of rustc, which names no line of a schema.

use crate::reader::{Source, Table};

/// Keywords of Rust, and words that an edition up to 2024 reserves. Weak keywords are missing: they
/// are names where schemas use them.
const KEYWORDS: [&str; 52] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
    "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if",
    "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub",
    "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Refuses a name that does not fit, or that is a keyword. An empty one was refused before.
pub(crate) fn identifier(
    source: &mut Source<'_>,
    table: &Table<'_, '_>,
    key: &str,
    name: &str,
    fits: fn(&str) -> bool,
) {
    if name.is_empty() {
        return;
    }
    let wanted = if fits("Aa") { "CamelCase" } else { "snake_case" };
    if !fits(name) {
        table.refuse_value(source, key, format!("{key} '{name}' must be {wanted}"));
    } else if is_keyword(name) {
        let text = format!("{key} '{name}' is a keyword of Rust, expected another {wanted} name");
        table.refuse_value(source, key, text);
    }
}

pub(crate) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

pub(crate) fn is_snake(name: &str) -> bool {
    let head = name.starts_with(|c: char| c.is_ascii_lowercase());
    let is_part = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    head && name.bytes().all(is_part) && !name.contains("__") && !name.ends_with('_')
}

pub(crate) fn is_camel(name: &str) -> bool {
    let head = name.starts_with(|c: char| c.is_ascii_uppercase());
    head && name.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Whether this is the path of a Rust item: `nanotape::interface`, `crate::interface`.
pub(crate) fn is_path(path: &str) -> bool {
    let parts = path.strip_prefix("::").unwrap_or(path).split("::");
    let mut is_head = !path.starts_with("::");
    parts.into_iter().all(|part| {
        let may_be_head = std::mem::replace(&mut is_head, part == "super" || part == "self");
        (may_be_head && ["crate", "self", "super"].contains(&part))
            || (is_word(part) && !KEYWORDS.contains(&part))
    })
}

fn is_word(word: &str) -> bool {
    let head = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    head && word != "_" && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_the_words_of_rust() {
        for path in ["a", "_a::B2", "::a::b", "crate::a", "self::a", "super::super::a"] {
            assert!(is_path(path), "{path}");
        }
        for path in
            ["", "::", "a::", "a:b", "a b", "a::_", "1a", "a::self", "::crate", "a.b", "r#a", "a!"]
        {
            assert!(!is_path(path), "{path}");
        }
    }
}
