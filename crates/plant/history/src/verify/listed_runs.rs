//! What the records of a journal say about its runs, to compare it with the file `runs`.
//!
//! Meaning: each start record is a run of the file, and each stock with records has a name in the
//! file. A stock whose name was lost with the input of the plant has none.

use std::path::Path;

use nanotape_journal::{JournalError, RUNS, Start, Tail, Tailer};
use nanotape_records::{FIRST_TYPE_ID, Header, Notice, Record, RecordBuffer, RecordKind};
use nanotape_types::{LocateTable, StockLocate, Symbol};

use super::{HistoryFinding, has_runs};
use crate::{Run, Runs};

/// The most lines about stocks without a name.
const NAMED: usize = 10;

/// The runs of a journal as its records show.
pub(crate) struct Records {
    pub(crate) runs: Vec<RunRecords>,
    oldest: u64,
    next: u64,
    /// The stocks of the last run.
    seen: LocateTable<bool>,
}

/// The records of one run.
pub(crate) struct RunRecords {
    /// Its start record; `None` for the records before the first one.
    pub(crate) start: Option<Run>,
    /// The stocks, each with its first record.
    pub(crate) stocks: Vec<(StockLocate, u64)>,
    /// Whether records or input were lost, and a name with them.
    is_lossy: bool,
    /// The names in definition records.
    pub(crate) names: Vec<(StockLocate, Symbol)>,
    /// The stocks whose definition record has a blank name.
    blank: Vec<StockLocate>,
}

impl RunRecords {
    fn new(start: Option<Run>) -> Self {
        Self { start, stocks: Vec::new(), is_lossy: false, names: Vec::new(), blank: Vec::new() }
    }

    /// The last name of a stock in its definition records, if it has some and none has this name.
    pub(crate) fn contradicts(&self, locate: StockLocate, listed_as: Symbol) -> Option<Symbol> {
        let defined = || self.names.iter().filter(|(of, _)| *of == locate).map(|(_, name)| *name);
        if defined().any(|name| name == listed_as) { None } else { defined().next_back() }
    }
}

impl Records {
    /// Reads all records.
    pub(crate) fn read(journal: &Path) -> Result<Self, JournalError> {
        let mut tailer = Tailer::open(journal, Start::Oldest)?;
        tailer.set_checked(false);
        tailer.set_stops_at_end(true);
        let oldest = tailer.next_sequence();
        let (runs, seen) = (vec![RunRecords::new(None)], LocateTable::filled(false));
        let mut all = Self { runs, oldest, next: oldest, seen };
        let mut payload = Vec::new();
        loop {
            let excerpt = match tailer.next()? {
                Tail::Excerpt(excerpt) => excerpt,
                Tail::Gap(_) | Tail::Reused(_) => {
                    all.last().is_lossy = true;
                    continue;
                }
                Tail::Nothing => break,
            };
            let (sequence, type_id) = (excerpt.sequence(), excerpt.type_id());
            if type_id < FIRST_TYPE_ID && type_id != RecordKind::Definitions.type_id() {
                // The header is in the first words.
                payload.resize(excerpt.len().min(16), 0);
            } else {
                payload.resize(excerpt.len(), 0);
            }
            excerpt.copy_to(&mut payload);
            all.take(sequence, type_id, &payload);
        }
        all.next = tailer.next_sequence();
        Ok(all)
    }

    fn last(&mut self) -> &mut RunRecords {
        let last = self.runs.len() - 1;
        &mut self.runs[last]
    }

    fn take(&mut self, sequence: u64, type_id: u16, payload: &[u8]) {
        if type_id >= FIRST_TYPE_ID {
            match Notice::decode(type_id, payload) {
                Some(Notice::Start(start)) => {
                    self.runs.push(RunRecords::new(Some(Run::of(sequence, &start))));
                    self.seen.fill(false);
                }
                Some(Notice::Gap(_) | Notice::SessionGap(_)) => self.last().is_lossy = true,
                _ => {}
            }
            return;
        }
        if RecordKind::of_type_id(type_id).is_none() {
            return;
        }
        let instrument = Header::of(payload).map_or(0, |header| header.instrument_id);
        let Ok(locate) = u16::try_from(instrument).map(StockLocate::new) else { return };
        let is_definition = type_id == RecordKind::Definitions.type_id();
        let name = if is_definition { name_of(sequence, payload) } else { None };
        let is_first = locate.get() != 0 && !std::mem::replace(&mut self.seen[locate], true);
        let run = self.last();
        run.stocks.extend(is_first.then_some((locate, sequence)));
        run.names.extend(name.map(|name| (locate, name)));
        run.blank.extend((is_definition && name.is_none()).then_some(locate));
    }

