//! The messages of a day by number, while the day is being sent and after it.
//!
//! Where: the sender writes, and the servers read, each in a thread of its own. The messages stay
//! in the file or in memory; a day from a pipe or a compressed file goes to a temporary file.
//! Bounds: an entry of 16 bytes for every [`GROUP`] messages and for every position where damaged
//! bytes were skipped, and a buffer of 64 KiB for each reader.
//! Protocol: messages can be read from the moment they are published. The writer never waits for a
//! reader: an update that finds the lock held is done with the next one.

use std::{
    fs::File,
    io::{self, BufWriter, Write as _},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, TryLockError},
};

use nanotape_feed::soupbintcp::MessageStore;
use nanotape_types::Alpha;

/// Messages for each entry of the index.
const GROUP: u64 = 64;

/// Bytes that a reader gets from the file at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Where a run of contiguous records begins.
#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u64,
    /// Offset of the length field of the message.
    offset: u64,
}

/// What the writer and the readers share.
#[derive(Debug)]
struct Shared {
    index: Vec<Entry>,
    /// Number of the next message.
    next: u64,
    is_over: bool,
}

/// The bytes of the day.
#[derive(Clone, Debug)]
enum Store {
    Memory(Arc<Vec<u8>>),
    File(Arc<File>),
}

/// Why a history cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot {operation} the messages for re-requests: {source}", path.display())]
pub struct HistoryError {
    path: PathBuf,
    operation: &'static str,
    source: io::Error,
}

/// Adds messages to a history.
#[derive(Debug)]
pub struct HistoryWriter {
    shared: Arc<Mutex<Shared>>,
    /// Entries that are not shared yet.
    entries: Vec<Entry>,
    next: u64,
    /// Where the next record is if no bytes are skipped before it.
    end: u64,
    /// Messages since the last entry.
    group: u64,
    spool: Option<(BufWriter<File>, PathBuf)>,
}

/// Reads messages by number.
#[derive(Clone, Debug)]
pub struct History {
    shared: Arc<Mutex<Shared>>,
    store: Store,
    session: Alpha<10>,
    /// Bytes of the file, and the offset of the first of them.
    buffer: Vec<u8>,
    buffer_at: u64,
    /// The message after the one that was read last, if no bytes are skipped between them.
    cursor: Entry,
}

impl History {
    /// The messages of a BinaryFILE day in memory.
    pub fn of_memory(session: Alpha<10>, bytes: impl Into<Arc<Vec<u8>>>) -> (HistoryWriter, Self) {
        Self::new(session, Store::Memory(bytes.into()), None)
    }

    /// The messages of a BinaryFILE day that is not compressed.
    pub fn of_file(session: Alpha<10>, path: &Path) -> Result<(HistoryWriter, Self), HistoryError> {
        let failed = |source| HistoryError { path: path.to_owned(), operation: "open", source };
        let file = File::open(path).map_err(failed)?;
        Ok(Self::new(session, Store::File(Arc::new(file)), None))
    }

    /// Messages that are copied to a temporary file in this folder. It has no name, so it is gone
    /// with its last user.
    pub fn spooled(
        session: Alpha<10>,
        folder: &Path,
    ) -> Result<(HistoryWriter, Self), HistoryError> {
        let failed =
            |operation| move |source| HistoryError { path: folder.to_owned(), operation, source };
        // Other users write to the folder too: none of them can have taken a name before.
        let file = tempfile::tempfile_in(folder).map_err(failed("create a file here for"))?;
        let spool = BufWriter::new(file.try_clone().map_err(failed("open the file here for"))?);
        Ok(Self::new(session, Store::File(Arc::new(file)), Some((spool, folder.to_owned()))))
    }

    fn new(
        session: Alpha<10>,
        store: Store,
        spool: Option<(BufWriter<File>, PathBuf)>,
    ) -> (HistoryWriter, Self) {
        let shared = Arc::new(Mutex::new(Shared { index: Vec::new(), next: 1, is_over: false }));
        let cursor = Entry { number: u64::MAX, offset: 0 };
        let writer = HistoryWriter {
            shared: Arc::clone(&shared),
            entries: Vec::new(),
            next: 1,
            end: u64::MAX,
            group: 0,
            spool,
        };
        let (buffer, buffer_at) = (Vec::new(), 0);
        (writer, Self { shared, store, session, buffer, buffer_at, cursor })
    }

