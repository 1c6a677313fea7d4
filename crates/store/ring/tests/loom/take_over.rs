//! Models of take-over: a writer is killed before each of its stores, a second one continues in
//! another thread, and readers read meanwhile. No message is torn, repeated or missing.

use std::sync::Arc;

use loom::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};
use nanotape_ring::{Batched, Publish, Rejoin, Start, Subscribe, slots, stream};
use nanotape_shm::{
    OwnedRegion,
    models::{Case, death},
};

use crate::outcomes::{Model, batch, payload, publish, read, rest, seek, two, verified};

/// The second writer of a region.
trait TakeOver: Publish + Send + 'static {
    fn into_region(self) -> OwnedRegion;
    fn resume(region: OwnedRegion) -> Self;
}

impl TakeOver for stream::Writer {
    fn into_region(self) -> OwnedRegion {
        self.into_region()
    }
    fn resume(region: OwnedRegion) -> Self {
        Self::resume(region).unwrap()
    }
}

impl TakeOver for slots::Writer {
    fn into_region(self) -> OwnedRegion {
        self.into_region()
    }
    fn resume(region: OwnedRegion) -> Self {
        Self::resume(region).unwrap()
    }
}

/// A word that the writer stores last and the reader loads first, with no order.
///
/// A writer that takes over loads the words that it then stores. Loom orders its store only after
/// its own load, not before earlier loads of the reader. This word adds that order. One execution
/// in which the writer was first is enough: a reader may load all older values too.
fn meeting_point() -> (Arc<AtomicU64>, Arc<AtomicU64>) {
    let word = Arc::new(AtomicU64::new(0));
    (word.clone(), word)
}

/// The results of a reader while the first writer does `last` and is killed after `stores` stores,
/// and the second publishes one more message.
fn taken_over<W: TakeOver>(
    mut writer: W,
    stores: Option<u32>,
    last: fn(&mut W),
    observe: impl FnOnce() -> String,
) -> String {
    let (done, observe_first) = meeting_point();
    let writers = thread::spawn(move || {
        death::after(stores);
        last(&mut writer);
        death::after(None);
        let region = writer.into_region();
        thread::spawn(move || {
            let mut writer = W::resume(region);
            let sequence = writer.next_sequence();
            publish(&mut writer, 100 + sequence, 2);
            done.store(1, Ordering::Relaxed);
        })
    });
    observe_first.load(Ordering::Relaxed);
    let seen = observe();
    writers.join().unwrap().join().unwrap();
    seen
}

/// Two reads during the take-over, and all messages after it.
fn all_seen<W: TakeOver>(writer: W, stores: Option<u32>, last: fn(&mut W)) -> String
where
    W::Reader: Send,
{
    let mut reader = writer.reader(Start::Newest).unwrap();
    let seen = taken_over(writer, stores, last, || two(|| read(&mut reader)));
    format!("{seen}, then{}", rest(&mut reader))
}

/// A writer that is killed before each of its stores in turn.
struct Deaths {
    name: &'static str,
    stores: u32,
    /// The number of stores from which on its work is published.
    shown: u32,
    lost: &'static [&'static str],
    kept: &'static [&'static str],
    run: fn(Option<u32>) -> String,
}

impl Deaths {
    fn cases(&self) -> impl Iterator<Item = Case> {
        (0..=self.stores).map(|count| {
            let name = format!("{}, killed after {count} stores", self.name);
            let (is_lost, run) = (count < self.shown, self.run);
            let allowed = if is_lost { self.lost } else { self.kept };
            Case::new(name, allowed, move || run(Some(count)))
        })
    }

    fn check(&self) {
        self.cases().for_each(|case| case.check());
    }
}

// Reserved; two words, the zero after them, the number, the commit word; time, committed; the
// index.
const STREAM_MESSAGE: Deaths = Deaths {
    name: "stream: taken over in a message",
    stores: 11,
    shown: 6,
    lost: &["-, -, then 104", "-, 104, then", "104, -, then"],
    kept: &["-, -, then 4 105", "-, 4, then 105", "4, -, then 105", "4, 105, then"],
    run: |stores| all_seen(crate::stream::ring(3), stores, |writer| publish(writer, 4, 2)),
};

