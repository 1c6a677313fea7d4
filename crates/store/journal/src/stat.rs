//! The contents, the appender and the readers of a journal, without reading all of it.
//!
//! Cost: for each segment its header and the excerpts of its last block; for a compressed one its
//! file and the beginning of its unpacked contents.

use std::path::{Path, PathBuf};

use nanotape_shm::{Owner, ReadWord, Refusal, as_read_only};

use crate::{
    ErrorKind, JournalError,
    catalog::{Catalog, Head, Listed},
    companion::APPENDER,
    disk::{Disk, Folder},
    named::{self, TailerInfo},
    names::Kept,
    segment::{
        excerpt::excerpt_words,
        header::{Activation, Header},
        layout::{at, position_bytes},
        view::{Contents, View},
    },
    stored,
};

/// The state of a journal.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Stat {
    /// The number that its segments share; `None` if no header can be read.
    pub journal: Option<u64>,
    /// Length of new segments in bytes, from the newest one; `None` if there is none.
    pub segment_bytes: Option<u64>,
    /// Length of a cycle in ns, from the newest segment; 0 if it does not roll by time.
    pub cycle_ns: Option<u64>,
    /// Its segments, sorted by number.
    pub segments: Vec<SegmentStat>,
    /// The process that appends or appended last; `None` if none did, or the region is unreadable.
    pub appender: Option<Owner>,
    /// Its named tailers.
    pub tailers: Vec<TailerInfo>,
}

impl Stat {
    /// Bytes of all segment files.
    pub fn file_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.file_bytes).sum()
    }

    /// Bytes of the segments up to the end of their excerpts, before compression.
    pub fn data_bytes(&self) -> u64 {
        self.segments.iter().filter_map(|segment| segment.data_bytes).sum()
    }

    /// The first sequence number, whether it exists already or not.
    pub fn first_sequence(&self) -> Option<u64> {
        self.segments.iter().find_map(|segment| segment.first_sequence)
    }

    /// The next sequence number to be written.
    pub fn next_sequence(&self) -> Option<u64> {
        self.segments.iter().rev().find_map(|segment| segment.next_sequence)
    }

    /// The time of the first excerpt, in ns since the UNIX epoch.
    pub fn first_ts_ns(&self) -> Option<u64> {
        self.segments.iter().find_map(|segment| segment.first_ts_ns)
    }

    /// The largest time so far, in ns since the UNIX epoch.
    pub fn max_ts_ns(&self) -> Option<u64> {
        self.segments.iter().rev().find_map(|segment| segment.max_ts_ns)
    }
}

/// The state of a segment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SegmentStat {
    /// Its number.
    pub number: u64,
    /// Its file.
    pub path: PathBuf,
    /// How it is stored.
    pub kept_as: KeptAs,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes up to the end of the excerpts, including an end mark, before compression.
    pub data_bytes: Option<u64>,
    /// The sequence number of its first excerpt, whether it exists already or not.
    pub first_sequence: Option<u64>,
    /// The number after the last one.
    pub next_sequence: Option<u64>,
    /// The time of the first excerpt, in ns since the UNIX epoch.
    pub first_ts_ns: Option<u64>,
    /// The largest time up to the last excerpt.
    pub max_ts_ns: Option<u64>,
    /// Its cycle since the UNIX epoch, and the length of a cycle in ns, if it rolls by time.
    pub cycle: Option<(u64, u64)>,
    /// Whether it is known to be on disk, including its end mark.
    pub is_sealed: bool,
    /// The position up to which it is known to be on disk, in bytes from the beginning of the file.
    pub synced_bytes: u64,
    /// The reason why the rest is not known.
    pub problem: Option<ErrorKind>,
}

/// How a segment is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum KeptAs {
    /// As it was written.
    #[default]
    Plain,
    /// Compressed.
    Packed,
    /// It never had an excerpt.
    Prepared,
}

