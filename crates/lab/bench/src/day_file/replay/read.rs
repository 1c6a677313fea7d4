//! The journal read from its first record to its last: by a tailer, and by a subscriber that goes
//! on to the ring.

use std::{hint::black_box, time::Duration};

use nanotape_journal::{Tail, Tailer};
use nanotape_plant::records::{Notice, Record};
use nanotape_ring::Start;
use nanotape_tap::{Event, Subscription};

use super::Replay;
use crate::{
    engine::{Reading, Wait, Worker, Written},
    error::Error,
};

/// Reads all excerpts in place, with their checksums.
pub(super) fn read_back(worker: &mut Worker<Replay>) -> Result<Reading, Error> {
    let kept = worker.job.options.kept()?.clone();
    worker.begin(&[])?;
    let began = worker.clock.stamp_start();
    let mut tailer = Tailer::open(&kept.journal, Start::Sequence(1))?;
    let (mut records, mut bytes) = (0, 0);
    loop {
        match tailer.next()? {
            Tail::Excerpt(excerpt) => {
                records += 1;
                bytes += excerpt.len();
            }
            Tail::Gap(gap) => return Err(Error::found(kept.journal.display(), gap)),
            Tail::Reused(reused) => {
                let found = format!("records from {} on were written again", reused.from);
                return Err(Error::found(kept.journal.display(), found));
            }
            Tail::Nothing => break,
        }
    }
    let nanos = worker.clock.nanos_between(began, worker.clock.stamp());
    black_box(bytes);
    if records != kept.records {
        let found = format!("{records} records read, {} recorded", kept.records);
        return Err(Error::found(kept.journal.display(), found));
    }
    Ok(Written { messages: records, nanos }.into())
}

/// Goes from record 1 in the journal to the ring of a plant that has ended. The time ends with the
/// hand-over; the rest of the ring is read to check that nothing is missing.
pub(super) fn heal(worker: &mut Worker<Replay>) -> Result<Reading, Error> {
    let kept = worker.job.options.kept()?.clone();
    worker.begin(&[])?;
    let clock = worker.clock;
    let mut timeout = worker.timeout(Wait::Pause);
    let began = clock.stamp_start();
    let mut subscriber = Subscription::to(&kept.ring.display().to_string())
        .from(Start::Sequence(1))
        .heal_from(&kept.journal, Duration::ZERO)
        .open()?;
    let (mut expected, mut is_over) = (1, false);
    let (mut healed, mut problem) = (None, None);
    // A journal that ends before the reader has found the ring gives the stop before the hand-over.
    while !(is_over && healed.is_some()) && problem.is_none() {
        let passed = subscriber.poll(|event| match event {
            Event::Record(delivery) => {
                if delivery.sequence != expected {
                    let sequence = delivery.sequence;
                    problem.get_or_insert(format!("record {sequence} after {}", expected - 1));
                }
                expected += 1;
                is_over |= matches!(delivery.record, Record::Notice(Notice::Stop(_)));
            }
            Event::Lost(gap) => _ = problem.get_or_insert(gap.to_string()),
            // Only a DBN file has reports.
            Event::Reported { .. } => {}
            Event::Healed(handover) => {
                let nanos = clock.nanos_between(began, clock.stamp());
                healed.get_or_insert((handover, nanos));
            }
        })?;
        if passed == 0 {
            timeout.idle(expected)?;
        }
    }
    let read = expected - 1;
    if problem.is_none() && read != kept.records {
        problem = Some(format!("{read} records read, {} published", kept.records));
    }
    match (problem, healed) {
        (None, Some((handover, nanos))) if handover.from == 1 && handover.lost == 0 => {
            Ok(Written { messages: handover.records, nanos }.into())
        }
        (None, healed) => {
            let found = healed.map_or("no hand-over".to_owned(), |(handover, _)| {
                format!("records {} to {} of the journal", handover.from, handover.to)
            });
            Err(Error::found("healing from record 1", found))
        }
        (Some(problem), _) => Err(Error::found("healing from record 1", problem)),
    }
}
