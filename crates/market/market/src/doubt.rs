//! Which books may be wrong, for those that show rows of them.

use nanotape_types::StockLocate;

use crate::{Damage, SessionChange};

/// A change of which books may be wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doubt {
    /// A message did not fit the book of this stock.
    OfStock(StockLocate),
    /// A part of the input is missing: any book may lack messages.
    OfAll,
    /// The book of this stock is that of the exchange again.
    SettledOf(StockLocate),
    /// The missing messages came. Books that a message did not fit stay in doubt.
    Complete,
    /// All books are those of the exchange again.
    Settled,
}

impl Doubt {
    /// The doubt that damage leaves. A dropped packet leaves none: messages that it had are missing
    /// then, which is damage of its own.
    pub fn of_damage(damage: Damage) -> Option<Self> {
        (!matches!(damage, Damage::Packet { .. })).then_some(Self::OfAll)
    }

    /// What a change of a session means for the books.
    pub fn of_session(change: &SessionChange) -> Option<Self> {
        match change {
            SessionChange::Suspect(_) | SessionChange::GoesOn => Some(Self::OfAll),
            SessionChange::Complete { .. } => Some(Self::Complete),
            SessionChange::Restored { .. } => Some(Self::Settled),
            SessionChange::GapDeclared(_)
            | SessionChange::GapClosed(_)
            | SessionChange::EndsWhenIdle
            | SessionChange::CaughtUp => None,
        }
    }
}
