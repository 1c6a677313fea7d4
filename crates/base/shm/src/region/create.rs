//! How a process becomes the owner of a region: it creates one, or takes over one whose owner
//! exited.
//!
//! Protocol: `docs/formats/region.md`. A file is initialised only once: the incomplete file of a
//! killed creator is removed and replaced, so that no reader ever has words of one region that
//! become another's.
//! Failure: a creator that ends between any two steps leaves no file, or a file that readers refuse
//! and the next creator replaces.

use std::{fs::File, os::unix::fs::FileExt as _, os::unix::fs::MetadataExt as _, path::Path};

use rustix::{
    fs::{FallocateFlags, Mode, fallocate, fchmod, fstatfs, ftruncate},
    io::Errno,
    process::{Resource, getrlimit},
};

use super::{
    Ending, OwnedRegion, RegionSpec,
    file::{RegionFile, absolute},
    header::{Header, constant_words, identity},
    mapping::{Access, Mapping, huge_block_bytes, whole_blocks},
    memory::{MappedFile, Memory},
    owner::{Owner, OwnerState},
    refusal::{Refusal, RegionError},
};
use crate::word::Word;

/// Limit of attempts while other processes keep creating files at the path.
const ATTEMPTS: usize = 16;

/// An owner's options for its region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegionOptions {
    /// Permission bits of the file, independent of the umask. 0600 by default: the operator decides
    /// which users may read the market data of this plant.
    pub mode: u32,
    /// Lock the pages in memory, within `RLIMIT_MEMLOCK`.
    pub lock: bool,
    /// Request huge pages.
    pub huge_pages: bool,
    /// Keep the pages on this memory node (NUMA). A node that does not exist, and a kernel that
    /// refuses on a machine with several nodes, are errors.
    pub node: Option<u32>,
    /// The creation time of a new region that is a copy of another one: that of the other. So both
    /// are the same to readers that compare creation times. `None`: now.
    pub created_ns: Option<u64>,
}

impl Default for RegionOptions {
    fn default() -> Self {
        Self { mode: 0o600, lock: false, huge_pages: false, node: None, created_ns: None }
    }
}

/// The origin of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The region is new.
    Created,
    /// The region existed, and its owner had exited.
    TakenOver {
        /// The previous owner, [`OwnerState::Closed`] or [`OwnerState::Dead`].
        previous: Owner,
    },
}

/// The action for an existing region without an owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Existing {
    TakeOver,
    /// Left as it is.
    Keep,
    Replace,
    /// As `TakeOver`, but a file that begins with zeros is replaced.
    ReplaceZeros,
}

impl OwnedRegion {
    /// Creates a region, or takes over one of the same spec and user whose owner exited.
    /// `initialise` gets the words of a new region, all zero, before any reader.
    pub fn create(
        path: &Path,
        spec: RegionSpec,
        options: &RegionOptions,
        initialise: impl FnOnce(&[Word]),
    ) -> Result<(Self, Origin), RegionError> {
        create(path, spec, options, Existing::TakeOver, initialise)
    }

    /// Creates a region that replaces the existing file, whatever its spec, unless its owner is
    /// alive or it is not a region. Readers of the old one keep their words; [`check`] returns an
    /// error.
    ///
    /// [`check`]: crate::SharedRegion::check
    pub fn replace(
        path: &Path,
        spec: RegionSpec,
        options: &RegionOptions,
        initialise: impl FnOnce(&[Word]),
    ) -> Result<(Self, Origin), RegionError> {
        create(path, spec, options, Existing::Replace, initialise)
    }

    /// As [`create`](Self::create), but a file that begins with zeros is replaced if no process has
    /// it locked: a loss of power may leave a region's file like that. Only for a path that is
    /// never used for other files.
    pub fn replace_zeros(
        path: &Path,
        spec: RegionSpec,
        options: &RegionOptions,
        initialise: impl FnOnce(&[Word]),
    ) -> Result<(Self, Origin), RegionError> {
        create(path, spec, options, Existing::ReplaceZeros, initialise)
    }

    /// Takes over an existing region of this user whose owner exited, whatever its parameters.
    pub fn take_over(
        path: &Path,
        kind: [u8; 8],
        layout: u64,
        options: &RegionOptions,
    ) -> Result<(Self, Origin), RegionError> {
        for _ in 0..ATTEMPTS {
            let file = RegionFile::open(path, Access::Write)?;
            file.require_own(options.mode)?;
            file.take_lock()?;
            if file.is_at_its_path()? {
                let header = file.header()?.map_err(|refusal| file.refuse(refusal))?;
                same_meaning(&header.spec, kind, layout).map_err(|r| file.refuse(r))?;
                return take(file, header, options);
            }
        }
        Err(RegionError::new(path, Refusal::Contended))
    }
}

