//! Writes a file on a thread of its own, while the caller makes the next bytes.
//!
//! Bounds: [`BUFFERS`] buffers. If all are full, the caller waits.
//! Failure: an error of the file is returned by a later call, at the latest by `flush`. The file is
//! then incomplete, as it is without a `flush` at the end.

use std::{
    fs::File,
    io::{self, Write},
    mem,
    panic::resume_unwind,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{Builder, JoinHandle, available_parallelism},
};

/// Bytes in a buffer. Large, because each one that is handed over wakes a thread.
const BUFFER_BYTES: usize = 256 << 10;

/// One that is filled, one that is written, and one between them.
const BUFFERS: usize = 3;

/// A file that is written behind its caller. The thread begins with the first full buffer, if the
/// process may use a second processor.
pub(crate) struct Behind {
    file: Arc<File>,
    buffer: Vec<u8>,
    writer: Option<Writer>,
    may_start: bool,
}

struct Writer {
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
}

impl Behind {
    pub(crate) fn new(file: File) -> Self {
        let may_start = available_parallelism().is_ok_and(|processors| processors.get() > 1);
        Self { file: Arc::new(file), buffer: Vec::new(), writer: None, may_start }
    }

    /// Writes the buffer, or lets the thread write it.
    fn hand_over(&mut self) -> io::Result<()> {
        if self.may_start && self.writer.is_none() {
            self.writer = Writer::start(&self.file);
            self.may_start = self.writer.is_some();
        }
        let Some(Writer { full, empty, .. }) = &self.writer else {
            (&*self.file).write_all(&self.buffer)?;
            self.buffer.clear();
            return Ok(());
        };
        let taken = empty.recv().is_ok_and(|empty| {
            let buffer = mem::replace(&mut self.buffer, empty);
            full.send(buffer).is_ok()
        });
        if taken { Ok(()) } else { self.end() }
    }

    /// Waits until the thread has written everything, and returns its error. What comes after that
    /// is written by the caller.
    fn end(&mut self) -> io::Result<()> {
        self.may_start = false;
        let Some(Writer { full, thread, .. }) = self.writer.take() else { return Ok(()) };
        drop(full);
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Writer {
    fn start(file: &Arc<File>) -> Option<Self> {
        let (full, to_write) = sync_channel::<Vec<u8>>(BUFFERS);
        let (written, empty) = sync_channel(BUFFERS);
        for _ in 1..BUFFERS {
            // There is room for all of them.
            let _ = written.try_send(Vec::new());
        }
        let file = Arc::clone(file);
        let writing = move || {
            for mut buffer in to_write {
                (&*file).write_all(&buffer)?;
                buffer.clear();
                // The caller needs no more buffers if it ends now.
                let _ = written.send(buffer);
            }
            Ok(())
        };
        let thread = Builder::new().name("nanotape-write".to_owned()).spawn(writing).ok()?;
        Some(Self { full, empty, thread })
    }
}

impl Write for Behind {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES && !self.buffer.is_empty() {
            self.hand_over()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // The rest is not worth a thread.
        self.may_start = false;
        if !self.buffer.is_empty() {
            self.hand_over()?;
        }
        self.end()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use nanotape_harness::Scratch;

    use super::*;

    /// Bytes of which a lost, repeated or swapped piece is seen.
    fn bytes(length: usize) -> Vec<u8> {
        (0..length as u32).flat_map(|number| number.to_le_bytes()).take(length).collect()
    }

    #[test]
    fn a_file_has_all_bytes_in_their_order() {
        let scratch = Scratch::new("behind");
        let path = scratch.path();
        for (length, piece) in [(0, 1), (1000, 7), (5 << 20, 65_537), (3 << 20, 1 << 20)] {
            for may_start in [true, false] {
                let mut behind = Behind::new(File::create(path).unwrap());
                behind.may_start = may_start;
                let bytes = bytes(length);
                bytes.chunks(piece).for_each(|piece| behind.write_all(piece).unwrap());
                assert_eq!(behind.writer.is_some(), may_start && length > 1 << 20);
                behind.flush().unwrap();
                // Also what comes after.
                behind.write_all(b"end").unwrap();
                behind.flush().unwrap();
                assert!(fs::read(path).unwrap() == [&bytes[..], b"end"].concat(), "{length}");
            }
        }
    }

    #[test]
    fn an_error_of_the_file_is_returned() {
        for may_start in [true, false] {
            let mut behind = Behind::new(File::options().write(true).open("/dev/full").unwrap());
            behind.may_start = may_start;
            let bytes = bytes(5 << 20);
            let written = bytes.chunks(65_537).try_for_each(|piece| behind.write_all(piece));
            let result = written.and_then(|()| behind.flush());
            assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
    }
}
