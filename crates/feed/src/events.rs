//! A day file as a source of market events, with each event announced before its turn.

use core::ops::ControlFlow;

use nanotape_market::{Damage, EventHandler, EventSource, Origin, Position};
use nanotape_types::StockLocate;
use nanotape_wire::itch50::{self, Message};

use crate::{
    DayHandler, DaySource, DaySummary, SourceError,
    day::{LookAhead, read_day_ahead},
    hidden::hidden_in,
    normalise::{order_event, rare_event},
};

const NANOS_A_DAY: u64 = 86_400_000_000_000;

impl EventSource for DaySource {
    type Summary = DaySummary;
    type Error = SourceError;

    fn read(
        &mut self,
        handler: &mut impl EventHandler,
        progress: impl FnMut(&Self),
    ) -> Result<DaySummary, SourceError> {
        read_day_ahead(self, &mut Normalised(handler), progress)
    }
}

/// Calls a handler of events with the messages of a day.
struct Normalised<'a, H>(&'a mut H);

impl<H: EventHandler> DayHandler for Normalised<'_, H> {
    #[inline(always)]
    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()> {
        let origin = MessageOrigin { message, offset: position.offset };
        match order_event(&message) {
            Some(event) => self.0.event(position, &event, origin),
            None => self.rare(position, origin),
        }
    }

    fn damage(&mut self, damage: Damage) {
        self.0.damage(damage);
    }

    fn idle(&mut self) -> ControlFlow<()> {
        self.0.idle()
    }
}

impl<H: EventHandler> Normalised<'_, H> {
    #[inline(never)]
    fn rare(&mut self, position: Position, origin: MessageOrigin<'_>) -> ControlFlow<()> {
        self.0.event(position, &rare_event(&origin.message), origin)
    }
}

impl<H: EventHandler> LookAhead for Normalised<'_, H> {
    type Trail = Option<H::Hint>;

    #[inline(always)]
    fn foresee(&mut self, message: &[u8]) -> Option<H::Hint> {
        itch50::coming(message).map(|coming| self.0.prefetch_index(coming))
    }

    #[inline(always)]
    fn approach(&mut self, trail: &mut Option<H::Hint>) {
        if let Some(hint) = trail {
            self.0.prefetch_order(hint);
        }
    }

    #[inline(always)]
    fn arrive(&mut self, trail: &Option<H::Hint>) {
        if let Some(hint) = trail {
            self.0.prefetch_levels(hint);
        }
    }
}

/// The message that an event was made from.
#[derive(Clone, Copy)]
struct MessageOrigin<'a> {
    message: Message<'a>,
    offset: u64,
}

impl Origin for MessageOrigin<'_> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.message.as_bytes()
    }

    #[cold]
    #[inline(never)]
    fn hidden_record(self, is_listed: impl Fn(StockLocate) -> bool) -> Option<Damage> {
        let (damage, inner) = hidden_in(self.message.as_bytes(), self.offset)?;
        let is_of_a_listed_stock = inner.stock_locate().is_some_and(is_listed);
        let is_of_a_day = inner.timestamp().is_some_and(|time| time.get() < NANOS_A_DAY);
        (is_of_a_listed_stock && is_of_a_day).then_some(damage)
    }
}
