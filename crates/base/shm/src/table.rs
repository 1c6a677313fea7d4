//! Tables whose size is known at the start: allocated then, in huge pages if available.
//!
//! Where: BOOK keeps its orders and levels in them. A lookup at a random index of a table of 100 MB
//! in pages of 4 KiB misses the processor's address cache nearly every time; in pages of 2 MiB it
//! does not.
//! Cost: one system call at the start. A table of copies is then filled. A table of zeros is not,
//! since the kernel's memory is zero: it gets each page at its first use, or all of them when its
//! owner [touches](Table::touch) it.
//! Failure: if huge pages are unavailable the table uses small ones, as [`HugePages`] reports.

use core::{
    fmt,
    hint::black_box,
    ops::{Deref, DerefMut},
};

use rustix::{
    io::Errno,
    mm::{Advice, madvise},
};

/// The size on most kernels for x86-64 and 64-bit ARM.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// The file of the kernel's setting for huge pages: always, on request, or never.
const SETTING: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// The least page size of Linux.
const LEAST_PAGE_BYTES: usize = 4 << 10;

/// A multiple of every small page size of Linux.
const SMALL_PAGE_BYTES: usize = 64 << 10;

/// A slice of fixed length on the heap, in huge pages if available.
#[derive(Clone)]
pub struct Table<T> {
    elements: Vec<T>,
    huge_pages: HugePages,
}

/// Omits the elements: tables have millions.
impl<T> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("length", &self.elements.len())
            .field("huge_pages", &self.huge_pages)
            .finish_non_exhaustive()
    }
}

/// Whether a table is in huge pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HugePages {
    /// The kernel accepted the request. It may still lack enough contiguous memory.
    Granted,
    /// The table is smaller than one huge page.
    NotNeeded,
    /// The kernel's setting is `never`.
    SwitchedOff,
    /// The kernel supports no huge pages, or not for this memory.
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
        // Requested before the first access, when the kernel chooses the page.
        let huge_pages = request_huge_pages(elements.spare_capacity_mut());
        elements.resize(length, element);
        Self { elements, huge_pages }
    }
}

impl<T: Copy + Default> Table<T> {
    /// A table of `length` zeros: `T` is an integer or an array of integers. A large one is not
    /// touched. For another type, it is filled with the default.
    pub fn zeros(length: usize) -> Self {
        // The standard library takes zeros of these types from the allocator, which takes them from
        // the kernel if there are many.
        let mut elements = vec![T::default(); length];
        let huge_pages = request_huge_pages(&mut elements);
        Self { elements, huge_pages }
    }

    /// Grows to `length`, with zeros at the end. Copies the whole table: choose a size for the
    /// whole day to avoid the call.
    #[cold]
    pub fn grow(&mut self, length: usize) {
        let mut grown = Self::zeros(length.max(self.len()));
        grown[..self.len()].copy_from_slice(self);
        *self = grown;
    }

    /// Gets every page from the kernel now, so that no later use waits for one.
    pub fn touch(&mut self) {
        let elements_a_page = (LEAST_PAGE_BYTES / size_of::<T>().max(1)).max(1);
        for element in self.elements.iter_mut().step_by(elements_a_page) {
            // A store that the compiler does not know to be useless.
            *element = black_box(*element);
        }
    }
}

impl<T> Table<T> {
    /// Whether it is in huge pages.
    pub fn huge_pages(&self) -> HugePages {
        self.huge_pages
    }

    /// Begins to load the cache line with the first byte of the element at `index`, without
    /// waiting. Only a hint: any index is allowed, and one outside of the table has no effect.
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

/// Reserves memory for so many more elements of a vector, in huge pages if available. A vector that
/// cannot have so much memory at once is left as it is.
pub fn reserve_in_huge_pages<T>(vector: &mut Vec<T>, more: usize) -> HugePages {
    match vector.try_reserve_exact(more) {
        Ok(()) => request_huge_pages(vector.spare_capacity_mut()),
        Err(_) => HugePages::NotNeeded,
    }
}

/// Requests huge pages for the whole pages of memory.
fn request_huge_pages<T>(memory: &mut [T]) -> HugePages {
    let bytes = size_of_val(memory);
    if bytes < HUGE_PAGE_BYTES {
        return HugePages::NotNeeded;
    }
    let start = memory.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(SMALL_PAGE_BYTES);
    let whole = (bytes - before) / SMALL_PAGE_BYTES * SMALL_PAGE_BYTES;
    // SAFETY: the range lies within `memory`: `before` is less than 64 KiB and `whole` at most the
    // rest. This advice changes how the kernel backs the pages, never their contents.
    let advised =
        unsafe { madvise(start.wrapping_add(before).cast(), whole, Advice::LinuxHugepage) };
    match advised {
        // The kernel accepts advice even if the setting makes it useless.
        Ok(()) if std::fs::read_to_string(SETTING).is_ok_and(|said| said.contains("[never]")) => {
            HugePages::SwitchedOff
        }
        Ok(()) => HugePages::Granted,
        Err(errno) => HugePages::Refused(errno),
    }
}

/// Begins to load the cache line with the first byte of the element at `index`, without waiting.
/// Only a hint: any index is allowed, and one outside of the slice has no effect.
#[inline(always)]
pub fn prefetch<T>(elements: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = elements.as_ptr().wrapping_add(index).cast();
        // SAFETY: a prefetch has no visible effect and never faults, whatever the address; every
        // x86-64 processor has the instruction.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (elements, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_has_the_reserved_memory_or_stays_as_it_is() {
        let mut vector = vec![1u8, 2];
        reserve_in_huge_pages(&mut vector, 5 << 20);
        assert!(vector.capacity() >= 5 << 20);
        let memory = vector.as_ptr();
        vector.resize(5 << 20, 3);
        assert_eq!((vector.as_ptr(), &vector[..3]), (memory, &[1, 2, 3][..]));
        reserve_in_huge_pages(&mut vector, isize::MAX as usize);
        assert_eq!(vector.len(), 5 << 20);
    }

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
        table.grow(2 << 20);
        assert!(table[..99].iter().all(|&element| element == 1) && table[99] == 5);
        assert!(table[100..].iter().all(|&element| element == 0) && table.len() == 2 << 20);
        assert_ne!(table.huge_pages(), HugePages::NotNeeded);
        table.grow(10);
        assert!(table.len() == 2 << 20, "never shorter");
    }

    #[test]
    fn a_table_of_zeros_is_all_zero_before_and_after_it_is_touched() {
        for length in [0, 1, 1_000, 1 << 20] {
            let mut table = Table::<[u32; 4]>::zeros(length);
            if let Some(last) = table.last_mut() {
                *last = [1, 2, 3, 4];
            }
            table.touch();
            assert_eq!(table.len(), length);
            if let Some((last, others)) = table.split_last() {
                assert_eq!(*last, [1, 2, 3, 4]);
                assert!(others.iter().all(|element| *element == [0; 4]));
            }
        }
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
