//! A DBN file as a stream of records: a tap's, or Databento's own, of versions 1 to 3.
//!
//! Protocol: the metadata, then records back to back. A message's number is that of its record in
//! the file, from 1. Older records are upgraded to version 3. A file has no notices: a tap writes
//! them as text, which becomes notices again. A file of another writer has no runs. So each trade
//! date of its orders, in the exchange's time zone, begins and ends one.
//! Names: from the metadata for the date of a run, and from mappings between the records.
//! Bounds: the metadata has at most [`MOST_METADATA_BYTES`], a record at most 1020 bytes.
//! Failure: [`DbnError`] with the offset in the decompressed file. The records before it were
//! visited.

mod days;
mod rare;

use std::{mem, ops::ControlFlow};

use dbn::{MboMsg, RecordHeader, VersionUpgradePolicy, decode::dbn::MetadataDecoder, rtype};
use nanotape_feed::{DaySource, SourceError};
use nanotape_records::{Notice, PlantStart};
use nanotape_tape::Progress;

use crate::{Entry, RecordStream};
use days::Days;
use rare::visit_rare;

/// The first bytes of a DBN file.
pub const DBN_MAGIC: &[u8] = b"DBN";

/// Limit of the metadata: the mappings of some hundred thousand symbols.
const MOST_METADATA_BYTES: u64 = 1 << 28;

/// Bytes of a record's header.
const HEADER_BYTES: usize = size_of::<RecordHeader>();

/// Bytes before the fields of the metadata: magic, version, length.
const PRELUDE_BYTES: usize = 8;

/// The records of a DBN file.
#[derive(Debug)]
pub struct DbnStream {
    source: DaySource,
    /// The kind of its records; `None` if it has several.
    schema: Option<dbn::Schema>,
    layout: Layout,
    days: Days,
    /// Bytes of the last block that were read.
    used_bytes: usize,
    /// The number of the next record.
    sequence: u64,
    /// A start that was found with its number, and is visited again.
    again: Option<(u64, PlantStart)>,
    /// Starts that were skipped or found.
    runs: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Reading,
    Ended,
    Failed,
}

/// How records are stored.
#[derive(Clone, Copy, Debug)]
struct Layout {
    version: u8,
    /// Whether each record has the time of its sending at its end.
    has_ts_out: bool,
}

/// Why a DBN file cannot be read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DbnError {
    /// The bytes cannot be read or decompressed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The file does not begin like a DBN file.
    #[error("offset 0: not a DBN file, which begins with DBN and a version")]
    Magic,
    /// A version that this program does not read.
    #[error("offset 3: DBN version {version}, expected 1, 2 or 3")]
    Version {
        /// The version.
        version: u8,
    },
    /// The metadata is invalid.
    #[error("offset {PRELUDE_BYTES}: the metadata is damaged: {error}")]
    Metadata {
        /// The cause.
        error: Box<dbn::Error>,
    },
    /// The metadata ends early, or is too long.
    #[error(
        "offset 4: metadata of {expected} bytes, but {present} follow (at most 256 MiB are read)"
    )]
    MetadataLength {
        /// Its stated length.
        expected: u64,
        /// The bytes that follow in the file.
        present: u64,
    },
    /// The file has records of another kind.
    #[error("the file has the schema {schema}; books need mbo records")]
    Schema {
        /// The schema.
        schema: dbn::Schema,
    },
    /// A record is shorter than a header, or has another length than its type.
    #[error(
        "offset {offset}: record {sequence}: type {rtype:#04x} of {bytes} bytes, expected {expected}"
    )]
    Length {
        /// The offset of the record.
        offset: u64,
        /// Its number.
        sequence: u64,
        /// Its type.
        rtype: u8,
        /// Its stated length.
        bytes: usize,
        /// The length of its type; the shortest one if any is valid.
        expected: usize,
    },
    /// A record cannot be upgraded to version 3.
    #[error("offset {offset}: record {sequence}: type {rtype:#04x} is damaged")]
    Record {
        /// The offset of the record.
        offset: u64,
        /// Its number.
        sequence: u64,
        /// Its type.
        rtype: u8,
    },
    /// The file ends inside a record.
    #[error(
        "offset {offset}: the file ends inside record {sequence}, {present} bytes of {expected}"
    )]
    Cut {
        /// The offset of the record.
        offset: u64,
        /// Its number.
        sequence: u64,
        /// The bytes that are there.
        present: usize,
        /// The bytes of the record.
        expected: usize,
    },
}

impl DbnError {
    /// Whether the content is bad, rather than a name, a permission or the disk.
    pub fn is_bad_data(&self) -> bool {
        match self {
            Self::Source(error) => error.is_bad_data(),
            _ => true,
        }
    }
}

