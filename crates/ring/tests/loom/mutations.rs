//! Takes away each promise of order in turn: some model must then see what it does not allow.

use nanotape_ring::edges::{
    self, COMMIT, GROW, INDEX, PUBLISH, RESERVE, SLOT_CHANGE, SLOT_COMMIT, SLOT_PUBLISH,
};
use nanotape_shm::Edge;

use crate::{outcomes::Model, slots, stream, take_over};

/// Each edge with models that fail without it.
const NEEDED: &[(Edge, &[&Model])] = &[
    (PUBLISH, &[&stream::PUBLISH, &stream::PUBLISH_OVER_OLD, &stream::BATCH_SINGLY]),
    (RESERVE, &[&stream::LAPPED_TWICE, &stream::LAPPED_OLDEST, &take_over::STREAM_LAPPED]),
    (GROW, &[&stream::JOIN_AT_BATCH, &stream::LAPPED_NEWEST]),
    (COMMIT, &[&stream::BATCH_READ, &stream::BATCH_WHOLE]),
    (INDEX, &[&stream::JOIN_NEWEST, &stream::LAPPED_NEWEST]),
    (SLOT_PUBLISH, &[&slots::PUBLISH, &slots::PUBLISH_OVER_OLD, &slots::BATCH_SINGLY]),
    (SLOT_CHANGE, &[&slots::ABANDON, &slots::JOIN_AT]),
    (SLOT_COMMIT, &[&slots::BATCH_WHOLE]),
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
            match model.forbidden_without(edge) {
                Some(outcome) => println!("{} | {} | {outcome}", edge.name(), model.name),
                None => unnoticed.push(format!("{} by {}", edge.name(), model.name)),
            }
        }
    }
    assert!(unnoticed.is_empty(), "taken away unnoticed: {unnoticed:?}");
}
