//! Loom models: however the processor reorders memory accesses, a tailer sees every excerpt once,
//! in order and whole, and never mistakes a roll for damage.
//!
//! Each model states the exact set of its outcomes, because loom also passes if it has not explored
//! the relevant case. Also, each ordering is weakened in turn: some model must then observe a
//! forbidden outcome. `cargo xtask loom` runs them.
//!
//! A segment has 64 words here, and its excerpts begin at word 34: six with a word of payload.

use std::{path::Path, sync::Arc};

use loom::thread;
use nanotape_shm::{
    Word, as_read_only,
    models::{Case, Weaken, check_every_site},
};

use crate::{
    Start, Tail, Tailer, WritableFile as _,
    disk::heap::{Heap, HeapFile},
    edges, names,
    progress::Progress,
    segment::{
        header::{Activation, Header},
        layout::Layout,
        writer::SegmentWriter,
    },
};

const SEGMENT_BYTES: u64 = 512;
const BLOCK_BYTES: u64 = 128;

/// A program of an appender and a tailer, and its outcomes: `1` is excerpt 1, whole; `-` is
/// nothing.
struct Model {
    name: &'static str,
    allowed: &'static [&'static str],
    run: fn() -> String,
}

/// Segments 1 and 2 of a journal, of which the first is active.
struct Journal {
    writer: SegmentWriter<HeapFile>,
    next: (Arc<HeapFile>, Header),
    disk: Heap,
}

fn journal() -> Journal {
    let layout = Layout::new(SEGMENT_BYTES, BLOCK_BYTES).unwrap();
    let made = |number| {
        let file = HeapFile((0..layout.words).map(|_| Word::new(0)).collect());
        let header = Header { journal: 1, number, layout, cycle_ns: 0, created_ns: 0 };
        header.store(&file.0);
        (file, header)
    };
    let ((first, header), (second, next)) = (made(1), made(2));
    let disk = Heap(Arc::new(vec![
        (names::segment(1), first.clone()),
        (names::segment(2), second.clone()),
    ]));
    let activation = Activation { first_sequence: 1, max_ts_before: 0, cycle: 0 };
    let writer = SegmentWriter::activate(Arc::new(first), header, activation, 1);
    Journal { writer, next: (Arc::new(second), next), disk }
}

impl Journal {
    fn tailer(&self) -> Tailer<Heap> {
        Tailer::open_on(self.disk.clone(), Start::Oldest).unwrap()
    }
}

/// Appends an excerpt of `words` words, each equal to its sequence number.
fn append(writer: &mut SegmentWriter<HeapFile>, words: usize) {
    let sequence = writer.place().sequence;
    writer.append(7, sequence, &sequence.to_ne_bytes().repeat(words));
}

/// Appends `count` excerpts together, as a batch of an appender does, and commits or discards them.
fn batch(writer: &mut SegmentWriter<HeapFile>, count: u64, is_committed: bool) {
    let mut end = *writer.place();
    let mut gate = 0;
    for _ in 0..count {
        let mut front = writer.front(7, end.sequence, 8);
        front.sequence = end.sequence;
        gate = writer.stage(end.at, gate, &front, &end.sequence.to_ne_bytes());
        end = end.behind(&front);
    }
    if is_committed {
        writer.commit_staged(gate, &end);
    } else {
        writer.clear(end.at);
    }
}

/// Copies two excerpts of another copy of the segment.
fn copy_of_two(writer: &mut SegmentWriter<HeapFile>) {
    let mut source = journal().writer;
    let start = source.place().at;
    append(&mut source, 1);
    append(&mut source, 1);
    let words = &as_read_only(source.file().words())[start..source.place().at];
    assert_eq!(writer.copy(words), Ok(false));
}

fn roll(
    mut writer: SegmentWriter<HeapFile>,
    next: (Arc<HeapFile>, Header),
) -> SegmentWriter<HeapFile> {
    let first_sequence = writer.place().sequence;
    writer.end();
    let activation = Activation { first_sequence, max_ts_before: first_sequence, cycle: 0 };
    SegmentWriter::activate(next.0, next.1, activation, 1)
}

/// One read, as text.
fn read(tailer: &mut Tailer<Heap>) -> String {
    match tailer.next() {
        Ok(Tail::Excerpt(excerpt)) => {
            let sequence = excerpt.sequence();
            let is_whole = excerpt.words().iter().all(|word| word.load() == sequence)
                && excerpt.ts_ns() == sequence
                && excerpt.type_id() == 7;
            if is_whole { sequence.to_string() } else { format!("torn: {excerpt:?}") }
        }
        Ok(Tail::Gap(gap)) => format!("{gap:?}"),
        Ok(Tail::Reused(reused)) => format!("{reused:?}"),
        Ok(Tail::Nothing) => "-".to_owned(),
        Err(error) => format!("{error}"),
    }
}

fn two(tailer: &mut Tailer<Heap>) -> String {
    let first = read(tailer);
    format!("{first}, {}", read(tailer))
}