impl DbnStream {
    /// Reads the metadata.
    pub fn new(mut source: DaySource) -> Result<Self, DbnError> {
        let mut bytes = Vec::new();
        let mut wanted = PRELUDE_BYTES as u64;
        let mut used_bytes = 0;
        loop {
            let block = source.next_block(mem::take(&mut used_bytes))?;
            let is_last = block.is_last;
            let mut rest = block.bytes;
            while (bytes.len() as u64) < wanted && !rest.is_empty() {
                let missing = usize::try_from(wanted - bytes.len() as u64).unwrap_or(usize::MAX);
                let taken = rest.len().min(missing);
                bytes.extend_from_slice(&rest[..taken]);
                (rest, used_bytes) = (&rest[taken..], used_bytes + taken);
                if let Some(prelude) = bytes.first_chunk::<PRELUDE_BYTES>() {
                    wanted = PRELUDE_BYTES as u64 + metadata_bytes(prelude)?;
                }
            }
            if bytes.len() as u64 == wanted && wanted > PRELUDE_BYTES as u64 {
                break;
            }
            if is_last {
                return Err(Self::without_metadata(source, &bytes, wanted));
            }
        }
        let policy = VersionUpgradePolicy::UpgradeToV3;
        let metadata = MetadataDecoder::with_upgrade_policy(bytes.as_slice(), policy).decode();
        let metadata = metadata.map_err(|error| DbnError::Metadata { error: Box::new(error) })?;
        let schema = metadata.schema;
        let layout = Layout { version: bytes[DBN_MAGIC.len()], has_ts_out: metadata.ts_out };
        let days = Days::new(metadata);
        let (again, runs, state) = (None, 0, State::Reading);
        Ok(Self { source, schema, layout, days, used_bytes, sequence: 1, again, runs, state })
    }

    /// Refuses a file whose metadata states other records than those of orders: books need them.
    pub fn require_orders(&self) -> Result<(), DbnError> {
        match self.schema {
            Some(schema) if schema != dbn::Schema::Mbo => Err(DbnError::Schema { schema }),
            _ => Ok(()),
        }
    }

    #[cold]
    fn without_metadata(mut source: DaySource, bytes: &[u8], wanted: u64) -> DbnError {
        let prelude = PRELUDE_BYTES as u64;
        match source.fault() {
            Some(fault) => DbnError::Source(fault),
            None if wanted == prelude => DbnError::Magic,
            None => DbnError::MetadataLength {
                expected: wanted - prelude,
                present: (bytes.len() as u64).saturating_sub(prelude),
            },
        }
    }

    /// The source of its bytes.
    pub fn source(&self) -> &DaySource {
        &self.source
    }

    /// Reads up to the start of a run, from 1. Returns its number, or that of the last run if the
    /// file has not as many.
    pub fn skip_to_run(&mut self, run: u64) -> Result<u64, DbnError> {
        loop {
            let (before, mut found) = (self.runs, None);
            let mut starts = 0;
            let progress = self.poll(|entry| {
                if let Entry::Notice { notice: Notice::Start(start), sequence } = entry {
                    starts += 1;
                    if before + starts == run {
                        found = Some((sequence, start));
                        return ControlFlow::Break(());
                    }
                }
                ControlFlow::Continue(())
            });
            self.runs += starts;
            self.again = found;
            if progress? == Progress::Nothing || found.is_some() {
                return Ok(self.runs);
            }
        }
    }

    /// The number of the next record.
    pub fn next_sequence(&self) -> u64 {
        self.again.map_or(self.sequence, |(sequence, _)| sequence)
    }

    /// The number of starts that [`skip_to_run`](Self::skip_to_run) has read, also before an error.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// The start that `skip_to_run` found, until it is read.
    pub fn start(&self) -> Option<&PlantStart> {
        self.again.as_ref().map(|(_, start)| start)
    }