pub(super) fn create(
    path: &Path,
    spec: RegionSpec,
    options: &RegionOptions,
    existing: Existing,
    initialise: impl FnOnce(&[Word]),
) -> Result<(OwnedRegion, Origin), RegionError> {
    let path = &absolute(path)?;
    let too_large = Refusal::TooLarge { words: spec.words as u64 };
    let region_bytes = spec.region_bytes().ok_or(RegionError::new(path, too_large))?;
    for _ in 0..ATTEMPTS {
        // Keeps the lock of the existing file until the new file has one.
        let there = match RegionFile::open(path, Access::Write) {
            Ok(file) => Some(file),
            Err(error) if *error.refusal() == Refusal::NotFound => None,
            Err(error) => return Err(error),
        };
        if let Some(file) = &there {
            if existing != Existing::Replace {
                file.require_own(options.mode)?;
            }
            file.take_lock().map_err(|error| match existing {
                // Another process is replacing it too.
                Existing::ReplaceZeros if is_zeros(error.refusal()) => {
                    file.refuse(Refusal::BeingCreated)
                }
                _ => error,
            })?;
            if !file.is_at_its_path()? {
                continue;
            }
            match file.header()? {
                Err(Refusal::HalfCreated) => file.unlink()?,
                Err(refusal) if existing == Existing::ReplaceZeros && is_zeros(&refusal) => {
                    file.unlink()?;
                }
                Err(refusal @ Refusal::NotARegion { .. }) => return Err(file.refuse(refusal)),
                _ if existing == Existing::Replace => file.unlink()?,
                Err(refusal) => return Err(file.refuse(refusal)),
                Ok(_) if existing == Existing::Keep => {
                    return Err(file.refuse(Refusal::Contended));
                }
                Ok(header) => {
                    same_spec(&header.spec, &spec).map_err(|refusal| file.refuse(refusal))?;
                    if let Some(file) = there {
                        return take(file, header, options);
                    }
                }
            }
        }
        let Some(file) = RegionFile::create(path)? else { continue };
        file.take_lock()?;
        if file.is_at_its_path()? {
            return make(file, spec, region_bytes, options, initialise);
        }
    }
    Err(RegionError::new(path, Refusal::Contended))
}

/// Whether a file begins with eight zeros.
fn is_zeros(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::NotARegion { found: [0, 0, 0, 0, 0, 0, 0, 0], .. })
}

pub(super) fn same_meaning(found: &RegionSpec, kind: [u8; 8], layout: u64) -> Result<(), Refusal> {
    if found.kind != kind {
        return Err(Refusal::Kind { found: found.kind, expected: kind });
    }
    if found.layout != layout {
        return Err(Refusal::Layout { found: found.layout, expected: layout });
    }
    Ok(())
}

pub(super) fn same_spec(found: &RegionSpec, expected: &RegionSpec) -> Result<(), Refusal> {
    same_meaning(found, expected.kind, expected.layout)?;
    if found == expected {
        return Ok(());
    }
    Err(Refusal::Parameters {
        found: found.parameters,
        found_words: found.words as u64,
        expected: expected.parameters,
        expected_words: expected.words as u64,
    })
}

/// Makes a region of an empty file that this process created and locked; removes the file on
/// failure.
fn make(
    file: RegionFile,
    spec: RegionSpec,
    region_bytes: u64,
    options: &RegionOptions,
    initialise: impl FnOnce(&[Word]),
) -> Result<(OwnedRegion, Origin), RegionError> {
    let prepared = prepare(file.file(), region_bytes, options);
    let (mapping, residency) = match prepared {
        Ok(prepared) => prepared,
        Err(refusal) => {
            file.unlink()?;
            return Err(file.refuse(refusal));
        }
    };
    let constant = constant_words(&spec, region_bytes);
    for (word, value) in mapping.constant_words().iter().zip(constant) {
        word.store(value);
    }
    let memory = Memory::of_file(MappedFile { mapping, file, region_bytes }, spec.words);
    initialise(memory.words());
    memory.create(options.created_ns.unwrap_or_else(now_ns));
    let epoch = 1;
    memory.take(epoch);
    let region = OwnedRegion { memory, spec, epoch, residency, ending: Ending::Closed };
    Ok((region, Origin::Created))
}

/// The time in ns since the UNIX epoch, never 0.
fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    let (seconds, nanos) = (now.tv_sec.cast_unsigned(), now.tv_nsec.cast_unsigned());
    seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos).max(1)
}

