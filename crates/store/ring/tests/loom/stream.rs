//! Models of the stream ring: 16 words in 4 blocks. A message of two words is a frame of four, a
//! block. So message `n` is at position `4 (n - 1)`, and the fifth overwrites the first.

use loom::thread;
use nanotape_ring::{
    Batched, Claimed, Publish, Rejoin, Start, Subscribe,
    stream::{Reader, Writer, verify},
};

use crate::outcomes::{Model, batch, models, payload, publish, read, seek, two, verified, visit};

/// A ring with `messages` messages of two words.
pub(crate) fn ring(messages: u64) -> Writer {
    let mut writer = Writer::on_heap(128).unwrap();
    for value in 1..=messages {
        publish(&mut writer, value, 2);
    }
    writer
}

fn reader(writer: &Writer, start: Start) -> Reader {
    writer.reader(start).unwrap()
}

/// The results of the reader in this thread while the writer works in another.
fn race(
    mut writer: Writer,
    mut reader: Reader,
    write: fn(&mut Writer),
    observe: fn(&mut Reader) -> String,
) -> String {
    let writer = thread::spawn(move || write(&mut writer));
    let seen = observe(&mut reader);
    writer.join().unwrap();
    seen
}

pub(crate) const PUBLISH: Model = Model {
    name: "stream: publish",
    allowed: &["-, -", "-, 1", "1, -", "1, 2"],
    run: || {
        let writer = ring(0);
        let reader = reader(&writer, Start::Oldest);
        race(
            writer,
            reader,
            |writer| {
                publish(writer, 1, 2);
                publish(writer, 2, 1);
            },
            |reader| two(|| read(reader)),
        )
    },
};

pub(crate) const PUBLISH_OVER_OLD: Model = Model {
    name: "stream: publish over an old lap",
    allowed: &["-, -", "-, 5", "5, -", "5, 6"],
    run: || {
        let writer = ring(4);
        let reader = reader(&writer, Start::Newest);
        race(
            writer,
            reader,
            |writer| {
                publish(writer, 5, 1);
                publish(writer, 6, 1);
            },
            |reader| two(|| read(reader)),
        )
    },
};

pub(crate) const VISIT: Model = Model {
    name: "stream: visit",
    allowed: &["-, -", "-, 5", "5, -", "5, 6"],
    run: || {
        let writer = ring(4);
        let reader = reader(&writer, Start::Newest);
        race(
            writer,
            reader,
            |writer| {
                publish(writer, 5, 1);
                publish(writer, 6, 1);
            },
            |reader| two(|| visit(reader)),
        )
    },
};

pub(crate) const TWO_READERS: Model = Model {
    name: "stream: two readers",
    allowed: &["- and -", "- and 1", "1 and -", "1 and 1"],
    run: || {
        let mut writer = ring(0);
        let mut first = reader(&writer, Start::Oldest);
        let mut second = first.clone();
        let first = thread::spawn(move || read(&mut first));
        let second = thread::spawn(move || read(&mut second));
        publish(&mut writer, 1, 2);
        format!("{} and {}", first.join().unwrap(), second.join().unwrap())
    },
};

/// The reader is at message 1 when message 4 reserves its block, and 5 overwrites it.
fn lapped(rejoin: Rejoin, observe: fn(&mut Reader) -> String) -> String {
    let writer = ring(3);
    let mut reader = reader(&writer, Start::Oldest);
    reader.set_rejoin(rejoin);
    race(
        writer,
        reader,
        |writer| {
            publish(writer, 4, 1);
            publish(writer, 5, 2);
        },
        observe,
    )
}

pub(crate) const LAPPED_OLDEST: Model = Model {
    name: "stream: lapped, rejoin oldest",
    allowed: &["1", "lost 1-2"],
    run: || lapped(Rejoin::Oldest, |reader| read(reader)),
};

pub(crate) const LAPPED_HALFWAY: Model = Model {
    name: "stream: lapped, rejoin halfway",
    allowed: &["1", "lost 1-3", "lost 1-5"],
    run: || lapped(Rejoin::Halfway, |reader| read(reader)),
};