    /// The records of one block, or the reason why there are no more.
    fn block(
        &mut self,
        visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Option<Progress>, DbnError> {
        let block = self.source.next_block(mem::take(&mut self.used_bytes))?;
        let (is_last, bytes) = (block.is_last, block.bytes);
        let mut used_bytes = 0;
        let mut missing = None;
        let mut flow = ControlFlow::Continue(());
        while flow.is_continue() {
            let rest = &bytes[used_bytes..];
            let Some(&length) = rest.first() else { break };
            let length = usize::from(length) * RecordHeader::LENGTH_MULTIPLIER;
            let at = At { offset: block.offset + used_bytes as u64, sequence: self.sequence };
            if length < HEADER_BYTES {
                return Err(at.length(rest.get(1).copied().unwrap_or(0), length, HEADER_BYTES));
            }
            let Some(record) = rest.get(..length) else {
                missing = Some(at.cut(rest.len(), length));
                break;
            };
            if record[1] != rtype::MBO {
                flow = visit_rare(&mut self.days, self.layout, at, record, visit)?;
            } else {
                let ts_event = word(record, 8);
                if ts_event >= self.days.until_ns() {
                    flow = self.days.date_of(record, at.sequence, visit);
                    if flow.is_break() {
                        break;
                    }
                }
                flow = visit_order(self.layout, at, record, visit)?;
            }
            used_bytes += length;
            self.sequence += 1;
        }
        self.used_bytes = used_bytes;
        if flow.is_break() {
            return Ok(Some(Progress::Stopped));
        }
        if used_bytes > 0 {
            return Ok(Some(Progress::Read));
        }
        if !is_last {
            return Ok(None);
        }
        // A compressed file that is cut off is the cause of a record that is.
        match (self.source.fault(), missing) {
            (Some(fault), _) => Err(DbnError::Source(fault)),
            (None, Some(cut)) => Err(cut),
            (None, None) => Ok(Some(Progress::Nothing)),
        }
    }
}

impl RecordStream for DbnStream {
    type Error = DbnError;

    fn poll(
        &mut self,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, DbnError> {
        if let Some((sequence, start)) = self.again.take() {
            return Ok(Progress::of(self.days.begin(start, sequence, &mut visit)));
        }
        if self.days.names_of_start(&mut visit).is_break() {
            return Ok(Progress::Stopped);
        }
        match self.state {
            State::Reading => {}
            State::Ended => return Ok(self.days.end(self.sequence, &mut visit)),
            State::Failed => return Ok(Progress::Nothing),
        }
        self.state = State::Failed;
        let progress = loop {
            if let Some(progress) = self.block(&mut visit)? {
                break progress;
            }
        };
        if progress == Progress::Nothing {
            self.state = State::Ended;
            return Ok(self.days.end(self.sequence, &mut visit));
        }
        self.state = State::Reading;
        Ok(progress)
    }
}

/// The position of a record.
#[derive(Clone, Copy, Debug)]
struct At {
    offset: u64,
    sequence: u64,
}

impl At {
    #[cold]
    fn length(self, rtype: u8, bytes: usize, expected: usize) -> DbnError {
        let Self { offset, sequence } = self;
        DbnError::Length { offset, sequence, rtype, bytes, expected }
    }

    fn cut(self, present: usize, expected: usize) -> DbnError {
        let Self { offset, sequence } = self;
        DbnError::Cut { offset, sequence, present, expected }
    }
}

/// An order record: the same in each version.
#[inline]
fn visit_order(
    layout: Layout,
    at: At,
    record: &[u8],
    visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, DbnError> {
    const BYTES: usize = size_of::<MboMsg>();
    let expected = BYTES + layout.ts_out_bytes();
    let mut copy = [0; BYTES];
    let payload = match record.get(..BYTES) {
        Some(_) if record.len() != expected => None,
        Some(payload) if layout.has_ts_out => {
            copy.copy_from_slice(payload);
            copy[0] = (BYTES / RecordHeader::LENGTH_MULTIPLIER) as u8;
            Some(copy.as_slice())
        }
        payload => payload,
    };
    let payload = payload.ok_or_else(|| at.length(rtype::MBO, record.len(), expected))?;
    let type_id = u16::from(rtype::MBO);
    Ok(visit(Entry::record(at.sequence, type_id, payload)))
}

impl Layout {
    fn ts_out_bytes(self) -> usize {
        if self.has_ts_out { size_of::<u64>() } else { 0 }
    }
}

/// The length of the metadata after its prelude.
fn metadata_bytes(prelude: &[u8; PRELUDE_BYTES]) -> Result<u64, DbnError> {
    let [.., version, a, b, c, d] = *prelude;
    if !prelude.starts_with(DBN_MAGIC) {
        return Err(DbnError::Magic);
    }
    if !(1..=dbn::DBN_VERSION).contains(&version) {
        return Err(DbnError::Version { version });
    }
    let expected = u64::from(u32::from_le_bytes([a, b, c, d]));
    if expected == 0 || expected > MOST_METADATA_BYTES {
        return Err(DbnError::MetadataLength { expected, present: 0 });
    }
    Ok(expected)
}

/// A word of a record; 0 if the record ends before it.
fn word(record: &[u8], at: usize) -> u64 {
    let bytes = record.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests;
