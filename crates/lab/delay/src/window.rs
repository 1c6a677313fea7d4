//! A span of time of the first feed.

/// The span `from_ns <= time < until_ns`, in nanoseconds of any clock that both feeds share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The first nanosecond.
    pub from_ns: i64,
    /// The nanosecond after the last one.
    pub until_ns: i64,
}

impl Window {
    /// The window of a length that begins at a time. It ends at the largest time at the latest.
    pub fn new(from_ns: i64, length_ns: i64) -> Self {
        Self { from_ns, until_ns: from_ns.saturating_add(length_ns.max(0)) }
    }

    /// Its length in nanoseconds.
    pub fn length_ns(self) -> i64 {
        self.until_ns.saturating_sub(self.from_ns)
    }

    /// Its middle.
    pub fn middle_ns(self) -> i64 {
        self.from_ns.midpoint(self.until_ns)
    }

    /// The window with so much more time at both ends.
    pub fn widened(self, by_ns: i64) -> Self {
        Self {
            from_ns: self.from_ns.saturating_sub(by_ns),
            until_ns: self.until_ns.saturating_add(by_ns),
        }
    }
}
