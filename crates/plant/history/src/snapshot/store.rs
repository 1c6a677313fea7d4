//! The snapshots of a journal: named, found by sequence number or exchange time, and removed.

use std::{
    fs::{self, File, Permissions},
    io::{self, Write as _},
    ops::Range,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use nanotape_journal::{SNAPSHOTS, Start, Tailer};

use super::{SnapshotError, SnapshotFile};
use crate::Runs;

const SUFFIX: &str = "snapshot";
pub(super) const PART: &str = "part";

/// After the name of a snapshot that is compressed.
const PACKED: &str = ".zst";

/// The names of the snapshots of a journal.
#[derive(Clone, Debug)]
pub struct Snapshots {
    journal: PathBuf,
    /// By sequence number.
    listed: Vec<Listed>,
}

/// A snapshot, as its name describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The last record that it includes.
    pub sequence: u64,
    /// The exchange's time of that moment, ns since the UNIX epoch.
    pub ts_event: u64,
    /// Its file.
    pub path: PathBuf,
    /// Bytes of the file.
    pub bytes: u64,
}

/// The name of a snapshot.
pub(super) fn name(sequence: u64, ts_event: u64) -> String {
    format!("{sequence:015}-{ts_event:020}.{SUFFIX}")
}

/// Sequence number and exchange time in a name that is spelled as this program writes it.
fn parse(file_name: &str) -> Option<(u64, u64)> {
    let file_name = file_name.strip_suffix(PACKED).unwrap_or(file_name);
    let (sequence, ts_event) =
        file_name.strip_suffix(SUFFIX)?.strip_suffix('.')?.split_once('-')?;
    let (sequence, ts_event) = (sequence.parse().ok()?, ts_event.parse().ok()?);
    (name(sequence, ts_event) == file_name).then_some((sequence, ts_event))
}

/// The name of the same snapshot in a compressed file.
pub(super) fn packed_path(plain: &Path) -> PathBuf {
    let mut name = plain.as_os_str().to_owned();
    name.push(PACKED);
    name.into()
}

pub(super) fn is_packed(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(PACKED.as_bytes())
}