/// The tailer's result in this thread while the appender runs in another one.
fn race(write: fn(Journal), observe: fn(&mut Tailer<Heap>) -> String) -> String {
    let journal = journal();
    let mut tailer = journal.tailer();
    let writer = thread::spawn(move || write(journal));
    let seen = observe(&mut tailer);
    writer.join().unwrap();
    seen
}

const MODELS: &[Model] = &[
    Model {
        name: "two excerpts",
        allowed: &["-, -", "-, 1", "1, -", "1, 2"],
        run: || {
            let write = |mut journal: Journal| {
                append(&mut journal.writer, 2);
                append(&mut journal.writer, 1);
            };
            race(write, two)
        },
    },
    Model {
        name: "a batch is seen whole or not at all",
        allowed: &["-, -", "-, 1", "1, 2"],
        run: || race(|mut journal| batch(&mut journal.writer, 2, true), two),
    },
    Model {
        name: "a batch that comes to another block of the index",
        allowed: &["-, -", "-, 1", "1, 2"],
        run: || race(|mut journal| batch(&mut journal.writer, 4, true), two),
    },
    Model {
        name: "a batch that is given up, and an excerpt in its place",
        allowed: &["-, -", "-, 1", "1, -"],
        run: || {
            let write = |mut journal: Journal| {
                batch(&mut journal.writer, 2, false);
                append(&mut journal.writer, 0);
            };
            race(write, two)
        },
    },
    Model {
        name: "a claim",
        allowed: &["-, -", "-, 1", "1, -"],
        run: || {
            let write = |mut journal: Journal| {
                let writer = &mut journal.writer;
                let front = writer.front(7, 1, 8);
                writer.payload(8)[0].store(1);
                writer.commit(&front);
            };
            race(write, two)
        },
    },
    Model {
        name: "excerpts that are copied are seen together",
        allowed: &["-, -", "-, 1", "1, 2"],
        run: || race(|mut copy| copy_of_two(&mut copy.writer), two),
    },
    Model {
        name: "a roll, and the excerpt behind it",
        allowed: &["-, -", "-, 1", "1, -"],
        run: || {
            let write = |journal: Journal| {
                let mut writer = roll(journal.writer, journal.next);
                append(&mut writer, 1);
            };
            race(write, two)
        },
    },
    Model {
        name: "an excerpt on each side of a roll",
        allowed: &["-, -", "-, 1", "1, -", "1, 2"],
        run: || {
            let write = |mut journal: Journal| {
                append(&mut journal.writer, 1);
                let mut writer = roll(journal.writer, journal.next);
                append(&mut writer, 1);
            };
            race(write, two)
        },
    },
    Model {
        name: "a tailer that comes to the end meanwhile",
        allowed: &["at 1, -", "at 1, 1", "at 2, -"],
        run: || {
            let write = |mut journal: Journal| append(&mut journal.writer, 1);
            let observe = |tailer: &mut Tailer<Heap>| {
                tailer.seek(Start::Newest).unwrap();
                format!("at {}, {}", tailer.next_sequence(), read(tailer))
            };
            race(write, observe)
        },
    },
];

/// The pretoucher loads every word before the appender's progress. A word that is not visible yet
/// would be stored again with its old value.
const PROGRESS_SEEN: Model = Model {
    name: "what the pretoucher sees before the appender's progress",
    allowed: &["0 of 0", "4 of 4", "8 of 8"],
    run: || {
        let mut journal = journal();
        let file = Arc::clone(journal.writer.file());
        let first = journal.writer.place().at;
        let progress = Arc::new(Progress::new());
        progress.set(first);
        let committed = Arc::clone(&progress);
        let appender = thread::spawn(move || {
            for _ in 0..2 {
                append(&mut journal.writer, 1);
                committed.set(journal.writer.place().at);
            }
        });
        let words = &as_read_only(file.words())[first..progress.get()];
        let seen = words.iter().filter(|word| word.load() != 0).count();
        let outcome = format!("{seen} of {}", words.len());
        appender.join().unwrap();
        outcome
    },
};

fn cases() -> Vec<Case> {
    let all = MODELS.iter().chain([&PROGRESS_SEEN]);
    all.map(|model| Case::new(model.name, model.allowed, model.run)).collect()
}

#[test]
fn every_model_has_all_of_its_outcomes_and_no_other() {
    cases().iter().for_each(Case::check);
}

#[test]
fn every_edge_is_needed() {
    for edge in edges::ALL {
        let seen = cases().iter().find_map(|case| {
            let outcome = case.forbidden_without(Weaken::Edge(edge))?;
            Some(format!("{} | {} | {outcome}", edge.name(), case.name))
        });
        println!("{}", seen.unwrap_or_else(|| panic!("{} is not missed", edge.name())));
    }
}

#[test]
fn every_site_is_needed_or_listed_with_its_reason() {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    check_every_site(source, &edges::ALL, &cases(), &[]);
}
