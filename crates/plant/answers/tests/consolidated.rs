//! Best prices over venues against a sort of all events and a search of all quotes.

use std::{collections::BTreeMap, num::NonZeroU64, ops::ControlFlow, path::PathBuf};

use nanotape_answers::{
    ConsolidatedBooks, ConsolidatedInside, ConsolidatedQuote, ConsolidatedReading, Input,
    InputOptions, Opening, Span, VenueInput, VenueSet, venue_labels,
};
use nanotape_book::{DefaultBooks, Inside, Outcome, Quote};
use nanotape_engine::{BookEngine, Observer};
use nanotape_harness::Scratch;
use nanotape_market::{MarketEvent, Position};
use nanotape_plant::Moment;
use nanotape_synth::{Market, MarketConfig};
use nanotape_types::{Price, Side, Symbol};
use proptest::{collection::vec, prelude::*};

const S: u64 = 1_000_000_000;

/// Best bid and best offer over the venues that are not stale, by a search.
fn best(insides: &[Inside], stale: &[Option<u64>]) -> ConsolidatedInside {
    let side = |side: Side| {
        let quotes = || {
            let venues = insides.iter().zip(stale).enumerate();
            venues
                .filter(|(_, (_, stale))| stale.is_none())
                .filter_map(move |(venue, (of, _))| Some((venue, of.side(side)?)))
        };
        let prices = quotes().map(|(_, quote)| quote.price);
        let price = if side == Side::Buy { prices.max()? } else { prices.min()? };
        let at_price = || quotes().filter(|(_, quote)| quote.price == price);
        Some(ConsolidatedQuote {
            price,
            shares: at_price().map(|(_, quote)| quote.shares.get()).sum(),
            venues: at_price().fold(VenueSet::default(), |set, (venue, _)| set.with(venue)),
        })
    };
    ConsolidatedInside { bid: side(Side::Buy), offer: side(Side::Sell) }
}

fn quote() -> impl Strategy<Value = Option<Quote>> {
    proptest::option::weighted(0.8, (10_u32..14, 1_u64..4)).prop_map(|of| {
        of.map(|(price, shares)| Quote {
            price: Price::new(price),
            shares: NonZeroU64::new(shares).unwrap(),
        })
    })
}

fn symbol(number: usize) -> Symbol {
    format!("S{number}").parse().unwrap()
}

proptest! {
    #[test]
    fn the_best_prices_are_those_of_a_search(
        steps in vec((0_usize..4, 0_usize..3, quote(), quote(), any::<Option<bool>>()), 1..200)
    ) {
        let mut books = ConsolidatedBooks::new(4);
        let (mut stale, mut stocks) = (vec![None; 4], BTreeMap::<Symbol, Vec<Inside>>::new());
        for (venue, stock, bid, offer, change) in steps {
            match change {
                Some(true) => {
                    stale[venue] = if stale[venue].is_some() { None } else { Some(7) };
                    let found = books.set_stale(venue, stale[venue]);
                    let found: Vec<_> = found.into_iter().map(|at| books.symbol(at)).collect();
                    let has_quote = |of: &Vec<Inside>| of[venue] != Inside::default();
                    let quoted = stocks.iter().filter(|(_, of)| has_quote(of));
                    prop_assert_eq!(found, quoted.map(|(symbol, _)| *symbol).collect::<Vec<_>>());
                }
                _ => {
                    let at = stocks.entry(symbol(stock)).or_insert(vec![Inside::default(); 4]);
                    let before = best(at, &stale);
                    at[venue] = Inside { bid, offer };
                    let after = best(at, &stale);
                    let changed = books.set(venue, symbol(stock), Inside { bid, offer });
                    prop_assert_eq!(changed.is_some(), before != after);
                    if let Some(changed) = changed {
                        prop_assert_eq!(books.symbol(changed), symbol(stock));
                        prop_assert_eq!(books.inside(changed), after);
                    }
                }
            }
            prop_assert_eq!(books.stale(), &stale[..]);
        }
    }
}

/// A row: time, stock, best prices, stale venues.
type Row = (u64, Symbol, ConsolidatedInside, Vec<Option<u64>>);

/// Three days of the same stocks, which count as one date.
struct Days {
    files: Vec<PathBuf>,
    _scratch: Scratch,
}

