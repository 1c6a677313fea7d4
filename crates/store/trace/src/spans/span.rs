//! A span: the time that a message spent in a stage.

use nanotape_clock::Stamp;

use super::sites::Site;

/// Bytes of a span in a slot of the ring, which is a cache line with the slot's own two words.
pub const SPAN_BYTES: usize = 32;

/// The time of a message in the stage that ends at a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Where the stage ends.
    pub site: Site,
    /// The number of the message.
    pub number: u64,
    /// A number of the program's choice, such as a position.
    pub value: u64,
    /// The end of the stage before.
    pub from: Stamp,
    /// The end of this stage.
    pub to: Stamp,
}

impl Span {
    #[inline(always)]
    pub(super) fn to_bytes(self) -> [u8; SPAN_BYTES] {
        let words = [self.from.ticks(), self.to.ticks(), self.number, self.value];
        let mut bytes = [0; SPAN_BYTES];
        for (part, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *part = word.to_ne_bytes();
        }
        bytes
    }

    /// The span in a message of a ring; `None` if no tracer writes such a message.
    pub(super) fn of_message(type_id: u16, bytes: &[u8]) -> Option<Self> {
        let site = Site::at(type_id.into())?;
        let bytes: &[u8; SPAN_BYTES] = bytes.try_into().ok()?;
        let word =
            |at: usize| bytes[at * 8..].first_chunk().map_or(0, |&bytes| u64::from_ne_bytes(bytes));
        let [from, to] = [word(0), word(1)].map(Stamp::from_ticks);
        (from <= to).then_some(Self { site, number: word(2), value: word(3), from, to })
    }
}
