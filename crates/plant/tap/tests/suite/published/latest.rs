//! The newest states of all stocks: those of the book and of a naive count, whatever became of
//! their keeper; and subscribers that begin with them.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use nanotape_latest::{LatestReader, LatestWriter};
use nanotape_plant::{PlantRun, ShutdownFlag, records::Record};
use nanotape_shm::RegionOptions;
use nanotape_tap::{
    Event, LatestKeeper, LatestKeeperError, LatestKeeperOptions, LatestKeeperSummary,
    SubscribeError, Subscription,
    states::{
        CopiedStocks, CopyError, StockState, StockWords, WHOLE_MARKET, doubt, stock_key, stock_map,
    },
};
use nanotape_tape::{Step, WriterState};
use nanotape_testkit::naive::{NaiveDay, NaiveDayStock};
use nanotape_types::Symbol;

use crate::published::support::{Folder, run};

/// DBN's number of Nasdaq TotalView-ITCH.
const PUBLISHER: u16 = 2;

struct Kept {
    folder: Folder,
    day: PathBuf,
}

impl Kept {
    fn new(messages: u64, stocks: u16) -> Self {
        let folder = Folder::new();
        let day = folder.day(messages, stocks);
        Self { folder, day }
    }

    fn map(&self) -> PathBuf {
        self.folder.path("map")
    }

    fn keeper_with(
        &self,
        options: &LatestKeeperOptions,
    ) -> Result<LatestKeeper, LatestKeeperError> {
        let options = LatestKeeperOptions { entries: 1_000, ..options.clone() };
        LatestKeeper::open(self.folder.ring().as_ref(), &self.map(), &options)
    }

    fn keeper(&self) -> LatestKeeper {
        self.keeper_with(&LatestKeeperOptions::default()).unwrap()
    }

    /// Reads to the end of the run.
    fn keep(&self) -> LatestKeeperSummary {
        let mut keeper = self.keeper();
        keeper.run(|_| ()).unwrap();
        let summary = keeper.summary();
        keeper.close().unwrap();
        summary
    }

    fn copy(&self) -> CopiedStocks {
        CopiedStocks::read(&self.map(), PUBLISHER).unwrap()
    }

    /// The words of the market's entry.
    fn market(&self) -> StockWords {
        let mut words = StockWords::default();
        let reader = LatestReader::open(&self.map()).unwrap();
        reader.get(&stock_key(PUBLISHER, WHOLE_MARKET), &mut words).unwrap().unwrap();
        words
    }

    fn set_market(&self, words: &StockWords) {
        let mut writer = LatestWriter::open(&self.map(), &RegionOptions::default()).unwrap();
        writer.insert(&stock_key(PUBLISHER, WHOLE_MARKET), words).unwrap();
    }

    fn naive(&self) -> NaiveDay {
        NaiveDay::of(&std::fs::read(&self.day).unwrap())
    }

    /// Asserts that the map has the states at the end of the day.
    fn assert_end(&self) {
        let naive = self.naive();
        let copied = self.copy();
        assert_eq!(copied.stocks.len(), naive.stocks.len());
        for (symbol, state) in &copied.stocks {
            let locate = state.instrument_id() as u16;
            assert_eq!(symbol.to_string(), naive.stocks[&locate].symbol);
            assert_inside(&naive, state);
            assert_trades(&naive.stocks[&locate], state);
            assert_eq!(state.doubts(), 0, "{symbol}: {}", doubt::text(state.doubts()));
            let is_trading = naive.stocks[&locate].trading_state == Some(b'T');
            assert_eq!(state.is_trading().as_bytes() == b"Y", is_trading, "{symbol}");
        }
        let trades: u64 = copied.stocks.iter().map(|(_, state)| state.trades()).sum();
        let volume: u64 = copied.stocks.iter().map(|(_, state)| state.volume()).sum();
        assert!(trades > 100, "{trades}");
        assert_eq!((copied.market.trades(), copied.market.volume()), (trades, volume));
        assert_eq!((copied.market.is_over(), copied.market.doubts()), (1, 0));
    }
}

fn assert_inside(naive: &NaiveDay, state: &StockState<StockWords>) {
    let locate = state.instrument_id() as u16;
    let side = |px: i64, sz: u32| (px != i64::MAX).then(|| (px as u64 / 100_000, u64::from(sz)));
    assert_eq!(
        side(state.bid_price(), state.bid_size()),
        naive.best(locate, true),
        "bid of {locate}"
    );
    assert_eq!(
        side(state.ask_price(), state.ask_size()),
        naive.best(locate, false),
        "offer of {locate}"
    );
}

