//! Removes each memory ordering in turn, everywhere and at one site at a time: some model must then
//! have a forbidden outcome.

use std::path::Path;

use nanotape_ring::edges::{
    self, COMMIT, GROW, INDEX, PUBLISH, RESERVE, SLOT_CHANGE, SLOT_COMMIT, SLOT_PUBLISH,
};
use nanotape_shm::{
    Edge,
    models::{Survivor, Weaken, check_every_site},
};

use crate::{outcomes::Model, slots, stream, take_over};

/// Each edge with models that fail without it.
const NEEDED: &[(Edge, &[&Model])] = &[
    (PUBLISH, &[&stream::PUBLISH, &stream::PUBLISH_OVER_OLD, &stream::BATCH_SINGLY]),
    (RESERVE, &[&stream::LAPPED_TWICE, &stream::LAPPED_OLDEST, &take_over::STREAM_LAPPED]),
    (GROW, &[&stream::JOIN_AT_BATCH, &stream::LAPPED_NEWEST]),
    (COMMIT, &[&stream::THREE_READ, &stream::VERIFY]),
    (INDEX, &[&stream::JOIN_NEWEST, &stream::LAPPED_NEWEST]),
    (SLOT_PUBLISH, &[&slots::PUBLISH, &slots::PUBLISH_OVER_OLD, &slots::BATCH_SINGLY]),
    (SLOT_CHANGE, &[&slots::ABANDON, &slots::JOIN_AT]),
    (SLOT_COMMIT, &[&slots::THREE_READ, &slots::VERIFY]),
];

/// Sites that no model needs, with the reason.
const SURVIVORS: &[Survivor] = &[
    (
        "ring.commit",
        "stream/recovery.rs recover",
        "the release fence just before it orders as much",
    ),
    (
        "slots.publish",
        "slots/verify.rs read_slot",
        "the fence behind the description, which is one word, orders as much",
    ),
    ("slots.change", "slots/verify.rs read_slot", "the fence of the version orders as much"),
];

#[test]
fn every_edge_is_needed() {
    let mut unnoticed = Vec::new();
    println!("\nedge | model that fails without it | forbidden outcome seen");
    for edge in edges::ALL {
        let models = NEEDED.iter().filter(|(needed, _)| *needed == edge).flat_map(|(_, all)| *all);
        let mut models = models.peekable();
        if models.peek().is_none() {
            unnoticed.push(format!("{}, for which no model is named", edge.name()));
        }
        for model in models {
            match model.case().forbidden_without(Weaken::Edge(edge)) {
                Some(outcome) => println!("{} | {} | {outcome}", edge.name(), model.name),
                None => unnoticed.push(format!("{} by {}", edge.name(), model.name)),
            }
        }
    }
    assert!(unnoticed.is_empty(), "taken away unnoticed: {unnoticed:?}");
}

#[test]
fn every_site_is_needed_or_listed_with_its_reason() {
    let models = stream::MODELS.iter().chain(slots::MODELS).map(|model| model.case());
    let cases: Vec<_> = models.chain(take_over::cases()).collect();
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    check_every_site(source, &edges::ALL, &cases, SURVIVORS);
}