impl Days {
    fn new() -> Self {
        let scratch = Scratch::folder("consolidated");
        let mut files = Vec::new();
        for (date, messages) in [("2019-12-27", 3_000), ("2019-12-30", 4_000), ("2020-01-02", 900)]
        {
            let file = scratch.path().join(format!("{messages}.itch"));
            let date = date.parse().unwrap();
            let market = MarketConfig { messages, symbols: 4, seed: 5, date };
            let mut bytes = Vec::new();
            Market::new(market).unwrap().write_to(&mut bytes).unwrap();
            std::fs::write(&file, bytes).unwrap();
            files.push(file);
        }
        Self { files, _scratch: scratch }
    }

    fn open(&self, span: Span, symbols: &[Symbol]) -> Vec<Opening> {
        let date = Some("2019-12-30".parse().unwrap());
        let options = InputOptions { date, ..InputOptions::default() };
        let open = |file: &PathBuf| Input::open(&**file, options.clone())?.within(span, symbols);
        self.files.iter().map(|file| open(file).unwrap()).collect()
    }

    fn rows(
        &self,
        span: (Option<u64>, Option<u64>),
        symbols: &[Symbol],
        stale_ns: u64,
    ) -> Vec<Row> {
        let midnight_ns = self.open(Span::default(), &[])[0].midnight_ns.unwrap();
        let moment = |ns: Option<u64>| ns.map(|ns| Moment::Unix(midnight_ns + ns));
        let openings = self.open(Span::new(moment(span.0), moment(span.1)), symbols);
        let read = |opening| VenueInput::read(opening, symbols, stale_ns);
        let inputs = openings.into_iter().map(read).collect();
        let (mut rows, from_ns) = (Vec::new(), span.0.unwrap_or(0));
        let ends = ConsolidatedReading::new(inputs, &[Some(midnight_ns); 3], from_ns).run(|row| {
            rows.push((row.ts_ns, row.symbol, row.inside, row.stale.to_vec()));
            ControlFlow::Continue(())
        });
        assert!(ends.into_iter().all(|end| end.unwrap().unnamed == 0));
        rows
    }
}

/// Every event of an input: its time, and the inside of its stock.
#[derive(Default)]
struct Everything {
    day_begins_ns: u64,
    events: Vec<(u64, Option<(Symbol, Inside)>)>,
}

impl Observer<DefaultBooks> for Everything {
    fn day_begins(&mut self, unix_ns: u64) {
        self.day_begins_ns = unix_ns;
    }

    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        _: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        assert!(event.is_last);
        let of_stock = outcome.map(|outcome| {
            let inside = engine.books().book(outcome.stock_locate).inside();
            (engine.directory().symbol(outcome.stock_locate).unwrap(), inside)
        });
        self.events.push((event.time.unwrap().get() - self.day_begins_ns, of_stock));
        ControlFlow::Continue(())
    }
}

enum Action {
    Event(Option<(Symbol, Inside)>),
    Stale(u64),
    Back,
    StaleAfterEnd(u64),
}

/// The rows of whole days, by a sort of everything.
fn expected(days: &Days, stale_ns: u64) -> Vec<Row> {
    let mut actions = Vec::new();
    for (venue, opening) in days.open(Span::default(), &[]).into_iter().enumerate() {
        let mut all = Everything::default();
        opening.run(&mut all, |_| ()).unwrap();
        let mut last = None;
        for (ts_ns, event) in all.events {
            let silent = last.filter(|last| ts_ns - last > stale_ns);
            if let Some(since) = silent {
                actions.push((since + stale_ns, venue, Action::Stale(since)));
            }
            actions.push((ts_ns, venue, Action::Event(event)));
            if silent.is_some() {
                actions.push((ts_ns, venue, Action::Back));
            }
            last = Some(ts_ns);
        }
        let since = last.unwrap();
        actions.push((since + stale_ns, venue, Action::StaleAfterEnd(since)));
    }
    actions.sort_by_key(|(ts_ns, venue, _)| (*ts_ns, *venue));
    while let Some((_, _, Action::StaleAfterEnd(_))) = actions.last() {
        actions.pop();
    }
    let (mut rows, mut stale) = (Vec::new(), vec![None; 3]);
    let mut stocks = BTreeMap::<Symbol, Vec<Inside>>::new();
    for (ts_ns, venue, action) in actions {
        match action {
            Action::Event(None) => {}
            Action::Event(Some((symbol, inside))) => {
                let at = stocks.entry(symbol).or_insert(vec![Inside::default(); 3]);
                let before = best(at, &stale);
                at[venue] = inside;
                let after = best(at, &stale);
                if before != after {
                    rows.push((ts_ns, symbol, after, stale.clone()));
                }
            }
            Action::Stale(since) | Action::StaleAfterEnd(since) => stale[venue] = Some(since),
            Action::Back => stale[venue] = None,
        }
        if matches!(action, Action::Stale(_) | Action::StaleAfterEnd(_) | Action::Back) {
            for (symbol, at) in &stocks {
                if at[venue] != Inside::default() {
                    rows.push((ts_ns, *symbol, best(at, &stale), stale.clone()));
                }
            }
        }
    }
    rows
}

