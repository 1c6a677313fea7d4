//! The lines about gaps of a recorder or a mirror.
//!
//! On a busy machine it may lose messages many times a second, and waits until the supervisor has
//! read its lines. So their number has a bound.

use nanotape_tape::Gap;

/// Gaps that are reported one by one.
const REPORTED_GAPS: u64 = 10;

/// The gaps so far.
#[derive(Debug)]
pub(crate) struct Gaps {
    count: u64,
    /// What has all gaps, if there is such a thing.
    keeper: Option<&'static str>,
}

impl Gaps {
    /// No gaps yet; `keeper` has all of them, and is named once the reports end.
    pub(crate) fn in_all(keeper: &'static str) -> Self {
        Self { count: 0, keeper: Some(keeper) }
    }

    /// No gaps yet, of which only those are known that are reported.
    pub(crate) fn reported() -> Self {
        Self { count: 0, keeper: None }
    }

    /// The line about the next gap, if it is reported.
    pub(crate) fn line(&mut self, gap: &Gap) -> Option<String> {
        self.count += 1;
        match self.count {
            ..=REPORTED_GAPS => Some(gap.to_string()),
            count if count == REPORTED_GAPS + 1 => Some(match self.keeper {
                Some(keeper) => {
                    format!("{gap}; no further gaps are reported, {keeper} has all of them")
                }
                None => format!("{gap}; no further gaps are reported"),
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_gaps_are_reported_and_the_end_of_the_reports_too() {
        let mut gaps = Gaps::in_all("the journal");
        let mut line = || gaps.line(&Gap { from: 5, to: 7 });
        for _ in 0..REPORTED_GAPS {
            assert_eq!(line(), Some(Gap { from: 5, to: 7 }.to_string()));
        }
        assert!(line().is_some_and(|line| line.ends_with("the journal has all of them")));
        assert!((0..1_000).all(|_| line().is_none()));
    }
}
