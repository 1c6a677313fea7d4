//! Lists of processors as the kernel writes them: `0-3,7`.

use core::fmt;

/// No kernel has as many processors.
const MOST: u32 = 1 << 16;

/// Processors, in order and without repetition.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CpuList(Vec<u32>);

impl CpuList {
    /// These processors.
    pub fn of(cpus: impl IntoIterator<Item = u32>) -> Self {
        let mut cpus: Vec<u32> = cpus.into_iter().collect();
        cpus.sort_unstable();
        cpus.dedup();
        Self(cpus)
    }

    /// An empty text is an empty list; `None` for anything that is no list.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || text == "(null)" {
            return Some(Self::default());
        }
        let mut cpus = Vec::new();
        for range in text.split(',') {
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
            if low > high || high >= MOST {
                return None;
            }
            cpus.extend(low..=high);
        }
        Some(Self::of(cpus))
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it has this one.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.binary_search(&cpu).is_ok()
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
        self.0.iter().copied()
    }

    /// The mask of the kernel: `3`, `00000001,00000000`.
    pub fn mask(&self) -> String {
        let words = self.0.last().map_or(1, |last| last / 32 + 1);
        let word = |index: u32| {
            let bits = self.0.iter().filter(|&&cpu| cpu / 32 == index);
            bits.fold(0_u32, |mask, cpu| mask | 1 << (cpu % 32))
        };
        let texts: Vec<String> =
            (0..words).rev().map(|index| format!("{:08x}", word(index))).collect();
        texts.join(",").trim_start_matches('0').to_owned()
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = &self.0[..];
        let mut separator = "";
        while let Some((&low, _)) = rest.split_first() {
            let run =
                rest.iter().zip(low..).take_while(|(cpu, expected)| **cpu == *expected).count();
            let high = rest[run - 1];
            match run {
                1 => write!(f, "{separator}{low}")?,
                _ => write!(f, "{separator}{low}-{high}")?,
            }
            (rest, separator) = (&rest[run..], ",");
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
        for rubbish in ["a", "3-1", "1-", "-1", "1,,2", "0-4294967295", "1 2"] {
            assert_eq!(CpuList::parse(rubbish), None, "{rubbish}");
        }
    }

    #[test]
    fn masks_are_those_of_the_kernel() {
        let mask = |text: &str| CpuList::parse(text).unwrap().mask();
        assert_eq!([mask("0-1"), mask("3"), mask("33")], ["3", "8", "2,00000000"]);
    }
}
