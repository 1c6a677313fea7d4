//! The word: the only access to memory that another process may read or write at the same time.
//!
//! Where: every region is a slice of words, and RING, JOURNAL and LATEST are algorithms over such
//! slices. There is never a reference to plain bytes of a region: a copy that races with a writer
//! in another process must be made of atomic accesses, or its behaviour is undefined.
//! Protocol: relaxed accesses, and accesses at an [`Edge`], which is a named ordering between a
//! writer and a reader. `docs/formats/` lists the edges; loom models weaken each in turn, and each
//! site of it, and must then fail.
//! Cost: an access is one instruction on x86-64; a fence there only affects the compiler.
//!
//! Acquire is a relaxed load and a fence: Rust guarantees atomic loads from pages that are mapped
//! read-only for relaxed loads only, and readers map read-only.

#[cfg(nanotape_loom)]
use loom::sync::atomic as atomics;
#[cfg(not(nanotape_loom))]
use std::sync::atomic as atomics;

use atomics::{AtomicU64, Ordering, fence};

/// Bytes of a word.
pub const WORD_BYTES: usize = 8;

/// Eight bytes that several processes share, aligned to eight, in the processor's byte order.
#[derive(Debug)]
#[repr(transparent)]
pub struct Word(AtomicU64);

impl Word {
    /// A word in memory of this process.
    pub fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    /// Loads, without ordering relative to other words.
    #[inline(always)]
    pub fn load(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Stores, without ordering relative to other words.
    #[inline(always)]
    #[cfg_attr(feature = "kill-points", track_caller)]
    pub fn store(&self, value: u64) {
        #[cfg(feature = "kill-points")]
        if !crate::kill_points::about_to_store(self, value) {
            return;
        }
        #[cfg(nanotape_loom)]
        if crate::models::death::has_come() {
            return;
        }
        self.0.store(value, Ordering::Relaxed);
    }

    /// Stores so that a reader that observes this value at `edge` also sees all earlier stores.
    #[inline(always)]
    #[cfg_attr(any(nanotape_loom, feature = "kill-points"), track_caller)]
    pub fn publish(&self, value: u64, edge: Edge) {
        #[cfg(feature = "kill-points")]
        if !crate::kill_points::about_to_store(self, value) {
            return;
        }
        #[cfg(nanotape_loom)]
        if crate::models::death::has_come() {
            return;
        }
        let order = if edge.is_kept() { Ordering::Release } else { Ordering::Relaxed };
        self.0.store(value, order);
    }

    /// Stores `new` if the word has `current`, for words that several processes write. Every later
    /// load then sees the stores that were made before `current` was published at `edge`, and a
    /// reader that observes `new` at `edge` also sees all earlier stores.
    ///
    /// # Errors
    ///
    /// What the word has instead, without ordering relative to other words.
    #[inline(always)]
    #[cfg_attr(any(nanotape_loom, feature = "kill-points"), track_caller)]
    pub fn compare_exchange(&self, current: u64, new: u64, edge: Edge) -> Result<u64, u64> {
        #[cfg(feature = "kill-points")]
        if !crate::kill_points::about_to_store(self, new) {
            return Ok(current);
        }
        // The code of a dead writer goes on without an effect, and must not wait.
        #[cfg(nanotape_loom)]
        if crate::models::death::has_come() {
            return Ok(current);
        }
        let order = if edge.is_kept() { Ordering::AcqRel } else { Ordering::Relaxed };
        self.0.compare_exchange(current, new, order, Ordering::Relaxed)
    }

    /// A read-only view of this word.
    #[inline(always)]
    pub fn as_read_only(&self) -> &ReadWord {
        // SAFETY: `ReadWord` is a transparent wrapper of `Word` and offers less.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }
}

/// A word that may be in a page mapped read-only: it has no method to store.
#[derive(Debug)]
#[repr(transparent)]
pub struct ReadWord(Word);

impl ReadWord {
    /// Loads, without ordering relative to other words.
    #[inline(always)]
    pub fn load(&self) -> u64 {
        self.0.load()
    }

    /// Loads so that every later load sees the stores that the writer made before it published this
    /// value at `edge`.
    #[inline(always)]
    #[cfg_attr(nanotape_loom, track_caller)]
    pub fn observe(&self, edge: Edge) -> u64 {
        let value = self.0.load();
        edge.acquire_fence();
        value
    }
}

/// A named ordering between a store and a load in different processes.
///
/// The name is on both sides of the protocol, in its format document and in its loom models.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge(&'static str);

impl Edge {
    /// An edge with a name like `ring.publish`, unique in the project.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name of the edge.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// Keeps later stores after earlier ones: followed by relaxed stores whose reader must also see
    /// the earlier stores.
    #[inline(always)]
    #[cfg_attr(nanotape_loom, track_caller)]
    pub fn release_fence(self) {
        if self.is_kept() {
            fence(Ordering::Release);
        }
    }

    /// Keeps later loads after earlier ones.
    #[inline(always)]
    #[cfg_attr(nanotape_loom, track_caller)]
    pub fn acquire_fence(self) {
        if self.is_kept() {
            fence(Ordering::Acquire);
        }
    }

    /// True, except for the edge or the one site that a model weakens to show that it is needed.
    #[inline(always)]
    #[cfg_attr(nanotape_loom, track_caller)]
    fn is_kept(self) -> bool {
        #[cfg(nanotape_loom)]
        return crate::models::keeps(self, std::panic::Location::caller());
        #[cfg(not(nanotape_loom))]
        true
    }
}

/// Copies bytes into words, eight at a time; missing bytes of the last word become zero.
///
/// Backwards, because a reader on another core polls the beginning of a message, and each poll
/// takes that cache line away. If it is written last and at once, it moves only once.
///
/// # Panics
///
/// If there are fewer words than the bytes need.
#[inline(always)]
pub fn copy_into(words: &[Word], bytes: &[u8]) {
    let words = &words[..bytes.len().div_ceil(WORD_BYTES)];
    let (whole, rest) = bytes.as_chunks::<WORD_BYTES>();
    if !rest.is_empty() {
        words[whole.len()].store(last_word(bytes, rest.len()));
    }
    for (word, chunk) in words.iter().zip(whole).rev() {
        word.store(u64::from_ne_bytes(*chunk));
    }
}

/// Copies words to bytes, eight at a time.
///
/// # Panics
///
/// If there are fewer words than the bytes need.
#[inline(always)]
pub fn copy_out(words: &[ReadWord], bytes: &mut [u8]) {
    let words = &words[..bytes.len().div_ceil(WORD_BYTES)];
    let (whole, rest) = bytes.as_chunks_mut::<WORD_BYTES>();
    for (word, chunk) in words.iter().zip(whole.iter_mut()) {
        *chunk = word.load().to_ne_bytes();
    }
    let (whole, rest) = (whole.len(), rest.len());
    if rest == 0 {
        return;
    }
    let last = words[whole].load();
    if let Some(eight) = bytes.last_chunk_mut::<WORD_BYTES>() {
        let (before, shift) = (words[whole - 1].load().to_le(), rest * 8);
        *eight = (before >> shift | last.to_le() << (64 - shift)).to_le_bytes();
    } else {
        bytes.copy_from_slice(&last.to_ne_bytes()[..rest]);
    }
}

/// The last `rest` bytes, one to seven of them, as a word that ends with zeros.
#[inline(always)]
pub fn last_word(bytes: &[u8], rest: usize) -> u64 {
    // In most messages the last eight bytes exist and need one load; copying `rest` bytes would be
    // a call.
    if let Some(eight) = bytes.last_chunk::<WORD_BYTES>() {
        let shift = (WORD_BYTES - rest) * 8;
        return (u64::from_le_bytes(*eight) >> shift).to_le();
    }
    let mut last = [0; WORD_BYTES];
    last[..rest].copy_from_slice(&bytes[bytes.len() - rest..]);
    u64::from_ne_bytes(last)
}

/// Copies many words to bytes: as [`copy_out`], and faster from some hundred bytes on.
///
/// # Panics
///
/// If there are fewer words than the bytes need.
#[inline(always)]
pub fn copy_out_many(words: &[ReadWord], bytes: &mut [u8]) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, nanotape_loom))))]
    {
        let words = &words[..bytes.len().div_ceil(WORD_BYTES)];
        // SAFETY: reads `bytes.len()` bytes of `words`, which has as many, and writes them to
        // `bytes`, which is this thread's alone; the direction flag is clear, as everywhere in
        // Rust.
        unsafe {
            core::arch::asm!(
                "rep movsb",
                inout("rcx") bytes.len() => _,
                inout("rsi") words.as_ptr() => _,
                inout("rdi") bytes.as_mut_ptr() => _,
                options(nostack, preserves_flags),
            );
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, nanotape_loom)))))]
    copy_out(words, bytes);
}

