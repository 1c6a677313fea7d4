//! Text from outside, such as names of files and payloads of messages, for a terminal.
//!
//! A control character could move the cursor, rewrite earlier lines or set the title of the
//! terminal. It is printed as its escape.

use std::borrow::Cow;

/// The text with its control characters escaped, except for those in `kept`.
pub fn printable<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let is_escaped = |letter: char| letter.is_control() && !kept.contains(&letter);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut printable = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match is_escaped(letter) {
            true => printable.extend(letter.escape_default()),
            false => printable.push(letter),
        }
    }
    Cow::Owned(printable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_nothing_else() {
        for (text, kept, expected) in [
            ("days/2019-12-30.itch50", &[][..], "days/2019-12-30.itch50"),
            ("a\u{1b}[2Jb\u{7}\u{9b}m", &[], "a\\u{1b}[2Jb\\u{7}\\u{9b}m"),
            ("one\ntwo\tthree\r", &['\n', '\t'], "one\ntwo\tthree\\r"),
            ("one\ntwo", &[], "one\\ntwo"),
            ("caf\u{e9} \u{4e2d} \\n", &[], "caf\u{e9} \u{4e2d} \\n"),
            ("", &[], ""),
        ] {
            assert_eq!(printable(text, kept), expected);
        }
    }
}
