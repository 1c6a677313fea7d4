//! Loom models: a number that a reader gets is one of the incarnation that it requested.

use std::{path::Path, sync::Arc};

use loom::thread;
use nanotape_shm::{
    Word, as_read_only,
    models::{Case, Weaken, check_every_site},
};

use crate::acknowledge::{ACKNOWLEDGE, NO_INCARNATION, WORDS, load, store};

/// The numbers of two loads that request this incarnation, while the follower goes from 5 of
/// incarnation 1 to 3 of incarnation 2.
fn race(incarnation: u64, on_disk: bool) -> String {
    let words: Arc<Vec<Word>> = Arc::new((0..WORDS).map(|_| Word::new(0)).collect());
    store(&words, NO_INCARNATION, [1, 5, 5]);
    let written = Arc::clone(&words);
    let writer = thread::spawn(move || store(&written, 1, [2, 3, 3]));
    let first = load(as_read_only(&words), incarnation, on_disk);
    let second = load(as_read_only(&words), incarnation, on_disk);
    writer.join().unwrap();
    format!("{first}, {second}")
}

fn cases() -> Vec<Case> {
    vec![
        Case::new("the earlier incarnation", &["0, 0", "5, 0", "5, 5"], || race(1, false)),
        Case::new("the later incarnation", &["0, 0", "0, 3", "3, 3"], || race(2, false)),
        Case::new("the earlier incarnation, on disk", &["0, 0", "5, 0", "5, 5"], || race(1, true)),
        Case::new("the later incarnation, on disk", &["0, 0", "0, 3", "3, 3"], || race(2, true)),
    ]
}

#[test]
fn every_model_has_all_of_its_outcomes_and_no_other() {
    cases().iter().for_each(Case::check);
}

#[test]
fn the_edge_is_needed() {
    let is_missed = |case: &Case| case.forbidden_without(Weaken::Edge(ACKNOWLEDGE)).is_some();
    assert!(cases().iter().any(is_missed));
}

#[test]
fn every_site_is_needed() {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    check_every_site(source, &[ACKNOWLEDGE], &cases(), &[]);
}