const STREAM_BATCH: Deaths = Deaths {
    name: "stream: taken over in a batch",
    stores: 15,
    shown: 10,
    lost: &["-, -, then 104", "-, 104, then", "104, -, then"],
    kept: &["-, -, then 4 5 106", "-, 4, then 5 106", "4, 5, then 106"],
    run: |stores| {
        all_seen(crate::stream::ring(3), stores, |writer| {
            let mut batch = writer.batch();
            batch.push(4, &payload(4, 1)).unwrap();
            batch.push(5, &payload(5, 1)).unwrap();
            batch.publish();
        })
    },
};

// The odd version, the description, two words, the even version; time, committed.
const SLOTS_MESSAGE: Deaths = Deaths {
    name: "slots: taken over in a message",
    stores: 7,
    shown: 5,
    lost: &["-, -, then 103", "-, 103, then", "103, -, then"],
    kept: &["-, -, then 3 104", "-, 3, then 104", "3, -, then 104", "3, 104, then"],
    run: |stores| all_seen(crate::slots::ring(2), stores, |writer| publish(writer, 3, 2)),
};

// Odd version, description and a word of both; the even versions; time, committed.
const SLOTS_BATCH: Deaths = Deaths {
    name: "slots: taken over in a batch",
    stores: 10,
    shown: 8,
    lost: &["-, -, then 101", "-, 101, then", "101, -, then"],
    kept: &["-, -, then 1 2 103", "-, 1, then 2 103", "1, 2, then 103"],
    run: |stores| {
        all_seen(slots::Writer::on_heap(8, 16).unwrap(), stores, |writer| {
            let mut batch = writer.batch();
            batch.push(1, &payload(1, 1)).unwrap();
            batch.push(2, &payload(2, 1)).unwrap();
            batch.publish();
        })
    },
};

#[test]
fn a_stream_whose_writer_is_killed_in_a_message_loses_nothing() {
    STREAM_MESSAGE.check();
}

#[test]
fn a_stream_whose_writer_is_killed_in_a_batch_shows_all_of_it_or_nothing() {
    STREAM_BATCH.check();
}

#[test]
fn slots_whose_writer_is_killed_in_a_message_lose_nothing() {
    SLOTS_MESSAGE.check();
}

#[test]
fn slots_whose_writer_is_killed_in_a_batch_show_all_of_it_or_nothing() {
    SLOTS_BATCH.check();
}

/// All messages that a reader of batches gets after a writer was killed, without another writer.
fn left_behind<W: TakeOver>(mut writer: W, stores: Option<u32>, last: fn(&mut W)) -> String {
    let mut reader = writer.reader(Start::Newest).unwrap();
    let dead = thread::spawn(move || {
        death::after(stores);
        last(&mut writer);
        death::after(None);
        // Kept, because a writer that is dropped marks the ring as closed.
        writer
    });
    let writer = dead.join().unwrap();
    let seen = two(|| batch(&mut reader));
    drop(writer);
    seen
}

/// The gate, the time, `committed`, and two entries of the index are the last stores.
const STREAM_LEFT: Deaths = Deaths {
    name: "stream: left by a writer killed in a long batch",
    stores: 20,
    shown: 14,
    lost: &["-, -"],
    kept: &["1+2+3, -"],
    run: |stores| left_behind(crate::stream::ring(0), stores, crate::stream::publish_long_batch),
};

/// Three odd versions, descriptions and words; the even versions; time, committed.
const SLOTS_LEFT: Deaths = Deaths {
    name: "slots: left by a writer killed in a long batch",
    stores: 14,
    shown: 12,
    lost: &["-, -"],
    kept: &["1+2+3, -"],
    run: |stores| left_behind(crate::slots::long_ring(), stores, crate::slots::publish_long_batch),
};

#[test]
fn a_long_batch_of_a_dead_stream_writer_is_seen_whole_or_not_at_all() {
    STREAM_LEFT.check();
}

#[test]
fn a_long_batch_of_a_dead_slot_writer_is_seen_whole_or_not_at_all() {
    SLOTS_LEFT.check();
}

/// The first writer is killed when its third message is published and not yet counted. The second
/// one counts it; a reader of batches that uses the count must see the message.
const STREAM_COUNTED: Model = Model {
    name: "stream: what a dead writer published and the second one counted",
    allowed: &["-", "1", "1+2", "1+2+3", "1+2+3+104"],
    run: || {
        let writer = crate::stream::ring(0);
        let mut reader = writer.reader(Start::Newest).unwrap();
        let write = |writer: &mut stream::Writer| (1..=3).for_each(|v| publish(writer, v, 1));
        // Three messages with one word, two of which end in a separate block.
        taken_over(writer, Some(21), write, || batch(&mut reader))
    },
};