pub(crate) const LAPPED_NEWEST: Model = Model {
    name: "stream: lapped, rejoin newest",
    allowed: &["1", "lost 1-4", "lost 1-5"],
    run: || lapped(Rejoin::Newest, |reader| read(reader)),
};

pub(crate) const LAPPED_TWICE: Model = Model {
    name: "stream: lapped, and the read after it",
    allowed: &["1, 2", "lost 1-1, 2"],
    run: || {
        let writer = ring(3);
        let mut reader = reader(&writer, Start::Oldest);
        reader.set_rejoin(Rejoin::Oldest);
        race(writer, reader, |writer| publish(writer, 4, 2), |reader| two(|| read(reader)))
    },
};

pub(crate) const VISIT_LAPPED: Model = Model {
    name: "stream: visit while lapped",
    allowed: &["1", "lost 1-4", "lost 1-5"],
    run: || lapped(Rejoin::Newest, |reader| visit(reader)),
};

pub(crate) const BATCH_LAPPED: Model = Model {
    name: "stream: read a batch while lapped",
    allowed: &["1+2+3", "1+2+3+4", "lost 1-4", "lost 1-5"],
    run: || lapped(Rejoin::Newest, |reader| batch(reader)),
};

pub(crate) const BATCH_READ: Model = Model {
    name: "stream: read batches while messages are published",
    allowed: &["-, -", "-, 5", "-, 5+6", "5, -", "5, 6", "5+6, -"],
    run: || {
        let writer = ring(4);
        let reader = reader(&writer, Start::Newest);
        race(
            writer,
            reader,
            |writer| {
                publish(writer, 5, 1);
                publish(writer, 6, 1);
            },
            |reader| two(|| batch(reader)),
        )
    },
};

fn publish_batch(writer: &mut Writer) {
    let mut batch = writer.batch();
    batch.push(5, &payload(5, 1)).unwrap();
    batch.push(6, &payload(6, 1)).unwrap();
    assert_eq!(batch.publish(), 5);
}

pub(crate) const BATCH_SINGLY: Model = Model {
    name: "stream: a batch, read singly",
    allowed: &["-, -", "-, 5", "5, 6"],
    run: || {
        let writer = ring(4);
        let reader = reader(&writer, Start::Newest);
        race(writer, reader, publish_batch, |reader| two(|| read(reader)))
    },
};

pub(crate) const BATCH_WHOLE: Model = Model {
    name: "stream: a batch, read as one",
    allowed: &["-, -", "-, 5+6", "5+6, -"],
    run: || {
        let writer = ring(4);
        let reader = reader(&writer, Start::Newest);
        race(writer, reader, publish_batch, |reader| two(|| batch(reader)))
    },
};

/// More messages than a reader of batches follows before it loads `committed`.
pub(crate) fn publish_long_batch(writer: &mut Writer) {
    let mut batch = writer.batch();
    for value in 1..=3 {
        batch.push(value, &payload(u64::from(value), 1)).unwrap();
    }
    assert_eq!(batch.publish(), 1);
}

pub(crate) const LONG_BATCH: Model = Model {
    name: "stream: a batch longer than what is followed",
    allowed: &["-, -", "-, 1+2+3", "1+2+3, -"],
    run: || {
        let writer = ring(0);
        let reader = reader(&writer, Start::Newest);
        race(writer, reader, publish_long_batch, |reader| two(|| batch(reader)))
    },
};

pub(crate) const THREE_READ: Model = Model {
    name: "stream: read batches while more is published than what is followed",
    allowed: &["-", "1", "1+2", "1+2+3"],
    run: || {
        let writer = ring(0);
        let reader = reader(&writer, Start::Newest);
        let write = |writer: &mut Writer| (1..=3).for_each(|value| publish(writer, value, 1));
        race(writer, reader, write, batch)
    },
};

