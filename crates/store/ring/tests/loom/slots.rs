//! Models of the slot ring: two slots of two words, or eight for a batch of two.

use loom::thread;
use nanotape_ring::{
    Batched, Claimed, Publish, Rejoin, Start, Subscribe,
    slots::{Reader, Writer, verify},
};

use crate::outcomes::{Model, batch, models, payload, publish, read, seek, two, verified, visit};

/// Two slots, and `messages` published messages.
pub(crate) fn ring(messages: u64) -> Writer {
    ring_of(2, messages)
}

fn ring_of(slots: usize, messages: u64) -> Writer {
    let mut writer = Writer::on_heap(slots, 16).unwrap();
    for value in 1..=messages {
        publish(&mut writer, value, 2);
    }
    writer
}

/// The results of a reader in this thread while the writer works in another.
fn race(
    mut writer: Writer,
    start: Start,
    write: fn(&mut Writer),
    observe: fn(&mut Reader) -> String,
) -> String {
    let mut reader = writer.reader(start).unwrap();
    let writer = thread::spawn(move || write(&mut writer));
    let seen = observe(&mut reader);
    writer.join().unwrap();
    seen
}

/// Messages 3 and 4, which overwrite 1 and 2.
fn three_and_four(writer: &mut Writer) {
    publish(writer, 3, 2);
    publish(writer, 4, 1);
}

pub(crate) const PUBLISH: Model = Model {
    name: "slots: publish",
    allowed: &["-, -", "-, 1", "1, -", "1, 2"],
    run: || {
        let write = |writer: &mut Writer| {
            publish(writer, 1, 2);
            publish(writer, 2, 1);
        };
        race(ring(0), Start::Oldest, write, |reader| two(|| read(reader)))
    },
};

pub(crate) const PUBLISH_OVER_OLD: Model = Model {
    name: "slots: publish over an old lap",
    allowed: &["-, -", "-, 3", "3, -", "3, 4"],
    run: || race(ring(2), Start::Newest, three_and_four, |reader| two(|| read(reader))),
};

pub(crate) const VISIT: Model = Model {
    name: "slots: visit",
    allowed: &["-, -", "-, 3", "3, -", "3, 4"],
    run: || race(ring(2), Start::Newest, three_and_four, |reader| two(|| visit(reader))),
};

pub(crate) const TWO_READERS: Model = Model {
    name: "slots: two readers, one of them lapped",
    allowed: &[
        "1 and -",
        "1 and 3",
        "lost 1-1 and -",
        "lost 1-1 and 3",
        "lost 1-2 and -",
        "lost 1-2 and 3",
    ],
    run: || {
        let mut writer = ring(2);
        let mut behind = writer.reader(Start::Sequence(1)).unwrap();
        let mut ahead = writer.reader(Start::Newest).unwrap();
        let behind = thread::spawn(move || read(&mut behind));
        let ahead = thread::spawn(move || read(&mut ahead));
        publish(&mut writer, 3, 1);
        format!("{} and {}", behind.join().unwrap(), ahead.join().unwrap())
    },
};

/// The reader is at message 1 when 3 overwrites it, and 4 overwrites message 2.
fn lapped(rejoin: Rejoin, observe: fn(&mut Reader) -> String) -> String {
    let mut writer = ring(2);
    let mut reader = writer.reader(Start::Sequence(1)).unwrap();
    reader.set_rejoin(rejoin);
    let writer = thread::spawn(move || three_and_four(&mut writer));
    let seen = observe(&mut reader);
    writer.join().unwrap();
    seen
}

pub(crate) const LAPPED_OLDEST: Model = Model {
    name: "slots: lapped, rejoin oldest",
    allowed: &[
        "1, 2",
        "1, lost 2-2",
        "1, lost 2-3",
        "lost 1-1, 2",
        "lost 1-1, lost 2-2",
        "lost 1-1, lost 2-3",
        "lost 1-2, 3",
        "lost 1-3, 4",
    ],
    run: || lapped(Rejoin::Oldest, |reader| two(|| read(reader))),
};

pub(crate) const LAPPED_HALFWAY: Model = Model {
    name: "slots: lapped, rejoin halfway",
    allowed: &[
        "1, 2",
        "1, lost 2-2",
        "1, lost 2-3",
        "lost 1-1, 2",
        "lost 1-1, lost 2-2",
        "lost 1-1, lost 2-3",
        "lost 1-2, 3",
        "lost 1-3, 4",
    ],
    run: || lapped(Rejoin::Halfway, |reader| two(|| read(reader))),
};