const SLOTS_COUNTED: Model = Model {
    name: "slots: what a dead writer published and the second one counted",
    allowed: &["-", "1", "1+2", "1+2+3", "1+2+3+104"],
    run: || {
        let writer = crate::slots::long_ring();
        let mut reader = writer.reader(Start::Newest).unwrap();
        let write = |writer: &mut slots::Writer| (1..=3).for_each(|v| publish(writer, v, 1));
        taken_over(writer, Some(16), write, || batch(&mut reader))
    },
};

/// The first writer is killed after it begins message 4; the second one begins it again.
const SLOTS_VERIFIED: Model = Model {
    name: "slots: verified while taken over",
    allowed: &["sound"],
    run: || {
        let writer = crate::slots::ring(2);
        let reader = writer.reader(Start::Newest).unwrap();
        let write = |writer: &mut slots::Writer| (3..=4).for_each(|v| publish(writer, v, 2));
        taken_over(writer, Some(8), write, || verified(slots::verify(reader.region())))
    },
};

#[test]
fn sound_slots_are_verified_while_they_are_taken_over() {
    SLOTS_VERIFIED.check();
}

#[test]
fn what_the_second_stream_writer_counts_is_there() {
    STREAM_COUNTED.check();
}

#[test]
fn what_the_second_slot_writer_counts_is_there() {
    SLOTS_COUNTED.check();
}

/// The first writer is killed after it reserves the block that the reader is in; the second one
/// writes there, without reserving anything itself.
pub(crate) const STREAM_LAPPED: Model = Model {
    name: "stream: lapped by the second writer in what the first one reserved",
    allowed: &["1", "lost 1-3", "lost 1-4"],
    run: || {
        let writer = crate::stream::ring(3);
        let mut reader = writer.reader(Start::Oldest).unwrap();
        reader.set_rejoin(Rejoin::Newest);
        taken_over(writer, Some(1), |writer| publish(writer, 4, 2), || read(&mut reader))
    },
};

/// The first writer overwrites the first message of a batch during its read, the second one the
/// second message.
pub(crate) const SLOTS_LAPPED: Model = Model {
    name: "slots: a batch is read and overwritten by two writers",
    allowed: &["1+2", "lost 1-1", "lost 1-2", "lost 1-3"],
    run: || {
        let writer = crate::slots::ring(2);
        let mut reader = writer.reader(Start::Sequence(1)).unwrap();
        taken_over(writer, None, |writer| publish(writer, 3, 1), || batch(&mut reader))
    },
};

/// The first writer is killed before a store of the index, and a reader joins.
fn joins_while_taken_over(stores: Option<u32>) -> String {
    let writer = crate::stream::ring(3);
    let mut reader = writer.reader(Start::Oldest).unwrap();
    let observe = || {
        let place = seek(&mut reader, Start::Newest);
        format!("{place}: {}", read(&mut reader))
    };
    taken_over(writer, stores, |writer| publish(writer, 4, 2), observe)
}

fn joins() -> impl Iterator<Item = Case> {
    (7..=11).map(|stores| {
        let name = format!("stream: joined while taken over, killed after {stores} stores");
        let allowed = &["at 4: -", "at 4: 4", "at 5: -", "at 5: 105", "at 6: -"];
        Case::new(name, allowed, move || joins_while_taken_over(Some(stores)))
    })
}

/// All cases, for tests of every site.
pub(crate) fn cases() -> impl Iterator<Item = Case> {
    let deaths =
        [STREAM_MESSAGE, STREAM_BATCH, STREAM_LEFT, SLOTS_MESSAGE, SLOTS_BATCH, SLOTS_LEFT];
    let models = [STREAM_LAPPED, STREAM_COUNTED, SLOTS_LAPPED, SLOTS_COUNTED, SLOTS_VERIFIED]
        .map(|model| model.case());
    deaths
        .into_iter()
        .flat_map(|deaths| deaths.cases().collect::<Vec<_>>())
        .chain(models)
        .chain(joins())
}

#[test]
fn joining_a_stream_whose_index_is_repaired_misses_none_after_it() {
    joins().for_each(|case| case.check());
}

#[test]
fn what_a_dead_writer_reserved_laps_a_reader_when_the_next_one_writes_there() {
    STREAM_LAPPED.check();
}

#[test]
fn a_batch_that_two_writers_overwrite_while_it_is_read_is_not_shown() {
    SLOTS_LAPPED.check();
}
