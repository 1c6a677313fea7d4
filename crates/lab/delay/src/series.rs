//! The values that one attribute of one instrument takes, with the time of each change.

use crate::Window;

/// Changes in order of time: the value at a time is that of the last change not later.
///
/// Values are exact: sizes in shares, prices in any fixed unit that both feeds share. Times are in
/// nanoseconds of a clock that both feeds share.
#[derive(Clone, Default, Debug)]
pub struct Series {
    times_ns: Vec<i64>,
    values: Vec<i64>,
    marks: Vec<u8>,
}

/// A view of a [`Series`], or of a part of it.
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a> {
    /// When each change was shown. No time is earlier than the one before it.
    pub times_ns: &'a [i64],
    /// The value from then on.
    pub values: &'a [i64],
    /// What else changed with it, in any code that both feeds share. Changes with different marks
    /// are not the same one. Without marks it is empty.
    pub marks: &'a [u8],
}

impl Series {
    /// Without changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value, and returns whether it is a change. A time that is earlier than that of the
    /// last change counts as that time, since a feed shows its messages in their order.
    pub fn push(&mut self, time_ns: i64, value: i64) -> bool {
        self.push_marked(time_ns, value, 0)
    }

    /// The same with a mark: what else changed with the value ([`Changes::marks`]).
    pub fn push_marked(&mut self, time_ns: i64, value: i64, mark: u8) -> bool {
        if self.values.last() == Some(&value) {
            return false;
        }
        let last_ns = self.times_ns.last().copied().unwrap_or(time_ns);
        self.times_ns.push(time_ns.max(last_ns));
        self.values.push(value);
        self.marks.push(mark);
        true
    }

    /// All changes.
    pub fn changes(&self) -> Changes<'_> {
        Changes { times_ns: &self.times_ns, values: &self.values, marks: &self.marks }
    }

    /// Forgets the changes before a time, except for the last one, which is the value then.
    pub fn forget_before(&mut self, time_ns: i64) {
        let forgotten = self.times_ns.partition_point(|&at| at <= time_ns).saturating_sub(1);
        self.times_ns.drain(..forgotten);
        self.values.drain(..forgotten);
        self.marks.drain(..forgotten);
    }
}

impl<'a> Changes<'a> {
    /// Number of changes.
    pub fn len(self) -> usize {
        self.times_ns.len()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.times_ns.is_empty()
    }

    /// The changes of a window.
    pub fn within(self, window: Window) -> Self {
        let from = self.times_ns.partition_point(|&at| at < window.from_ns);
        let until = self.times_ns.partition_point(|&at| at < window.until_ns);
        self.part(from, until.max(from))
    }

    /// The value at a time; `None` before the first change.
    pub fn value_at(self, time_ns: i64) -> Option<i64> {
        let after = self.times_ns.partition_point(|&at| at <= time_ns);
        Some(self.values[after.checked_sub(1)?])
    }

    /// Without marks, all are alike.
    pub(crate) fn mark(self, at: usize) -> u8 {
        self.marks.get(at).copied().unwrap_or_default()
    }

    /// The changes from one index to before another.
    pub(crate) fn part(self, from: usize, until: usize) -> Changes<'a> {
        Changes {
            times_ns: &self.times_ns[from..until],
            values: &self.values[from..until],
            marks: self.marks.get(from..until).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lasts_until_the_next_change() {
        let mut series = Series::new();
        for (time_ns, value) in [(10, 5), (20, 5), (30, 7), (25, 8)] {
            series.push(time_ns, value);
        }
        let changes = series.changes();
        assert_eq!((changes.times_ns, changes.values), (&[10, 30, 30][..], &[5, 7, 8][..]));
        let values = [9, 10, 29, 30, 99].map(|at| changes.value_at(at));
        assert_eq!(values, [None, Some(5), Some(5), Some(8), Some(8)]);
        assert_eq!(changes.within(Window { from_ns: 10, until_ns: 30 }).values, [5]);
        assert!(changes.within(Window { from_ns: 40, until_ns: 30 }).is_empty());
        series.forget_before(29);
        assert_eq!(series.changes().values, [5, 7, 8]);
        series.forget_before(30);
        assert_eq!((series.changes().values, series.changes().len()), (&[8][..], 1));
    }
}