/// A message and a batch that are held back and shown together. An abandoned batch leaves nothing
/// behind them.
fn publish_held(writer: &mut Writer) {
    writer.set_holding(true);
    publish(writer, 5, 1);
    let mut batch = writer.batch();
    batch.push_words(6, [6]).unwrap();
    assert_eq!(batch.publish(), 6);
    let mut batch = writer.batch();
    batch.push(9, &payload(9, 1)).unwrap();
    drop(batch);
    writer.set_holding(false);
}

pub(crate) const HELD_SINGLY: Model = Model {
    name: "stream: messages held back, read singly",
    allowed: &["-, -", "-, 5", "5, 6"],
    run: || {
        let writer = ring(4);
        let reader = reader(&writer, Start::Newest);
        race(writer, reader, publish_held, |reader| two(|| read(reader)))
    },
};

pub(crate) const HELD_WHOLE: Model = Model {
    name: "stream: messages held back, read as one batch",
    allowed: &["-, -", "-, 5+6", "5+6, -"],
    run: || {
        let writer = ring(4);
        let reader = reader(&writer, Start::Newest);
        race(writer, reader, publish_held, |reader| two(|| batch(reader)))
    },
};

/// Five messages of one word end at position 15: the sixth begins the next lap after padding.
fn padded() -> Writer {
    let mut writer = ring(0);
    for value in 1..=5 {
        publish(&mut writer, value, 1);
    }
    writer
}

pub(crate) const PADDING: Model = Model {
    name: "stream: over padding",
    allowed: &["-, -", "-, 6", "6, -", "6, 7"],
    run: || {
        let writer = padded();
        let reader = reader(&writer, Start::Newest);
        race(
            writer,
            reader,
            |writer| {
                publish(writer, 6, 1);
                publish(writer, 7, 1);
            },
            |reader| two(|| read(reader)),
        )
    },
};

pub(crate) const PADDING_BATCH: Model = Model {
    name: "stream: over padding, batches",
    allowed: &["-, -", "-, 6", "6, -"],
    run: || {
        let writer = padded();
        let reader = reader(&writer, Start::Newest);
        race(writer, reader, |writer| publish(writer, 6, 1), |reader| two(|| batch(reader)))
    },
};

pub(crate) const ABANDON: Model = Model {
    name: "stream: an abandoned claim",
    allowed: &["-, -", "-, 5", "5, -"],
    run: || {
        let writer = ring(4);
        let reader = reader(&writer, Start::Newest);
        race(
            writer,
            reader,
            |writer| {
                let mut claim = writer.claim(9, 24).unwrap();
                claim.write(0, &payload(9, 3));
                claim.abandon();
                publish(writer, 5, 1);
            },
            |reader| two(|| read(reader)),
        )
    },
};

pub(crate) const ABANDON_BATCH: Model = Model {
    name: "stream: an abandoned batch",
    allowed: &["-, -", "-, 5", "5, -"],
    run: || {
        let writer = ring(4);
        let reader = reader(&writer, Start::Newest);
        race(
            writer,
            reader,
            |writer| {
                let mut batch = writer.batch();
                batch.push(9, &payload(9, 1)).unwrap();
                batch.push(9, &payload(9, 1)).unwrap();
                drop(batch);
                publish(writer, 5, 1);
            },
            |reader| two(|| read(reader)),
        )
    },
};

/// Message 5 replaces the index entry of message 1's block and enters the next block.
fn join(messages: u64, start: Start) -> (Writer, Reader, Start) {
    let writer = ring(messages);
    let reader = reader(&writer, Start::Newest);
    (writer, reader, start)
}

macro_rules! join_model {
    ($const:ident, $name:literal, $start:expr, $allowed:expr) => {
        pub(crate) const $const: Model = Model {
            name: $name,
            allowed: $allowed,
            run: || {
                let (writer, reader, _) = join(3, $start);
                race(
                    writer,
                    reader,
                    |writer| {
                        publish(writer, 4, 2);
                        publish(writer, 5, 1);
                    },
                    |reader| {
                        let place = seek(reader, $start);
                        format!("{place}: {}", read(reader))
                    },
                )
            },
        };
    };
}

