//! One mapping of a region's file, header and words, shared with every process that maps it.
//!
//! Cost: the pages are loaded when it is made, so that the first message takes no page fault.
//! Failure: a file that is too short by then is detected here, without a signal.

use std::{ffi::c_void, fs::File, ops::Range, os::unix::fs::MetadataExt as _, ptr::NonNull};

use nanotape_host::System;
use rustix::{
    fs::fstatfs,
    io::Errno,
    mm::{
        Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mlock, mmap, mmap_anonymous, msync,
        munmap,
    },
    process::{Resource, getrlimit},
};

use super::{
    create::RegionOptions,
    header::{HEADER_BYTES, at},
    refusal::Refusal,
    residency::{PageLock, RegionNode, RegionPages, Residency, SETTING},
};
use crate::{bus_guard::Registration, word::Word};

/// The type of hugetlbfs in statfs.
const HUGETLBFS_MAGIC: u64 = 0x9584_58f6;

/// The flag of mbind that moves pages of this process, which libc does not have.
const MPOL_MF_MOVE: libc::c_int = 1 << 1;

/// Sizes of files and mappings are multiples of it, except on file systems with larger pages.
const SMALL_BLOCK_BYTES: u64 = 4096;

/// Whether a process reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    Read,
    Write,
}

impl Access {
    fn protection(self) -> ProtFlags {
        match self {
            Self::Read => ProtFlags::READ,
            Self::Write => ProtFlags::READ | ProtFlags::WRITE,
        }
    }
}

/// Bytes of a page on a file system with huge pages only.
pub(crate) fn huge_block_bytes(file: &File) -> Option<u64> {
    let said = fstatfs(file).ok()?;
    // The type of the field differs between architectures, and its sign is irrelevant.
    let is_hugetlbfs = said.f_type as u64 & 0xffff_ffff == HUGETLBFS_MAGIC;
    is_hugetlbfs.then(|| u64::try_from(said.f_bsize).unwrap_or(SMALL_BLOCK_BYTES))
}

/// The size of a region in a file and in a mapping.
pub(crate) fn whole_blocks(file: &File, region_bytes: u64) -> Result<u64, Refusal> {
    let block = huge_block_bytes(file).unwrap_or(SMALL_BLOCK_BYTES);
    let too_large = Refusal::TooLarge { words: region_bytes / 8 };
    region_bytes.checked_next_multiple_of(block).ok_or(too_large)
}

/// A mapping; removed when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    address: NonNull<u8>,
    bytes: usize,
    /// Dropped first: see `drop`.
    registration: Option<Registration>,
}

