//! A stream that a second thread reads and, if compressed, decompresses.
//!
//! ```text
//!   second thread: read -> decompress -> [ full blocks, at most BLOCKS_AHEAD ] -> the books
//!                     ^------------------- [ empty blocks ] <----------------------+
//! ```
//!
//! Every buffer has headroom before its data. Unused bytes of a block are copied into the headroom
//! of the next, directly before its data. So the bytes are contiguous, and less than one record per
//! block is copied.
//! Bounds: `BLOCKS_AHEAD + 2` buffers exist, allocated at the start and reused.
//! Failure: an error is delivered after the good data. The thread ends when either side
//! disconnects.

use std::{
    fmt,
    io::{self, Read},
    panic,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel},
    },
    thread,
    time::Duration,
};

use super::{
    Block, Compression, MAX_UNUSED_BYTES, Progress, SourceError,
    decoder::{Decode, Fault},
};

/// Data bytes of one block.
pub(super) const BLOCK_BYTES: usize = 1 << 20;

/// Blocks that may wait for the reader.
pub(super) const BLOCKS_AHEAD: usize = 6;

pub(super) struct StreamBlocks {
    full: Receiver<Delivery>,
    empty: Sender<Vec<u8>>,
    /// The buffer that was returned last, and the range of its data.
    current: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    ended: bool,
    /// Whether the current block is returned once more.
    is_peeked: bool,
    fault: Option<SourceError>,
    compressed_bytes_read: Arc<AtomicU64>,
    thread: Option<thread::JoinHandle<()>>,
    total_bytes: Option<u64>,
    /// How long to wait for more bytes; `None` waits without limit.
    patience: Option<Duration>,
}

/// Omits the buffers.
impl fmt::Debug for StreamBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamBlocks")
            .field("offset", &self.offset)
            .field("ended", &self.ended)
            .field("fault", &self.fault)
            .field("total_bytes", &self.total_bytes)
            .finish_non_exhaustive()
    }
}

enum Delivery {
    /// A buffer with data from `MAX_UNUSED_BYTES` to its end.
    Data {
        buffer: Vec<u8>,
        end: usize,
    },
    End(Result<(), SourceError>),
}

impl StreamBlocks {
    pub(super) fn start(
        name: String,
        input: impl Read + Send + 'static,
        total_bytes: Option<u64>,
    ) -> io::Result<Self> {
        let (full_sender, full) = sync_channel(BLOCKS_AHEAD);
        let (empty, empty_receiver) = channel();
        let compressed_bytes_read = Arc::new(AtomicU64::new(0));
        for _ in 0..BLOCKS_AHEAD + 1 {
            // Cannot fail: the receiver is in scope.
            let _ = empty.send(vec![0; MAX_UNUSED_BYTES + BLOCK_BYTES]);
        }
        // A pipe may deliver nothing more for a while: its bytes are passed on at once.
        let is_eager = total_bytes.is_none();
        let input = CountedRead { input, counter: Arc::clone(&compressed_bytes_read) };
        let thread = thread::Builder::new().name("nanotape-read".to_owned()).spawn(move || {
            let full = full_sender.clone();
            let produce =
                panic::AssertUnwindSafe(|| produce(&name, input, is_eager, &full, &empty_receiver));
            // Without this, the reader would take a panic for the end of the input.
            let result = panic::catch_unwind(produce).unwrap_or_else(|_| {
                let source = io::Error::other("the reading thread panicked");
                Err(SourceError::System { operation: "read", name: name.clone(), source })
            });
            let _ = full_sender.send(Delivery::End(result));
        })?;
        Ok(Self {
            full,
            empty,
            current: vec![0; MAX_UNUSED_BYTES + BLOCK_BYTES],
            start: MAX_UNUSED_BYTES,
            end: MAX_UNUSED_BYTES,
            offset: 0,
            ended: false,
            is_peeked: false,
            fault: None,
            compressed_bytes_read,
            thread: Some(thread),
            total_bytes,
            patience: None,
        })
    }

    pub(super) fn set_patience(&mut self, patience: Duration) {
        self.patience = Some(patience);
    }

    pub(super) fn next_block(&mut self, used_bytes: usize) -> Block<'_> {
        self.start = (self.start + used_bytes).min(self.end);
        self.offset += used_bytes as u64;
        if !self.ended && !std::mem::take(&mut self.is_peeked) {
            let delivery = match self.patience {
                Some(patience) => self.full.recv_timeout(patience),
                None => self.full.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match delivery {
                Ok(Delivery::Data { buffer, end }) => self.join(buffer, end),
                Ok(Delivery::End(result)) => {
                    self.ended = true;
                    self.fault = result.err();
                }
                Err(RecvTimeoutError::Timeout) => {}
                // The thread always sends an end before it exits.
                Err(RecvTimeoutError::Disconnected) => self.ended = true,
            }
        }
        let bytes = &self.current[self.start..self.end];
        Block { offset: self.offset, bytes, is_last: self.ended }
    }