fn assert_trades(naive: &NaiveDayStock, state: &StockState<StockWords>) {
    let trades = &naive.trades;
    assert_eq!((state.trades(), state.volume()), (trades.len() as u64, naive.volume()));
    assert_eq!(state.notional() as u128, naive.notional() * 100_000);
    let prices = || trades.iter().map(|trade| trade.price as i64 * 100_000);
    let or_none = |price: Option<i64>| price.unwrap_or(i64::MAX);
    assert_eq!(state.last_price(), or_none(prices().next_back()));
    assert_eq!(u64::from(state.last_size()), trades.last().map_or(0, |trade| trade.shares));
    assert_eq!(state.open_price(), or_none(prices().next()));
    assert_eq!(state.high_price(), or_none(prices().max()));
    assert_eq!(state.low_price(), or_none(prices().min()));
}

#[test]
fn the_states_at_the_end_of_a_day_are_those_of_a_naive_count() {
    let kept = Kept::new(60_000, 30);
    let ended = run(&kept.folder.config(&kept.day));
    let summary = kept.keep();
    assert_eq!((summary.lost, summary.doubts), (0, 0));
    assert_eq!(summary.next_sequence, ended.stop.records + 1);
    kept.assert_end();
}

#[test]
fn a_keeper_that_was_killed_after_any_step_counts_nothing_twice() {
    let kept = Kept::new(30_000, 20);
    run(&kept.folder.config(&kept.day));
    let mut earlier = None;
    for steps in 1.. {
        let mut keeper = kept.keeper();
        // Dropped without a word to the map, as by a kill.
        let is_over =
            (0..1 + steps % 17).any(|_| matches!(keeper.step(|_| ()).unwrap(), Step::Gone(_)));
        drop(keeper);
        if is_over {
            break;
        }
        // Every third was killed before it wrote the number up to which it had written.
        let now = kept.market();
        if steps % 3 == 0 {
            kept.set_market(&earlier.unwrap_or(now));
        } else {
            earlier = Some(now);
        }
    }
    kept.assert_end();
}

#[test]
fn what_a_keeper_lost_is_in_doubt_until_the_next_run() {
    let kept = Kept::new(40_000, 20);
    let mut config = kept.folder.config(&kept.day);
    config.ring.capacity_bytes = Some(64 << 10);
    run(&config);
    let summary = kept.keep();
    assert!(summary.lost > 10_000, "{summary:?}");
    let naive = kept.naive();
    let copied = kept.copy();
    // The state of the market came after the loss, and it has no inside.
    assert_eq!(copied.market.doubts(), doubt::RECORDS_LOST);
    let mut changed = 0;
    for (_, state) in &copied.stocks {
        assert!(!state.is_reliable());
        assert_eq!(state.doubt_sequence(), summary.lost);
        // An inside that came after the loss is that of the book.
        if state.doubts() & doubt::MISSED == 0 {
            assert_inside(&naive, state);
            changed += 1;
        }
    }
    assert!(changed > 0);

    config.ring.capacity_bytes = Some(64 << 20);
    config.ring.replace = true;
    run(&config);
    kept.keep();
    kept.assert_end();
}

#[test]
fn a_new_run_begins_with_no_stock_of_the_last_one() {
    let kept = Kept::new(20_000, 25);
    run(&kept.folder.config(&kept.day));
    kept.keep();
    let before = kept.copy();
    let few = kept.folder.day(20_000, 5);
    run(&kept.folder.config(&few));
    let kept = Kept { day: few, ..kept };
    kept.keep();
    kept.assert_end();
    assert!(kept.copy().market.started_ns() > before.market.started_ns());
    let reader = LatestReader::open(&kept.map()).unwrap();
    assert_eq!(reader.len(), 1 + 5);
}

#[test]
fn a_keeper_goes_on_from_one_run_to_the_next() {
    let kept = Kept::new(20_000, 25);
    let config = kept.folder.config(&kept.day);
    run(&config);
    let options = LatestKeeperOptions { through_restarts: true, ..LatestKeeperOptions::default() };
    let mut keeper = kept.keeper_with(&options).unwrap();
    while !matches!(keeper.step(|_| ()).unwrap(), Step::Gone(WriterState::Closed)) {}
    let few = kept.folder.day(20_000, 5);
    run(&kept.folder.config(&few));
    while !matches!(keeper.step(|_| ()).unwrap(), Step::Gone(WriterState::Closed)) {}
    keeper.close().unwrap();
    Kept { day: few, ..kept }.assert_end();
}