#[test]
fn the_rows_of_three_days_are_those_of_a_sort_of_all_events() {
    let days = Days::new();
    for stale_ns in [1, S, 10 * S, 100 * S, 1_000 * S, u64::MAX / 4] {
        let expected = expected(&days, stale_ns);
        let found = days.rows((None, None), &[], stale_ns);
        assert!(found.len() > 1_000, "{}", found.len());
        let differ = found.iter().zip(&expected).position(|(one, two)| one != two);
        assert!(found == expected, "{stale_ns}: {differ:?}, {} {}", found.len(), expected.len());
        // Both are there: the longest silence of a venue, and a time that no silence reaches.
        let has_stale = found.iter().any(|row| row.3.iter().any(Option::is_some));
        assert_eq!(has_stale, stale_ns <= 1_000 * S, "{stale_ns}");
    }
}

#[test]
fn the_rows_of_a_span_are_those_of_the_whole_in_it() {
    let days = Days::new();
    for stale_ns in [S, 60 * S] {
        let whole = days.rows((None, None), &[], stale_ns);
        let at = |share: usize| whole[whole.len() * share / 16].0;
        // In the gaps between events, too: a venue is stale before the span and after it.
        for (from, until) in [(3, 4), (1, 15), (7, 8), (0, 16)] {
            let (from, until) = (at(from) + 1, if until == 16 { u64::MAX / 8 } else { at(until) });
            let found = days.rows((Some(from), Some(until)), &[], stale_ns);
            let of_span = |row: &&Row| (from..until).contains(&row.0);
            let expected: Vec<_> = whole.iter().filter(of_span).cloned().collect();
            assert!(found == expected, "{from}..{until}: {} {}", found.len(), expected.len());
        }
        // Of one stock.
        let one = whole[whole.len() / 2].1;
        let expected: Vec<_> = whole.iter().filter(|row| row.1 == one).cloned().collect();
        assert_eq!(days.rows((None, None), &[one], stale_ns), expected);
    }
}

/// A venue that ends within a span is stale to its end, although no other one has a change then.
#[test]
fn an_input_that_has_ended_is_stale_up_to_the_end_of_the_span() {
    let mut days = Days::new();
    // One input ends at noon, with full books.
    let bytes = std::fs::read(&days.files[0]).unwrap();
    let cut = days.files[0].with_extension("cut");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    days.files[0] = cut;
    let whole = days.rows((None, None), &[], S);
    let is_ended = |row: &Row| row.3[0].is_some();
    let begun = whole.iter().rposition(|row| !is_ended(row)).unwrap();
    let stale_at = whole[begun + 1..].iter().find(|row| is_ended(row)).unwrap().0;
    let found = days.rows((Some(stale_at - S), Some(stale_at + 1)), &[], S);
    let expected = whole.iter().filter(|row| (stale_at - S..=stale_at).contains(&row.0));
    assert_eq!(found, expected.cloned().collect::<Vec<_>>());
    assert!(is_ended(found.last().unwrap()), "{found:?}");
}

#[test]
fn labels_are_markets_and_unique() {
    assert_eq!(venue_labels(&[2, 5, 38, 5, 0]), ["XNAS", "BATS", "IEXG", "BATS.2", "input5"]);
}