join_model!(
    JOIN_OLDEST,
    "stream: join at the oldest",
    Start::Oldest,
    &["at 1: 1", "at 1: lost 1-3", "at 2: 2"]
);
join_model!(
    JOIN_NEWEST,
    "stream: join at the newest",
    Start::Newest,
    &["at 4: -", "at 4: 4", "at 5: -", "at 5: 5", "at 6: -"]
);
join_model!(
    JOIN_LOST,
    "stream: join at a message that is overwritten",
    Start::Sequence(1),
    &["at 1: 1", "at 1: lost 1-3"]
);
join_model!(
    JOIN_NEXT,
    "stream: join at a message that is published",
    Start::Sequence(4),
    &["at 4: -", "at 4: 4"]
);

/// Message 6 overwrites message 1, which a reader passes on its way to message 2, whose block has
/// no entry.
pub(crate) const JOIN_BEHIND: Model = Model {
    name: "stream: join at a message behind one that is overwritten",
    allowed: &["at 2: 2", "at 2: lost 2-4"],
    run: || {
        let writer = padded();
        let reader = reader(&writer, Start::Newest);
        race(
            writer,
            reader,
            |writer| publish(writer, 6, 1),
            |reader| {
                let place = seek(reader, Start::Sequence(2));
                format!("{place}: {}", read(reader))
            },
        )
    },
};

/// The writer reserves three quarters of the ring for a batch after one message.
pub(crate) const JOIN_AT_BATCH: Model = Model {
    name: "stream: join while a long batch is begun",
    allowed: &["at 1", "at 2"],
    run: || {
        let writer = ring(0);
        let reader = reader(&writer, Start::Newest);
        race(
            writer,
            reader,
            |writer| {
                publish(writer, 1, 2);
                let mut batch = writer.batch();
                for value in 2..=4 {
                    batch.push(value, &payload(u64::from(value), 2)).unwrap();
                }
            },
            |reader| seek(reader, Start::Newest),
        )
    },
};

/// Message 7 overwrites 4 and the beginning of 5, and replaces the last entry of the index.
pub(crate) const VERIFY: Model = Model {
    name: "stream: verified while a message is published",
    allowed: &["sound"],
    run: || {
        let writer = ring(6);
        let reader = reader(&writer, Start::Newest);
        let write = |writer: &mut Writer| publish(writer, 7, 4);
        race(writer, reader, write, |reader| verified(verify(reader.region())))
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
    LAPPED_TWICE: a_lapped_reader_loses_no_more_than_it_reports,
    VISIT_LAPPED: a_visitor_of_an_overwritten_message_counts_for_nothing,
    BATCH_LAPPED: a_batch_that_is_overwritten_while_it_is_read_is_not_shown,
    BATCH_READ: read_batch_shows_what_is_published,
    BATCH_SINGLY: a_batch_is_there_whole_for_who_reads_singly,
    BATCH_WHOLE: a_batch_is_there_whole_for_who_reads_batches,
    HELD_SINGLY: messages_held_back_are_there_together_for_who_reads_singly,
    HELD_WHOLE: messages_held_back_are_there_together_for_who_reads_batches,
    PADDING: a_reader_goes_over_padding,
    PADDING_BATCH: read_batch_goes_over_padding,
    ABANDON: an_abandoned_claim_is_never_seen,
    ABANDON_BATCH: an_abandoned_batch_is_never_seen,
    JOIN_AT_BATCH: joining_while_a_long_batch_is_begun_finds_a_way_in,
    JOIN_BEHIND: joining_behind_a_message_that_is_overwritten_is_no_damage,
    LONG_BATCH: a_batch_longer_than_what_is_followed_is_there_whole,
    THREE_READ: more_messages_than_what_is_followed_are_seen_in_order,
    VERIFY: a_sound_ring_is_verified_while_it_is_written,
    JOIN_OLDEST: joining_at_the_oldest_message_finds_it,
    JOIN_NEWEST: joining_at_the_newest_message_misses_none_behind_it,
    JOIN_LOST: joining_at_a_lost_message_says_what_is_lost,
    JOIN_NEXT: joining_at_a_sequence_number_finds_that_message,
}
