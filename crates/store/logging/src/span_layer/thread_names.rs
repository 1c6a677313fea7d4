//! The names of the files of threads: those of the threads, each used by one thread at a time.

use std::collections::BTreeSet;

/// The longest part of a thread's name that a file name has.
const MAX_BYTES: usize = 64;

/// Names that are in use.
#[derive(Debug, Default)]
pub(super) struct ThreadNames(BTreeSet<String>);

impl ThreadNames {
    /// A name for this thread that no other one has: like `worker`, `worker-2` and so on.
    pub(super) fn take(&mut self, thread: Option<&str>) -> String {
        let letter = |letter: char| match letter {
            letter @ ('a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_') => letter,
            _ => '-',
        };
        let name: String = thread.unwrap_or_default().chars().map(letter).take(MAX_BYTES).collect();
        let name = if name.is_empty() { "thread".to_owned() } else { name };
        let numbered = (2_u64..).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let free = names.find(|name| !self.0.contains(name)).unwrap_or(name);
        self.0.insert(free.clone());
        free
    }

    /// Gives a name back.
    pub(super) fn give_back(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// How many are in use.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files_and_differ() {
        let mut names = ThreadNames::default();
        let taken: Vec<String> =
            [Some("worker"), Some("worker"), Some("a.b/c"), None, None, Some("worker")]
                .map(|name| names.take(name))
                .into();
        assert_eq!(taken, ["worker", "worker-2", "a-b-c", "thread", "thread-2", "worker-3"]);
        names.give_back("worker-2");
        assert_eq!((names.take(Some("worker")).as_str(), names.count()), ("worker-2", 6));
    }
}
