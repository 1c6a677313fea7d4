//! bcast: a ring of frames in a mapped file, whose writer overtakes slow readers.
//!
//! The writer publishes where it will write next and where it has written. A reader copies a
//! message and then checks that the writer has not come round to it. There are three ways to
//! read, and a program for each.

use std::path::Path;

use bcast::{
    Error, HEADER_SIZE, MappedReader, MappedWriter, MmapMutStorage, MmapStorage, StorageExt,
};
use rivals_measure::Failure;

use crate::{
    broadcast,
    options::Options,
    report::Run,
    work::{Message, Reader, Writer},
};

const CAPACITY: usize = 8 << 20;

pub(super) fn run_single(options: &Options) -> Result<Option<Run>, Failure> {
    broadcast::run(options, create, |path| open(path).map(Single::new))
}

pub(super) fn run_batch(options: &Options) -> Result<Option<Run>, Failure> {
    broadcast::run(options, create, |path| open(path).map(Batches::new))
}

pub(super) fn run_bulk(options: &Options) -> Result<Option<Run>, Failure> {
    broadcast::run(options, create, |path| Ok(Bulk::new(open(path)?, CAPACITY)))
}

fn create(path: &Path) -> Result<MappedWriter, Failure> {
    create_with(path, CAPACITY)
}

fn create_with(path: &Path, capacity: usize) -> Result<MappedWriter, Failure> {
    Ok(MmapMutStorage::new(path, HEADER_SIZE + capacity).map_err(unlocked)?.into_writer())
}

fn open(path: &Path) -> Result<MappedReader, Failure> {
    Ok(MmapStorage::attach(path).map_err(unlocked)?.into_reader())
}

/// The crate locks its mappings in memory. The usual reason to fail is the limit of that.
fn unlocked(error: std::io::Error) -> String {
    format!("{error}; each ring locks 8 MiB: check the limit of locked memory (ulimit -l)")
}

impl Writer for MappedWriter {
    #[inline]
    fn send(&mut self, message: &Message) -> Result<(), Failure> {
        MappedWriter::send(self, message, true);
        Ok(())
    }
}

/// One message for each call.
struct Single {
    ring: MappedReader,
    copy: Message,
    laps: u64,
}

impl Single {
    fn new(ring: MappedReader) -> Self {
        Self { ring, copy: [0; 73], laps: 0 }
    }
}

impl Reader for Single {
    #[inline]
    fn poll(&mut self, see: &mut impl FnMut(&Message)) -> Result<usize, Failure> {
        match self.ring.receive_next(&mut self.copy) {
            Some(Ok(message)) => {
                see(message.payload.try_into()?);
                Ok(1)
            }
            Some(Err(Error::Overrun(_))) => {
                self.ring.reset();
                self.laps += 1;
                Ok(0)
            }
            Some(Err(error)) => Err(error.into()),
            None => Ok(0),
        }
    }

    fn laps(&self) -> u64 {
        self.laps
    }
}

/// All available messages for each call, each copied on its own.
struct Batches {
    ring: MappedReader,
    copy: Message,
    laps: u64,
}

impl Batches {
    fn new(ring: MappedReader) -> Self {
        Self { ring, copy: [0; 73], laps: 0 }
    }
}

impl Reader for Batches {
    #[inline]
    fn poll(&mut self, see: &mut impl FnMut(&Message)) -> Result<usize, Failure> {
        let Some(mut batch) = self.ring.read_batch() else { return Ok(0) };
        let mut count = 0;
        while let Some(message) = batch.receive_next(&mut self.copy) {
            match message {
                Ok(message) => see(message.payload.try_into()?),
                Err(Error::Overrun(_)) => {
                    batch.reset();
                    self.laps += 1;
                    break;
                }
                Err(error) => return Err(error.into()),
            }
            count += 1;
        }
        Ok(count)
    }

    fn laps(&self) -> u64 {
        self.laps
    }
}

/// All available messages for each call, copied together.
struct Bulk {
    ring: MappedReader,
    /// As large as the ring, because a call copies everything that is available or nothing.
    bytes: Vec<u8>,
    laps: u64,
}

impl Bulk {
    fn new(ring: MappedReader, capacity: usize) -> Self {
        // Written once, so that its pages exist before the run.
        Self { ring, bytes: vec![1; capacity], laps: 0 }
    }
}

impl Reader for Bulk {
    #[inline]
    fn poll(&mut self, see: &mut impl FnMut(&Message)) -> Result<usize, Failure> {
        let Some(bulk) = self.ring.read_bulk() else { return Ok(0) };
        match bulk.and_then(|bulk| bulk.into_iter(&mut self.bytes)) {
            Ok(messages) => {
                let mut count = 0;
                for message in messages {
                    see(message.payload.try_into()?);
                    count += 1;
                }
                Ok(count)
            }
            Err(Error::Overrun(_)) => {
                self.ring.reset();
                self.laps += 1;
                Ok(0)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn laps(&self) -> u64 {
        self.laps
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rivals_measure::{message, scratch};

    use super::*;

    fn overtaken<R: Reader>(name: &str, reader: impl Fn(MappedReader) -> R) {
        let folder = Path::new("/dev/shm").join(format!("{}{name}", scratch::prefix()));
        let path = folder.join("ring");
        let mut writer = create_with(&path, 64 << 10).unwrap();
        let mut reader = reader(open(&path).unwrap());
        fs::remove_dir_all(folder).unwrap();
        let mut sent = 0;
        let mut send = |count| {
            for _ in 0..count {
                let mut message = [0; 73];
                sent += 1;
                message::fill(&mut message, sent);
                Writer::send(&mut writer, &message).unwrap();
            }
        };
        let mut read = || {
            let mut sequences = vec![];
            while reader.poll(&mut |message| sequences.push(message::head(message)[0])).unwrap() > 0
            {
            }
            (sequences, reader.laps())
        };
        send(100);
        assert_eq!(read(), ((1..=100).collect(), 0));
        // The ring has room for 744 frames of 88 bytes.
        send(1_000);
        assert_eq!(read(), (vec![], 1));
        send(2);
        assert_eq!(read(), (vec![1_101, 1_102], 1));
    }

    #[test]
    fn an_overtaken_reader_counts_a_lap_and_goes_on_with_the_next_message() {
        overtaken("single", Single::new);
        overtaken("batches", Batches::new);
        overtaken("bulk", |ring| Bulk::new(ring, 64 << 10));
    }
}
