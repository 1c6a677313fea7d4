//! Finds the first record at which two recorded runs differ.
//!
//! Protocol: every record of both runs is read and compared one by one, without `ts_recv`. Starts,
//! stops and the notices of a session are read, but not compared: they differ from run to run.
//! Snapshots are not used: they say what the records were when they were written.
//! Failure: records that one side lacks end the comparison with a finding. So two runs are the same
//! only if each has all of its records.
//! Cost: both runs are read once.

use std::path::{Path, PathBuf};

use nanotape_journal::{ErrorKind, JournalError, RUNS, Start, Tail, Tailer};
use nanotape_records::{FIRST_TYPE_ID, Notice, is_covered, is_same_record};
use nanotape_tape::Gap;

use crate::{Run, Runs};

/// A run in a journal.
#[derive(Clone, Copy, Debug)]
pub struct RunIn<'a> {
    /// The folder of the journal.
    pub journal: &'a Path,
    /// Its runs.
    pub runs: &'a Runs,
    /// The run.
    pub run: &'a Run,
}

/// A record that was compared.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    /// Its sequence number.
    pub sequence: u64,
    /// Its type.
    pub type_id: u16,
    /// Its bytes.
    pub payload: Vec<u8>,
}

/// The result of a comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// Records that were read on both sides and are the same.
    pub same: u64,
    /// Why the comparison ended.
    pub end: ComparisonEnd,
}

/// Why a comparison ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ComparisonEnd {
    /// All records of both runs are the same.
    Same {
        /// Whether the runs have their stop records. Without them, both are the same as far as they
        /// were recorded.
        are_stopped: bool,
    },
    /// The first record of each run that differs; `None` for the end of the run.
    Different([Option<Compared>; 2]),
    /// One run lacks records here, so what comes after cannot be compared.
    Missing(MissingRecords),
}

/// Records of a run that its journal does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingRecords {
    /// 0 for the first run, 1 for the second.
    pub side: usize,
    /// The file after the missing part, or the last one before it.
    pub path: PathBuf,
    /// The offset in it.
    pub offset: u64,
    /// What is missing.
    pub what: String,
}

/// Compares two runs. `progress` gets how many records were compared.
pub fn bisect(
    left: RunIn<'_>,
    right: RunIn<'_>,
    mut progress: impl FnMut(u64),
) -> Result<Comparison, JournalError> {
    let mut same = 0;
    let mut sides = match (Side::open(left, 0)?, Side::open(right, 1)?) {
        (Ok(left), Ok(right)) => [left, right],
        (Err(missing), _) | (_, Err(missing)) => {
            return Ok(Comparison { same, end: ComparisonEnd::Missing(missing) });
        }
    };
    let end = loop {
        let [left, right] = &mut sides;
        match (left.next()?, right.next()?) {
            (Next::Missing(missing), _) | (_, Next::Missing(missing)) => {
                break ComparisonEnd::Missing(missing);
            }
            (Next::Record, Next::Record) if left.current.is_same(&right.current) => same += 1,
            (Next::End, Next::End) => break end_of(&sides),
            (left_is, right_is) => {
                let record = |next, side: &Side| match next {
                    Next::Record => Some(side.current.clone()),
                    _ => None,
                };
                break ComparisonEnd::Different([record(left_is, left), record(right_is, right)]);
            }
        }
        if same.is_multiple_of(1 << 16) {
            progress(same);
        }
    };
    Ok(Comparison { same, end })
}

/// Both runs ended after the same records. A stop record on one side only means that the other one
/// lacks its end.
fn end_of(sides: &[Side; 2]) -> ComparisonEnd {
    match sides.iter().position(|side| !side.is_stopped) {
        None => ComparisonEnd::Same { are_stopped: true },
        Some(_) if sides.iter().all(|side| !side.is_stopped) => {
            ComparisonEnd::Same { are_stopped: false }
        }
        Some(side) => ComparisonEnd::Missing(sides[side].missing(
            "the run has no stop record here, but the other one has: its end is missing".to_owned(),
        )),
    }
}

impl Compared {
    fn is_same(&self, other: &Self) -> bool {
        self.type_id == other.type_id && is_same_record(self.type_id, &self.payload, &other.payload)
    }
}