pub(crate) const LAPPED_NEWEST: Model = Model {
    name: "slots: lapped, rejoin newest",
    allowed: &[
        "1, 2",
        "1, lost 2-3",
        "1, lost 2-4",
        "lost 1-2, -",
        "lost 1-2, 3",
        "lost 1-3, -",
        "lost 1-3, 4",
        "lost 1-4, -",
    ],
    run: || lapped(Rejoin::Newest, |reader| two(|| read(reader))),
};

pub(crate) const VISIT_LAPPED: Model = Model {
    name: "slots: visit while lapped",
    allowed: &[
        "1, 2",
        "1, lost 2-2",
        "1, lost 2-3",
        "lost 1-1, 2",
        "lost 1-1, lost 2-2",
        "lost 1-1, lost 2-3",
        "lost 1-2, 3",
        "lost 1-3, 4",
    ],
    run: || lapped(Rejoin::Oldest, |reader| two(|| visit(reader))),
};

pub(crate) const BATCH_LAPPED: Model = Model {
    name: "slots: read a batch while lapped",
    allowed: &["1+2", "lost 1-1", "lost 1-2", "lost 1-3"],
    run: || lapped(Rejoin::Oldest, |reader| batch(reader)),
};

pub(crate) const BATCH_READ: Model = Model {
    name: "slots: read batches while messages are published",
    allowed: &["-, -", "-, 1", "-, 1+2", "1+2, -", "1, -", "1, 2"],
    run: || {
        race(
            ring_of(4, 0),
            Start::Newest,
            |writer| {
                publish(writer, 1, 1);
                publish(writer, 2, 1);
            },
            |reader| two(|| batch(reader)),
        )
    },
};

fn publish_batch(writer: &mut Writer) {
    let mut batch = writer.batch();
    batch.push(1, &payload(1, 1)).unwrap();
    batch.push(2, &payload(2, 1)).unwrap();
    assert_eq!(batch.publish(), 1);
}

pub(crate) const BATCH_SINGLY: Model = Model {
    name: "slots: a batch, read singly",
    allowed: &["-, -", "-, 1", "1, 2"],
    run: || race(ring_of(8, 0), Start::Newest, publish_batch, |reader| two(|| read(reader))),
};

pub(crate) const BATCH_WHOLE: Model = Model {
    name: "slots: a batch, read as one",
    allowed: &["-, -", "-, 1+2", "1+2, -"],
    run: || race(ring_of(8, 0), Start::Newest, publish_batch, |reader| two(|| batch(reader))),
};

/// More messages than a reader of batches follows before it loads `committed`.
pub(crate) fn publish_long_batch(writer: &mut Writer) {
    let mut batch = writer.batch();
    for value in 1..=3 {
        batch.push(value, &payload(u64::from(value), 1)).unwrap();
    }
    assert_eq!(batch.publish(), 1);
}

/// A ring with enough slots for such a batch.
pub(crate) fn long_ring() -> Writer {
    Writer::on_heap(16, 16).unwrap()
}

pub(crate) const LONG_BATCH: Model = Model {
    name: "slots: a batch longer than what is followed",
    allowed: &["-, -", "-, 1+2+3", "1+2+3, -"],
    run: || race(long_ring(), Start::Newest, publish_long_batch, |reader| two(|| batch(reader))),
};

pub(crate) const THREE_READ: Model = Model {
    name: "slots: read batches while more is published than what is followed",
    allowed: &["-", "1", "1+2", "1+2+3"],
    run: || {
        let write = |writer: &mut Writer| (1..=3).for_each(|value| publish(writer, value, 1));
        race(ring_of(4, 0), Start::Newest, write, |reader| batch(reader))
    },
};

pub(crate) const ABANDON: Model = Model {
    name: "slots: an abandoned claim over a message that is being read",
    allowed: &["1", "lost 1-1", "lost 1-2"],
    run: || {
        let write = |writer: &mut Writer| {
            let mut claim = writer.claim(9, 16).unwrap();
            claim.write(0, &payload(9, 2));
            claim.abandon();
            publish(writer, 3, 1);
        };
        race(ring(2), Start::Sequence(1), write, |reader| read(reader))
    },
};

