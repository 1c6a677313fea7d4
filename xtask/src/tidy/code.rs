//! Rust source with comments and the insides of literals blanked, so that words can be looked for.
//!
//! A scanner of a page, not a parser: it knows nested block comments, raw strings, escapes, and a
//! character literal from a lifetime, and keeps every line break where it was.

/// The code of `source`: everything else is spaces.
pub(crate) fn code_of(source: &str) -> String {
    let mut scanner = Scanner { rest: source, out: String::with_capacity(source.len()) };
    while scanner.step() {}
    scanner.out
}

/// Whether `word` stands in `line` as a word of its own.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    count_word(line, word) > 0
}

/// How often `word` stands in `text` as a word of its own.
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

struct Scanner<'a> {
    rest: &'a str,
    out: String,
}

impl Scanner<'_> {
    /// Deals with one character, comment or literal. False at the end.
    fn step(&mut self) -> bool {
        let rest = self.rest;
        let Some(first) = rest.chars().next() else { return false };
        let in_word = self.out.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
        if rest.starts_with("//") {
            self.blank(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.blank(block_comment(rest));
        } else if let Some(hashes) = raw_string(rest).filter(|_| !in_word) {
            let open = rest.find('"').map_or(rest.len(), |quote| quote + 1);
            let close = format!("\"{}", "#".repeat(hashes));
            let end = rest[open..].find(&close).map_or(rest.len(), |at| open + at + close.len());
            self.blank(end);
        } else if first == '"' {
            self.blank(quoted(rest, '"'));
        } else if first == '\'' && is_character(rest) {
            self.blank(quoted(rest, '\''));
        } else {
            self.out.push(first);
            self.rest = &rest[first.len_utf8()..];
        }
        true
    }

    /// Passes over `length` bytes, keeping line breaks only.
    fn blank(&mut self, length: usize) {
        let (skipped, rest) = self.rest.split_at(length);
        self.out.extend(skipped.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        self.rest = rest;
    }
}

/// How many hashes the raw string that begins here has, if one does.
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
    fn a_word_is_not_a_part_of_another() {
        assert!(has_word("unsafe { x }", "unsafe"));
        assert!(!has_word("#![forbid(unsafe_code)]", "unsafe"));
        assert_eq!(count_word("unsafe unsafe_op not_unsafe(unsafe)", "unsafe"), 2);
    }
}
