//! The files of a journal in its folder, and their order.

use std::collections::BTreeMap;

use crate::{
    ErrorKind, JournalError,
    companion::{CompanionFile, REPLICA},
    disk::Disk,
};

const SEGMENT: &str = ".segment";
const PACKED: &str = ".segment.zst";
const PART: &str = ".part";
const PACKED_PART: &str = ".zst.part";

/// The name of a segment.
pub(crate) fn segment(number: u64) -> String {
    format!("{number:010}{SEGMENT}")
}

pub(crate) fn packed(number: u64) -> String {
    format!("{number:010}{PACKED}")
}

/// The name of a segment that is being created.
pub(crate) fn part(number: u64) -> String {
    format!("{number:010}{PART}")
}

/// Most pruned segments that wait to become the next one.
pub(crate) const MOST_SPARES: u64 = 2;

/// The names of pruned segments that wait to become the next one. They are names of segments that
/// are being created, so every appender that opens the journal removes such files.
pub(crate) fn spares() -> impl Iterator<Item = String> {
    (0..MOST_SPARES).map(|spare| part(u64::MAX - spare))
}

/// The name of the next segment of a copy, which has no header yet.
pub(crate) fn ahead() -> String {
    part(u64::MAX - MOST_SPARES)
}

/// The name of a segment that is being compressed, unpacked or repaired.
pub(crate) fn packed_part(number: u64) -> String {
    format!("{number:010}{PACKED_PART}")
}

/// A segment file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    pub(crate) number: u64,
    /// Whether only the compressed file exists.
    pub(crate) is_packed: bool,
    /// Length of the file.
    pub(crate) bytes: u64,
}

impl Kept {
    pub(crate) fn name(&self) -> String {
        if self.is_packed { packed(self.number) } else { segment(self.number) }
    }
}

/// The files of a journal.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Files {
    /// By number.
    pub(crate) segments: BTreeMap<u64, Kept>,
    /// Names of segments that are being created, or that a killed process left.
    pub(crate) parts: Vec<String>,
    /// Names of segments that are being compressed, or that a killed process left. Only the next
    /// compression removes them, since an appender might open the journal while one is running.
    pub(crate) packed_parts: Vec<String>,
    /// Numbers of the segments that exist both compressed and plain.
    pub(crate) twice: Vec<u64>,
    /// Other names, which the journal ignores.
    pub(crate) foreign: Vec<String>,
    /// Whether it is a copy of another journal.
    pub(crate) is_copy: bool,
    /// Whether there is any other file of a journal.
    pub(crate) is_journal: bool,
    /// Whether the folder is empty.
    pub(crate) is_empty: bool,
}

impl Files {
    /// All files in the folder of a journal.
    pub(crate) fn list<D: Disk>(disk: &D) -> Result<Self, JournalError> {
        let first = Self::list_once(disk)?;
        if first.is_whole(disk) {
            return Ok(first);
        }
        // A file that is renamed while the folder is listed might appear under neither name.
        let mut files = Self::list_once(disk)?;
        let oldest = files.segments.keys().next().copied().unwrap_or(u64::MAX);
        for (number, kept) in first.segments {
            if number > oldest {
                files.segments.entry(number).or_insert(kept);
            }
        }
        Ok(files)
    }

    /// Whether no segment was missed: none between two others, and none before the oldest.
    fn is_whole<D: Disk>(&self, disk: &D) -> bool {
        let mut numbers = self.segments.keys().copied();
        let oldest = numbers.next().unwrap_or(1);
        let newest = numbers.next_back().unwrap_or(oldest);
        let before = oldest.saturating_sub(1);
        let is_there = || disk.view(&segment(before)).is_ok() || disk.read(&packed(before)).is_ok();
        newest - oldest < self.segments.len().max(1) as u64 && (before == 0 || !is_there())
    }

    fn list_once<D: Disk>(disk: &D) -> Result<Self, JournalError> {
        let listed = disk.list().map_err(|error| {
            let problem = match error.kind() {
                std::io::ErrorKind::NotFound => ErrorKind::NotFound,
                std::io::ErrorKind::NotADirectory => ErrorKind::NotAFolder,
                _ => ErrorKind::system("list", &error),
            };
            JournalError::new(disk.path(""), problem)
        })?;
        let mut files = Self { is_empty: listed.is_empty(), ..Self::default() };
        for entry in listed {
            let name = entry.name.as_str();
            let is_packed_part = number_of(name, PACKED_PART).is_some();
            if is_packed_part || number_of(name, PART).is_some() {
                files.is_journal = true;
                let parts = if is_packed_part { &mut files.packed_parts } else { &mut files.parts };
                parts.push(entry.name);
                continue;
            }
            let (number, is_packed) = match (number_of(name, SEGMENT), number_of(name, PACKED)) {
                (Some(number), _) => (number, false),
                (_, Some(number)) => (number, true),
                _ => {
                    let is_known = CompanionFile::named(name).is_some();
                    files.is_journal |= is_known;
                    files.is_copy |= name == REPLICA;
                    if !is_known {
                        files.foreign.push(entry.name);
                    }
                    continue;
                }
            };
            files.is_journal = true;
            let kept = Kept { number, is_packed, bytes: entry.bytes };
            let slot = files.segments.entry(number).or_insert(kept);
            if slot.is_packed != is_packed {
                files.twice.push(number);
            }
            if slot.is_packed {
                *slot = kept;
            }
        }
        for names in [&mut files.parts, &mut files.packed_parts, &mut files.foreign] {
            names.sort();
        }
        files.twice.sort_unstable();
        Ok(files)
    }
}

/// The number in a name that is spelled exactly as this program writes it.
fn number_of(name: &str, suffix: &str) -> Option<u64> {
    let digits = name.strip_suffix(suffix)?;
    let number: u64 = digits.parse().ok()?;
    (number > 0 && format!("{number:010}") == digits).then_some(number)
}

#[cfg(all(test, not(nanotape_loom)))]
mod tests {
    use super::*;

    #[test]
    fn only_names_as_they_are_written_are_the_journals() {
        assert_eq!(segment(7), "0000000007.segment");
        assert_eq!(number_of("0000000007.segment", SEGMENT), Some(7));
        assert_eq!(number_of("12345678901.segment", SEGMENT), Some(12_345_678_901));
        for other in
            ["7.segment", "00000000007.segment", "0000000000.segment", "+000000007.segment"]
        {
            assert_eq!(number_of(other, SEGMENT), None, "{other}");
        }
        assert_eq!(number_of("0000000007.segment.zst", SEGMENT), None);
        assert_eq!(number_of("0000000007.segment.zst", PACKED), Some(7));
        assert_eq!(number_of("0000000007.zst.part", PART), None);
        assert_eq!(number_of(&packed_part(7), PACKED_PART), Some(7));
        assert_eq!(number_of(&part(7), PART), Some(7));
        assert!(spares().all(|name| number_of(&name, PART).is_some()), "every appender removes it");
    }
}
