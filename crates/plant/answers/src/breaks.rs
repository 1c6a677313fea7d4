//! The match numbers of broken trades, which an exchange sends later than the trades.

use std::{collections::BTreeSet, ops::ControlFlow};

use nanotape_market::{Damage, EventHandler, MarketEvent, Origin, Position, What};
use nanotape_types::MatchNumber;

/// The match numbers of broken trades. A break is valid for every trade of its number.
#[derive(Clone, Default, Debug)]
pub struct Breaks(BTreeSet<MatchNumber>);

impl Breaks {
    /// Adds one.
    pub fn insert(&mut self, number: MatchNumber) {
        self.0.insert(number);
    }

    /// Whether the trades of this number are broken.
    pub fn contains(&self, number: MatchNumber) -> bool {
        self.0.contains(&number)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The numbers, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = MatchNumber> + '_ {
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
