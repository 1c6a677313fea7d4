//! Every sync, rename and zeroing of the journal is needed: each is left out in turn, and a test
//! fails.
//!
//! The simulated disk gets the line of the journal that calls it. It ignores one line at a time:
//! the call succeeds and has no effect. The lines are found by running the tests, so a new call is
//! tried without being listed here. Calls that no test notices are in `SURVIVORS`, each with its
//! reason.
//!
//! By default syncs are tried, except survivors. `NANOTAPE_SITES=all` tries everything, including
//! survivors, and fails if a test notices a survivor; that takes a quarter of an hour. Another
//! value tries the sites that contain it: `NANOTAPE_SITES=recovery/repair_segment.rs`,
//! `NANOTAPE_SITES=Rename`.
//!
//! Not tried: the syncs of `Folder` itself when it creates a file. No simulation covers these.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fmt,
    num::NonZero,
    panic::{self, AssertUnwindSafe, Location},
    path::Path,
    sync::{
        Arc, Mutex, Once, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::simulated::survivors::SURVIVORS;

/// The number of tests that is enough to find all syncs.
const QUICK: usize = 5;

/// The action that is left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum What {
    Sync,
    SyncNames,
    Rename,
    Remove,
    Shrink,
    /// Writes the bytes of a new file to the disk.
    Write,
    StoreInFile,
    /// Stores this value to a mapped file.
    Store(u64),
}

/// A line of the journal that changes the contents of the disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Site {
    file: &'static str,
    line: u32,
    column: u32,
    what: What,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, what } = self;
        write!(f, "{what:?} at {file}:{line}:{column}: {}", self.text())
    }
}

impl Site {
    /// The source text of the line, which identifies a site in the list of survivors, because line
    /// numbers change.
    fn text(&self) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let source = std::fs::read_to_string(root.join(self.file)).unwrap();
        source.lines().nth(self.line as usize - 1).unwrap().trim().to_owned()
    }

    fn is_survivor(&self, (file, what, text, _): &(&str, What, &str, &str)) -> bool {
        self.file.ends_with(file) && self.what == *what && self.text() == *text
    }
}

/// The calls of a run, and the call that is left out.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    left_out: Option<Site>,
    /// Whether this run finds the calls.
    notes: bool,
    calls: BTreeMap<Site, u64>,
    /// Lines that also store values other than zero.
    others: BTreeMap<Site, u64>,
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Shared by all disks of one test.
pub(crate) type SharedSites = Arc<Mutex<Sites>>;

thread_local! {
    static CURRENT: RefCell<SharedSites> = RefCell::default();
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// The sites for a new disk.
pub(crate) fn current() -> SharedSites {
    CURRENT.with_borrow(Arc::clone)
}

/// Notes a call, and returns whether it is the one that is left out.
pub(crate) fn is_left_out(sites: &SharedSites, what: What, at: &'static Location<'static>) -> bool {
    let mut sites = sites.lock().unwrap_or_else(PoisonError::into_inner);
    let is_zero = !matches!(what, What::Store(value) if value != 0);
    let what = if matches!(what, What::Store(_)) { What::Store(0) } else { what };
    if sites.notes && at.file().contains("crates/store/journal/src/") {
        let site = Site { file: at.file(), line: at.line(), column: at.column(), what };
        let seen = if is_zero { &mut sites.calls } else { &mut sites.others };
        *seen.entry(site).or_default() += 1;
    }
    // The line first: every store comes here.
    sites.left_out.is_some_and(|left_out| {
        let place = (left_out.line, left_out.column, left_out.what);
        place == (at.line(), at.column(), what) && left_out.file == at.file()
    })
}

/// Runs tests with one call left out; returns their calls, or the message of a failed test.
fn run_without(
    left_out: Option<Site>,
    tests: &[crate::simulated::Notice],
) -> Result<Sites, String> {
    let sites =
        Arc::new(Mutex::new(Sites { left_out, notes: left_out.is_none(), ..Sites::default() }));
    let before = CURRENT.replace(Arc::clone(&sites));
    let mut outcome = Ok(());
    for (name, test) in tests {
        IS_QUIET.set(left_out.is_some());
        let ended = panic::catch_unwind(AssertUnwindSafe(test));
        IS_QUIET.set(false);
        if let Err(panic) = ended {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("?");
            let said: String = said.lines().next().unwrap_or_default().chars().take(100).collect();
            outcome = Err(format!("{name}: {said}"));
            break;
        }
    }
    CURRENT.replace(before);
    outcome.map(|()| std::mem::take(&mut *sites.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Leaves out each of these in its own run, and returns how a test failed. Runs are spread over all
/// processors.
fn each_left_out(sites: &[&Site], tests: &[crate::simulated::Notice]) -> Vec<Option<String>> {
    let caught = Mutex::new(vec![None; sites.len()]);
    let next = AtomicUsize::new(0);
    let work = || {
        while let index = next.fetch_add(1, Ordering::Relaxed)
            && let Some(site) = sites.get(index)
        {
            let failure = run_without(Some(**site), tests).err();
            println!("{site}\n    {}", failure.as_deref().unwrap_or("NOT NOTICED"));
            caught.lock().unwrap()[index] = failure;
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    caught.into_inner().unwrap()
}

/// Silences the output of expected failures.
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                hook(panic);
            }
        }));
    });
}

