//! The file of the next segment, which a thread creates while the copy writes the current one.
//!
//! Where: a copy learns the header of a segment when it begins, and expects the size of the one
//! before. So the file gets a name of a file that is being created, and its header later.
//! Failure: without room, or after another process removed the file, the copy creates the segment
//! itself and has the reason.

use std::thread::{self, JoinHandle};

use crate::{
    disk::{Disk, Preallocation, WritableFile as _},
    names,
};

/// The most bytes of the file whose pages are brought into memory. Those after them are touched
/// when the copy comes there.
const MOST_TOUCHED_BYTES: usize = 64 << 20;

/// The next file, or the thread that creates it.
#[derive(Debug)]
pub(crate) struct Ahead<D: Disk> {
    disk: D,
    bytes: u64,
    thread: Option<JoinHandle<Option<D::Writable>>>,
}

/// A file without a header, and the word before which its pages are in memory.
#[derive(Debug)]
pub(crate) struct Blank<F> {
    pub(crate) file: F,
    pub(crate) touched: usize,
}

impl<D: Disk> Ahead<D> {
    /// Starts to create a file of so many bytes.
    pub(crate) fn start(disk: &D, bytes: u64) -> Self {
        let thread = thread::Builder::new().name("next-segment".to_owned()).spawn({
            let disk = disk.clone();
            move || create(&disk, bytes)
        });
        // Without a thread the copy creates the file itself.
        Self { disk: disk.clone(), bytes, thread: thread.ok() }
    }

    /// The file, if it has so many bytes. Waits for it: the copy cannot create it sooner.
    pub(crate) fn take(mut self, bytes: u64) -> Option<Blank<D::Writable>> {
        if self.bytes != bytes {
            return None;
        }
        let file = self.thread.take()?.join().ok()??;
        Some(Blank { touched: touched_words(bytes), file })
    }
}

impl<D: Disk> Drop for Ahead<D> {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
            self.disk.discard(&names::ahead());
        }
    }
}

fn create<D: Disk>(disk: &D, bytes: u64) -> Option<D::Writable> {
    let name = names::ahead();
    disk.discard(&name);
    match disk.create(&name, bytes, Preallocation::Reserved) {
        Ok(file) => {
            file.touch(0..touched_words(bytes));
            Some(file)
        }
        Err(_) => {
            disk.discard(&name);
            None
        }
    }
}

fn touched_words(bytes: u64) -> usize {
    usize::try_from(bytes).map_or(MOST_TOUCHED_BYTES, |bytes| bytes.min(MOST_TOUCHED_BYTES)) / 8
}
