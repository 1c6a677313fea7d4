//! Sets of processors as the kernel writes them: lists `0-3,7` and masks `0000008f`.
//!
//! Bounds: a list costs as much memory as its text, because it is kept as ranges.

use core::fmt;

/// No kernel has as many processors.
const MOST: u32 = 1 << 16;

/// Processors, in order and without repetition.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CpuList(Vec<(u32, u32)>);

impl CpuList {
    /// These processors.
    pub fn of(cpus: impl IntoIterator<Item = u32>) -> Self {
        Self::join(cpus.into_iter().map(|cpu| (cpu, cpu)).collect())
    }

    /// Reads a list. The kernel writes an empty line, or `(null)`, for an empty list; anything that
    /// is no list is `None`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || text == "(null)" {
            return Some(Self::default());
        }
        Some(Self::join(text.split(',').map(range).collect::<Option<_>>()?))
    }

    /// Reads a mask, such as `ff` or `00000001,00000000`; anything that is no mask is `None`.
    pub fn parse_mask(text: &str) -> Option<Self> {
        let mut cpus = Vec::new();
        for (group, word) in text.trim().split(',').rev().enumerate() {
            let bits = u32::from_str_radix(word, 16).ok()?;
            let first = u32::try_from(group).ok()?.checked_mul(32).filter(|first| *first < MOST)?;
            cpus.extend((0..32).filter(|bit| bits & (1 << bit) != 0).map(|bit| first + bit));
        }
        Some(Self::of(cpus))
    }

    /// Sorts ranges, and joins those that touch.
    fn join(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (low, high) in ranges {
            match joined.last_mut() {
                Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
                _ => joined.push((low, high)),
            }
        }
        Self(joined)
    }

    /// Whether it has no processor.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its number of processors.
    pub fn count(&self) -> u32 {
        self.0.iter().fold(0, |sum: u32, (low, high)| sum.saturating_add((high - low) + 1))
    }

    /// Whether it has this processor.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.iter().any(|&(low, high)| (low..=high).contains(&cpu))
    }

    /// Whether it has this processor and no other.
    pub fn is_only(&self, cpu: u32) -> bool {
        self.0 == [(cpu, cpu)]
    }

    /// Whether it has all of those.
    pub fn has_all_of(&self, others: &Self) -> bool {
        others.iter().all(|cpu| self.contains(cpu))
    }

    /// Whether it has one of those.
    pub fn has_any_of(&self, others: &Self) -> bool {
        others.iter().any(|cpu| self.contains(cpu))
    }

    /// The processors, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|&(low, high)| low..=high)
    }

    /// The mask that the kernel accepts: `3`, `2,00000000`.
    pub fn mask(&self) -> String {
        let words = self.0.last().map_or(1, |(_, last)| last / 32 + 1);
        let word = |index: u32| {
            let cpus = self.iter().filter(|cpu| cpu / 32 == index);
            cpus.fold(0_u32, |mask, cpu| mask | 1 << (cpu % 32))
        };
        let upper = word(words - 1);
        let lower = (0..words - 1).rev().map(|index| format!(",{:08x}", word(index)));
        format!("{upper:x}{}", lower.collect::<String>())
    }
}

fn range(text: &str) -> Option<(u32, u32)> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (low.parse().ok()?, high.parse().ok()?);
    (low <= high && high < MOST).then_some((low, high))
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (low, high)) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            match low == high {
                true => write!(f, "{separator}{low}")?,
                false => write!(f, "{separator}{low}-{high}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_written_as_they_are_read() {
        for text in ["", "0", "0-3", "0-3,7", "1,3,5-6"] {
            assert_eq!(CpuList::parse(text).expect(text).to_string(), text);
        }
        assert_eq!(CpuList::parse("(null)\n"), Some(CpuList::default()));
        let list = CpuList::parse("7,2-3,0-2,4\n").expect("a list");
        assert_eq!(list.to_string(), "0-4,7");
        assert_eq!(list, CpuList::of([7, 4, 3, 2, 1, 0, 7]));
    }

    #[test]
    fn lists_count_and_contain() {
        let list = |text| CpuList::parse(text).expect("a list");
        let (five, two) = (list("0-3,7"), list("3,7"));
        assert_eq!((five.count(), list("").count()), (5, 0));
        assert!(five.contains(3) && five.contains(7) && !five.contains(4));
        assert!(five.has_all_of(&two) && !two.has_all_of(&five));
        assert!(five.has_any_of(&list("7-8")) && !five.has_any_of(&list("4-6")));
        assert!(list("7").is_only(7) && !five.is_only(7) && !list("").is_only(7));
        assert_eq!(two.iter().collect::<Vec<_>>(), [3, 7]);
    }

    #[test]
    fn rubbish_is_no_list() {
        for text in ["a", "3-1", "1-", "-1", "1,,2", "0-4294967295", "1 2", "1;2"] {
            assert_eq!(CpuList::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn masks_are_those_of_the_kernel() {
        let mask = |text: &str| CpuList::parse(text).expect("a list").mask();
        assert_eq!([mask("0-1"), mask("3"), mask("33"), mask("")], ["3", "8", "2,00000000", "0"]);
        let list = |text: &str| CpuList::parse_mask(text).map(|list| list.to_string());
        assert_eq!(list("f").as_deref(), Some("0-3"));
        assert_eq!(list("00000002,80000001\n").as_deref(), Some("0,31,33"));
        for text in ["zz", "", "1,,2", "100000000"] {
            assert_eq!(list(text), None, "{text:?}");
        }
    }
}
