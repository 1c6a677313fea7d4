//! Journals in memory with content of the fuzzer's choice, and all operations of readers on them.
#![allow(dead_code, reason = "each target uses a part of it")]

use std::{
    collections::BTreeMap,
    io,
    ops::Range,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock},
};

use nanotape_clock::UtcNanos;
use nanotape_journal::{
    Appender, AppenderOptions, Disk, EXCERPT_FIELDS, Listed, Preallocation, ReadableFile,
    RollCycle, Start, Tail, Tailer, WritableFile, checksum, checksum_bytes,
};
use nanotape_shm::{ReadWord, RegionError, Word, as_read_only};

/// Steps of each iteration: more than there are excerpts.
const STEPS: usize = 3_000;

/// Small segments and short roll cycles, without a thread.
pub(crate) fn options() -> AppenderOptions {
    AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle: RollCycle::EveryNs(1_000),
        roll_times: nanotape_journal::RollTimes::default(),
        sync: nanotape_journal::SyncPolicy::Never,
        ahead_bytes: 0,
        large_pages: false,
        mode: 0o600,
        has_pretoucher: false,
    }
}

/// A disk that keeps everything in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory(Arc<Mutex<BTreeMap<String, MemoryFile>>>);

#[derive(Clone, Debug)]
pub(crate) struct MemoryFile(Arc<[Word]>);

impl Memory {
    /// A journal of some segments: the last one is active, and the next one is prepared.
    pub(crate) fn journal() -> Self {
        static USED: OnceLock<Vec<(String, Vec<u64>)>> = OnceLock::new();
        let used = USED.get_or_init(|| {
            let disk = Self::default();
            let mut appender = Appender::open_on(disk.clone(), &options()).expect("memory");
            for (number, length) in
                [0, 8, 100, 3, 600, 17].into_iter().cycle().take(300).enumerate()
            {
                let ts_ns = number as u64 * 10;
                appender
                    .append(length as u16, ts_ns, &[length as u8; 600][..length])
                    .expect("room");
            }
            // Neither closed nor dropped, as if it had been killed.
            std::mem::forget(appender);
            let files = disk.0.lock().expect("no thread panicked");
            let words =
                |file: &MemoryFile| as_read_only(&file.0).iter().map(ReadWord::load).collect();
            files.iter().map(|(name, file)| (name.clone(), words(file))).collect()
        });
        let disk = Self::default();
        for (name, words) in used {
            let file = MemoryFile(words.iter().map(|&word| Word::new(word)).collect());
            disk.0.lock().expect("no thread panicked").insert(name.clone(), file);
        }
        disk
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        let chunks = bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            Word::new(u64::from_ne_bytes(word))
        });
        let file = MemoryFile(chunks.collect());
        self.0.lock().expect("no thread panicked").insert(name.to_owned(), file);
    }

    /// Writes the input over the journal. Of every twelve bytes, one chooses the segment, two the
    /// position, one the kind of change, and eight are a word. The kind can also correct the
    /// checksum, so that the content after it is read too.
    pub(crate) fn lay(&self, input: &[u8]) {
        let files: Vec<MemoryFile> =
            self.0.lock().expect("no thread panicked").values().cloned().collect();
        for entry in input.chunks_exact(12) {
            let words = &files[usize::from(entry[0]) % files.len()].0;
            let (place, how) = (usize::from(entry[1]) | usize::from(entry[2]) << 8, entry[3]);
            let at = if how & 1 == 0 { place % 1024 } else { place % words.len() };
            let load = |at: usize| words[at].as_read_only().load();
            let value = entry[4..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
            words[at].store(match how >> 1 & 3 {
                0 => value,
                1 => load(at).wrapping_add(value & 0xff).wrapping_sub(0x80),
                2 => load(at) ^ value,
                _ => load(value as usize % words.len()),
            });
            if how & 8 != 0 {
                seal(words, at);
            }
        }
    }

    fn file(&self, name: &str) -> io::Result<MemoryFile> {
        let files = self.0.lock().expect("no thread panicked");
        files.get(name).cloned().ok_or_else(|| io::Error::from_raw_os_error(2))
    }
}

/// Corrects the checksum of an excerpt that begins at a word, whatever its other fields.
fn seal(words: &[Word], at: usize) {
    let load = |at: usize| words[at].as_read_only().load();
    if at + EXCERPT_FIELDS.len() > words.len() {
        return;
    }
    let both = [load(4).to_le_bytes(), load(5).to_le_bytes()];
    let seed = checksum_bytes(0, both.as_flattened());
    let commit = load(at) & 0xffff_ffff;
    let length = (commit & 0xfff_ffff) as usize;
    let end = at + 3 + length.div_ceil(8);
    let Some(payload) = words.get(at + 3..end) else { return };
    let sum = checksum(seed, [commit, load(at + 1), load(at + 2)], as_read_only(payload));
    words[at].store(commit | u64::from(sum) << 32);
}

