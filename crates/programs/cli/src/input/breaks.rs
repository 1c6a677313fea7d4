//! The match numbers of broken trades, which an exchange sends later than the trades.

use std::{collections::BTreeSet, ops::ControlFlow};

use nanotape_market::{
    Damage, EventHandler, EventSource as _, MarketEvent, Origin, Position, What,
};
use nanotape_types::MatchNumber;

use super::{InputArguments, InputKind, Progress};

/// The match numbers of broken trades. A break is valid for every trade of its number.
#[derive(Default)]
pub(crate) struct Breaks(BTreeSet<MatchNumber>);

impl Breaks {
    /// All breaks of an input, by a reading of its own. `None` for records, which have no match
    /// numbers, and for an input that is read only once.
    pub(crate) fn of(input: &InputArguments, kind: InputKind) -> anyhow::Result<Option<Self>> {
        if kind != InputKind::Day {
            return Ok(None);
        }
        let Some(mut source) = input.open_day_again()? else { return Ok(None) };
        let progress = Progress::with_total(source.progress().total_bytes);
        let mut breaks = Self::default();
        source.read(&mut breaks, |source| progress.set(source.progress().done_bytes))?;
        Ok(Some(breaks))
    }

    pub(crate) fn insert(&mut self, number: MatchNumber) {
        self.0.insert(number);
    }

    pub(crate) fn contains(&self, number: MatchNumber) -> bool {
        self.0.contains(&number)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The numbers, in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = MatchNumber> + '_ {
        self.0.iter().copied()
    }
}

impl EventHandler for Breaks {
    type Hint = ();

    #[inline]
    fn event(&mut self, _: Position, event: &MarketEvent, _: impl Origin) -> ControlFlow<()> {
        if let What::TradeBroken(match_number) = event.what {
            self.insert(match_number);
        }
        ControlFlow::Continue(())
    }

    // The second reading reports it.
    fn damage(&mut self, _: Damage) {}
}