/// Reads the state of a journal.
pub fn stat(path: &Path) -> Result<Stat, JournalError> {
    let disk = &Folder::new(path, 0);
    let catalog = Catalog::read(disk)?;
    let newest = catalog.listed.iter().rev().find_map(|listed| listed.head.as_ref().ok());
    let segments = (0..catalog.listed.len()).map(|index| of_segment(disk, &catalog, index));
    let appender = match nanotape_shm::inspect(&path.join(APPENDER)) {
        Ok(info) => info.owner(),
        Err(error) if matches!(error.refusal(), Refusal::NotFound) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(Stat {
        journal: catalog.journal,
        segment_bytes: newest.map(|head| head.header.layout.segment_bytes()),
        cycle_ns: newest.map(|head| head.header.cycle_ns),
        segments: segments.collect(),
        appender,
        tailers: named::tailers(path)?,
    })
}

fn of_segment(disk: &Folder, catalog: &Catalog, index: usize) -> SegmentStat {
    let Listed { kept, head } = &catalog.listed[index];
    let mut stat = SegmentStat {
        number: kept.number,
        path: disk.path(&kept.name()),
        kept_as: if kept.is_packed { KeptAs::Packed } else { KeptAs::Plain },
        file_bytes: kept.bytes,
        ..SegmentStat::default()
    };
    let (header, activation) = match head {
        Ok(Head { header, activation: Ok(Some(activation)) }) => (header, activation),
        Ok(Head { activation: Ok(None), .. }) => {
            return SegmentStat { kept_as: KeptAs::Prepared, ..stat };
        }
        Ok(Head { activation: Err(damage), .. }) => {
            stat.problem = Some(ErrorKind::damaged(at::ACTIVATION, *damage));
            return stat;
        }
        Err(problem) => return SegmentStat { problem: Some(problem.clone()), ..stat },
    };
    stat.first_sequence = Some(activation.first_sequence);
    stat.cycle = (header.cycle_ns > 0).then_some((activation.cycle, header.cycle_ns));
    let outcome = match kept.is_packed {
        true => {
            let next = catalog.next_active(index).map(|(_, next)| next);
            read_packed(disk, kept, header, next, &mut stat)
        }
        false => read_plain(disk, kept, &mut stat),
    };
    stat.problem = outcome.err();
    stat
}

fn read_plain(disk: &Folder, kept: &Kept, stat: &mut SegmentStat) -> Result<(), ErrorKind> {
    let stored = stored::open_kept(disk, kept).map_err(|error| error.kind().clone())?;
    let view = View::new(stored.words()).map_err(|damage| ErrorKind::damaged(0, damage))?;
    let Some(view) = view else { return Ok(()) };
    (stat.is_sealed, stat.synced_bytes) = (view.is_sealed(), position_bytes(view.synced()));
    stat.first_ts_ns = first_ts(&view);
    let (place, found) = view.walk(view.by_index(|_| true), |_, _| true);
    let (mut end, mut next) = (place.at, place.sequence);
    if let Ok(Contents::End(front)) = found {
        (end, next) = (end + front.total_words(), front.sequence);
    }
    (stat.data_bytes, stat.next_sequence) = (Some(position_bytes(end)), Some(next));
    stat.max_ts_ns = stat.first_ts_ns.map(|_| place.max_ts);
    found.map(|_| ()).map_err(|damage| ErrorKind::damaged(place.at, damage))
}

/// Only the beginning is unpacked: the header of the next segment states how it ended.
fn read_packed(
    disk: &Folder,
    kept: &Kept,
    header: &Header,
    next: Option<&Activation>,
    stat: &mut SegmentStat,
) -> Result<(), ErrorKind> {
    let bytes = disk.read(&kept.name()).map_err(|error| ErrorKind::system("read", &error))?;
    stat.data_bytes = zstd::zstd_safe::get_frame_content_size(&bytes).ok().flatten();
    let head = |wanted| stored::unpack_up_to(&bytes, wanted).0;
    let data = header.layout.data;
    let front = head(data + excerpt_words(0));
    let length = front.get(data).map_or(0, |word| word.load() as u32 & crate::MAX_LENGTH);
    let words = head(data + excerpt_words(length as usize));
    let words: &[ReadWord] = as_read_only(&words);
    if let Some(view) = View::new(words).map_err(|damage| ErrorKind::damaged(0, damage))? {
        (stat.is_sealed, stat.synced_bytes) = (view.is_sealed(), stat.data_bytes.unwrap_or(0));
        stat.first_ts_ns = first_ts(&view);
    }
    if let Some(next) = next {
        stat.next_sequence = Some(next.first_sequence);
        stat.max_ts_ns = stat.first_ts_ns.map(|_| next.max_ts_before);
    }
    Ok(())
}

fn first_ts(view: &View<'_>) -> Option<u64> {
    match view.read_at(view.beginning().at) {
        Ok(Contents::Excerpt(front)) => Some(front.ts_ns),
        _ => None,
    }
}