#[test]
fn one_keeper_at_a_time() {
    let kept = Kept::new(5_000, 5);
    run(&kept.folder.config(&kept.day));
    let mut first = kept.keeper();
    // The second waits for the end of the first, and gives up.
    let hand_over = Duration::from_millis(50);
    let options = LatestKeeperOptions { hand_over, ..LatestKeeperOptions::default() };
    let error = kept.keeper_with(&options).unwrap_err();
    assert!(matches!(error, LatestKeeperError::Kept { writer: 1, .. }), "{error}");
    first.run(|_| ()).unwrap();
    // One that took the entry over by force ends the first.
    let mut market = kept.market();
    market[11] |= 0xffff << 48;
    kept.set_market(&market);
    assert!(matches!(first.close(), Err(LatestKeeperError::Taken { .. })));
}

#[test]
fn a_map_of_other_values_is_refused() {
    let kept = Kept::new(1_000, 3);
    run(&kept.folder.config(&kept.day));
    let spec = nanotape_latest::LatestSpec { entries: 9, ..stock_map(1) };
    let spec = nanotape_latest::LatestSpec { value_layout: 0, ..spec };
    let other = LatestWriter::join(&kept.map(), spec, &RegionOptions::default()).unwrap();
    let error = kept.keeper_with(&LatestKeeperOptions::default()).unwrap_err();
    let LatestKeeperError::Copy { error, .. } = error else { panic!("{error}") };
    assert!(matches!(*error, CopyError::Latest(_)), "{error}");
    drop(other);
}

#[test]
fn a_subscriber_goes_on_behind_the_states_with_exactly_the_next_records() {
    let kept = Kept::new(40_000, 20);
    run(&kept.folder.config(&kept.day));
    let mut keeper = kept.keeper();
    let mut behind = Vec::new();
    // States that are ahead of the number of the map, as while the keeper writes them.
    let mut earlier: Option<StockWords> = None;
    for step in 0.. {
        let is_over = matches!(keeper.step(|_| ()).unwrap(), Step::Gone(_));
        if is_over || step % 37 == 5 {
            let now = kept.market();
            kept.set_market(&earlier.unwrap_or(now));
            behind.push(read_on(&kept));
            kept.set_market(&now);
            earlier = Some(now);
        }
        if is_over {
            break;
        }
    }
    assert!(behind.len() > 4, "{behind:?}");
    assert!(behind.iter().any(|left_out| *left_out > 0), "{behind:?}");
}

/// Adds the trades after the map to those in it. Returns how many of the ring's records after the
/// number of the map were left out, because the states had them.
fn read_on(kept: &Kept) -> u64 {
    let mut subscriber = Subscription::to(&kept.folder.ring())
        .with_latest(&kept.map())
        .records([nanotape_plant::records::RecordKind::Trades])
        .open()
        .unwrap();
    let copied = subscriber.latest().unwrap().clone();
    let mut sums: BTreeMap<u16, (u64, u64)> = copied
        .stocks
        .iter()
        .map(|(_, state)| (state.instrument_id() as u16, (state.trades(), state.volume())))
        .collect();
    let in_map: u64 = sums.values().map(|(trades, _)| trades).sum();
    while let Some(event) = subscriber.next().unwrap() {
        let Event::Record(delivery) = event else { panic!("{event:?}") };
        assert!(delivery.sequence >= copied.next_sequence());
        if let Record::Trade(trade) = delivery.record {
            let (trades, volume) = sums.entry(trade.hd.instrument_id as u16).or_default();
            (*trades, *volume) = (*trades + 1, *volume + u64::from(trade.size));
        }
    }
    let naive = kept.naive();
    for (locate, stock) in naive.stocks {
        let expected = (stock.trades.len() as u64, stock.volume());
        assert_eq!(sums.get(&locate).copied().unwrap_or_default(), expected, "{locate}");
    }
    // The market's entry counts the trades up to its number.
    in_map - copied.market.trades()
}

#[test]
fn a_subscriber_waits_for_the_states_of_the_run() {
    let kept = Kept::new(5_000, 5);
    let config = kept.folder.config(&kept.day);
    run(&config);
    let subscription = || Subscription::to(&kept.folder.ring()).with_latest(&kept.map());
    assert!(matches!(subscription().open(), Err(SubscribeError::Latest { .. })));
    kept.keep();
    subscription().open().unwrap();
    let mut plant = PlantRun::open(&config, ShutdownFlag::new()).unwrap();
    let error = subscription().open().unwrap_err();
    assert!(matches!(error, SubscribeError::OtherRun { .. }), "{error}");
    plant.run(|_| ()).unwrap();
    drop(plant);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| subscription().wait(Duration::from_secs(60)).open());
        kept.keep();
        assert!(waiting.join().unwrap().unwrap().latest().is_some());
    });
}

#[test]
fn doubts_have_words() {
    assert_eq!(doubt::text(0), "");
    assert_eq!(doubt::text(doubt::TAINTED | doubt::RECORDS_LOST), "tainted+records_lost");
    assert_eq!(stock_key(2, Symbol::new(*b"AAPL    "))[1].to_le_bytes(), *b"AAPL    ");
}
