//! Lists of processors as the kernel writes them: `0-3,7`.

/// Ranges, both ends included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CpuList(Vec<(u32, u32)>);

impl CpuList {
    /// None for anything that is not such a list, and for an empty one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let ranges = text.trim().split(',').map(range).collect::<Option<Vec<_>>>()?;
        Some(Self(ranges))
    }

    pub(super) fn count(&self) -> u32 {
        self.0.iter().fold(0, |sum: u32, (low, high)| sum.saturating_add((high - low) + 1))
    }

    pub(super) fn contains(&self, cpu: u32) -> bool {
        self.0.iter().any(|&(low, high)| (low..=high).contains(&cpu))
    }

    pub(super) fn is_only(&self, cpu: u32) -> bool {
        self.0 == [(cpu, cpu)]
    }
}

fn range(text: &str) -> Option<(u32, u32)> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (low.parse().ok()?, high.parse().ok()?);
    // The bound prevents an overflow of counts; no kernel has as many processors.
    (low <= high && high < 1 << 20).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_count_and_contain() {
        let list = CpuList::parse("0-3,7\n").expect("a list");
        assert_eq!(list.count(), 5);
        assert!(list.contains(3) && list.contains(7) && !list.contains(4));
        assert!(!list.is_only(7));
        assert!(CpuList::parse("7").is_some_and(|list| list.is_only(7)));
    }

    #[test]
    fn rubbish_is_no_list() {
        for text in ["", "\n", "a", "3-1", "1-", "-1", "1,,2", "0-4294967295", "1 2", "1;2"] {
            assert_eq!(CpuList::parse(text), None, "{text:?}");
        }
    }
}
