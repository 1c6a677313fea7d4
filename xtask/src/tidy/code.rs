//! Splits Rust source into code, comments and literals.
//!
//! This is a short scanner, not a parser. It handles nested block comments, raw strings, escapes,
//! and the difference between a character literal and a lifetime. It preserves every line break.

/// The kind of a piece of source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// One character of code.
    Code,
    /// A comment with its slashes, without the line break after it.
    Comment,
    /// A string literal with its quotes.
    Text,
    /// A character literal with its quotes.
    Character,
}

/// The pieces of `source` in order. Together they are the whole source.
pub(crate) fn pieces(source: &str) -> impl Iterator<Item = (Kind, &str)> {
    Pieces { rest: source, last: None }
}

/// The code of `source`: everything else is spaces.
pub(crate) fn code_of(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    for (kind, piece) in pieces(source) {
        match kind {
            Kind::Code => code.push_str(piece),
            _ => code.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' })),
        }
    }
    code
}

/// Whether `line` contains `word` as a whole word.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    count_word(line, word) > 0
}

/// How often `text` contains `word` as a whole word.
pub(crate) fn count_word(text: &str, word: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .filter(|&(start, _)| {
            let before = text[..start].chars().next_back();
            let after = text[start + word.len()..].chars().next();
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
        .count()
}

struct Pieces<'a> {
    rest: &'a str,
    /// The last character of code; `None` after a comment or a literal.
    last: Option<char>,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = (Kind, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest;
        let first = rest.chars().next()?;
        let in_word = self.last.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let (kind, length) = if rest.starts_with("//") {
            (Kind::Comment, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (Kind::Comment, block_comment(rest))
        } else if let Some(hashes) = raw_string(rest).filter(|_| !in_word) {
            let open = rest.find('"').map_or(rest.len(), |quote| quote + 1);
            let close = format!("\"{}", "#".repeat(hashes));
            let end = rest[open..].find(&close).map_or(rest.len(), |at| open + at + close.len());
            (Kind::Text, end)
        } else if first == '"' {
            (Kind::Text, quoted(rest, '"'))
        } else if first == '\'' && is_character(rest) {
            (Kind::Character, quoted(rest, '\''))
        } else {
            (Kind::Code, first.len_utf8())
        };
        let (piece, rest) = rest.split_at(length);
        (self.rest, self.last) = (rest, Some(first).filter(|_| kind == Kind::Code));
        Some((kind, piece))
    }
}

/// The number of hashes of the raw string that begins here, if there is one.
fn raw_string(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let unhashed = after.trim_start_matches('#');
    unhashed.starts_with('"').then_some(after.len() - unhashed.len())
}

/// Length of the literal that begins here, its quotes included.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Whether the quote here opens a character and not a lifetime.
fn is_character(rest: &str) -> bool {
    let mut next = rest.chars().skip(1);
    match next.next() {
        Some('\\') => true,
        Some(_) => next.next() == Some('\''),
        None => false,
    }
}

/// Length of the comment that begins here; comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_lines_stay() {
        for (source, code) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */\n d */ e", "a             \n      e"),
            (r#"f("x\"y", 'z')"#, "f(      ,    )"),
            ("r#\"a\"b\"# + br\"c\"", "         +      "),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
            (r"['\'', '/', '\u{e9}']", "[    ,    ,         ]"),
            ("number\"text\"", "number      "),
        ] {
            assert_eq!(code_of(source), code, "{source}");
        }
        assert_eq!(code_of("\"two\nlines\" x").lines().count(), 2);
    }

    #[test]
    fn pieces_are_the_whole_source() {
        let source = "//! Doc.\nlet s = \"a // b\"; // c";
        let found: Vec<_> = pieces(source).filter(|(kind, _)| *kind != Kind::Code).collect();
        assert_eq!(
            found,
            [(Kind::Comment, "//! Doc."), (Kind::Text, "\"a // b\""), (Kind::Comment, "// c")]
        );
        assert_eq!(pieces(source).map(|(_, piece)| piece).collect::<String>(), source);
    }

    #[test]
    fn a_word_is_not_a_part_of_another() {
        assert!(has_word("unsafe { x }", "unsafe"));
        assert!(!has_word("#![forbid(unsafe_code)]", "unsafe"));
        assert_eq!(count_word("unsafe unsafe_op not_unsafe(unsafe)", "unsafe"), 2);
    }
}