/// The records of a run that are compared.
struct Side {
    number: usize,
    journal: PathBuf,
    tailer: Tailer,
    first: u64,
    /// The sequence number after the run, if another run follows.
    end: Option<u64>,
    /// Whether the stop record was read.
    is_stopped: bool,
    current: Compared,
}

/// What a side has next.
enum Next {
    /// A record, in `current`.
    Record,
    /// The end of the run.
    End,
    /// Not what the run had.
    Missing(MissingRecords),
}

impl Side {
    fn open(of: RunIn<'_>, number: usize) -> Result<Result<Self, MissingRecords>, JournalError> {
        let first = of.run.first_sequence;
        let tailer = match Tailer::open(of.journal, Start::Sequence(first)) {
            Ok(mut tailer) => {
                tailer.set_stops_at_end(true);
                tailer
            }
            Err(error) => {
                let ErrorKind::NotYet { next, .. } = *error.kind() else { return Err(error) };
                let what = format!(
                    "the run begins with record {first}, but the journal ends before record {next}"
                );
                let path = error.path().to_owned();
                return Ok(Err(MissingRecords { side: number, path, offset: 0, what }));
            }
        };
        Ok(Ok(Self {
            number,
            journal: of.journal.to_owned(),
            tailer,
            first,
            end: of.runs.after(of.run),
            is_stopped: false,
            current: Compared::default(),
        }))
    }

    /// The next record to compare.
    fn next(&mut self) -> Result<Next, JournalError> {
        let end = self.end.unwrap_or(u64::MAX);
        loop {
            let excerpt = match self.tailer.next()? {
                Tail::Excerpt(excerpt) if excerpt.sequence() >= end => return Ok(Next::End),
                Tail::Excerpt(excerpt) => excerpt,
                Tail::Gap(gap) if gap.from >= end => return Ok(Next::End),
                Tail::Gap(gap) => {
                    let gap = Gap { from: gap.from, to: gap.to.min(end - 1) };
                    return Ok(Next::Missing(self.missing(missing_text(&gap))));
                }
                Tail::Reused(reused) => {
                    let (from, to) = (reused.from, reused.to);
                    let what = format!("the numbers {from} to {to} were assigned again meanwhile");
                    return Ok(Next::Missing(self.missing(what)));
                }
                Tail::Nothing => return Ok(self.nothing()),
            };
            let (sequence, type_id) = (excerpt.sequence(), excerpt.type_id());
            if is_covered(type_id) || type_id < FIRST_TYPE_ID {
                let Compared { payload, .. } = &mut self.current;
                payload.resize(excerpt.len(), 0);
                excerpt.copy_to(payload);
                (self.current.sequence, self.current.type_id) = (sequence, type_id);
                return Ok(Next::Record);
            }
            match Notice::decode(type_id, &excerpt.to_vec()) {
                Some(Notice::Start(_)) if sequence > self.first => {
                    let path = self.journal.join(RUNS);
                    let what = format!(
                        "the run that begins with record {sequence} is not in the list; `nanotape \
                         journal repair` makes the list again"
                    );
                    let missing = MissingRecords { side: self.number, path, offset: 0, what };
                    return Ok(Next::Missing(missing));
                }
                Some(Notice::Stop(_)) => self.is_stopped = true,
                _ => {}
            }
        }
    }

    /// The journal ends here.
    fn nothing(&self) -> Next {
        let next = self.tailer.next_sequence();
        match self.end {
            Some(end) if next < end => {
                let gap = Gap { from: next.max(self.first), to: end - 1 };
                Next::Missing(self.missing(missing_text(&gap)))
            }
            _ if next <= self.first => {
                let what = format!("the run begins with record {}, which is missing", self.first);
                Next::Missing(self.missing(what))
            }
            _ => Next::End,
        }
    }

    fn missing(&self, what: String) -> MissingRecords {
        let (path, offset) = self.tailer.place();
        MissingRecords { side: self.number, path, offset, what }
    }
}

fn missing_text(gap: &Gap) -> String {
    format!("records {} to {} of the run are missing before this position", gap.from, gap.to)
}
