//! A model with the whole set of its outcomes.
//!
//! The set is compared as a whole, because loom also passes if it has not explored the relevant
//! case: a missing outcome fails like a forbidden one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use super::{Explored, Weaken, explore};

/// A program of a writer and its readers, and every allowed outcome.
#[derive(Clone)]
pub struct Case {
    /// Unique among the models of a crate.
    pub name: String,
    /// All allowed outcomes.
    pub allowed: &'static [&'static str],
    /// Runs it once; returns the outcome.
    pub run: Arc<dyn Fn() -> String + Send + Sync>,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Cached results: the tests of the models and those of their sites need the same runs.
static KNOWN: Mutex<BTreeMap<String, Arc<Explored>>> = Mutex::new(BTreeMap::new());

impl Case {
    /// A model with a name, its outcomes, and its code.
    pub fn new(
        name: impl Into<String>,
        allowed: &'static [&'static str],
        run: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), allowed, run: Arc::new(run) }
    }

    /// The result with all orderings kept.
    pub fn explored(&self) -> Arc<Explored> {
        let known = || KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(explored) = known().get(&self.name) {
            return Arc::clone(explored);
        }
        let run = Arc::clone(&self.run);
        let explored = Arc::new(explore(None, |_| false, move || run()));
        known().insert(self.name.clone(), Arc::clone(&explored));
        explored
    }

    /// Fails if an outcome is not allowed, or if an allowed one does not occur.
    ///
    /// # Panics
    ///
    /// In those cases.
    pub fn check(&self) {
        let Explored { executions, outcomes, .. } = &*self.explored();
        let name = &self.name;
        println!("model {name}: {executions} executions, outcomes {outcomes:?}");
        let expected: BTreeSet<String> =
            self.allowed.iter().map(|&outcome| outcome.to_owned()).collect();
        let forbidden: Vec<_> = outcomes.difference(&expected).collect();
        let missing: Vec<_> = expected.difference(outcomes).collect();
        assert!(
            forbidden.is_empty() && missing.is_empty(),
            "model {name}: not allowed {forbidden:?}, never seen {missing:?}"
        );
    }

    /// A forbidden outcome that occurs without some ordering.
    pub fn forbidden_without(&self, weaken: Weaken) -> Option<String> {
        let (allowed, run) = (self.allowed, Arc::clone(&self.run));
        let is_forbidden = move |outcome: &str| !allowed.contains(&outcome);
        let explored = explore(Some(weaken), is_forbidden, move || run());
        explored.outcomes.into_iter().find(|outcome| is_forbidden(outcome))
    }
}
