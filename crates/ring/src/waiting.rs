//! When a reader that waits asks for the lines of the next message.
//!
//! A message of two lines costs two transfers between the cores, one after the other, unless the
//! reader asks for the second line while it polls the first one. On AMD's processors both then come
//! at the same time. On Intel's it takes them from the writer while it writes (decision 0040).

use nanotape_shm::is_amd;

/// Empty looks in a row after which a reader asks for lines. One that is just behind a writer at
/// full speed finds nothing now and then: asking would slow both (bench: ring/stream/throughput).
const IN_A_ROW: u32 = 8;

/// How long a reader has waited, in looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    asks: bool,
    empty_looks: u32,
}

impl Waiting {
    pub(crate) fn new() -> Self {
        Self { asks: is_amd(), empty_looks: 0 }
    }

    /// Counts an empty look; whether to ask for the lines of the next message.
    #[inline(always)]
    pub(crate) fn is_long(&mut self) -> bool {
        self.empty_looks = self.empty_looks.saturating_add(1);
        self.asks && self.empty_looks > IN_A_ROW
    }

    /// There was a message.
    #[inline(always)]
    pub(crate) fn end(&mut self) {
        self.empty_looks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_asks_only_after_several_empty_looks_in_a_row() {
        let mut waiting = Waiting { asks: true, empty_looks: 0 };
        let mut looks = |count: usize| (0..count).filter(|_| waiting.is_long()).count();
        assert_eq!((looks(8), looks(3)), (0, 3));
        waiting.end();
        assert!(!waiting.is_long());
        let mut other = Waiting { asks: false, empty_looks: u32::MAX };
        assert!(!other.is_long());
    }
}
