//! The operations of the simulated disk. Each can fail, or be the one at which everything stops.

use std::{io, ops::Range, path::PathBuf, sync::Arc};

use nanotape_journal::{Disk, Listed, Preallocation, ReadableFile, WritableFile};
use nanotape_shm::{ReadWord, RegionError, Word, as_read_only};

use super::{
    Machine, SimulatedDisk,
    file::{File, PAGE_WORDS, Words},
};
use crate::simulated::{faults::Fault, sites::What};

/// Held by an appender as long as it lives.
#[derive(Debug)]
pub(crate) struct Lock(SimulatedDisk);

impl Drop for Lock {
    fn drop(&mut self) {
        self.0.machine().is_locked = false;
    }
}

/// A mapping of a file.
#[derive(Debug)]
pub(crate) struct Mapped {
    disk: SimulatedDisk,
    file: usize,
    words: Words,
    /// The number of words when it was mapped.
    count: usize,
}

impl SimulatedDisk {
    fn map(&self, machine: &Machine, file: usize, bytes: u64) -> io::Result<Mapped> {
        let count = usize::try_from(bytes / 8).unwrap();
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let words = Arc::clone(&machine.files[file].words);
        Ok(Mapped { disk: self.clone(), file, words, count })
    }
}

impl Disk for SimulatedDisk {
    type Writable = Mapped;
    type Readable = Mapped;
    type Lock = Lock;

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("/simulated").join(name)
    }

    fn make(&self) -> io::Result<()> {
        self.machine().begin("make")
    }

    #[track_caller]
    fn sync_parent(&self) -> io::Result<()> {
        let mut machine = self.machine();
        // Nothing to write if the folder exists already.
        if !machine.is_folder_durable {
            machine.begin("sync_parent")?;
            machine.is_folder_durable = !machine.leaves_out(What::SyncNames);
        }
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<Listed>> {
        let mut machine = self.machine();
        machine.begin("list")?;
        let is_here = |(name, _): &(&String, &usize)| !name.contains('/');
        let listed = |(name, file): (&String, &usize)| Listed {
            name: name.clone(),
            bytes: machine.files[*file].bytes,
        };
        Ok(machine.names.iter().filter(is_here).map(listed).collect())
    }

    fn lock(&self) -> Result<Lock, RegionError> {
        let mut machine = self.machine();
        assert!(!machine.is_locked, "two appenders at a time");
        machine.is_locked = true;
        Ok(Lock(self.clone()))
    }

    fn create(&self, name: &str, bytes: u64, space: Preallocation) -> io::Result<Mapped> {
        let mut machine = self.machine();
        if machine.names.contains_key(name) {
            machine.begin("create")?;
            return Err(rustix::io::Errno::EXIST.into());
        }
        if let Err(error) = machine.begin("create") {
            if machine.faults.leaves_a_part() {
                machine.files.push(File::new(bytes / 2 / 8 * 8));
                let file = machine.files.len() - 1;
                machine.rename(None, Some(name), file);
            }
            return Err(error);
        }
        let mut file = File::new(bytes);
        if space == Preallocation::Written {
            file.sync(0..0);
        }
        machine.files.push(file);
        let file = machine.files.len() - 1;
        machine.rename(None, Some(name), file);
        self.map(&machine, file, bytes)
    }

    fn open(&self, name: &str, bytes: u64) -> io::Result<Mapped> {
        let mut machine = self.machine();
        let file = machine.file(name)?;
        machine.begin("open")?;
        if bytes > machine.files[file].bytes {
            machine.files[file].resize(bytes);
        }
        self.map(&machine, file, bytes)
    }

    fn view(&self, name: &str) -> io::Result<Mapped> {
        let mut machine = self.machine();
        let file = machine.file(name)?;
        machine.begin("view")?;
        let bytes = machine.files[file].bytes;
        self.map(&machine, file, bytes)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut machine = self.machine();
        machine.begin("read")?;
        let file = machine.file(name)?;
        Ok(machine.files[file].contents())
    }

    #[track_caller]
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut machine = self.machine();
        assert!(!machine.names.contains_key(name), "{name} is there already");
        let begun = machine.begin("write");
        let written = match &begun {
            Ok(()) => bytes,
            Err(_) if machine.faults.leaves_a_part() => &bytes[..bytes.len() / 2],
            Err(_) => return begun,
        };
        let mut file = File::new(written.len() as u64);
        for (word, chunk) in file.words.iter().zip(written.chunks(8)) {
            let mut value = [0; 8];
            value[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_ne_bytes(value));
        }
        if begun.is_ok() && !machine.leaves_out(What::Write) {
            file.sync(0..file.words.len());
        }
        machine.files.push(file);
        let file = machine.files.len() - 1;
        machine.rename(None, Some(name), file);
        begun
    }

    #[track_caller]
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut machine = self.machine();
        let file = machine.file(from)?;
        machine.begin("rename")?;
        if machine.leaves_out(What::Rename) {
            return Ok(());
        }
        machine.rename(Some(from), Some(to), file);
        Ok(())
    }

    #[track_caller]
    fn remove(&self, name: &str) -> io::Result<()> {
        let mut machine = self.machine();
        let file = machine.file(name)?;
        machine.begin("remove")?;
        if machine.leaves_out(What::Remove) {
            return Ok(());
        }
        machine.rename(Some(name), None, file);
        Ok(())
    }

    #[track_caller]
    fn shrink(&self, name: &str, bytes: u64) -> io::Result<()> {
        let mut machine = self.machine();
        let file = machine.file(name)?;
        machine.begin("shrink")?;
        if machine.leaves_out(What::Shrink) {
            return Ok(());
        }
        machine.files[file].resize(bytes);
        Ok(())
    }

    #[track_caller]
    fn store(&self, name: &str, word: usize, value: u64) -> io::Result<()> {
        let mut machine = self.machine();
        let file = machine.file(name)?;
        machine.begin("store")?;
        if machine.leaves_out(What::StoreInFile) {
            return Ok(());
        }
        let file = &mut machine.files[file];
        file.taken_clean.remove(&(word / PAGE_WORDS));
        file.words[word].store(value);
        Ok(())
    }

    #[track_caller]
    fn sync(&self, name: &str) -> io::Result<()> {
        let mut machine = self.machine();
        let file = machine.file(name)?;
        let words = machine.files[file].words.len();
        machine.sync(file, 0..words)
    }

    #[track_caller]
    fn sync_names(&self) -> io::Result<()> {
        let mut machine = self.machine();
        machine.begin("sync_names")?;
        if machine.leaves_out(What::SyncNames) {
            return Ok(());
        }
        machine.durable_names = machine.names.clone();
        machine.pending.clear();
        Ok(())
    }

    fn free_bytes(&self) -> u64 {
        1 << 30
    }

    fn boot(&self) -> u64 {
        self.machine().boot
    }
}

impl Machine {
    #[track_caller]
    fn sync(&mut self, file: usize, words: Range<usize>) -> io::Result<()> {
        if self.is_dead {
            return Err(Fault::Io.error());
        }
        let begun = self.begin("sync");
        if self.leaves_out(What::Sync) {
            return begun;
        }
        let file = &mut self.files[file];
        match &begun {
            Ok(()) => file.sync(words),
            Err(_) => file.fail_to_sync(words, &mut self.dice),
        }
        begun
    }
}

impl WritableFile for Mapped {
    fn words(&self) -> &[Word] {
        &self.words[..self.count]
    }

    #[track_caller]
    fn sync(&self, words: Range<usize>) -> io::Result<()> {
        self.disk.machine().sync(self.file, words)
    }
}

impl ReadableFile for Mapped {
    fn words(&self) -> &[ReadWord] {
        as_read_only(&self.words[..self.count])
    }

    fn is_lost(&self) -> bool {
        false
    }

    fn is_at(&self, name: &str) -> bool {
        self.disk.machine().names.get(name) == Some(&self.file)
    }
}