/// Begins to load the line of a word into this core, for writing, without waiting. Only a hint: any
/// index is allowed.
#[inline(always)]
pub fn prefetch_for_writing(words: &[Word], index: usize) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, nanotape_loom))))]
    {
        let address = words.as_ptr().wrapping_add(index);
        // SAFETY: a prefetch has no visible effect and never faults, whatever the address; an
        // x86-64 processor that does not support this one ignores it.
        unsafe {
            core::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly))
        };
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, nanotape_loom)))))]
    let _ = (words, index);
}

/// A read-only view of the words.
#[inline(always)]
pub fn as_read_only(words: &[Word]) -> &[ReadWord] {
    // SAFETY: `ReadWord` is a transparent wrapper of `Word` and offers less.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

#[cfg(all(test, not(nanotape_loom)))]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_every_length_come_back_and_the_rest_of_the_last_word_is_zero() {
        let bytes: Vec<u8> = (1..=40).collect();
        for length in 0..=bytes.len() {
            let words: Vec<Word> = (0..6).map(|_| Word::new(u64::MAX)).collect();
            copy_into(&words, &bytes[..length]);
            let mut out = vec![0; length.next_multiple_of(WORD_BYTES)];
            copy_out(as_read_only(&words), &mut out);
            assert_eq!(out[..length], bytes[..length]);
            assert!(out[length..].iter().all(|&byte| byte == 0), "{length} bytes");
            for untouched in &words[length.div_ceil(WORD_BYTES)..] {
                assert_eq!(untouched.load(), u64::MAX);
            }
        }
    }

    #[test]
    #[should_panic(expected = "range end index")]
    fn more_bytes_than_words_is_a_mistake_of_the_caller() {
        copy_into(&[Word::new(0)], &[0; 9]);
    }
}
