//! The quotes of a stock of a day file, for `--flow`.

use std::{collections::HashMap, ops::ControlFlow, path::Path};

use anyhow::{Context as _, bail};
use nanotape_feed::DaySource;
use nanotape_plant::{
    Step, TradeDate, dbn,
    records::{Record, RecordKind},
};
use nanotape_synth::{Quote, QuoteUpdate};
use nanotape_tap::{Event, Subscription};

/// Units of a price in those of a record.
const UNITS: i64 = 100_000;

/// The changes of the best bid and offer of the stock that has most of them.
pub(super) fn quotes_of(file: &str) -> anyhow::Result<Vec<QuoteUpdate>> {
    let source = DaySource::open(Path::new(file))?;
    // Times are used as spans, so any date does.
    let date: TradeDate = "2000-01-03".parse()?;
    let subscription = Subscription::to(file).records([RecordKind::Bbo]);
    let mut subscriber = subscription.open_day(source, date).with_context(|| file.to_owned())?;
    let midnight_ns = subscriber.midnight_ns().unwrap_or_default();
    let mut stocks: HashMap<u32, Vec<QuoteUpdate>> = HashMap::new();
    loop {
        let step = subscriber.step(|event| {
            if let Event::Record(delivery) = event
                && let Record::Bbo(bbo) = delivery.record
            {
                let updates = stocks.entry(bbo.hd.instrument_id).or_default();
                updates
                    .push(update_of(bbo.hd.ts_event.saturating_sub(midnight_ns), &bbo.levels[0]));
            }
            ControlFlow::Continue(())
        })?;
        if matches!(step, Step::Complete | Step::Gone(_) | Step::Shutdown) {
            break;
        }
    }
    let mut most = stocks.into_values().max_by_key(Vec::len).unwrap_or_default();
    most.dedup_by_key(|update| update.quote);
    if most.len() < 100 {
        bail!("{file}: the busiest stock has {} quotes, 100 needed", most.len());
    }
    Ok(most)
}

fn update_of(time_ns: u64, level: &dbn::BidAskPair) -> QuoteUpdate {
    let price = |price: i64| match price {
        dbn::UNDEF_PRICE => 0,
        price => u32::try_from(price / UNITS).unwrap_or_default(),
    };
    let quote = Quote {
        bid_price: price(level.bid_px),
        bid_shares: level.bid_sz,
        offer_price: price(level.ask_px),
        offer_shares: level.ask_sz,
    };
    QuoteUpdate { time_ns, stock: 0, quote }
}