/// Reads a journal in all ways from various positions; this must terminate for any content.
pub(crate) fn read_everything(disk: &Memory, input: &[u8]) {
    let chosen = input.last_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
    let starts = [
        Start::Oldest,
        Start::Newest,
        Start::Sequence(150),
        Start::Sequence(chosen % 400),
        Start::Time(UtcNanos::new(1_500)),
        Start::Time(UtcNanos::of_unix_ns(chosen)),
    ];
    for start in starts {
        for is_checked in [true, false] {
            let Ok(mut tailer) = Tailer::open_on(disk.clone(), start) else { continue };
            tailer.set_checked(is_checked);
            tailer.set_durable(!is_checked && chosen % 2 == 0);
            walk(&mut tailer, |tailer| tailer.next());
            walk(&mut tailer, |tailer| tailer.previous());
            let _ = tailer.seek(Start::Sequence(chosen));
            walk(&mut tailer, |tailer| tailer.previous());
        }
    }
}

fn walk(
    tailer: &mut Tailer<Memory>,
    step: impl Fn(&mut Tailer<Memory>) -> Result<Tail<'_>, nanotape_journal::JournalError>,
) {
    let mut buffer = [0; 700];
    for _ in 0..STEPS {
        match step(tailer) {
            Ok(Tail::Excerpt(excerpt)) => {
                excerpt.copy_to(&mut buffer);
            }
            Ok(Tail::Gap(gap)) => assert!(gap.from <= gap.to),
            Ok(Tail::Reused(reused)) => assert!(reused.from <= reused.to),
            Ok(Tail::Nothing) => break,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                break;
            }
        }
    }
}

impl Disk for Memory {
    type Writable = MemoryFile;
    type Readable = MemoryFile;
    type Lock = ();

    fn path(&self, name: &str) -> PathBuf {
        name.into()
    }

    fn make(&self) -> io::Result<()> {
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<Listed>> {
        let files = self.0.lock().expect("no thread panicked");
        let listed = |(name, file): (&String, &MemoryFile)| Listed {
            name: name.clone(),
            bytes: (file.0.len() * 8) as u64,
        };
        Ok(files.iter().map(listed).collect())
    }

    fn lock(&self) -> Result<(), RegionError> {
        Ok(())
    }

    fn create(&self, name: &str, bytes: u64, _: Preallocation) -> io::Result<MemoryFile> {
        let file = MemoryFile((0..bytes / 8).map(|_| Word::new(0)).collect());
        self.0.lock().expect("no thread panicked").insert(name.to_owned(), file.clone());
        Ok(file)
    }

    fn open(&self, name: &str, bytes: u64) -> io::Result<MemoryFile> {
        let file = self.file(name)?;
        if (file.0.len() * 8) as u64 >= bytes {
            return Ok(file);
        }
        // Mapped words cannot grow here, but this file is not mapped.
        let old = as_read_only(&file.0).iter().map(ReadWord::load);
        let all = old.chain(std::iter::repeat(0)).take(bytes as usize / 8);
        let longer = MemoryFile(all.map(Word::new).collect());
        self.0.lock().expect("no thread panicked").insert(name.to_owned(), longer.clone());
        Ok(longer)
    }

    fn view(&self, name: &str) -> io::Result<MemoryFile> {
        let file = self.file(name)?;
        if file.0.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(file) }
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let file = self.file(name)?;
        Ok(file.0.iter().flat_map(|word| word.as_read_only().load().to_ne_bytes()).collect())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.put(name, bytes);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.0.lock().expect("no thread panicked");
        let file = files.remove(from).ok_or_else(|| io::Error::from_raw_os_error(2))?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let removed = self.0.lock().expect("no thread panicked").remove(name);
        removed.map(|_| ()).ok_or_else(|| io::Error::from_raw_os_error(2))
    }

    fn shrink(&self, name: &str, bytes: u64) -> io::Result<()> {
        let file = self.file(name)?;
        let words = as_read_only(&file.0).iter().take(bytes as usize / 8).map(ReadWord::load);
        let shorter = MemoryFile(words.map(Word::new).collect());
        self.0.lock().expect("no thread panicked").insert(name.to_owned(), shorter);
        Ok(())
    }

    fn store(&self, name: &str, word: usize, value: u64) -> io::Result<()> {
        if let Some(word) = self.file(name)?.0.get(word) {
            word.store(value);
        }
        Ok(())
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        self.file(name).map(|_| ())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn free_bytes(&self) -> u64 {
        u64::MAX
    }

    fn boot(&self) -> u64 {
        BOOT.with(std::cell::Cell::get)
    }
}

thread_local! {
    /// Number of the boot of the machine.
    pub(crate) static BOOT: std::cell::Cell<u64> = const { std::cell::Cell::new(1) };
}

impl WritableFile for MemoryFile {
    fn words(&self) -> &[Word] {
        &self.0
    }

    fn sync(&self, _: Range<usize>) -> io::Result<()> {
        Ok(())
    }
}

impl ReadableFile for MemoryFile {
    fn words(&self) -> &[ReadWord] {
        as_read_only(&self.0)
    }

    fn is_lost(&self) -> bool {
        false
    }

    fn is_at(&self, _: &str) -> bool {
        true
    }
}