    /// The message of a number; `None` if it is not published, or cannot be read.
    pub fn read(&mut self, number: u64) -> Option<&[u8]> {
        let entry = self.with(|shared| {
            (1..shared.next).contains(&number).then(|| {
                let after = shared.index.partition_point(|entry| entry.number <= number);
                shared.index[after - 1]
            })
        })?;
        let mut at = entry;
        if (entry.number + 1..=number).contains(&self.cursor.number) {
            at = self.cursor;
        }
        while at.number < number {
            let length = self.length_at(at.offset)?;
            at = Entry { number: at.number + 1, offset: at.offset + 2 + length };
        }
        let length = self.length_at(at.offset)?;
        self.cursor = Entry { number: number + 1, offset: at.offset + 2 + length };
        self.bytes_at(at.offset + 2, length as usize)
    }

    fn with<T>(&self, read: impl FnOnce(&Shared) -> T) -> T {
        read(&self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn length_at(&mut self, offset: u64) -> Option<u64> {
        let length = self.bytes_at(offset, 2)?.first_chunk::<2>()?;
        Some(u64::from(u16::from_be_bytes(*length)))
    }

    /// `length` bytes at an offset of the day.
    fn bytes_at(&mut self, offset: u64, length: usize) -> Option<&[u8]> {
        if let Store::File(file) = &self.store {
            let buffered = self.buffer_at..=self.buffer_at + self.buffer.len() as u64;
            let end = offset.checked_add(length as u64)?;
            if !(buffered.contains(&offset) && buffered.contains(&end)) {
                let file = Arc::clone(file);
                self.fill(&file, offset, length);
            }
        }
        let (bytes, first) = match &self.store {
            Store::Memory(bytes) => (bytes.as_slice(), 0),
            Store::File(_) => (self.buffer.as_slice(), self.buffer_at),
        };
        let start = usize::try_from(offset - first).ok()?;
        bytes.get(start..start.checked_add(length)?)
    }

    /// Reads the file from `offset` on. A short file leaves fewer bytes than needed.
    fn fill(&mut self, file: &File, offset: u64, need: usize) {
        self.buffer.resize(BUFFER_BYTES.max(need), 0);
        self.buffer_at = offset;
        let mut filled = 0;
        while filled < need {
            match file.read_at(&mut self.buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.buffer.truncate(filled);
    }
}

impl MessageStore for History {
    fn session(&self) -> Alpha<10> {
        self.session
    }

    fn next(&self) -> u64 {
        self.with(|shared| shared.next)
    }

    fn is_over(&self) -> bool {
        self.with(|shared| shared.is_over)
    }

    fn message(&mut self, number: u64) -> Option<&[u8]> {
        self.read(number)
    }
}

impl HistoryWriter {
    /// Adds a message whose record is at `offset` of the day. It is not published yet.
    pub fn push(&mut self, offset: u64, message: &[u8]) -> Result<(), HistoryError> {
        let offset = if self.spool.is_some() { self.spooled_at() } else { offset };
        if self.group == 0 || offset != self.end {
            self.entries.push(Entry { number: self.next, offset });
            self.group = 0;
        }
        self.group = (self.group + 1) % GROUP;
        self.end = offset + 2 + message.len() as u64;
        self.next += 1;
        if let Some((spool, path)) = &mut self.spool {
            let length = (message.len() as u16).to_be_bytes();
            let written = spool.write_all(&length).and_then(|()| spool.write_all(message));
            written.map_err(|source| write_failed(path, source))?;
        }
        Ok(())
    }

    /// Number of the next message.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Lets readers have the messages before number `next`, unless a reader holds the lock at this
    /// moment.
    pub fn publish(&mut self, next: u64) -> Result<(), HistoryError> {
        self.flush()?;
        let next = next.min(self.next);
        let shared = Arc::clone(&self.shared);
        match shared.try_lock() {
            Ok(mut shared) => self.share(&mut shared, next),
            Err(TryLockError::Poisoned(poisoned)) => self.share(&mut poisoned.into_inner(), next),
            Err(TryLockError::WouldBlock) => {}
        }
        Ok(())
    }

    /// Lets readers have all messages. `is_over`: there will be no more.
    pub fn finish(&mut self, is_over: bool) -> Result<(), HistoryError> {
        self.flush()?;
        let shared = Arc::clone(&self.shared);
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        self.share(&mut shared, self.next);
        shared.is_over = is_over;
        Ok(())
    }

    fn share(&mut self, shared: &mut Shared, next: u64) {
        shared.index.append(&mut self.entries);
        shared.next = shared.next.max(next);
    }

    fn flush(&mut self) -> Result<(), HistoryError> {
        match &mut self.spool {
            Some((spool, path)) => spool.flush().map_err(|source| write_failed(path, source)),
            None => Ok(()),
        }
    }

    /// Where the next record of the temporary file begins.
    fn spooled_at(&self) -> u64 {
        if self.next == 1 { 0 } else { self.end }
    }
}

fn write_failed(path: &Path, source: io::Error) -> HistoryError {
    HistoryError { path: path.to_owned(), operation: "write", source }
}

#[cfg(test)]
mod tests {
    use nanotape_harness::{Random, Scratch};

    use super::*;

    const SESSION: Alpha<10> = Alpha::new(*b"MONDAY    ");

    /// A day with bytes to skip between some records: its bytes, offsets and messages.
    fn day() -> (Vec<u8>, Vec<(u64, Vec<u8>)>) {
        let (mut random, mut bytes, mut messages) = (Random::new(3), Vec::new(), Vec::new());
        for _ in 0..1_000 {
            if random.below(40) == 0 {
                bytes.extend(vec![0xff; random.index(30)]);
            }
            let length = random.between(1, 60);
            let message = random.bytes(length);
            messages.push((bytes.len() as u64, message.clone()));
            bytes.extend((message.len() as u16).to_be_bytes());
            bytes.extend(message);
        }
        (bytes, messages)
    }

    fn check((mut writer, mut history): (HistoryWriter, History)) {
        let (_, messages) = day();
        let (mut random, mut published) = (Random::new(4), 0);
        for (index, (offset, message)) in messages.iter().enumerate() {
            writer.push(*offset, message).unwrap();
            if random.below(50) == 0 {
                writer.publish(index as u64 + 2).unwrap();
                published = index as u64 + 1;
            }
            assert_eq!((history.next(), history.is_over()), (published + 1, false));
            let number = random.below(1_100);
            let expected = (1..=published).contains(&number);
            let expected = expected.then(|| messages[number as usize - 1].1.as_slice());
            assert_eq!(history.read(number), expected, "message {number} of {published}");
        }
        writer.finish(true).unwrap();
        assert_eq!((history.next(), history.is_over(), writer.next()), (1_001, true, 1_001));
        for (number, (_, message)) in (1..).zip(&messages) {
            assert_eq!(history.message(number), Some(message.as_slice()));
        }
        for number in [0, 1_001, u64::MAX] {
            assert_eq!(history.read(number), None);
        }
        assert_eq!(history.session(), SESSION);
    }

    #[test]
    fn messages_are_read_by_number_from_memory_a_file_and_a_temporary_file() {
        let (bytes, _) = day();
        let folder = Scratch::folder("history");
        let path = folder.join("day.itch50");
        std::fs::write(&path, &bytes).unwrap();
        check(History::of_memory(SESSION, bytes));
        check(History::of_file(SESSION, &path).unwrap());
        std::fs::remove_file(&path).unwrap();
        check(History::spooled(SESSION, folder.path()).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
        let error = History::spooled(SESSION, &folder.join("none")).unwrap_err().to_string();
        assert!(error.contains("none: cannot create a file here for the messages"), "{error}");
        // Symptom: a file of another user under the name, which had the number of the process.
        let taken = folder.join(format!("nanotape-exchange-{}", std::process::id()));
        std::fs::write(&taken, "of another user").unwrap();
        check(History::spooled(SESSION, folder.path()).unwrap());
        assert_eq!(std::fs::read(&taken).unwrap(), b"of another user");
    }

    #[test]
    fn a_file_that_shrank_ends_the_answers() {
        let folder = Scratch::folder("history");
        let path = folder.join("day.itch50");
        let (bytes, messages) = day();
        std::fs::write(&path, &bytes[..messages[500].0 as usize + 3]).unwrap();
        let (mut writer, mut history) = History::of_file(SESSION, &path).unwrap();
        for (offset, message) in &messages {
            writer.push(*offset, message).unwrap();
        }
        writer.finish(true).unwrap();
        assert_eq!(history.read(500), Some(messages[499].1.as_slice()));
        for number in [501, 900] {
            assert_eq!(history.read(number), None);
        }
    }
}