/// Writes a file that is complete and on disk before it has its name. A name in the folder is that
/// of a complete file, also after a loss of power. The permission bits are `mode`, whatever the
/// umask. The part is a new file: one of an earlier attempt, or a link, is removed.
pub(super) fn complete(part: &Path, path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    match fs::remove_file(part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let write = || {
        let mut options = File::options();
        let mut file = options.write(true).create_new(true).mode(mode).open(part)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(part, path)?;
        sync_names(path)
    };
    let written: io::Result<()> = write();
    if written.is_err() {
        // A part of a snapshot is of no use, and takes room on a full disk.
        let _ = fs::remove_file(part);
    }
    written
}

/// Syncs the folder of a file.
pub(super) fn sync_names(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

impl Snapshots {
    /// Lists the snapshots in the folder of a journal.
    pub fn list(journal: &Path) -> Result<Self, SnapshotError> {
        let folder = journal.join(SNAPSHOTS);
        let mut listed = Vec::new();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { journal: journal.to_owned(), listed });
            }
            Err(error) => return Err(SnapshotError::system("list", folder)(error)),
        };
        for entry in entries {
            let entry = entry.map_err(SnapshotError::system("list", &folder))?;
            let Some((sequence, ts_event)) = entry.file_name().to_str().and_then(parse) else {
                continue;
            };
            // A snapshot that is removed meanwhile is not listed.
            let Ok(metadata) = entry.metadata() else { continue };
            listed.push(Listed { sequence, ts_event, path: entry.path(), bytes: metadata.len() });
        }
        // A compression that was killed leaves both files of a snapshot; the plain one counts.
        listed.sort_by(|a, b| (a.sequence, &a.path).cmp(&(b.sequence, &b.path)));
        listed.dedup_by(|later, kept| packed_path(&kept.path) == later.path);
        Ok(Self { journal: journal.to_owned(), listed })
    }

    /// The snapshots, by sequence number.
    pub fn iter(&self) -> std::slice::Iter<'_, Listed> {
        self.listed.iter()
    }

    /// The same as a slice.
    pub(super) fn as_slice(&self) -> &[Listed] {
        &self.listed
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.listed.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// Bytes of all snapshots.
    pub fn bytes(&self) -> u64 {
        self.listed.iter().map(|listed| listed.bytes).sum()
    }

    /// The last snapshot of these records whose exchange time is not after `ts_event`. A file that
    /// is damaged, or that is not of the journal, is skipped: the one before it serves too.
    pub fn last_until(&self, sequences: Range<u64>, ts_event: u64) -> Option<SnapshotFile> {
        let candidates = self.listed.iter().rev();
        let candidates = candidates
            .filter(|listed| sequences.contains(&listed.sequence) && listed.ts_event <= ts_event);
        candidates.filter_map(|listed| self.open(listed)).next()
    }

    /// The same for a reader that needs the names of the stocks: the definition records that name
    /// them are before the snapshot. `None` if the file `runs` lacks a name and the records are all
    /// there, so that the reader begins with the first of them.
    pub fn last_named_until(&self, sequences: Range<u64>, ts_event: u64) -> Option<SnapshotFile> {
        let first = sequences.start;
        let file = self.last_until(sequences, ts_event)?;
        if Runs::name_all_of(&self.journal, &file) {
            return Some(file);
        }
        let oldest = Tailer::open(&self.journal, Start::Oldest);
        let is_first_there = oldest.is_ok_and(|oldest| oldest.next_sequence() <= first);
        (!is_first_there).then_some(file)
    }

    /// The last snapshot of these records.
    pub fn last_in(&self, sequences: Range<u64>) -> Option<SnapshotFile> {
        self.last_until(sequences, u64::MAX)
    }

    /// Opens a snapshot; `None` if it is damaged or not of the journal.
    fn open(&self, listed: &Listed) -> Option<SnapshotFile> {
        let file = SnapshotFile::open(&listed.path).ok()?;
        let moment = file.moment();
        let is_named = (moment.sequence, moment.ts_event) == (listed.sequence, listed.ts_event);
        (is_named && file.is_of(&self.journal)).then_some(file)
    }

    /// Removes the snapshots before the oldest record that is left, which readers cannot continue.
    /// Returns what was removed, or would be.
    pub fn prune(&self, oldest: u64, is_dry_run: bool) -> Result<Vec<Listed>, SnapshotError> {
        let gone: Vec<_> =
            self.listed.iter().filter(|listed| listed.sequence < oldest).cloned().collect();
        for listed in gone.iter().filter(|_| !is_dry_run) {
            // A compression may have given it its other name meanwhile, or have left both.
            for path in [&listed.path, &packed_path(&listed.path)] {
                match fs::remove_file(path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    removed => removed.map_err(SnapshotError::system("remove", path))?,
                }
            }
        }
        Ok(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_as_they_are_written_are_snapshots() {
        let written = name(17, 1_577_716_200_000_000_001);
        assert_eq!(written, "000000000000017-01577716200000000001.snapshot");
        assert_eq!(parse(&written), Some((17, 1_577_716_200_000_000_001)));
        assert_eq!(parse(&format!("{written}.zst")), parse(&written));
        let others = [
            "17-1.snapshot",
            "000000000000017-01577716200000000001.part",
            "000000000000017-01577716200000000001.snapshot.zst.part",
            "x.snapshot",
            "x.snapshot.zst",
        ];
        for other in others {
            assert_eq!(parse(other), None, "{other}");
        }
        assert_eq!(parse(&name(u64::MAX, u64::MAX)), Some((u64::MAX, u64::MAX)));
    }
}
