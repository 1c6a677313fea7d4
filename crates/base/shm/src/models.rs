//! Support for loom models over words: weakens memory orderings, ends a writer, and collects every
//! outcome.
//!
//! Where: compiled with `--cfg nanotape_loom` only. The models of SHM, RING and JOURNAL run through
//! [`explore`]. Loom runs all threads of a model in one thread of the system, so all state here
//! belongs to that thread, and models can run in parallel.
//! Protocol: a *site* is one call with a memory ordering in the source: a store or load at an
//! [`Edge`], or a fence. A run can weaken a whole edge, or one site of it. An edge that is needed
//! can have a site that is not needed, and models do not test a site that none of them reaches.

mod case;
mod mutations;

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    fmt,
    panic::{self, AssertUnwindSafe, Location},
    sync::{
        Arc, Mutex, Once,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::word::Edge;

pub use case::Case;
pub use mutations::{Survivor, check_every_site};

/// Larger than any model needs; loom requires a limit.
const MAX_BRANCHES: usize = 100_000;

/// A call with a memory ordering.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Site {
    /// The name of its edge.
    pub edge: &'static str,
    /// The file, as the compiler was given it.
    pub file: &'static str,
    /// The line of the call.
    pub line: u32,
    /// The column of the call.
    pub column: u32,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}:{}", self.edge, self.file, self.line)
    }
}

/// The ordering that a run removes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weaken {
    /// The ordering of an edge, at all of its sites.
    Edge(Edge),
    /// The ordering of one site.
    Site(Site),
}

thread_local! {
    static WEAKENED: Cell<Option<Weaken>> = const { Cell::new(None) };
    static SITES: RefCell<BTreeSet<Site>> = const { RefCell::new(BTreeSet::new()) };
    static STORES_LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Records that a site was reached; returns whether its ordering is kept.
pub(crate) fn keeps(edge: Edge, at: &'static Location<'static>) -> bool {
    let site = Site { edge: edge.name(), file: at.file(), line: at.line(), column: at.column() };
    SITES.with_borrow_mut(|sites| sites.insert(site));
    match WEAKENED.get() {
        None => true,
        Some(Weaken::Edge(weakened)) => weakened != edge,
        Some(Weaken::Site(weakened)) => weakened != site,
    }
}

/// The end of a writer in a model: after some store, none of its stores takes effect.
///
/// The writer's code continues without an effect, so it needs no other stop.
pub mod death {
    use super::STORES_LEFT;

    /// Lets the writer make this many more stores; with `None` every store is made.
    pub fn after(stores: Option<u32>) {
        STORES_LEFT.set(stores);
    }

    /// Called before every store.
    pub(crate) fn has_come() -> bool {
        match STORES_LEFT.get() {
            Some(0) => true,
            Some(left) => {
                STORES_LEFT.set(Some(left - 1));
                false
            }
            None => false,
        }
    }
}

/// The result of all executions of a model.
#[derive(Debug)]
pub struct Explored {
    /// Number of executions.
    pub executions: u64,
    /// Each outcome once. A panic in the model is an outcome.
    pub outcomes: BTreeSet<String>,
    /// The sites that were reached.
    pub sites: BTreeSet<Site>,
}

/// Runs all executions of a model with at most two preemptions; `LOOM_MAX_PREEMPTIONS` sets another
/// limit. Ends early after an outcome for which `is_enough` returns true.
pub fn explore(
    weaken: Option<Weaken>,
    is_enough: impl Fn(&str) -> bool + Send + Sync + 'static,
    model: impl Fn() -> String + Send + Sync + 'static,
) -> Explored {
    let outcomes = Arc::new(Mutex::new(BTreeSet::new()));
    let executions = Arc::new(AtomicU64::new(0));
    let mut builder = loom::model::Builder::new();
    builder.max_branches = MAX_BRANCHES;
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    let (seen, count) = (Arc::clone(&outcomes), Arc::clone(&executions));
    WEAKENED.set(weaken);
    SITES.take();
    quiet_panics(true);
    let ended = panic::catch_unwind(AssertUnwindSafe(|| {
        builder.check(move || {
            death::after(None);
            let outcome = model();
            count.fetch_add(1, Ordering::Relaxed);
            let ends = is_enough(&outcome);
            seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(outcome);
            assert!(!ends, "{ENOUGH}");
        });
    }));
    quiet_panics(false);
    WEAKENED.set(None);
    let mut outcomes =
        std::mem::take(&mut *outcomes.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    if let Err(panic) = ended {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        let text = text.unwrap_or_default();
        if text != ENOUGH {
            outcomes.insert(format!("panic: {text}"));
        }
    }
    let executions = executions.load(Ordering::Relaxed);
    Explored { executions, outcomes, sites: SITES.take() }
}

/// Ends an exploration from inside the model.
const ENOUGH: &str = "enough was seen";

/// Makes panics of this thread outcomes, without printing them.
fn quiet_panics(is_quiet: bool) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                before(info);
            }
        }));
    });
    IS_QUIET.set(is_quiet);
}
