//! Pages of the kernel's ring buffer, as `trace_pipe_raw` returns them.
//!
//! ```text
//!   0  u64  time of the first event
//!   8  u64  bytes of events; bit 31: events were lost before it, bit 30: their number follows
//!  16       events, then perhaps the number
//! ```
//!
//! An event begins with a word: its kind in 5 bits, and the time since the event before it in 27.
//! Source: `include/linux/ring_buffer.h` and `kernel/trace/ring_buffer.c`. The order of bytes is
//! that of the machine; the only clock that is used here exists on little-endian machines alone.
//! Failure: a page that is cut or damaged ends where it stops making sense.

/// The kernel returns no larger page: 64 times the usual one.
pub(super) const MOST_BYTES: usize = 64 << 12;

const HEAD_BYTES: usize = 16;
const LENGTH: u64 = (1 << 30) - 1;
const LOST: u64 = 1 << 31;
const IS_NUMBER_KEPT: u64 = 1 << 30;

/// The kernel's kinds of events; a smaller kind is the length of the data in words.
const PADDING: u32 = 29;
const MORE_TIME: u32 = 30;
const WHOLE_TIME: u32 = 31;

/// Bits of a whole time.
const TIME_BITS: u32 = 59;

/// A page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page<'a> {
    /// The time of its first event.
    pub(super) begins: u64,
    /// Events that were lost just before it; 0 if none were. 1 if their number is not known.
    pub(super) lost: u64,
    events: &'a [u8],
}

impl<'a> Page<'a> {
    /// `None` if these bytes are no page.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        let (begins, head) = (u64_at(bytes, 0)?, u64_at(bytes, 8)?);
        let length = usize::try_from(head & LENGTH).ok()?;
        let events = bytes.get(HEAD_BYTES..HEAD_BYTES.checked_add(length)?)?;
        let number = u64_at(bytes, HEAD_BYTES + length).filter(|_| head & IS_NUMBER_KEPT != 0);
        let lost = if head & LOST == 0 { 0 } else { number.unwrap_or(1).max(1) };
        Some(Self { begins, lost, events })
    }

    /// The time and the data of each event.
    pub(super) fn events(&self) -> Events<'a> {
        Events { rest: self.events, at: self.begins }
    }
}

/// The events of a page.
pub(super) struct Events<'a> {
    rest: &'a [u8],
    at: u64,
}

impl<'a> Iterator for Events<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let head = u32_at(self.rest, 0)?;
            let (kind, later) = (head & 31, u64::from(head >> 5));
            let word = || u32_at(self.rest, 4);
            match kind {
                PADDING if later == 0 => return None,
                PADDING => self.skip(later, 4 + word()? as usize)?,
                MORE_TIME => self.skip(later + (u64::from(word()?) << 27), 8)?,
                WHOLE_TIME => {
                    let time = later + (u64::from(word()?) << 27);
                    self.at = self.at >> TIME_BITS << TIME_BITS | time & ((1 << TIME_BITS) - 1);
                    self.skip(0, 8)?;
                }
                0 => {
                    // The length counts itself.
                    let length = word()? as usize;
                    let data = self.rest.get(8..4_usize.checked_add(length)?)?;
                    self.skip(later, 4 + length)?;
                    return Some((self.at, data));
                }
                words => {
                    let end = 4 + words as usize * 4;
                    let data = self.rest.get(4..end)?;
                    self.skip(later, end)?;
                    return Some((self.at, data));
                }
            }
        }
    }
}

impl Events<'_> {
    fn skip(&mut self, later: u64, bytes: usize) -> Option<()> {
        self.at = self.at.wrapping_add(later);
        self.rest = self.rest.get(bytes..)?;
        Some(())
    }
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page(head: u64, events: &[u8], behind: &[u8]) -> Vec<u8> {
        let head = head | events.len() as u64;
        [&1_000_u64.to_le_bytes()[..], &head.to_le_bytes(), events, behind].concat()
    }

    fn word(kind: u32, later: u32) -> [u8; 4] {
        (kind | later << 5).to_le_bytes()
    }

    #[test]
    fn events_have_the_time_since_the_one_before() {
        let events = [
            &word(1, 0)[..],
            b"abcd",
            &word(2, 5),
            b"efghijkl",
            // A discarded one, 2^27 more ticks, a whole time, and one with a length of its own.
            &word(PADDING, 7),
            &8_u32.to_le_bytes(),
            b"....",
            &word(MORE_TIME, 3),
            &1_u32.to_le_bytes(),
            &word(1, 1),
            b"mnop",
            &word(WHOLE_TIME, 9),
            &2_u32.to_le_bytes(),
            &word(0, 1),
            &8_u32.to_le_bytes(),
            b"qrst",
            &word(PADDING, 0),
            b"rubbish",
        ]
        .concat();
        let bytes = page(0, &events, &[]);
        let page = Page::of(&bytes).unwrap();
        let found: Vec<(u64, &[u8])> = page.events().collect();
        let later = 1_000 + 5 + 7 + (1 << 27) + 3 + 1;
        let expected: [(u64, &[u8]); 4] = [
            (1_000, b"abcd"),
            (1_005, b"efghijkl"),
            (later, b"mnop"),
            (9 + (2 << 27) + 1, b"qrst"),
        ];
        assert_eq!((page.lost, &found[..]), (0, &expected[..]));
    }

    #[test]
    fn events_that_were_lost_before_a_page_are_counted() {
        let event = [&word(1, 0)[..], b"abcd"].concat();
        let number = 77_u64.to_le_bytes();
        let lost = |head, behind: &[u8]| Page::of(&page(head, &event, behind)).unwrap().lost;
        assert_eq!(lost(LOST | IS_NUMBER_KEPT, &number), 77);
        // A page that is full has no room for the number.
        assert_eq!(lost(LOST, &[]), 1);
        assert_eq!(lost(0, &number), 0);
    }

    proptest! {
        #[test]
        fn rubbish_is_no_panic_and_ends(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            length in 0_u64..400,
        ) {
            let mut bytes = bytes;
            if let Some(head) = bytes.get_mut(8..16) {
                head.copy_from_slice(&length.to_le_bytes());
            }
            if let Some(page) = Page::of(&bytes) {
                prop_assert!(page.events().count() <= bytes.len());
            }
        }
    }
}