pub(crate) const ABANDON_NEXT: Model = Model {
    name: "slots: an abandoned claim where the next message is expected",
    allowed: &["-, -", "-, 3", "3, -"],
    run: || {
        let write = |writer: &mut Writer| {
            let mut claim = writer.claim(9, 16).unwrap();
            claim.write(0, &payload(9, 2));
            claim.abandon();
            publish(writer, 3, 1);
        };
        race(ring(2), Start::Newest, write, |reader| two(|| read(reader)))
    },
};

pub(crate) const JOIN_OLDEST: Model = Model {
    name: "slots: join at the oldest",
    allowed: &["at 2: 2", "at 2: lost 2-2", "at 2: lost 2-3", "at 3: 3", "at 4: 4"],
    run: || {
        race(ring(2), Start::Newest, three_and_four, |reader| {
            let place = seek(reader, Start::Oldest);
            format!("{place}: {}", read(reader))
        })
    },
};

pub(crate) const JOIN_NEWEST: Model = Model {
    name: "slots: join at the newest",
    allowed: &["at 3: -", "at 3: 3", "at 4: -", "at 4: 4", "at 5: -"],
    run: || {
        race(ring(2), Start::Newest, three_and_four, |reader| {
            let place = seek(reader, Start::Newest);
            format!("{place}: {}", read(reader))
        })
    },
};

pub(crate) const JOIN_AT: Model = Model {
    name: "slots: join at a message that is being overwritten",
    allowed: &["at 1: 1", "at 1: lost 1-1", "at 1: lost 1-2", "at 1: lost 1-3"],
    run: || {
        race(ring(2), Start::Newest, three_and_four, |reader| {
            let place = seek(reader, Start::Sequence(1));
            format!("{place}: {}", read(reader))
        })
    },
};

pub(crate) const JOIN_NEXT: Model = Model {
    name: "slots: join at a message that may be published",
    allowed: &["at 4: -", "at 4: 4", "not yet: -", "not yet: 3"],
    run: || {
        race(ring(2), Start::Newest, three_and_four, |reader| {
            let place = seek(reader, Start::Sequence(4));
            format!("{place}: {}", read(reader))
        })
    },
};

pub(crate) const VERIFY: Model = Model {
    name: "slots: verified while messages are published",
    allowed: &["sound"],
    run: || {
        race(ring(2), Start::Newest, three_and_four, |reader| verified(verify(reader.region())))
    },
};

models! {
    PUBLISH: a_reader_sees_nothing_or_whole_messages_in_order,
    PUBLISH_OVER_OLD: a_reader_does_not_take_an_old_lap_for_a_new_one,
    VISIT: a_visitor_sees_nothing_or_whole_messages_in_order,
    TWO_READERS: two_readers_do_not_notice_each_other,
    LAPPED_OLDEST: a_lapped_reader_goes_on_at_the_oldest_message,
    LAPPED_HALFWAY: a_lapped_reader_goes_on_halfway,
    LAPPED_NEWEST: a_lapped_reader_goes_on_at_the_newest_message,
    VISIT_LAPPED: a_visitor_of_an_overwritten_message_counts_for_nothing,
    BATCH_LAPPED: a_batch_that_is_overwritten_while_it_is_read_is_not_shown,
    BATCH_READ: read_batch_shows_what_is_published,
    BATCH_SINGLY: a_batch_is_there_whole_for_who_reads_singly,
    BATCH_WHOLE: a_batch_is_there_whole_for_who_reads_batches,
    ABANDON: an_abandoned_claim_is_not_taken_for_the_message_that_it_overwrites,
    ABANDON_NEXT: an_abandoned_claim_is_never_seen,
    JOIN_OLDEST: joining_at_the_oldest_message_finds_it,
    JOIN_NEWEST: joining_at_the_newest_message_misses_none_behind_it,
    JOIN_AT: joining_at_a_lost_message_says_what_is_lost,
    JOIN_NEXT: joining_at_a_sequence_number_finds_that_message_or_says_it_is_not_yet_there,
    LONG_BATCH: a_batch_longer_than_what_is_followed_is_there_whole,
    THREE_READ: more_messages_than_what_is_followed_are_seen_in_order,
    VERIFY: a_sound_ring_is_verified_while_it_is_written,
}
