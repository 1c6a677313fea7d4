//! Mistakes in a schema, with their positions.

use core::fmt;

/// One mistake in a schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The path of the file, as the caller gave it.
    pub path: String,
    /// Line of the mistake, from 1.
    pub line: usize,
    /// A description of one line.
    pub text: String,
}

impl Problem {
    /// A problem at a line. Characters of `text` that could end the line or control a terminal are
    /// escaped, because schemas are outside data.
    pub fn new(path: &str, line: usize, text: impl AsRef<str>) -> Self {
        Self { path: path.into(), line, text: printable(text.as_ref()) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", printable(&self.path), self.line, self.text)
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_control(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    out
}

/// Whether a character ends a line, controls a terminal, or turns the direction of text, which
/// rustc refuses in comments and literals.
pub(crate) fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Every mistake found in one schema, in the order of the lines; never empty.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}
