//! Appending and tailing allocate nothing, and appending makes no system call. Each is checked a
//! million times within a segment.
//!
//! The harness counts them: see `CountingAllocator`.
#![cfg(not(nanotape_loom))]

use nanotape_harness::{
    CountingAllocator, Scratch, Task, allocations, check_the_counter, check_without_system_calls,
    without_system_calls,
};
use nanotape_journal::{Appender, AppenderOptions, RollCycle, Start, Tail, Tailer, excerpt_bytes};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const LONGEST: usize = 200;

/// Excerpts that are appended.
const EXCERPTS: u64 = 1_000_000;

/// One segment holds them all.
const SEGMENT_BYTES: u64 = 256 << 20;

struct Everything {
    appender: Appender,
    tailers: [Tailer; 2],
    buffer: [u8; LONGEST],
}

impl Everything {
    fn new(place: &Scratch) -> Self {
        let options = AppenderOptions {
            segment_bytes: SEGMENT_BYTES,
            roll_cycle: RollCycle::Size,
            has_pretoucher: false,
            ..AppenderOptions::default()
        };
        let mut appender = Appender::open(place.path(), &options).unwrap();
        // The first one begins a segment.
        appender.append(1, 1, b"").unwrap();
        let mut tailers =
            [Start::Oldest, Start::Newest].map(|start| Tailer::open(place.path(), start).unwrap());
        tailers[1].set_checked(false);
        Self { appender, tailers, buffer: [7; LONGEST] }
    }

    fn append(&mut self) {
        let sequence = self.appender.next_sequence();
        let payload = &self.buffer[..(sequence * 7) as usize % LONGEST];
        match sequence % 5 {
            0 => {
                let mut batch = self.appender.batch(sequence, 4 * excerpt_bytes(LONGEST)).unwrap();
                for _ in 0..4 {
                    batch.append(3, sequence, payload).unwrap();
                }
                batch.commit().unwrap();
            }
            1 => {
                let mut claim = self.appender.claim(4, sequence, payload.len()).unwrap();
                claim.copy_from(payload);
                claim.commit().unwrap();
            }
            2 => {
                drop(self.appender.claim(4, sequence, LONGEST).unwrap());
                self.appender.skip_to(sequence + 3).unwrap();
                self.appender.append(2, sequence, payload).unwrap();
            }
            _ => drop(self.appender.append(2, sequence, payload).unwrap()),
        }
    }

    /// Appends and reads `excerpts` excerpts; returns the number of excerpts, gaps and idle polls.
    fn run(&mut self, excerpts: u64) -> [u64; 3] {
        let mut seen = [0; 3];
        let end = self.appender.next_sequence() + excerpts;
        while self.appender.next_sequence() < end {
            self.append();
            for tailer in &mut self.tailers {
                loop {
                    match tailer.next().unwrap() {
                        Tail::Excerpt(excerpt) => {
                            let mut copy = [0; LONGEST];
                            seen[0] += u64::from(excerpt.copy_to(&mut copy) <= LONGEST);
                        }
                        Tail::Gap(_) => seen[1] += 1,
                        Tail::Reused(reused) => panic!("{reused:?}"),
                        Tail::Nothing => {
                            seen[2] += 1;
                            break;
                        }
                    }
                }
            }
        }
        seen
    }
}

#[test]
fn a_million_excerpts_allocate_nothing_and_call_no_kernel() {
    if let Some(task) = Task::of_this_process() {
        let place = Scratch::new("quiet-child");
        // Tailers bring pages into memory, half a megabyte with a system call, and are not part of
        // this.
        let mut everything = Everything::new(&place);
        for _ in 0..5_000 {
            everything.append();
        }
        // The process ends without dropping anything; mappings stay.
        drop(place);
        without_system_calls(&task, || {
            for _ in 0..EXCERPTS / 2 {
                everything.append();
            }
            if everything.appender.next_sequence() > EXCERPTS { Ok(()) } else { Err("too few\n") }
        });
    }
    let place = Scratch::new("quiet");
    let mut everything = Everything::new(&place);
    everything.run(1_000);
    let before = allocations();
    // Few enough that the tailer does not poll for the next segment, at every thousandth idle poll.
    let [read, gaps, nothing] = everything.run(EXCERPTS);
    let found = allocations() - before;
    println!("{found} allocations, {read} read, {gaps} gaps, {nothing} times nothing");
    assert_eq!(found, 0);
    assert!(read > EXCERPTS / 2 && gaps > 1_000 && nothing > 1_000, "all of it happened");
    check_the_counter();
    check_without_system_calls("a_million_excerpts_allocate_nothing_and_call_no_kernel", |_| ());
}
