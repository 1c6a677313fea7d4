//! Spans from the rings of threads or from a recording, with the same calls.
//!
//! A target is a recording if it is a folder, and no ring has its name. Everything else is a ring,
//! a thread or a process: see [`threads::of_target`].

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
};

use nanotape_answers::Given;
use nanotape_journal::{Tail, Tailer};
use nanotape_ring::Start;
use nanotape_shm::OwnerState;
use nanotape_trace::{
    recording::{Damage, Decoder, Entry, ThreadInfo},
    spans::{Polled, SpanReader},
};

use crate::{
    errors::of_journal,
    regions::{of_read, place},
    threads,
};

/// The spans of all threads of a target.
#[derive(Debug)]
pub struct Spans(Source);

#[derive(Debug)]
enum Source {
    Live { threads: Vec<Live>, turn: usize },
    Recording(Box<Recording>),
}

#[derive(Debug)]
struct Live {
    info: ThreadInfo,
    reader: SpanReader,
    /// What was kept when the target was opened, copied at once: printing is slower than a thread.
    kept: VecDeque<(u64, Polled)>,
    /// The number of the span that is not read any more.
    end: u64,
}

#[derive(Debug)]
struct Recording {
    journal: PathBuf,
    tailer: Tailer,
    decoder: Decoder,
    /// What the last excerpt says.
    entries: VecDeque<Result<Entry, Damage>>,
    /// Its segment and its offset there.
    place: (u64, u64),
    payload: Vec<u8>,
}

/// What comes next.
#[derive(Debug)]
pub enum Next {
    /// A span, lost spans, or news of a thread.
    Entry(Entry),
    /// Damage, in a line with its place. The spans after it follow.
    Damaged(String),
    /// Nothing more, for now.
    Nothing,
}

impl Spans {
    /// Opens a target. Without `follow`, spans that live threads write from now on are left out: a
    /// thread can be faster than its reader.
    pub fn open(target: &Given, follow: bool) -> anyhow::Result<Self> {
        if is_recording(target) {
            return Ok(Self(Source::Recording(Box::new(Recording::open(
                Path::new(target),
                follow,
            )?))));
        }
        let mut lives = Vec::new();
        for thread in threads::of_target(target)? {
            let end = match follow {
                true => u64::MAX,
                false => thread.open(Start::Newest)?.next_sequence(),
            };
            let mut reader = thread.open(Start::Oldest)?;
            let kept = reader.kept(end).map_err(|error| of_read(reader.ring(), &error))?.into();
            lives.push(Live { info: ThreadInfo::of(&thread.name, &reader), reader, kept, end });
        }
        Ok(Self(Source::Live { threads: lives, turn: 0 }))
    }

    /// Threads that are known so far.
    pub fn threads(&self) -> usize {
        match &self.0 {
            Source::Live { threads, .. } => threads.len(),
            Source::Recording(recording) => recording.decoder.threads().len(),
        }
    }

    /// The thread with the number of an [`Entry`].
    pub fn thread(&self, thread: usize) -> &ThreadInfo {
        match &self.0 {
            Source::Live { threads, .. } => &threads[thread].info,
            Source::Recording(recording) => recording.decoder.thread(thread),
        }
    }

    /// Whether more can come: a thread is alive, or it is a recording, whose collector is not
    /// known.
    pub fn is_alive(&self) -> bool {
        match &self.0 {
            Source::Live { threads, .. } => {
                threads.iter().any(|live| live.reader.owner().state == OwnerState::Alive)
            }
            Source::Recording(_) => true,
        }
    }

    /// The next entry. Live threads come one after the other; the entries of a recording are in its
    /// order.
    pub fn next_entry(&mut self) -> anyhow::Result<Next> {
        match &mut self.0 {
            Source::Recording(recording) => recording.next(),
            Source::Live { threads, turn } => {
                for _ in 0..threads.len() {
                    match threads[*turn].next(*turn)? {
                        Next::Nothing => *turn = (*turn + 1) % threads.len(),
                        next => return Ok(next),
                    }
                }
                Ok(Next::Nothing)
            }
        }
    }
}

impl Live {
    fn next(&mut self, thread: usize) -> anyhow::Result<Next> {
        let Self { info, reader, kept, end } = self;
        let (sequence, polled) = match kept.pop_front() {
            Some(kept) => kept,
            None if reader.next_sequence() >= *end => return Ok(Next::Nothing),
            None => {
                let sequence = reader.next_sequence();
                let polled = reader.try_next().map_err(|error| of_read(reader.ring(), &error))?;
                (sequence, polled)
            }
        };
        Ok(match polled {
            Polled::Span(span) => {
                let has_name = |info: &ThreadInfo| {
                    info.sites.get(span.site.index()).is_some_and(Option::is_some)
                };
                if !has_name(info) {
                    // The thread might have named it meanwhile.
                    info.sites = reader.sites().iter().map(|site| site.name).collect();
                }
                Next::Entry(Entry::Span { thread, sequence, span })
            }
            Polled::Lost(gap) => {
                Next::Entry(Entry::Lost { thread, sequence: gap.from, count: gap.count() })
            }
            Polled::Damaged { sequence } => {
                Next::Damaged(format!("{}: span {sequence} is damaged", reader.ring().display()))
            }
            Polled::Empty => Next::Nothing,
        })
    }
}

impl Recording {
    fn open(journal: &Path, follow: bool) -> anyhow::Result<Self> {
        let start = nanotape_journal::Start::Oldest;
        let mut tailer = Tailer::open(journal, start).map_err(of_journal)?;
        tailer.set_stops_at_end(!follow);
        Ok(Self {
            journal: journal.to_owned(),
            tailer,
            decoder: Decoder::new(),
            entries: VecDeque::new(),
            place: (0, 0),
            payload: Vec::new(),
        })
    }

    fn next(&mut self) -> anyhow::Result<Next> {
        loop {
            match self.entries.pop_front() {
                Some(Ok(entry)) => return Ok(Next::Entry(entry)),
                Some(Err(damage)) => {
                    let (journal, (segment, offset)) = (self.journal.display(), self.place);
                    let line = format!("{journal}: segment {segment}, offset {offset}: {damage}");
                    return Ok(Next::Damaged(line));
                }
                None => {}
            }
            match self.tailer.next().map_err(of_journal)? {
                Tail::Excerpt(excerpt) => {
                    self.payload.resize(excerpt.len(), 0);
                    excerpt.copy_to(&mut self.payload);
                    self.place = (excerpt.segment(), excerpt.offset());
                    self.entries.extend(self.decoder.decode(excerpt.type_id(), &self.payload));
                }
                Tail::Gap(gap) => {
                    let journal = self.journal.display();
                    return Ok(Next::Damaged(format!("{journal}: {gap}")));
                }
                Tail::Reused(_) => {}
                Tail::Nothing => return Ok(Next::Nothing),
            }
        }
    }
}

/// Whether a target is a folder, which must be that of a journal.
pub fn is_recording(target: &Given) -> bool {
    !place(target).is_ok_and(|ring| ring.is_file()) && Path::new(target).is_dir()
}

/// The name of a site of a thread.
pub fn site_name(thread: &ThreadInfo, site: usize) -> String {
    match thread.sites.get(site) {
        Some(Some(name)) => name.to_string(),
        _ => format!("site {site}"),
    }
}
