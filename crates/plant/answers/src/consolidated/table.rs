//! The columns of consolidated insides.

use std::{fmt::Write as _, ops::ControlFlow};

use nanotape_types::{
    NanosSinceMidnight, PriceScale,
    rows::{Cell, Column, Kind, Sink, StockName},
};

use super::{ConsolidatedQuote, ConsolidatedRow};
use crate::symbol_column;

/// Rows of the best prices over venues.
#[derive(Debug)]
pub struct ConsolidatedTable<S> {
    /// Takes the rows.
    pub sink: S,
    labels: Vec<String>,
    /// The texts of a row; members, to reuse their memory.
    venues: [String; 2],
    stale: String,
}

impl<S> ConsolidatedTable<S> {
    /// A table of venues with these labels.
    pub fn new(sink: S, labels: Vec<String>) -> Self {
        Self { sink, labels, venues: Default::default(), stale: String::new() }
    }

    /// Its columns.
    pub fn columns() -> Vec<Column> {
        let time = "Time of the change at the exchange: that of the message, or of the moment at \
                    which a venue became stale.";
        let mut columns = vec![
            Column::new("ts_ns", Kind::Time, 14, time).of("ns since midnight"),
            symbol_column(),
        ];
        for side in ["bid", "ask"] {
            let name = |what: &str| format!("{side}_{what}");
            let price = "Best price over all venues that are not stale. Absent without a quote.";
            let size = "Displayed shares at the price, of all venues. Absent without a price.";
            let venues = "The venues that have the price, with + between them. Absent without a \
                          price.";
            columns.extend([
                Column::new(name("price"), Kind::Price, 11, price).of("USD"),
                Column::new(name("size"), Kind::U64, 8, size).of("shares"),
                Column::new(name("venues"), Kind::Text, 14, venues),
            ]);
        }
        let stale = "The stale venues, each with the exchange's time of its last message, as in \
                     `IEXG since 10:00:00.000000001`, with + between them. Absent if none is.";
        columns.push(Column::new("stale", Kind::Text, 0, stale));
        columns
    }
}

impl<S: Sink> ConsolidatedTable<S> {
    /// Gives a row to the sink.
    pub fn row(&mut self, row: &ConsolidatedRow<'_>) -> ControlFlow<()> {
        let Self { sink, labels, venues: [bid_text, offer_text], stale } = self;
        stale.clear();
        for (label, since_ns) in labels.iter().zip(row.stale) {
            if let Some(since) = since_ns.and_then(NanosSinceMidnight::new) {
                separate(stale, " + ");
                // Writing to a string cannot fail.
                let _ = write!(stale, "{label} since {since}");
            }
        }
        let stock = StockName::new(Some(row.symbol), 0);
        let [bid_price, bid_size, bid_venues] = quote_cells(row.inside.bid, labels, bid_text);
        let [offer_price, offer_size, offer_venues] =
            quote_cells(row.inside.offer, labels, offer_text);
        sink.row(&[
            Cell::Time(row.ts_ns),
            Cell::Stock(stock),
            bid_price,
            bid_size,
            bid_venues,
            offer_price,
            offer_size,
            offer_venues,
            if stale.is_empty() { Cell::Absent } else { Cell::Text(stale) },
        ])
    }
}

fn quote_cells<'a>(
    quote: Option<ConsolidatedQuote>,
    labels: &[String],
    text: &'a mut String,
) -> [Cell<'a>; 3] {
    let Some(ConsolidatedQuote { price, shares, venues }) = quote else { return [Cell::Absent; 3] };
    text.clear();
    for venue in venues.iter() {
        separate(text, "+");
        text.push_str(labels.get(venue).map_or("?", String::as_str));
    }
    [Cell::Price(PriceScale::WIDE.ten_thousandths(price)), Cell::U64(shares), Cell::Text(text)]
}

fn separate(text: &mut String, separator: &str) {
    if !text.is_empty() {
        text.push_str(separator);
    }
}
