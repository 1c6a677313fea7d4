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

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
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
