//! The names that most programs need: `use nanotape::prelude::*`.

pub use nanotape_answers::{
    BookRow, BookRows, Input, InputError, InputKind, InputOptions, RecordSpan, Session, Span,
};
pub use nanotape_book::{Books, DefaultBooks, DepthLevel, Inside, Outcome, Quote};
pub use nanotape_engine::{BookEngine, Observer};
pub use nanotape_feed::DaySource;
pub use nanotape_market::{EventTime, MarketEvent, Position, What};
pub use nanotape_plant::{LocalBooks, PlantConfig, PlantRun};
pub use nanotape_tap::{
    Delivery, Event, Subscriber, Subscription,
    states::{CopiedStocks, StockState, StockWords},
};
pub use nanotape_types::{
    NanosSinceMidnight, OrderReferenceNumber, Price, Price4, Shares, Side, StockLocate, Symbol,
};
