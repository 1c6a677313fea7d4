//! Tables of a size known at the start: touched then, in huge pages where the kernel has them.
//!
//! Where: BOOK keeps its orders and levels in them. A look-up at a random place of a table of 100
//! MB in pages of 4 KiB misses the processor's address cache nearly every time; in pages of 2 MiB
//! it does not. And memory that is touched at the start takes no page fault in mid-day.
//! Cost: one system call and one pass over the memory, at the start.
//! Failure: where huge pages are not to be had the table works in small ones; [`HugePages`] says
//! so.

use core::{
    fmt,
    mem::MaybeUninit,
    ops::{Deref, DerefMut},
};

use rustix::{
    io::Errno,
    mm::{Advice, madvise},
};

/// What most kernels for x86-64 and 64-bit ARM use.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Where the kernel says whether programs may have huge pages: always, if they ask, or never.
const SETTING: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// A multiple of every size of small pages that Linux uses.
const SMALL_PAGE_BYTES: usize = 64 << 10;

/// A slice of fixed length on the heap, in huge pages if they are to be had.
#[derive(Clone, Debug)]
pub struct Table<T> {
    elements: Vec<T>,
    huge_pages: HugePages,
}

/// Whether a table is in huge pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HugePages {
    /// The kernel was asked and agreed. It may still not find enough memory in one piece.
    Granted,
    /// The table is smaller than one huge page.
    NotNeeded,
    /// The kernel's setting says never.
    SwitchedOff,
    /// The kernel knows no huge pages, or not for this memory.
    Refused(Errno),
}

impl fmt::Display for HugePages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granted => f.write_str("huge pages"),
            Self::NotNeeded => f.write_str("small pages (no table is larger than one huge page)"),
            Self::SwitchedOff => write!(f, "small pages ({SETTING} is never)"),
            Self::Refused(errno) => {
                write!(f, "small pages (huge pages are not available: {errno})")
            }
        }
    }
}

impl<T: Clone> Table<T> {
    /// A table of `length` copies of `element`, all of it touched.
    pub fn new(length: usize, element: T) -> Self {
        let mut elements = Vec::with_capacity(length);
        // Asked before the first touch, which is when the kernel chooses the page.
        let huge_pages = ask_for_huge_pages(elements.spare_capacity_mut());
        elements.resize(length, element);
        Self { elements, huge_pages }
    }

    /// Grows to `length`, with copies of `element` behind what is there. What is there is copied:
    /// size a table for the day and this is not called.
    #[cold]
    pub fn grow(&mut self, length: usize, element: T) {
        let mut elements = Vec::with_capacity(length);
        self.huge_pages = ask_for_huge_pages(elements.spare_capacity_mut());
        elements.append(&mut self.elements);
        elements.resize(length, element);
        self.elements = elements;
    }
}

impl<T> Table<T> {
    /// Whether it is in huge pages.
    pub fn huge_pages(&self) -> HugePages {
        self.huge_pages
    }

    /// Begins to load the cache line in which the element at `index` begins, and does not wait for
    /// it. Only a hint: any index is allowed, and one outside of the table loads nothing of use.
    #[inline(always)]
    pub fn prefetch(&self, index: usize) {
        prefetch(&self.elements, index);
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.elements
    }
}

impl<T> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.elements
    }
}

/// Asks for huge pages in the whole pages of memory that nothing has been written to.
fn ask_for_huge_pages<T>(memory: &mut [MaybeUninit<T>]) -> HugePages {
    let bytes = size_of_val(memory);
    if bytes < HUGE_PAGE_BYTES {
        return HugePages::NotNeeded;
    }
    let start = memory.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(SMALL_PAGE_BYTES);
    let whole = (bytes - before) / SMALL_PAGE_BYTES * SMALL_PAGE_BYTES;
    // SAFETY: the range lies within `memory`: `before` is less than 64 KiB and `whole` at most what
    // is left. This advice changes how the kernel backs the pages, never what they hold.
    let advised =
        unsafe { madvise(start.wrapping_add(before).cast(), whole, Advice::LinuxHugepage) };
    match advised {
        // Advice is taken without a word where the setting makes it useless.
        Ok(()) if std::fs::read_to_string(SETTING).is_ok_and(|said| said.contains("[never]")) => {
            HugePages::SwitchedOff
        }
        Ok(()) => HugePages::Granted,
        Err(errno) => HugePages::Refused(errno),
    }
}

/// Begins to load the cache line in which the element at `index` begins, and does not wait for it.
/// Only a hint: any index is allowed, and one outside of the slice loads nothing of use.
#[inline(always)]
pub fn prefetch<T>(elements: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = elements.as_ptr().wrapping_add(index).cast();
        // SAFETY: a prefetch shows the program nothing and never faults, whatever the address;
        // every x86-64 processor has the instruction.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (elements, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_holds_what_it_was_filled_with_whatever_its_size() {
        for length in [0, 1, 1_000, 3 << 20] {
            let mut table = Table::new(length, 7u8);
            assert!(table.len() == length && table.iter().all(|&element| element == 7));
            assert_eq!(table.huge_pages() == HugePages::NotNeeded, length < HUGE_PAGE_BYTES);
            if let Some(last) = table.last_mut() {
                *last = 9;
                assert_eq!(table[length - 1], 9);
            }
        }
    }

    #[test]
    fn growing_keeps_what_is_there() {
        let mut table = Table::new(100, 1u16);
        table[99] = 5;
        table.grow(2 << 20, 3);
        assert!(table[..99].iter().all(|&element| element == 1) && table[99] == 5);
        assert!(table[100..].iter().all(|&element| element == 3) && table.len() == 2 << 20);
        assert_ne!(table.huge_pages(), HugePages::NotNeeded);
    }

    #[test]
    fn a_prefetch_of_any_index_changes_nothing() {
        let table = Table::new(10, 1u64);
        for index in [0, 9, 10, usize::MAX / 2, usize::MAX] {
            table.prefetch(index);
        }
        assert_eq!(table.iter().sum::<u64>(), 10);
    }
}
