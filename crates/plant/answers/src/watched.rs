//! An observer behind a pointer. With it the loops over the records of a journal and of a DBN file
//! exist once, and not once for each observer of a command. A day file has more messages in less
//! time: it keeps a loop for each observer.

use std::ops::ControlFlow;

use nanotape_book::{DefaultBooks, Order, Outcome};
use nanotape_engine::{BookEngine, Observer, RestoredStock};
use nanotape_market::{Damage, Doubt, MarketEvent, Position, SessionChange};

type Engine = BookEngine<DefaultBooks>;

/// The observer of records. They have no bytes and no packets.
pub(crate) struct Watched<'o>(pub(crate) &'o mut dyn Watch);

macro_rules! watch {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {
        /// The methods of an [`Observer`] that a source of records calls.
        pub(crate) trait Watch {
            $(fn $name(&mut self, $($argument: $kind),*) $(-> $result)?;)*
        }

        impl<O: Observer<DefaultBooks>> Watch for O {
            $(fn $name(&mut self, $($argument: $kind),*) $(-> $result)? {
                Observer::$name(self, $($argument),*)
            })*
        }

        impl Observer<DefaultBooks> for Watched<'_> {
            $(fn $name(&mut self, $($argument: $kind),*) $(-> $result)? {
                self.0.$name($($argument),*)
            })*
        }
    };
}

watch! {
    fn follows_books() -> bool;
    fn begin(engine: &Engine, nanos: u64);
    fn day_begins(unix_ns: u64);
    fn before(engine: &Engine, at: Position, event: &MarketEvent);
    fn after(
        engine: &Engine,
        at: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>
    ) -> ControlFlow<()>;
    fn order_entered(order: &Order);
    fn order_reduced(order: &Order, shares: u32);
    fn admit(at: Position, event: &MarketEvent) -> ControlFlow<()>;
    fn received(ts_recv_ns: u64);
    fn damage(damage: Damage);
    fn session(change: &SessionChange);
    fn doubt(doubt: Doubt);
    fn restoring(engine: &Engine, stock: &RestoredStock<'_>);
    fn restored(engine: &Engine, stock: &RestoredStock<'_>);
    fn idle() -> ControlFlow<()>;
}
