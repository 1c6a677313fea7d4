//! Publishing and reading allocate nothing and make no system call, in a million operations of
//! every kind.
//!
//! Every allocation of this process goes through a counter. And a process with a system call
//! filter, which ends it at any call but `write` and `exit_group`, survives: see
//! `CountingAllocator` and `without_system_calls` of the harness.

#![cfg(not(nanotape_loom))]

use nanotape_harness::{
    CountingAllocator, Task, check_the_counter, check_without_system_calls, without_system_calls,
};
use nanotape_ring::{
    Batched as _, Claimed as _, Publish, PublishError, Read, Rejoin, Start, Subscribe, slots,
    stream,
};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Bytes of a ring: small, for frequent laps.
const BYTES: usize = 16 << 10;

const LONGEST: usize = 200;

/// Number of published messages.
const MESSAGES: u64 = 1_000_000;

/// Counts of the readers' results.
#[derive(Default)]
struct Seen {
    messages: u64,
    lost: u64,
    empty: u64,
}

impl Seen {
    fn count<T>(&mut self, read: Read<T>, messages: impl FnOnce(T) -> u64) {
        match read {
            Read::Message(read) => self.messages += messages(read),
            Read::Empty => self.empty += 1,
            Read::Lapped(lapped) => self.lost += lapped.count(),
        }
    }
}

/// A writer in this process, and readers that use all methods in turn and are sometimes lapped.
struct Everything<W: Publish> {
    writer: W,
    readers: Vec<W::Reader>,
    buffer: Vec<u8>,
}

impl<W: Publish> Everything<W> {
    fn new(writer: W) -> Self {
        let rejoins = [Rejoin::Oldest, Rejoin::Halfway, Rejoin::Newest];
        let readers = rejoins.map(|rejoin| {
            let mut reader = writer.reader(Start::Oldest).unwrap();
            reader.set_rejoin(rejoin);
            reader
        });
        Self { writer, readers: readers.into(), buffer: vec![0; BYTES] }
    }

    fn publish(&mut self) {
        let sequence = self.writer.next_sequence();
        let payload = &[sequence as u8; LONGEST][..(sequence * 7) as usize % LONGEST];
        match sequence % 5 {
            0 => {
                let mut batch = self.writer.batch();
                for _ in 0..4 {
                    batch.push(3, payload).unwrap();
                }
                batch.publish();
            }
            1 => {
                let mut claim = self.writer.claim(4, payload.len()).unwrap();
                claim.write(0, payload);
                claim.publish();
            }
            2 => {
                self.writer.claim(4, LONGEST).unwrap().abandon();
                let too_long = self.writer.publish(1, &self.buffer);
                assert!(matches!(too_long, Err(PublishError::TooLong { .. })));
                self.writer.heartbeat(sequence);
                self.writer.publish(2, payload).unwrap();
            }
            _ => drop(self.writer.publish(2, payload).unwrap()),
        }
    }

    fn read(&mut self, turn: u64, seen: &mut Seen) {
        for (reader, which) in self.readers.iter_mut().zip(0..) {
            // Periodically the reader pauses for longer than the ring holds.
            if turn % 2_000 < 300 * (which + 1) {
                continue;
            }
            let read = reader.try_read(&mut self.buffer).unwrap();
            seen.count(read, |_| 1);
            let read = reader.try_visit(|message| message.word(0)).unwrap();
            seen.count(read, |_| 1);
            let read = reader.read_batch(&mut self.buffer, |received, bytes| {
                assert_eq!(received.length as usize, bytes.len());
            });
            seen.count(read.unwrap(), |count| count);
        }
    }

    /// Publishes `messages` messages, and reads them or loses them.
    fn run(&mut self, messages: u64) -> Seen {
        let mut seen = Seen::default();
        let end = self.writer.next_sequence() + messages;
        for turn in 0.. {
            if self.writer.next_sequence() >= end {
                break;
            }
            self.publish();
            self.read(turn, &mut seen);
        }
        seen
    }
}

fn stream_ring() -> Everything<stream::Writer> {
    Everything::new(stream::Writer::on_heap(BYTES).unwrap())
}

fn slot_ring() -> Everything<slots::Writer> {
    Everything::new(slots::Writer::on_heap(64, LONGEST).unwrap())
}

fn allocations(name: &str, mut everything: Everything<impl Publish>) {
    let before = nanotape_harness::allocations();
    let seen = everything.run(MESSAGES);
    let allocations = nanotape_harness::allocations() - before;
    let Seen { messages, lost, empty } = seen;
    println!(
        "{name}: {allocations} allocations, {messages} read, {lost} lost, {empty} times nothing"
    );
    assert_eq!(allocations, 0);
    assert!(messages > MESSAGES && lost > 1_000 && empty > 1_000, "all of it happened");
}

#[test]
fn a_million_messages_allocate_nothing_and_call_no_kernel() {
    if let Some(task) = Task::of_this_process() {
        let (mut stream, mut slots) = (stream_ring(), slot_ring());
        without_system_calls(&task, || {
            let lost = stream.run(MESSAGES).lost.min(slots.run(MESSAGES).lost);
            if lost > 0 { Ok(()) } else { Err("was never lapped\n") }
        });
    }
    allocations("stream", stream_ring());
    allocations("slots", slot_ring());
    check_the_counter();
    check_without_system_calls("a_million_messages_allocate_nothing_and_call_no_kernel", |_| ());
}
