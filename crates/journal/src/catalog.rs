//! The segments of a journal by what their headers say: enough to prune, to compress and to tell
//! about them.
//!
//! Cost: a page of each segment; of a compressed one its file is read, and its first words are
//! unpacked.

use nanotape_shm::{ReadWord, as_read_only};

use crate::{
    Damage, JournalError, Problem,
    disk::Disk,
    names::{Files, Kept},
    segment::{
        header::{Activation, Header},
        layout::at,
    },
    stored,
};

/// How often a segment is looked for under its two names.
const LOOKS: usize = 16;

/// A segment and what its header says.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) kept: Kept,
    pub(crate) head: Result<Head, Problem>,
}

/// What the header of a segment says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) header: Header,
    /// Nothing while it is prepared only.
    pub(crate) activation: Result<Option<Activation>, Damage>,
}

impl Listed {
    /// What became known when it became active.
    pub(crate) fn active(&self) -> Option<&Activation> {
        self.head.as_ref().ok()?.activation.as_ref().ok()?.as_ref()
    }

    /// Whether excerpts may be in it: it is active, or was before it was damaged.
    pub(crate) fn is_entered(&self) -> bool {
        matches!(&self.head, Ok(Head { activation: Ok(Some(_)) | Err(_), .. }))
    }
}

/// All segments of a journal, by number.
#[derive(Debug)]
pub(crate) struct Catalog {
    pub(crate) listed: Vec<Listed>,
    /// The number that most of them share; nothing where no header can be read.
    pub(crate) journal: Option<u64>,
    pub(crate) files: Files,
}

impl Catalog {
    /// Reads all headers. Segments that are removed meanwhile are left out.
    pub(crate) fn read<D: Disk>(disk: &D) -> Result<Self, JournalError> {
        let files = Files::list(disk)?;
        if !files.is_journal {
            return Err(JournalError::new(disk.path(""), Problem::NotFound));
        }
        let mut listed = Vec::with_capacity(files.segments.len());
        for kept in files.segments.values() {
            let mut kept = *kept;
            for _ in 0..=LOOKS {
                let head = read_head(disk, &kept);
                if !head.as_ref().is_err_and(Problem::is_of_no_file) {
                    listed.push(Listed { kept, head });
                    break;
                }
                // Compressed or unpacked since the folder was listed, or removed.
                kept.is_packed = !kept.is_packed;
            }
        }
        let journal = most_common(&listed);
        Ok(Self { listed, journal, files })
    }

    /// Which of the segments is the last active one.
    pub(crate) fn last_active(&self) -> Option<usize> {
        self.listed.iter().rposition(Listed::is_entered)
    }

    /// What became known when the first active segment behind this one became active.
    pub(crate) fn next_active(&self, index: usize) -> Option<(&Kept, &Activation)> {
        let behind = self.listed[index + 1..].iter();
        behind.filter_map(|next| Some((&next.kept, next.active()?))).next()
    }
}

/// The number of the journal that most segments have, and the first of those where several are as
/// common.
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

fn read_head<D: Disk>(disk: &D, kept: &Kept) -> Result<Head, Problem> {
    if !kept.is_packed {
        let stored = stored::open_kept(disk, kept).map_err(|error| error.problem().clone())?;
        return head_of(stored.words());
    }
    let bytes = disk.read(&kept.name()).map_err(|error| Problem::system("read", &error))?;
    let (words, end) = stored::unpack_up_to(&bytes, at::INDEX);
    match end {
        Err(cause) if words.len() < at::INDEX => Err(Problem::Packed { cause }),
        _ => head_of(as_read_only(&words)),
    }
}

fn head_of(words: &[ReadWord]) -> Result<Head, Problem> {
    let header = Header::load(words).map_err(|damage| Problem::damaged(0, damage))?;
    Ok(Head { header, activation: Activation::load(words) })
}