/// Whether this thread expects a failure, so that its output is not needed.
pub(crate) fn is_quiet() -> bool {
    IS_QUIET.get()
}

/// All calls of the tests: stores of zero by lines that store nothing else, and all other actions.
fn all_sites(tests: &[crate::simulated::Notice]) -> Vec<Site> {
    let seen = run_without(None, tests).unwrap_or_else(|failure| panic!("{failure}"));
    let is_tried = |site: &&Site| !seen.others.contains_key(site);
    let is_hint = |site: &&Site| site.text().starts_with("hints::store_");
    let mut sites: Vec<Site> = seen.calls.keys().filter(is_tried).copied().collect();
    sites.extend(seen.others.keys().filter(is_hint));
    sites.sort_unstable();
    sites.dedup();
    sites
}

/// Whether a site is tried now. To prove that no test notices a site takes all the tests.
fn is_chosen(site: &Site, wanted: Option<&str>) -> bool {
    let is_survivor = || SURVIVORS.iter().any(|survivor| site.is_survivor(survivor));
    match wanted {
        None => matches!(site.what, What::Sync | What::SyncNames | What::Write) && !is_survivor(),
        Some("all") => true,
        Some(part) => site.to_string().contains(part),
    }
}

#[test]
fn every_sync_name_and_zero_is_needed() {
    hush();
    let wanted = std::env::var("NANOTAPE_SITES").ok();
    let tests = &crate::simulated::NOTICES;
    let found = all_sites(if wanted.is_some() { tests } else { &tests[..QUICK] });
    let chosen: Vec<_> = found.iter().filter(|site| is_chosen(site, wanted.as_deref())).collect();
    let (mut survivors, mut wrong) = (0, Vec::new());
    for (site, caught) in chosen.iter().zip(each_left_out(&chosen, tests)) {
        survivors += u64::from(caught.is_none());
        let is_listed = SURVIVORS.iter().any(|survivor| site.is_survivor(survivor));
        match (caught, is_listed) {
            (Some(_), true) => wrong.push(format!("{site} is noticed now: take it off the list")),
            (None, false) => wrong.push(format!("{site}: nothing notices that it is left out")),
            _ => {}
        }
    }
    if wanted.as_deref() == Some("all") {
        for listed in SURVIVORS {
            if !found.iter().any(|site| site.is_survivor(listed)) {
                wrong.push(format!("{listed:?} is not called any more: take it off the list"));
            }
        }
    }
    println!("{} of {} sites tried, {survivors} survivors", chosen.len(), found.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(found.len() > 30 && !chosen.is_empty(), "{} of {}", chosen.len(), found.len());
}