/// Sets mode and identity of an empty file, allocates all of its pages, and maps it.
fn prepare(
    file: &File,
    region_bytes: u64,
    options: &RegionOptions,
) -> Result<(Mapping, super::Residency), Refusal> {
    set_mode(file, options).map_err(Refusal::system("set the mode of"))?;
    let file_bytes = whole_blocks(file, region_bytes)?;
    let limit_bytes = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    if file_bytes > limit_bytes || i64::try_from(file_bytes).is_err() {
        // Otherwise the kernel sends the signal SIGXFSZ.
        return Err(Refusal::system("reserve the bytes of")(Errno::FBIG));
    }
    if huge_block_bytes(file).is_some() {
        // Such a file cannot be written before it has pages.
        ftruncate(file, file_bytes).map_err(Refusal::system("reserve the bytes of"))?;
    } else {
        write(file, &identity(), 0).map_err(no_space(file, file_bytes))?;
    }
    if !allocate(file, file_bytes)? {
        write_zeros(file, file_bytes).map_err(no_space(file, file_bytes))?;
    }
    Mapping::new(file, region_bytes, Access::Write, options)
}

fn set_mode(file: &File, options: &RegionOptions) -> Result<(), Errno> {
    fchmod(file, Mode::from_raw_mode(options.mode & 0o777))
}

/// Bytes that the file system has free for this user; the maximum if it does not report them.
fn free_bytes(file: &File) -> u64 {
    match fstatfs(file) {
        Ok(said) if said.f_blocks > 0 => {
            let block_bytes = u64::try_from(said.f_bsize).unwrap_or(0);
            said.f_bavail.saturating_mul(block_bytes)
        }
        _ => u64::MAX,
    }
}

/// Allocates all missing pages of the file, so that a later store never fails; keeps existing
/// contents. Returns false if the file system does not support it.
fn allocate(file: &File, file_bytes: u64) -> Result<bool, Refusal> {
    const BLOCK_BYTES: u64 = 512;
    let has_bytes = file.metadata().map_err(Refusal::io("inspect"))?.blocks() * BLOCK_BYTES;
    // Checked first: the kernel would fill the memory before it fails.
    if file_bytes.saturating_sub(has_bytes) > free_bytes(file) {
        return Err(no_space(file, file_bytes)(Errno::NOSPC));
    }
    loop {
        match fallocate(file, FallocateFlags::empty(), 0, file_bytes) {
            Ok(()) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(false),
            Err(errno) => return Err(no_space(file, file_bytes)(errno)),
        }
    }
}

/// Allocates the pages of a new file on a file system without `fallocate`.
fn write_zeros(file: &File, file_bytes: u64) -> Result<(), Errno> {
    let zeros = vec![0; 1 << 20];
    let mut offset = identity().len() as u64;
    while offset < file_bytes {
        let length = (file_bytes - offset).min(zeros.len() as u64);
        write(file, &zeros[..length as usize], offset)?;
        offset += length;
    }
    Ok(())
}

fn write(file: &File, bytes: &[u8], offset: u64) -> Result<(), Errno> {
    let written = file.write_all_at(bytes, offset);
    written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// Returns the refusal for an error of reserving bytes.
fn no_space(file: &File, needed_bytes: u64) -> impl Fn(Errno) -> Refusal {
    move |errno| match (errno, huge_block_bytes(file)) {
        (Errno::NOSPC | Errno::NOMEM, Some(page_bytes)) => {
            Refusal::NoHugePages { needed_bytes, page_bytes }
        }
        (Errno::NOSPC | Errno::DQUOT, None) => {
            Refusal::NoSpace { needed_bytes, free_bytes: free_bytes(file) }
        }
        (errno, _) => Refusal::system("reserve the bytes of")(errno),
    }
}

/// Makes this process the owner of a region that it has locked.
fn take(
    file: RegionFile,
    header: Header,
    options: &RegionOptions,
) -> Result<(OwnedRegion, Origin), RegionError> {
    let spec = header.spec;
    let region_bytes = spec.region_bytes().unwrap_or(u64::MAX);
    // A copied file may have holes where there were zeros.
    let filled = whole_blocks(file.file(), region_bytes).and_then(|b| allocate(file.file(), b));
    filled.map_err(|refusal| file.refuse(refusal))?;
    let mapped = Mapping::new(file.file(), region_bytes, Access::Write, options);
    let (mapping, residency) = mapped.map_err(|refusal| file.refuse(refusal))?;
    if file.metadata()?.mode() & 0o7777 != options.mode & 0o777 {
        let set = set_mode(file.file(), options);
        set.map_err(|e| file.refuse(Refusal::system("set the mode of")(e)))?;
    }
    let state = if header.is_closed { OwnerState::Closed } else { OwnerState::Dead };
    let previous = header.owner(state);
    let memory = Memory::of_file(MappedFile { mapping, file, region_bytes }, spec.words);
    // A damaged epoch must not stop the next owner; 0 is never used.
    let epoch = header.epoch.wrapping_add(1).max(1);
    memory.take(epoch);
    let region = OwnedRegion { memory, spec, epoch, residency, ending: Ending::Closed };
    Ok((region, Origin::TakenOver { previous }))
}
