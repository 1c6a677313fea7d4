//! Loom models: whatever the processor may reorder, a tailer sees every excerpt once, in order and whole,
//! and never takes a roll for damage.
//!
//! Each model states the whole set of its outcomes, because loom is green too when it has not explored the
//! case that matters. And each promise of order is taken away in turn: some model must then see what it
//! does not allow. `cargo xtask loom` runs them.
//!
//! A segment has 64 words here, and its excerpts begin at word 34: six with a word of payload.

use std::{
    collections::BTreeSet,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Mutex},
};

use loom::thread;
use nanotape_shm::{Edge, Word, death, weakened};

use crate::{
    Start, Tail, Tailer,
    disk::heap::{Heap, HeapFile},
    edges::{self, ACTIVATE, COMMIT},
    names,
    segment::{
        header::{Activation, Header},
        layout::Layout,
        writer::SegmentWriter,
    },
};

const SEGMENT_BYTES: u64 = 512;
const BLOCK_BYTES: u64 = 128;

/// Which edge is weakened is known to the whole process, so models take turns.
static TURN: Mutex<()> = Mutex::new(());

/// A program of an appender and a tailer, and what may come of it: `1` excerpt 1, whole; `-` nothing.
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
        Tailer::open_on(self.disk.clone(), Start::Beginning).unwrap()
    }
}

/// Appends an excerpt with so many words, all of them its sequence number.
fn append(writer: &mut SegmentWriter<HeapFile>, words: usize) {
    let sequence = writer.place().sequence;
    writer.append(7, sequence, &sequence.to_ne_bytes().repeat(words));
}

/// Appends two excerpts at once, and commits them or gives them up.
fn batch(writer: &mut SegmentWriter<HeapFile>, is_committed: bool) {
    let mut end = *writer.place();
    let mut gate = None;
    for _ in 0..2 {
        let mut front = writer.front(7, end.sequence, 8);
        front.sequence = end.sequence;
        let commit = writer.write(end.at, &front, &end.sequence.to_ne_bytes());
        if gate.is_some() {
            crate::WritableFile::words(&**writer.file())[end.at].store(commit);
        }
        gate = gate.or(Some(commit));
        end = end.behind(&front);
    }
    match gate {
        Some(gate) if is_committed => writer.open(gate, &end),
        _ => writer.clear(end.at),
    }
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
        Ok(Tail::Nothing) => "-".to_owned(),
        Err(error) => format!("{error}"),
    }
}

fn two(tailer: &mut Tailer<Heap>) -> String {
    let first = read(tailer);
    format!("{first}, {}", read(tailer))
}

/// What the tailer sees in this thread while the appender works in another.
fn race(write: fn(Journal), look: fn(&mut Tailer<Heap>) -> String) -> String {
    let journal = journal();
    let mut tailer = journal.tailer();
    let writer = thread::spawn(move || write(journal));
    let seen = look(&mut tailer);
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
        run: || race(|mut journal| batch(&mut journal.writer, true), two),
    },
    Model {
        name: "a batch that is given up, and an excerpt in its place",
        allowed: &["-, -", "-, 1", "1, -"],
        run: || {
            let write = |mut journal: Journal| {
                batch(&mut journal.writer, false);
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
            let look = |tailer: &mut Tailer<Heap>| {
                tailer.seek(Start::End).unwrap();
                format!("at {}, {}", tailer.next_sequence(), read(tailer))
            };
            race(write, look)
        },
    },
];

/// All outcomes of a model, with an edge weakened or none. A panic in the model is an outcome.
fn explore(edge: Option<Edge>, model: fn() -> String) -> (u64, BTreeSet<String>) {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let seen = Arc::new(Mutex::new((0, BTreeSet::new())));
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 100_000;
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    weakened::set(edge);
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let within = Arc::clone(&seen);
    let ended = panic::catch_unwind(AssertUnwindSafe(|| {
        builder.check(move || {
            death::after(None);
            let outcome = model();
            let mut seen = within.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            seen.0 += 1;
            seen.1.insert(outcome);
        });
    }));
    panic::set_hook(hook);
    weakened::set(None);
    let mut seen = seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if ended.is_err() {
        seen.1.insert("panic".to_owned());
    }
    std::mem::take(&mut *seen)
}

#[test]
fn every_model_has_all_of_its_outcomes_and_no_other() {
    for Model { name, allowed, run } in MODELS {
        let (executions, outcomes) = explore(None, *run);
        println!("model {name}: {executions} executions, outcomes {outcomes:?}");
        let expected: BTreeSet<String> = allowed.iter().map(|&line| line.to_owned()).collect();
        assert_eq!(outcomes, expected, "model {name}");
    }
}

#[test]
fn every_edge_is_needed() {
    for edge in edges::ALL {
        let forbidden = MODELS.iter().find_map(|model| {
            let (_, outcomes) = explore(Some(edge), model.run);
            let found = outcomes.into_iter().find(|o| !model.allowed.contains(&o.as_str()));
            found.map(|outcome| format!("{} | {} | {outcome}", edge.name(), model.name))
        });
        println!("{}", forbidden.unwrap_or_else(|| panic!("{} is not missed", edge.name())));
    }
    assert_eq!(edges::ALL, [COMMIT, ACTIVATE]);
}
