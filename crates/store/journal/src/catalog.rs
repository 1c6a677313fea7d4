//! The segments of a journal, with their headers: enough to prune, compress and report them.
//!
//! Cost: one page of each segment. For a compressed segment, its file is read and its first words
//! are unpacked.

use nanotape_shm::{ReadWord, as_read_only};

use crate::{
    Corruption, ErrorKind, JournalError,
    disk::Disk,
    names::{Files, Kept},
    segment::{
        header::{Activation, Header},
        layout::at,
    },
    stored,
};

/// Attempts to open a segment under its two names.
const ATTEMPTS: usize = 16;

/// A segment and its header.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) kept: Kept,
    pub(crate) head: Result<Head, ErrorKind>,
}

/// The contents of a segment's header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) header: Header,
    /// `None` while the segment is only prepared.
    pub(crate) activation: Result<Option<Activation>, Corruption>,
}

impl Listed {
    /// The activation, if it is valid.
    pub(crate) fn active(&self) -> Option<&Activation> {
        self.head.as_ref().ok()?.activation.as_ref().ok()?.as_ref()
    }

    /// Whether it might have excerpts: it is active, or was before it was damaged.
    pub(crate) fn is_entered(&self) -> bool {
        matches!(&self.head, Ok(Head { activation: Ok(Some(_)) | Err(_), .. }))
    }
}

/// All segments of a journal, by number.
#[derive(Debug)]
pub(crate) struct Catalog {
    pub(crate) listed: Vec<Listed>,
    /// The journal number that most segments share; `None` if no header is valid.
    pub(crate) journal: Option<u64>,
    pub(crate) files: Files,
}

impl Catalog {
    /// Reads all headers. Skips segments that are removed meanwhile.
    pub(crate) fn read<D: Disk>(disk: &D) -> Result<Self, JournalError> {
        let files = Files::list(disk)?;
        if !files.is_journal {
            return Err(JournalError::new(disk.path(""), ErrorKind::NotFound));
        }
        let mut listed = Vec::with_capacity(files.segments.len());
        for kept in files.segments.values() {
            let mut kept = *kept;
            for _ in 0..=ATTEMPTS {
                let head = read_head(disk, &kept);
                if !head.as_ref().is_err_and(ErrorKind::is_of_no_file) {
                    listed.push(Listed { kept, head });
                    break;
                }
                // Compressed, unpacked or removed since the folder was listed.
                kept.is_packed = !kept.is_packed;
            }
        }
        let journal = most_common(&listed);
        Ok(Self { listed, journal, files })
    }

    /// The index of the last active segment.
    pub(crate) fn last_active(&self) -> Option<usize> {
        self.listed.iter().rposition(Listed::is_entered)
    }

    /// The first active segment after this one, and its activation.
    pub(crate) fn next_active(&self, index: usize) -> Option<(&Kept, &Activation)> {
        let behind = self.listed[index + 1..].iter();
        behind.filter_map(|next| Some((&next.kept, next.active()?))).next()
    }
}

/// The journal number of most segments; the first one if several are equally common.
fn most_common(listed: &[Listed]) -> Option<u64> {
    let mut counts: Vec<(u64, usize)> = Vec::new();
    for Listed { kept, head } in listed {
        let Ok(Head { header, .. }) = head else { continue };
        if header.number != kept.number {
            continue;
        }
        match counts.iter_mut().find(|(journal, _)| *journal == header.journal) {
            Some((_, count)) => *count += 1,
            None => counts.push((header.journal, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max()?;
    counts.into_iter().find(|(_, count)| *count == most).map(|(journal, _)| journal)
}

fn read_head<D: Disk>(disk: &D, kept: &Kept) -> Result<Head, ErrorKind> {
    if !kept.is_packed {
        let stored = stored::open_kept(disk, kept).map_err(|error| error.kind().clone())?;
        return head_of(stored.words());
    }
    let bytes = disk.read(&kept.name()).map_err(|error| ErrorKind::system("read", &error))?;
    let (words, end) = stored::unpack_up_to(&bytes, at::INDEX);
    match end {
        Err(cause) if words.len() < at::INDEX => Err(ErrorKind::Packed { cause }),
        _ => head_of(as_read_only(&words)),
    }
}

fn head_of(words: &[ReadWord]) -> Result<Head, ErrorKind> {
    let header = Header::load(words).map_err(|damage| ErrorKind::damaged(0, damage))?;
    Ok(Head { header, activation: Activation::load(words) })
}
