//! One writer and three readers in real threads: every reader accounts for every sequence number,
//! once and in order, and every message is whole.

use std::thread;

use nanotape_harness::{Patience, mixed};
use nanotape_ring::{Publish, Read, Rejoin, Start, Subscribe, slots, stream};

/// Messages of each run.
const MESSAGES: u64 = if cfg!(miri) { 100 } else { 2_000_000 };

/// The longest payload.
const MAX_BYTES: usize = 200;

/// The length of a message, and the value of each of its words: random, derived from its number.
fn message(sequence: u64) -> (usize, u64) {
    let bits = mixed(sequence);
    (bits as usize % (MAX_BYTES + 1), bits)
}

/// Writes a message to the beginning of `buffer`.
fn fill(buffer: &mut [u8; MAX_BYTES], sequence: u64) -> &[u8] {
    let (length, word) = message(sequence);
    for chunk in buffer[..length].chunks_mut(8) {
        chunk.copy_from_slice(&word.to_ne_bytes()[..chunk.len()]);
    }
    &buffer[..length]
}

fn check(sequence: u64, bytes: &[u8]) {
    let mut expected = [0; MAX_BYTES];
    assert_eq!(bytes, fill(&mut expected, sequence), "message {sequence}");
}

/// A way to read.
#[derive(Clone, Copy)]
enum How {
    Singly,
    InPlace,
    InBatches,
}

/// Reads until the last message is accounted for; returns how many were read, and how many lost.
fn read_all(mut reader: impl Subscribe, how: How) -> (u64, u64) {
    let (mut next, mut read, mut lost) = (1, 0, 0);
    let mut buffer = vec![0; 4096];
    let mut patience = Patience::new("a message");
    while next <= MESSAGES {
        let answer = match how {
            How::Singly => match reader.try_read(&mut buffer).unwrap() {
                Read::Message(received) => {
                    assert_eq!(received.sequence, next);
                    check(next, &buffer[..received.length as usize]);
                    Read::Message(1)
                }
                Read::Empty => Read::Empty,
                Read::Lapped(lapped) => Read::Lapped(lapped),
            },
            How::InPlace => {
                let visited = reader.try_visit(|view| {
                    let mut copy = [0; MAX_BYTES];
                    (view.received().sequence, view.copy_to(&mut copy), copy)
                });
                match visited.unwrap() {
                    Read::Message((sequence, length, copy)) => {
                        assert_eq!(sequence, next);
                        check(sequence, &copy[..length]);
                        Read::Message(1)
                    }
                    Read::Empty => Read::Empty,
                    Read::Lapped(lapped) => Read::Lapped(lapped),
                }
            }
            How::InBatches => {
                let mut expected = next;
                let batch = reader.read_batch(&mut buffer, |received, bytes| {
                    assert_eq!(received.sequence, expected);
                    check(expected, bytes);
                    expected += 1;
                });
                batch.unwrap()
            }
        };
        match answer {
            Read::Message(count) => {
                patience.renew();
                next += count;
                read += count;
            }
            Read::Lapped(lapped) => {
                assert_eq!(lapped.from, next);
                next = lapped.to + 1;
                lost += lapped.count();
            }
            Read::Empty => patience.pause(),
        }
        assert_eq!(reader.next_sequence(), next);
    }
    assert_eq!((next, read + lost), (MESSAGES + 1, MESSAGES));
    (read, lost)
}

fn run<W: Publish>(name: &str, mut writer: W)
where
    W::Reader: Send,
{
    let kinds = [
        (How::Singly, Rejoin::Oldest),
        (How::InPlace, Rejoin::Halfway),
        (How::InBatches, Rejoin::Newest),
    ];
    let readers = kinds.map(|(how, rejoin)| {
        let mut reader = writer.reader(Start::Oldest).unwrap();
        reader.set_rejoin(rejoin);
        (reader, how)
    });
    thread::scope(|scope| {
        let readers = readers.map(|(reader, how)| scope.spawn(move || read_all(reader, how)));
        let mut buffer = [0; MAX_BYTES];
        for sequence in 1..=MESSAGES {
            let payload = fill(&mut buffer, sequence);
            assert_eq!(writer.publish(0, payload), Ok(sequence));
            // Otherwise, with fewer processors than threads, readers would see only the end.
            if sequence % 64 == 0 {
                thread::yield_now();
            }
        }
        for reader in readers {
            let (read, lost) = reader.join().unwrap();
            println!("{name}: {read} read, {lost} lost");
        }
    });
}

#[test]
fn every_reader_of_a_stream_accounts_for_every_message() {
    run("stream", stream::Writer::on_heap(4096).unwrap());
}

#[test]
fn every_reader_of_slots_accounts_for_every_message() {
    run("slots", slots::Writer::on_heap(16, MAX_BYTES).unwrap());
}