    /// The next block, which the next call of `next_block` returns again. So does the next call of
    /// this, unless the block has fewer than `needed_bytes`: then it waits for more.
    pub(super) fn peek(&mut self, needed_bytes: usize) -> Block<'_> {
        if !self.is_peeked || self.end - self.start < needed_bytes {
            self.is_peeked = false;
            self.next_block(0);
            self.is_peeked = true;
        }
        let bytes = &self.current[self.start..self.end];
        Block { offset: self.offset, bytes, is_last: self.ended }
    }

    /// Makes `buffer` the current one, and puts the unused bytes of the last one before its data.
    fn join(&mut self, mut buffer: Vec<u8>, end: usize) {
        let unused = &self.current[self.start..self.end];
        let mut start = MAX_UNUSED_BYTES;
        if unused.len() <= start {
            start -= unused.len();
            buffer[start..MAX_UNUSED_BYTES].copy_from_slice(unused);
            self.end = end;
        } else {
            // Reached only if a reader breaks its contract: slower, but correct.
            let data = &buffer[MAX_UNUSED_BYTES..end];
            let joined = [unused, data].concat();
            (start, self.end, buffer) = (0, joined.len(), joined);
        }
        self.start = start;
        let returned = std::mem::replace(&mut self.current, buffer);
        if returned.len() == MAX_UNUSED_BYTES + BLOCK_BYTES {
            // The thread may have ended already; then the buffer is not needed.
            let _ = self.empty.send(returned);
        } else {
            let _ = self.empty.send(vec![0; MAX_UNUSED_BYTES + BLOCK_BYTES]);
        }
    }

    pub(super) fn take_fault(&mut self) -> Option<SourceError> {
        self.fault.take()
    }

    pub(super) fn has_fault(&self) -> bool {
        self.fault.is_some()
    }

    pub(super) fn progress(&self) -> Progress {
        let done_bytes = self.compressed_bytes_read.load(Ordering::Relaxed);
        Progress { done_bytes, total_bytes: self.total_bytes }
    }
}

/// Joins a thread that has sent its end. A thread that still reads is not joined: it may be waiting
/// for a pipe that stays open, and it ends at its next block.
impl Drop for StreamBlocks {
    fn drop(&mut self) {
        if self.ended
            && let Some(thread) = self.thread.take()
        {
            // Panics of the thread were caught and sent as errors.
            let _ = thread.join();
        }
    }
}

/// The second thread: fills empty buffers until the input ends or the reader disconnects.
fn produce(
    name: &str,
    mut input: CountedRead<impl Read>,
    is_eager: bool,
    full: &SyncSender<Delivery>,
    empty: &Receiver<Vec<u8>>,
) -> Result<(), SourceError> {
    let system = |operation, source| SourceError::System { operation, name: name.into(), source };
    let mut first = [0; Compression::MAGIC_BYTES];
    let mut have = 0;
    while have < first.len() {
        match input.read(&mut first[have..]) {
            Ok(0) => break,
            Ok(bytes) => have += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(system("read", error)),
        }
    }
    let compression = Compression::of(&first[..have]);
    let whole = first[..have].chain(input);
    let mut decoder = compression.decoder(whole).map_err(|error| system("decompress", error))?;
    let mut delivered_bytes = 0u64;
    while let Ok(mut buffer) = empty.recv() {
        let (filled, result) = fill(&mut *decoder, is_eager, &mut buffer[MAX_UNUSED_BYTES..]);
        delivered_bytes += filled as u64;
        let end = MAX_UNUSED_BYTES + filled;
        let wanted = filled == 0 || full.send(Delivery::Data { buffer, end }).is_ok();
        match result {
            Ok(true) if wanted => {}
            Ok(_) => return Ok(()),
            Err(fault) => return Err(fault.into_error(name, compression, delivered_bytes)),
        }
    }
    Ok(())
}

/// Fills the buffer, or only with what is available if `is_eager`. Returns the bytes filled, and
/// whether more may follow or which fault came after them.
fn fill(input: &mut dyn Decode, is_eager: bool, buffer: &mut [u8]) -> (usize, Result<bool, Fault>) {
    let mut filled = 0;
    while filled < buffer.len() {
        let (bytes, result) = input.decode(&mut buffer[filled..]);
        filled += bytes;
        match result {
            Err(fault) => return (filled, Err(fault)),
            Ok(()) if bytes == 0 => return (filled, Ok(false)),
            Ok(()) if is_eager => break,
            Ok(()) => {}
        }
    }
    (filled, Ok(true))
}

/// Counts the bytes read through it, for progress.
struct CountedRead<R> {
    input: R,
    counter: Arc<AtomicU64>,
}

impl<R: Read> Read for CountedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.read(buffer)?;
        self.counter.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}
