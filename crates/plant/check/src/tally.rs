//! The violations of each rule: how many, and where the first one is.

use nanotape_feed::Position;

use crate::Rule;

/// The result of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Finding {
    /// Number of violations.
    pub violations: u64,
    /// The first violation: record offset, and message number if there is one.
    pub first: Option<(u64, Option<u64>)>,
}

/// The results of all rules.
#[derive(Debug)]
pub(crate) struct RuleTally([Finding; Rule::COUNT]);

impl Default for RuleTally {
    fn default() -> Self {
        Self([Finding::default(); Rule::COUNT])
    }
}

impl RuleTally {
    pub(crate) fn of(&self, rule: Rule) -> Finding {
        self.0[rule as usize - 1]
    }

    /// A rule is violated at an offset, perhaps by a message.
    pub(crate) fn broken(&mut self, rule: Rule, offset: u64, number: Option<u64>) {
        let finding = &mut self.0[rule as usize - 1];
        finding.violations += 1;
        finding.first.get_or_insert((offset, number));
    }

    /// A rule is violated by a message.
    pub(crate) fn broken_at(&mut self, rule: Rule, position: Position) {
        self.broken(rule, position.offset, Some(position.number));
    }

    pub(crate) fn broken_if(&mut self, broken: bool, rule: Rule, position: Position) {
        if broken {
            self.broken_at(rule, position);
        }
    }
}
