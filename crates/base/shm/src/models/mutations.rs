//! Removes the ordering at one site after the other: some model must then have a forbidden outcome.
//!
//! Protocol: the sites are those with a `SYNC` comment in the sources, and models must reach
//! exactly these. A site that no model needs is a survivor. The test of a crate lists its survivors
//! with a reason each. It fails for an unlisted survivor, and for a listed one that a model needs,
//! or that no longer exists.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{Case, Site, Weaken};
use crate::word::Edge;

/// A site that no model needs: edge, location (file and function), and the reason.
pub type Survivor = (&'static str, &'static str, &'static str);

/// Limit of lines between a comment and its site.
const NEAR_LINES: u32 = 6;

/// A site with its comment in the source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Named {
    edge: String,
    /// File below `src`, and function: `stream/writer.rs reserve`.
    function: String,
    /// The same, with a number if the function has several sites of this edge.
    place: String,
    file: String,
    line: u32,
}

/// Weakens every site of these edges in these sources in turn, and compares the survivors with the
/// expected ones. Prints a line for each site.
///
/// # Panics
///
/// If they differ.
pub fn check_every_site(source: &Path, edges: &[Edge], cases: &[Case], expected: &[Survivor]) {
    let mut named = named_sites(source, source);
    named.retain(|named| edges.iter().any(|edge| edge.name() == named.edge));
    let reached: Vec<BTreeSet<Site>> =
        cases.iter().map(|case| case.explored().sites.clone()).collect();
    let all = reached.iter().flatten().copied().filter(|site| is_of(site, source));
    let all: BTreeSet<Site> = all.collect();
    let mut wrong: Vec<String> = all
        .iter()
        .filter(|site| name_of(site, &named).is_none())
        .map(|site| format!("{site} has no SYNC comment"))
        .collect();
    let outcomes = notice(&named, &all, cases, &reached);
    let mut survivors = BTreeSet::new();
    println!("\nsite | model that fails without it | forbidden outcome seen");
    for (named, outcome) in named.iter().zip(outcomes) {
        let Named { edge, place, .. } = named;
        match outcome {
            Some((model, outcome)) => println!("{edge}, {place} | {model} | {outcome}"),
            None => {
                println!("{edge}, {place} | - | survives");
                survivors.insert((edge.as_str(), place.as_str()));
            }
        }
    }
    let listed: BTreeSet<_> = expected.iter().map(|&(edge, place, _)| (edge, place)).collect();
    let sites = named.len();
    println!("{sites} sites, {} of them survive", survivors.len());
    wrong
        .extend(survivors.difference(&listed).map(|s| format!("{s:?} survives and is not listed")));
    wrong.extend(listed.difference(&survivors).map(|s| format!("{s:?} is listed and is noticed")));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// For each named site the first model that has a forbidden outcome without it, and that outcome.
fn notice(
    named: &[Named],
    all: &BTreeSet<Site>,
    cases: &[Case],
    reached: &[BTreeSet<Site>],
) -> Vec<Option<(String, String)>> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    // The fastest first.
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by_key(|&case| cases[case].explored().executions);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(wanted) = named.get(number) else { return };
            let site = all.iter().find(|site| name_of(site, named) == Some(wanted));
            let noticed = site.and_then(|&site| {
                order.iter().filter(|&&case| reached[case].contains(&site)).find_map(|&case| {
                    let outcome = cases[case].forbidden_without(Weaken::Site(site))?;
                    Some((cases[case].name.clone(), outcome))
                })
            });
            found.lock().unwrap_or_else(|p| p.into_inner()).insert(number, noticed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |threads| threads.get()) {
            scope.spawn(work);
        }
    });
    found.into_inner().unwrap_or_else(|p| p.into_inner()).into_values().collect()
}

/// Whether a site is in the sources of this crate. The compiler's path of a file starts at the
/// workspace's root.
fn is_of(site: &Site, source: &Path) -> bool {
    let folder = source.parent().and_then(|folder| folder.file_name()?.to_str());
    folder.is_some_and(|folder| site.file.contains(&format!("{folder}/src/")))
}

fn name_of<'named>(site: &Site, named: &'named [Named]) -> Option<&'named Named> {
    named
        .iter()
        .filter(|named| named.edge == site.edge && site.file.ends_with(&named.file))
        .filter(|named| (named.line + 1..=named.line + NEAR_LINES).contains(&site.line))
        .max_by_key(|named| named.line)
}

/// Every `SYNC` comment of the sources in a folder.
fn named_sites(source: &Path, folder: &Path) -> Vec<Named> {
    let mut all = Vec::new();
    let entries = std::fs::read_dir(folder).expect("the sources are there");
    let mut paths: Vec<_> = entries.filter_map(|entry| entry.ok().map(|e| e.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            all.extend(named_sites(source, &path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source can be read");
            let file = path.strip_prefix(source).expect("it is below").display().to_string();
            all.extend(named_in(&text, &file));
        }
    }
    all
}

fn named_in(text: &str, file: &str) -> Vec<Named> {
    let mut function = "";
    let mut all: Vec<Named> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim_start();
        if let Some((before, behind)) = line.split_once("fn ")
            && (before.is_empty() || before.ends_with(' '))
            && !line.starts_with("//")
        {
            function = behind.split(['(', '<']).next().unwrap_or_default();
        }
        let comment = line.strip_prefix("// SYNC").and_then(|rest| rest.strip_prefix('('));
        if let Some((edge, _)) = comment.and_then(|rest| rest.split_once(')')) {
            let place = format!("{file} {function}");
            let before = all.iter().filter(|n: &&Named| n.edge == edge && n.function == place);
            let (count, function) = (before.count() + 1, place.clone());
            let place = if count > 1 { format!("{place} ({count})") } else { place };
            all.push(Named {
                edge: edge.to_owned(),
                function,
                place,
                file: format!("src/{file}"),
                line: number,
            });
        }
    }
    all
}