// SAFETY: the mapping is owned by this value, whose methods return addresses of words only; words
// are atomics, and a mapping may be used and unmapped by any thread.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps a file of at least `region_bytes`, which is at least a header.
    pub(crate) fn new(
        file: &File,
        region_bytes: u64,
        access: Access,
        options: &RegionOptions,
    ) -> Result<(Self, Residency), Refusal> {
        let too_large = Refusal::TooLarge { words: region_bytes / 8 };
        let bytes = usize::try_from(whole_blocks(file, region_bytes)?).map_err(|_| too_large)?;
        let mapping = Self::plain(file, bytes, access).map_err(Refusal::system("map"))?;
        let residency = mapping.settle(file, region_bytes, access, options)?;
        Ok((mapping, residency))
    }

    /// Maps `bytes` bytes of a file that has them, at least one; loads no pages.
    pub(crate) fn plain(file: &File, bytes: usize, access: Access) -> Result<Self, Errno> {
        let (null, protection) = (std::ptr::null_mut(), access.protection());
        // SAFETY: a null hint lets the kernel choose an unused address range; it refuses a length
        // of zero.
        let address = unsafe { mmap(null, bytes, protection, MapFlags::SHARED, file, 0) }?;
        Self::own(address, bytes, access)
    }

    /// Like [`plain`](Self::plain), at an address that is a multiple of `alignment`, a power of
    /// two, so that the kernel can map large pages.
    pub(crate) fn aligned(
        file: &File,
        bytes: usize,
        access: Access,
        alignment: usize,
    ) -> Result<Self, Errno> {
        // Such a file system maps whole large pages, more than `bytes`, and aligned anyway.
        if huge_block_bytes(file).is_some() {
            return Self::plain(file, bytes, access);
        }
        let page = rustix::param::page_size();
        let whole = bytes.checked_next_multiple_of(page).ok_or(Errno::NOMEM)?;
        let reserved_bytes = whole.checked_add(alignment).ok_or(Errno::NOMEM)?;
        let null = std::ptr::null_mut();
        // SAFETY: a null hint lets the kernel choose an unused range. No access to it is allowed,
        // and it is not shared yet.
        let reserved =
            unsafe { mmap_anonymous(null, reserved_bytes, ProtFlags::empty(), MapFlags::PRIVATE) }?;
        let skip = reserved.addr().wrapping_neg() & (alignment - 1);
        let start = reserved.wrapping_byte_add(skip);
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: the range is within the reserved one, since `skip` is less than `alignment`, and
        // `whole` is what the kernel makes of `bytes`; so nothing but that is replaced.
        let mapped = unsafe { mmap(start, bytes, access.protection(), flags, file, 0) };
        // If that failed, the range may be free, and another mapping may own it by now: then it is
        // left as it is.
        for rest in [0..skip, skip + whole..reserved_bytes] {
            if !rest.is_empty() {
                // SAFETY: whole pages of the range reserved above that nothing was mapped over.
                let _ = unsafe { munmap(reserved.wrapping_byte_add(rest.start), rest.len()) };
            }
        }
        Self::own(mapped?, bytes, access)
    }

    /// Takes ownership of a new mapping.
    fn own(address: *mut c_void, bytes: usize, access: Access) -> Result<Self, Errno> {
        let address = NonNull::new(address.cast::<u8>()).ok_or(Errno::NOMEM)?;
        let start = address.as_ptr().expose_provenance();
        let is_writable = access == Access::Write;
        let registration = Some(Registration::new(start, bytes, is_writable));
        Ok(Self { address, bytes, registration })
    }

    /// The first `words` words of the mapping.
    ///
    /// # Panics
    ///
    /// If it has fewer.
    #[inline(always)]
    pub(crate) fn words(&self, words: usize) -> &[Word] {
        assert!(words <= self.bytes / size_of::<Word>());
        // SAFETY: the mapping begins on a page and has `words` words; it is not unmapped while
        // `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr().cast(), words) }
    }

    /// Gives advice about the mapped part of a range of bytes. Refused advice means page faults
    /// later, not wrong words.
    pub(crate) fn advise(&self, range: Range<usize>, advice: Advice) {
        if let Some((start, bytes)) = self.pages(range) {
            // SAFETY: the range is in the mapping; this module's callers give advice that loads
            // pages and never changes their contents.
            let _ = unsafe { madvise(start, bytes, advice) };
        }
    }

    /// Moves a range of bytes into large pages; it consists of whole ones, with at least one page
    /// in each.
    pub(crate) fn collapse(&self, range: Range<usize>) -> std::io::Result<()> {
        let Some((start, bytes)) = self.pages(range) else { return Ok(()) };
        // SAFETY: the range is in the mapping; this changes where its bytes are in memory, neither
        // their values nor their address.
        match unsafe { libc::madvise(start, bytes, libc::MADV_COLLAPSE) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }

    /// Waits until the pages of a range of bytes are on the disk.
    pub(crate) fn sync(&self, range: Range<usize>, flags: MsyncFlags) -> Result<(), Errno> {
        let Some((start, bytes)) = self.pages(range) else { return Ok(()) };
        loop {
            // SAFETY: the range is in the mapping, and nothing of it changes.
            match unsafe { msync(start, bytes, flags) } {
                Err(Errno::INTR) => {}
                outcome => return outcome,
            }
        }
    }

    /// Address and length of the whole pages around a range of bytes; `None` if it is empty.
    fn pages(&self, range: Range<usize>) -> Option<(*mut c_void, usize)> {
        let page = rustix::param::page_size();
        let (start, end) = (range.start / page * page, range.end.min(self.bytes));
        let bytes = end.checked_sub(start).filter(|&bytes| bytes > 0)?;
        Some((self.start().wrapping_byte_add(start), bytes))
    }

    /// Requests huge pages before the first access, loads the pages, locks them.
    fn settle(
        &self,
        file: &File,
        region_bytes: u64,
        access: Access,
        options: &RegionOptions,
    ) -> Result<Residency, Refusal> {
        let block = huge_block_bytes(file);
        let advised = (options.huge_pages && block.is_none()).then(|| {
            // SAFETY: the range is the mapping; the advice never changes the contents of its pages.
            unsafe { madvise(self.start(), self.bytes, Advice::LinuxHugepage) }
        });
        let populate = match access {
            Access::Read => Advice::LinuxPopulateRead,
            Access::Write => Advice::LinuxPopulateWrite,
        };
        let metadata = file.metadata().map_err(Refusal::io("inspect"))?;
        // An owner has allocated all pages. If a reader finds fewer it does not touch them: a
        // hostile file of holes could fill the memory.
        let is_whole = access == Access::Write || metadata.blocks() >= region_bytes / 512;
        // SAFETY: the range is the mapping. Touching pages of a shared file does not change them.
        let touch = || unsafe { madvise(self.start(), self.bytes, populate) };
        if is_whole && touch() == Err(Errno::FAULT) {
            let file_bytes = file.metadata().map_err(Refusal::io("inspect"))?.len();
            return Err(Refusal::Truncated { file_bytes, region_bytes });
        }
        // Any other error (a kernel before 5.14) means page faults later, not wrong words.
        let huge_pages = match (block, advised) {
            (Some(page_bytes), _) => RegionPages::FileSystem { page_bytes },
            (None, None) => RegionPages::Small,
            (None, Some(Err(errno))) => RegionPages::Refused(errno),
            (None, Some(Ok(()))) => match huge_kib_at(self.address.as_ptr().addr()) {
                Some(kib) if kib > 0 => RegionPages::Granted { kib },
                _ => RegionPages::NoneGiven { setting: setting() },
            },
        };
        // After the pages are loaded: those that the file has already are moved.
        let node = match options.node {
            Some(node) => self.settle_on(node)?,
            None => RegionNode::NotRequested,
        };
        let lock = if options.lock { self.lock_pages() } else { PageLock::NotRequested };
        Ok(Residency { huge_pages, node, lock })
    }

    /// Keeps the pages on a node, and moves those that only this process has mapped.
    fn settle_on(&self, node: u32) -> Result<RegionNode, Refusal> {
        let nodes = System::default().memory_nodes();
        if !nodes.contains(&node) {
            return Err(Refusal::NoNode { node });
        }
        match self.bind(node) {
            Ok(()) => {}
            Err(_) if nodes.len() == 1 => return Ok(RegionNode::Only { node }),
            Err(errno) => return Err(Refusal::NotBound { node, errno }),
        }
        let counted = nanotape_host::bytes_on_nodes(self.address.as_ptr().addr());
        let (there, elsewhere): (Vec<_>, _) =
            counted.iter().flatten().partition(|(on, _)| *on == node);
        let sum = |counts: Vec<&(u32, u64)>| counts.iter().map(|(_, bytes)| bytes).sum();
        let elsewhere_bytes = sum(elsewhere);
        let bytes = counted.is_some().then(|| sum(there));
        Ok(RegionNode::Bound { node, bytes, elsewhere_bytes })
    }

    /// The policy belongs to the file in shared memory, so it holds for pages that come later too.
    fn bind(&self, node: u32) -> Result<(), Errno> {
        const BITS: usize = u64::BITS as usize;
        /// The largest number of nodes that kernels are built for.
        const MOST_NODES: usize = 1024;
        let mut mask = [0_u64; MOST_NODES / BITS];
        let word = mask.get_mut(node as usize / BITS).ok_or(Errno::INVAL)?;
        *word = 1 << (node as usize % BITS);
        let (start, mask) = (self.start(), mask.as_ptr());
        let (policy, flags) = (libc::MPOL_BIND, MPOL_MF_MOVE);
        // The kernel takes one bit less than it is given.
        let bits = MOST_NODES + 1;
        // SAFETY: the range is the mapping; the call changes where its bytes are in memory, neither
        // their values nor their address. The mask has as many bits, and outlives the call.
        let bound =
            unsafe { libc::syscall(libc::SYS_mbind, start, self.bytes, policy, mask, bits, flags) };
        match bound {
            0 => Ok(()),
            _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
        }
    }

    fn lock_pages(&self) -> PageLock {
        // SAFETY: the range is the mapping; locking does not change it, and ends with it.
        match unsafe { mlock(self.start(), self.bytes) } {
            Ok(()) => PageLock::Locked,
            Err(errno) => {
                let limit_bytes = getrlimit(Resource::Memlock).current;
                PageLock::Refused { errno, limit_bytes }
            }
        }
    }

    fn start(&self) -> *mut c_void {
        self.address.as_ptr().cast()
    }

    /// The first of the words that change in the header.
    pub(crate) fn live(&self) -> NonNull<Word> {
        // SAFETY: the mapping has a header at least, and this word is in it.
        unsafe { self.address.cast::<Word>().add(at::LIVE) }
    }

    /// The first word after the header, or the end of the mapping if there are none.
    pub(crate) fn payload(&self) -> NonNull<Word> {
        // SAFETY: the mapping has a header at least, so that this is in it or one past it.
        unsafe { self.address.add(HEADER_BYTES) }.cast()
    }

    /// The words of the header that do not change once the region is ready.
    pub(crate) fn constant_words(&self) -> &[Word] {
        // SAFETY: the mapping has a header at least, and these words are in it; it is not unmapped
        // while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr().cast(), at::LIVE) }
    }

    /// Whether the guard found it truncated.
    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        self.registration.as_ref().is_some_and(Registration::is_lost)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // Before another mapping can get the address.
        self.registration = None;
        // SAFETY: exactly the range that was mapped; borrowers of its words keep `self` alive.
        let unmapped = unsafe { munmap(self.start(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "munmap of an own mapping cannot fail");
    }
}

/// The word in brackets in the kernel's setting.
fn setting() -> Option<String> {
    nanotape_host::chosen(&std::fs::read_to_string(SETTING).ok()?).map(str::to_owned)
}

/// How much of the mapping at an address is in huge pages, as reported by the kernel.
fn huge_kib_at(address: usize) -> Option<u64> {
    let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
    let first = format!("{address:08x}-");
    let own = maps.lines().skip_while(|line| !line.starts_with(&first)).skip(1);
    // A line of the next mapping begins with a range; lines of this one begin with a name and a
    // colon.
    let own = own.take_while(|line| line.split(' ').next().is_some_and(|word| word.ends_with(':')));
    let counts = own.filter_map(|line| {
        let rest =
            line.strip_prefix("ShmemPmdMapped:").or_else(|| line.strip_prefix("FilePmdMapped:"))?;
        rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()
    });
    Some(counts.sum())
}
