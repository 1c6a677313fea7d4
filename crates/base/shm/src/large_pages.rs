//! Large pages for new files in memory: a file of tmpfs gets its pages in pieces of 2 MiB,
//! independent of the system's setting for shared memory.
//!
//! Why: small pages are allocated at 2 to 3 GB/s, and stores to them miss the address cache at
//! every one. With large ones it is about twice that (bench: journal/append).
//! How: MADV_COLLAPSE, since Linux 6.1, which overrides the setting.
//! Failure: only a hint. If the kernel does not support it, or has no large page left, small pages
//! are used.
//! Cost: a kernel that has to compact memory for a large page, or a virtual machine that has to get
//! it from its host, takes some milliseconds. That is measured: if small pages would have been
//! faster, the rest of the file and some of the next files get those.

use std::{
    fs::File,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use rustix::{
    fs::{fstatfs, ftruncate},
    mm::Advice,
    time::{ClockId, clock_gettime},
};

use crate::region::{Access, Mapping};

/// The type of tmpfs in statfs.
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// Bytes of a large page.
pub(crate) const LARGE_PAGE_BYTES: usize = 2 << 20;

/// Approximate time for as many bytes in small pages.
const SMALL_PAGES_TIME: Duration = Duration::from_micros(800);

/// Additional time that large pages of a file may take.
const GRACE: Duration = Duration::from_millis(3);

/// Limit of files that are skipped after large pages were refused or slow.
const MOST_PAUSED: u32 = 64;

/// Whether large pages are worth requesting, from the results so far.
#[derive(Debug, Default)]
pub struct LargePages {
    pause: Mutex<Pause>,
}

#[derive(Default, Debug)]
struct Pause {
    /// Files that are still to be skipped.
    left: u32,
    /// Length of the previous pause.
    last: u32,
}

impl LargePages {
    /// Allocates the pages of a new file, as large ones if they are available at once. The file
    /// gets this length. Returns how many bytes are in large pages: 0 on a file system that is not
    /// in memory.
    ///
    /// The caller has checked that there is room, and reserves it after this call: refused parts
    /// have no pages yet.
    pub(crate) fn fill(&self, file: &File, file_bytes: u64) -> u64 {
        let Ok(bytes) = usize::try_from(file_bytes) else { return 0 };
        if bytes < LARGE_PAGE_BYTES || !is_in_memory(file) || self.pause().is_on() {
            return 0;
        }
        if ftruncate(file, file_bytes).is_err() {
            return 0;
        }
        let Ok(mapping) = Mapping::aligned(file, bytes, Access::Write, LARGE_PAGE_BYTES) else {
            return 0;
        };
        let (start, mut filled) = (busy_time(), 0);
        for piece in (0..bytes - bytes % LARGE_PAGE_BYTES).step_by(LARGE_PAGE_BYTES) {
            // A piece without any page cannot be collapsed.
            mapping.advise(piece..piece + 1, Advice::LinuxPopulateWrite);
            if mapping.collapse(piece..piece + LARGE_PAGE_BYTES).is_err() {
                self.pause().begin();
                return filled as u64;
            }
            filled += LARGE_PAGE_BYTES;
            if is_slow(busy_time().saturating_sub(start), filled) {
                // The next file would wait for its first piece, too, and then give up.
                self.pause().begin();
                return filled as u64;
            }
        }
        *self.pause() = Pause::default();
        filled as u64
    }

    fn pause(&self) -> MutexGuard<'_, Pause> {
        self.pause.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Pause {
    fn begin(&mut self) {
        self.last = (2 * self.last).clamp(1, MOST_PAUSED);
        self.left = self.last;
    }

    /// Counts one file; returns whether a pause is active.
    fn is_on(&mut self) -> bool {
        let is_on = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_on
    }
}

/// CPU time of this thread, including the kernel's, without the time of other threads.
fn busy_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Whether small pages would have been faster.
fn is_slow(took: Duration, bytes: usize) -> bool {
    let pieces = u32::try_from(bytes / LARGE_PAGE_BYTES).unwrap_or(u32::MAX);
    took > GRACE + SMALL_PAGES_TIME.saturating_mul(pieces)
}

/// Whether a file or folder is on tmpfs.
pub fn is_in_memory(file: &File) -> bool {
    // The type of the field differs between architectures, and its sign is irrelevant.
    fstatfs(file).is_ok_and(|said| said.f_type as u64 & 0xffff_ffff == TMPFS_MAGIC)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use nanotape_harness::{Scratch, skipped};

    use super::*;
    use crate::file_words::{WritableWords, reserve_in_large_pages};

    const BYTES: u64 = 3 * LARGE_PAGE_BYTES as u64 + 8192;

    fn new_file(place: &Scratch) -> File {
        File::options().read(true).write(true).create_new(true).open(place.path()).unwrap()
    }

    #[test]
    fn a_file_in_memory_is_all_zeros_and_has_all_its_room() {
        let place = Scratch::new("large");
        let file = new_file(&place);
        reserve_in_large_pages(&file, BYTES, &LargePages::default()).unwrap();
        let metadata = file.metadata().unwrap();
        assert_eq!(metadata.len(), BYTES);
        assert_eq!(std::os::unix::fs::MetadataExt::blocks(&metadata) * 512, BYTES);
        let mut read = vec![1; BYTES as usize];
        file.read_exact_at(&mut read, 0).unwrap();
        assert!(read.iter().all(|&byte| byte == 0));
        let words = WritableWords::map(&file, BYTES as usize / 8).unwrap();
        assert_eq!(
            words.words().as_ptr().addr() % LARGE_PAGE_BYTES,
            0,
            "so that it can be one page"
        );
        words.words()[BYTES as usize / 8 - 1].store(7);
        file.read_exact_at(&mut read[..8], BYTES - 8).unwrap();
        assert_eq!(read[0], 7);
    }

    #[test]
    fn small_files_and_those_on_a_disk_are_left_alone() {
        let large = LargePages::default();
        let place = Scratch::new("large");
        let file = new_file(&place);
        assert_eq!(large.fill(&file, LARGE_PAGE_BYTES as u64 - 1), 0);
        assert_eq!(file.metadata().unwrap().len(), 0);
        let place = Scratch::on_disk("large");
        let file = new_file(&place);
        if is_in_memory(&file) {
            skipped("the folder of the build is on tmpfs");
            return;
        }
        assert_eq!(large.fill(&file, BYTES), 0);
        assert_eq!(file.metadata().unwrap().len(), 0);
    }

    #[test]
    fn slow_ones_are_given_up_and_refused_ones_left_alone_for_some_files() {
        assert!(!is_slow(GRACE + SMALL_PAGES_TIME, LARGE_PAGE_BYTES));
        assert!(is_slow(GRACE + 2 * SMALL_PAGES_TIME, LARGE_PAGE_BYTES));
        assert!(!is_slow(GRACE + 2 * SMALL_PAGES_TIME, 2 * LARGE_PAGE_BYTES));
        let mut pause = Pause::default();
        assert!(!pause.is_on());
        pause.begin();
        assert_eq!([(); 3].map(|()| pause.is_on()), [true, false, false]);
        pause.begin();
        assert_eq!([(); 4].map(|()| pause.is_on()), [true, true, false, false]);
        (0..40).for_each(|_| pause.begin());
        assert_eq!(pause.left, MOST_PAUSED);
    }
}
