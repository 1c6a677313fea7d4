//! A named collection of benchmarks, which a benchmark program and `nanotape lab` run.

use core::fmt;

use crate::{
    fixture::{Fixture, WrongAnswer},
    sampler::Running,
};

/// Benchmarks by name, each with the constructor of its fixture.
#[derive(Default)]
pub struct Suite {
    name: String,
    entries: Vec<Entry>,
}

type Constructor = Box<dyn Fn() -> Result<Box<dyn Running>, String>>;

struct Entry {
    name: String,
    constructor: Constructor,
}

/// The reason why a benchmark could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// No benchmark of that name.
    #[error("unknown benchmark {name}: use one of {known}")]
    Unknown {
        /// The requested name.
        name: String,
        /// The existing names.
        known: String,
    },
    /// Its fixture could not be created.
    #[error("{name}: {reason}")]
    Setup {
        /// The benchmark.
        name: String,
        /// The error of its constructor.
        reason: String,
    },
    /// Its answer is wrong.
    #[error("{name}")]
    Answer {
        /// The benchmark.
        name: String,
        /// Both answers.
        source: WrongAnswer,
    },
}

impl Suite {
    /// A suite without benchmarks.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), entries: Vec::new() }
    }

    /// Adds a benchmark. `constructor` creates the fixture, in the measuring process, and is not
    /// timed. By convention a name is `subject/variant`.
    ///
    /// # Panics
    ///
    /// If the name is empty, contains a space, or exists already.
    #[must_use]
    pub fn add<F: Fixture + 'static>(
        self,
        name: impl Into<String>,
        constructor: impl Fn() -> F + 'static,
    ) -> Self {
        self.try_add(name, move || Ok::<_, String>(constructor()))
    }

    /// Adds a benchmark whose fixture might be impossible here, for example without a file.
    ///
    /// # Panics
    ///
    /// As [`Suite::add`].
    #[must_use]
    pub fn try_add<F: Fixture + 'static, E: fmt::Display>(
        mut self,
        name: impl Into<String>,
        constructor: impl Fn() -> Result<F, E> + 'static,
    ) -> Self {
        let name = name.into();
        let is_word = !name.is_empty() && !name.contains(char::is_whitespace);
        assert!(is_word, "invalid name {name:?}: expected one word, such as book/hot");
        assert!(self.names().all(|known| known != name), "two benchmarks are named {name}");
        let constructor = move || match constructor() {
            Ok(fixture) => Ok(Box::new(fixture) as Box<dyn Running>),
            Err(error) => Err(error.to_string()),
        };
        self.entries.push(Entry { name, constructor: Box::new(constructor) });
        self
    }

    /// The benchmarks of both suites, under the name of this one.
    ///
    /// # Panics
    ///
    /// If a name is in both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for entry in other.entries {
            let name = &entry.name;
            assert!(self.names().all(|known| known != name), "two benchmarks are named {name}");
            self.entries.push(entry);
        }
        self
    }

    /// The suite's own name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The benchmarks' names, in the order in which they were added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Creates each fixture, runs it twice and checks the answers. Tests call this to find a
    /// benchmark that no longer works.
    pub fn smoke(&self) -> Result<(), BenchError> {
        for name in self.names() {
            let mut running = self.open(name)?;
            running
                .warm_runs(2)
                .map_err(|source| BenchError::Answer { name: name.to_owned(), source })?;
        }
        Ok(())
    }

    pub(crate) fn open(&self, name: &str) -> Result<Box<dyn Running>, BenchError> {
        let Some(entry) = self.entries.iter().find(|entry| entry.name == name) else {
            let known = self.names().collect::<Vec<_>>().join(", ");
            return Err(BenchError::Unknown { name: name.to_owned(), known });
        };
        let setup = |reason| BenchError::Setup { name: name.to_owned(), reason };
        (entry.constructor)().map_err(setup)
    }
}

impl fmt::Debug for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names().collect();
        f.debug_struct("Suite").field("name", &self.name).field("benchmarks", &names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::in_full;

    struct Constant(u32);

    impl Fixture for Constant {
        type Answer = u32;
        fn run(&mut self) -> u32 {
            self.0
        }
        fn expected(&self) -> u32 {
            4
        }
    }

    #[test]
    fn smoke_finds_a_wrong_answer_and_a_constructor_that_fails() {
        Suite::new("right").add("four", || Constant(4)).smoke().unwrap();
        let wrong = Suite::new("wrong").add("five", || Constant(5)).smoke().unwrap_err();
        assert_eq!(in_full(&wrong), "five: a run answered 5, expected 4");
        let missing = Suite::new("missing").try_add("day", || Err::<Constant, _>("no such file"));
        assert_eq!(missing.smoke().unwrap_err().to_string(), "day: no such file");
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_there_are() {
        let suite = Suite::new("s").add("a/1", || Constant(4)).add("a/2", || Constant(4));
        let error = suite.open("a/3").err().unwrap();
        assert_eq!(error.to_string(), "unknown benchmark a/3: use one of a/1, a/2");
    }

    #[test]
    #[should_panic(expected = "two benchmarks are named a/1")]
    fn two_benchmarks_of_one_name_are_refused() {
        let _ = Suite::new("s").add("a/1", || Constant(4)).add("a/1", || Constant(4));
    }
}