    /// Reports what the file `runs` lacks.
    pub(crate) fn compare(&self, journal: &Path, runs: &Runs, findings: &mut Vec<HistoryFinding>) {
        let path = journal.join(RUNS);
        let started: Vec<&Run> = self.runs.iter().filter_map(|run| run.start.as_ref()).collect();
        if !has_runs(journal) {
            if !started.is_empty() {
                let what = "the file is missing: the names of stocks are not known";
                findings.push(HistoryFinding::note(&path, what));
            }
            return;
        }
        for start in &started {
            let is_listed = |run: &&Run| {
                (run.first_sequence, run.started_ns) == (start.first_sequence, start.started_ns)
            };
            if runs.iter().find(is_listed).is_none() {
                let what = format!(
                    "the run that begins with record {} is missing; `nanotape journal repair` adds it",
                    start.first_sequence
                );
                findings.push(HistoryFinding::fault(&path, what));
            }
        }
        for run in runs {
            let first = run.first_sequence;
            let is_there = started.iter().any(|start| start.first_sequence == first);
            let is_kept = (self.oldest.max(1)..self.next).contains(&first);
            if is_kept && !is_there && !self.is_lossy_at(first) {
                let what = format!("record {first} of the journal is not the start of a run");
                findings.push(HistoryFinding::fault(&path, what));
            }
        }
        self.compare_definitions(&path, runs, findings);
        self.compare_names(&path, runs, findings);
    }

    /// Whether records are missing in the part of the journal with this record.
    fn is_lossy_at(&self, sequence: u64) -> bool {
        let first = |run: &RunRecords| run.start.as_ref().map_or(0, |run| run.first_sequence);
        let run = self.runs.iter().rev().find(|run| first(run) <= sequence);
        run.is_some_and(|run| run.is_lossy)
    }

    /// Reports the stocks whose definition records have other names.
    fn compare_definitions(&self, path: &Path, runs: &Runs, findings: &mut Vec<HistoryFinding>) {
        let mut renamed = 0_usize;
        for of in &self.runs {
            let Some(&(_, first)) = of.stocks.first() else { continue };
            let Some(listed) = runs.of_sequence(first) else { continue };
            for &(locate, listed_as) in &listed.names {
                let Some(symbol) = of.contradicts(locate, listed_as) else { continue };
                renamed += 1;
                if renamed <= NAMED {
                    let what = format!(
                        "stock {} is {listed_as} in the run that begins with record {}, but {symbol} in \
                         its definition record; `nanotape journal repair` makes the file again",
                        locate.get(),
                        listed.first_sequence
                    );
                    findings.push(HistoryFinding::fault(path, what));
                }
            }
        }
        if renamed > NAMED {
            let what = format!("{} more stocks have other names", renamed - NAMED);
            findings.push(HistoryFinding::fault(path, what));
        }
    }

    /// Reports the stocks with records and without a name.
    fn compare_names(&self, path: &Path, runs: &Runs, findings: &mut Vec<HistoryFinding>) {
        let before = findings.len();
        let mut unnamed = 0_usize;
        for of in &self.runs {
            let Some(&(_, first)) = of.stocks.first() else { continue };
            let Some(listed) = runs.of_sequence(first) else { continue };
            let mut is_named = LocateTable::filled(false);
            listed.names.iter().for_each(|(locate, _)| is_named[*locate] = true);
            of.blank.iter().for_each(|locate| is_named[*locate] = true);
            for &(locate, first) in of.stocks.iter().filter(|(locate, _)| !is_named[*locate]) {
                unnamed += 1;
                if unnamed > NAMED {
                    continue;
                }
                let what = format!(
                    "stock {} has records from {first} on in the run that begins with record {}, but \
                     no name",
                    locate.get(),
                    listed.first_sequence
                );
                findings.push(match of.is_lossy {
                    // Its name may have been lost with other input.
                    true => HistoryFinding::note(path, what),
                    false => HistoryFinding::fault(path, what),
                });
            }
        }
        if unnamed > NAMED {
            let severity = findings[before].severity;
            let what = format!("{} more stocks have records, but no name", unnamed - NAMED);
            findings.push(HistoryFinding { severity, ..HistoryFinding::fault(path, what) });
        }
    }
}

/// The symbol in a definition record.
fn name_of(sequence: u64, payload: &[u8]) -> Option<Symbol> {
    let mut buffer = RecordBuffer::default();
    match buffer.decode(sequence, RecordKind::Definitions.type_id(), payload) {
        Ok(Some(Record::Definition(definition))) => definition.raw_symbol().ok()?.parse().ok(),
        _ => None,
    }
}
