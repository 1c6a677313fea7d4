//! What single records change of a state, above all the rare ones: doubts, late records, names.

use dbn::{
    BidAskPair, FlagSet, Mbp1Msg, RecordHeader, StatusMsg, TradeMsg, UNDEF_ORDER_SIZE, rtype,
};
use nanotape_book::Anomaly;
use nanotape_latest::LatestWriter;
use nanotape_records::{
    Gap, GapKind, Header, Notice, Record, RecordKinds, RestoredCause, RestoredNotice,
    SuspectNotice, SuspectReason, Taint, UNSTATED_PUBLISHER_ID,
};
use nanotape_types::Symbol;

use super::{apply, stocks::Stocks};
use crate::{
    Delivery,
    states::{CopiedStocks, StockState, StockWords, WHOLE_MARKET, doubt, stock_key, stock_map},
};

const MSFT: Symbol = Symbol::new(*b"MSFT    ");

/// Stocks, and the number of the next record.
struct Run {
    stocks: Stocks,
    next: u64,
    symbol: Option<Symbol>,
}

impl Run {
    fn new() -> Self {
        Self {
            stocks: Stocks::of_run(UNSTATED_PUBLISHER_ID, 77, 0, RecordKinds::ALL),
            next: 1,
            symbol: Some(MSFT),
        }
    }

    fn apply(&mut self, record: Record<'_>, bytes: &[u8]) {
        let (sequence, symbol) = (self.next, self.symbol);
        self.next += 1;
        let has_stock = Header::of(bytes).unwrap().instrument_id != 0;
        let delivery = Delivery {
            sequence,
            type_id: 0,
            symbol: symbol.filter(|_| has_stock),
            record,
            bytes,
            midnight_ns: None,
            books: None,
            is_digest_same: None,
        };
        assert!(self.stocks.apply(&delivery).is_none());
    }

    fn notice(&mut self, notice: Notice) {
        let mut buffer = Notice::buffer();
        let bytes = notice.encode(2, &mut buffer).to_vec();
        self.apply(Record::Notice(notice), &bytes);
    }

    fn quote(&mut self, bid_px: i64, flags: u8) {
        let inside = BidAskPair { bid_px, bid_sz: 5, ..BidAskPair::default() };
        let quote = Mbp1Msg {
            hd: RecordHeader::new::<Mbp1Msg>(rtype::MBP_1, UNSTATED_PUBLISHER_ID, 4, 1_000),
            flags: FlagSet::new(flags),
            levels: [inside],
            ..Mbp1Msg::default()
        };
        self.apply(Record::Bbo(&quote), quote.as_ref());
    }

    fn trade(&mut self, ts_event: u64, price: i64, size: u32) {
        self.trade_of(4, ts_event, price, size);
    }

    fn trade_of(&mut self, stock: u32, ts_event: u64, price: i64, size: u32) {
        self.numbered_trade(stock, self.next as u32, ts_event, price, size);
    }

    fn numbered_trade(&mut self, stock: u32, sequence: u32, ts_event: u64, price: i64, size: u32) {
        let trade = TradeMsg {
            sequence,
            hd: RecordHeader::new::<TradeMsg>(rtype::MBP_0, UNSTATED_PUBLISHER_ID, stock, ts_event),
            price,
            size,
            ..TradeMsg::default()
        };
        self.apply(Record::Trade(&trade), trade.as_ref());
    }

    fn status(&mut self, stock: u32, ts_event: u64, action: u16, answers: [u8; 3]) {
        let [trading, quoting, restricted] = answers.map(|answer| answer as _);
        let status = StatusMsg {
            hd: RecordHeader::new::<StatusMsg>(
                rtype::STATUS,
                UNSTATED_PUBLISHER_ID,
                stock,
                ts_event,
            ),
            action,
            is_trading: trading,
            is_quoting: quoting,
            is_short_sell_restricted: restricted,
            ..StatusMsg::default()
        };
        self.apply(Record::Status(&status), status.as_ref());
    }

    fn suspect(&mut self, reason: SuspectReason) {
        self.notice(Notice::Suspect(SuspectNotice { ts_recv: 1, reason, first: 2, next: 3 }));
    }

    fn restored(&mut self, instrument_id: u32, cause: RestoredCause) {
        let notice = RestoredNotice { instrument_id, ts_event: 1, ts_recv: 2, cause, next: 3 };
        self.notice(Notice::Restored(notice));
    }

    fn taint(&mut self) {
        let taint = Taint {
            instrument_id: 4,
            ts_event: 1,
            ts_recv: 2,
            anomaly: Some(Anomaly::OverCancel),
            message: 9,
        };
        self.notice(Notice::Taint(taint));
    }

    fn gap(&mut self, kind: GapKind) {
        let gap = Gap { ts_recv: 1, kind, offset: 2, lost_bytes: 3, after_message: 4 };
        self.notice(Notice::Gap(gap));
    }

    /// The state of the only stock, by way of a map.
    fn state(&mut self) -> StockState<StockWords> {
        let mut writer = LatestWriter::on_heap(stock_map(9), 1).unwrap();
        let mut market = apply::unknown(0, 77);
        market.set_keeper(writer.number() as u16);
        let key = stock_key(UNSTATED_PUBLISHER_ID, WHOLE_MARKET);
        let _ = writer.insert(&key, market.words()).unwrap();
        self.stocks.market.set_keeper(writer.number() as u16);
        self.stocks.write_all(&mut writer, self.next - 1);
        let copied = CopiedStocks::of(&writer.reader(), UNSTATED_PUBLISHER_ID).unwrap();
        let [(symbol, state)] = copied.stocks[..] else { panic!("{copied:?}") };
        assert_eq!(Some(symbol), self.symbol);
        state
    }

    fn doubts(&mut self) -> u16 {
        let state = self.state();
        assert_eq!(state.doubts() == 0, state.doubt_sequence() == 0);
        assert_eq!(state.is_reliable(), state.doubts() == 0);
        state.doubts()
    }
}

#[test]
fn a_taint_lasts_until_the_book_is_restored() {
    let mut run = Run::new();
    run.quote(10, 0);
    run.taint();
    run.quote(11, dbn::flags::MAYBE_BAD_BOOK);
    assert_eq!(run.doubts(), doubt::TAINTED);
    let state = run.state();
    assert_eq!((state.anomaly(), state.doubt_sequence()), (Anomaly::OverCancel as u8, 2));
    run.restored(4, RestoredCause::Replaced);
    assert_eq!((run.doubts(), run.state().anomaly()), (0, u8::MAX));
    // A snapshot ends all taints, and missing messages that came end none.
    run.taint();
    run.restored(0, RestoredCause::Complete);
    assert_eq!(run.doubts(), doubt::TAINTED);
    run.restored(0, RestoredCause::Snapshot);
    assert_eq!(run.doubts(), 0);
}

#[test]
fn missing_messages_are_a_doubt_of_every_stock_until_they_came() {
    let mut run = Run::new();
    run.suspect(SuspectReason::Gap);
    // A stock that is new.
    run.quote(10, dbn::flags::MAYBE_BAD_BOOK);
    assert_eq!(run.doubts(), doubt::SUSPECT);
    assert_eq!(run.state().doubt_sequence(), 1);
    run.restored(0, RestoredCause::Complete);
    assert_eq!((run.doubts(), run.stocks.market.doubts()), (0, 0));
    // What is lost is lost, also after a snapshot.
    run.suspect(SuspectReason::Gap);
    run.gap(GapKind::Missing);
    run.restored(0, RestoredCause::Snapshot);
    assert_eq!(run.doubts(), doubt::INPUT_LOST);
    assert_eq!(run.stocks.market.doubts(), doubt::INPUT_LOST);
}

#[test]
fn trades_before_a_late_join_come_or_are_missing() {
    for (cause, doubts) in
        [(RestoredCause::Complete, 0), (RestoredCause::Snapshot, doubt::INPUT_LOST | doubt::LATE)]
    {
        let mut run = Run::new();
        run.suspect(SuspectReason::LateJoin);
        run.quote(10, dbn::flags::MAYBE_BAD_BOOK);
        assert_eq!(run.doubts(), doubt::SUSPECT | doubt::LATE);
        run.restored(0, cause);
        assert_eq!(run.doubts(), doubts);
        // A later gap that is filled changes nothing of it.
        run.suspect(SuspectReason::Gap);
        run.restored(0, RestoredCause::Complete);
        assert_eq!(run.doubts(), doubts);
    }
}

#[test]
fn damage_of_a_file_is_a_doubt_if_messages_are_missing() {
    for (kind, doubts) in [
        (GapKind::Length, 0),
        (GapKind::Packet, 0),
        (GapKind::Cut, doubt::INPUT_LOST),
        (GapKind::Lost, doubt::INPUT_LOST | doubt::SUSPECT),
        (GapKind::Type, doubt::INPUT_LOST | doubt::SUSPECT),
    ] {
        let mut run = Run::new();
        run.quote(10, 0);
        run.gap(kind);
        assert_eq!(run.doubts(), doubts, "{kind:?}");
    }
}

#[test]
fn a_flag_without_a_notice_is_a_doubt_of_its_own() {
    let mut run = Run::new();
    run.quote(10, dbn::flags::MAYBE_BAD_BOOK);
    assert_eq!(run.doubts(), doubt::FLAGGED);
    run.quote(11, 0);
    assert_eq!(run.doubts(), 0);
}

#[test]
fn lost_records_leave_the_inside_in_doubt_until_it_changes() {
    let mut run = Run::new();
    run.quote(10, 0);
    run.stocks.lose(&nanotape_tape::Gap { from: 2, to: 5 });
    run.next = 6;
    assert_eq!(run.doubts(), doubt::AFTER_LOSS);
    let of_market = doubt::STATE_MISSED | doubt::RECORDS_LOST;
    assert_eq!(run.stocks.market.doubts(), of_market);
    assert_eq!(run.state().sequence(), 5);
    run.quote(11, 0);
    assert_eq!(run.doubts(), doubt::OF_STATES | doubt::RECORDS_LOST);
    run.status(4, 110, 14, *b"~~Y");
    assert_eq!(run.doubts(), doubt::STATE_MISSED | doubt::RECORDS_LOST);
    run.status(4, 120, 8, *b"NN~");
    assert_eq!(run.doubts(), doubt::RECORDS_LOST);
    // Of a stock that had no state, and of one with a state of the market alone, all may be lost.
    run.status(0, 130, 7, *b"YY~");
    run.trade_of(5, 140, 1, 1);
    assert_eq!(run.stocks.market.doubts(), doubt::RECORDS_LOST);
    assert_eq!(run.stocks.doubts_of(5), doubt::AFTER_LOSS);
}

#[test]
fn late_trades_count_and_are_not_the_last_ones() {
    let mut run = Run::new();
    // Two trades of one time, the first of which comes last; and numbers that begin again.
    let trades =
        [(u32::MAX, 200, 50, 3), (1, 300, 40, 2), (0, 300, 45, 2), (u32::MAX - 1, 200, 60, 1)];
    for (number, ts_event, price, size) in trades {
        run.numbered_trade(4, number, ts_event, price, size);
    }
    let state = run.state();
    assert_eq!((state.last_price(), state.last_size(), state.last_ts_event()), (40, 2, 300));
    assert_eq!((state.open_price(), state.open_ts_event()), (60, 200));
    assert_eq!((state.last_number(), state.open_number()), (1, u32::MAX - 1));
    assert_eq!((state.high_price(), state.low_price()), (60, 40));
    assert_eq!((state.trades(), state.volume()), (4, 8));
    assert_eq!((state.notional(), state.vwap()), (150 + 80 + 90 + 60, Some(47)));
    run.trade(400, i64::MAX / 2, UNDEF_ORDER_SIZE);
    assert_eq!(run.doubts(), doubt::OVERSIZED);
    let of_large = i128::from(i64::MAX / 2) * i128::from(UNDEF_ORDER_SIZE);
    assert_eq!(run.state().notional(), 380 + of_large);
    assert_eq!(run.stocks.market.notional(), 380 + of_large);
}

#[test]
fn a_trading_state_is_that_of_the_last_record_and_keeps_what_a_message_leaves_out() {
    let mut run = Run::new();
    // The exchange does not promise that times never go back.
    run.status(4, 120, 8, *b"NN~");
    run.status(4, 100, 7, *b"YY~");
    run.status(4, 110, 14, *b"~~Y");
    run.status(4, 90, 0, *b"~~~");
    let state = run.state();
    assert_eq!((state.action(), state.status_ts_event()), (7, 100));
    let answers = [state.is_trading(), state.is_quoting(), state.is_short_sell_restricted()];
    assert_eq!(answers.map(|answer| answer.as_bytes()[0]), *b"YYY");
    run.status(0, 120, 11, *b"NN~");
    assert_eq!((run.state().action(), run.stocks.market.action()), (7, 11));
}

#[test]
fn late_states_are_those_of_their_times_or_leave_a_doubt() {
    let mut run = Run::new();
    run.status(4, 100, 7, *b"YY~");
    run.status(4, 100, 14, *b"~~N");
    run.suspect(SuspectReason::Gap);
    run.status(4, 130, 9, *b"NY~");
    run.status(4, 130, 14, *b"~~Y");
    // Those of the gap come after it.
    run.status(4, 110, 8, *b"NN~");
    run.status(4, 120, 14, *b"~~N");
    let state = run.state();
    assert_eq!((state.action(), state.status_ts_event()), (9, 130));
    assert_eq!(state.restriction_ts_event(), 130);
    let answers = [state.is_trading(), state.is_quoting(), state.is_short_sell_restricted()];
    assert_eq!(answers.map(|answer| answer.as_bytes()[0]), *b"NYY");
    assert_eq!(run.doubts(), doubt::SUSPECT);
    // Of two states of one time either may be the later one.
    run.status(4, 130, 9, *b"NY~");
    assert_eq!(run.doubts(), doubt::SUSPECT);
    run.status(4, 130, 7, *b"YY~");
    run.status(4, 130, 14, *b"~~N");
    run.restored(0, RestoredCause::Complete);
    assert_eq!(run.doubts(), doubt::OF_STATES);
    run.status(4, 130, 8, *b"NN~");
    assert_eq!(run.doubts(), doubt::RESTRICTION_MISSED);
    run.status(4, 140, 14, *b"~~Y");
    assert_eq!(run.doubts(), 0);
}

#[test]
fn a_stock_without_a_name_has_its_number_until_it_gets_one() {
    let mut run = Run::new();
    run.symbol = None;
    run.trade(1, 2, 3);
    run.symbol = Some(Symbol::new(*b"#4      "));
    let _ = run.state();
    run.symbol = Some(MSFT);
    run.trade(1, 2, 3);
    assert_eq!(run.state().trades(), 2);
}

#[test]
fn states_that_are_ahead_of_the_market_take_each_record_once() {
    let mut run = Run::new();
    run.trade(1, 10, 5);
    let behind = run.stocks.market;
    run.trade(2, 20, 6);
    let ahead = run.state();
    run.stocks = Stocks::of_map(
        UNSTATED_PUBLISHER_ID,
        CopiedStocks { market: behind, stocks: vec![(MSFT, ahead)] },
    );
    run.next = 2;
    run.trade(2, 20, 6);
    run.trade(3, 30, 7);
    assert_eq!((run.state().trades(), run.state().volume()), (3, 18));
    assert_eq!((run.stocks.market.trades(), run.stocks.market.volume()), (3, 18));
}

#[test]
fn a_plant_that_does_not_publish_all_leaves_a_doubt() {
    let kinds = RecordKinds::NONE.with(nanotape_records::RecordKind::Bbo);
    let mut run = Run::new();
    run.stocks = Stocks::of_run(UNSTATED_PUBLISHER_ID, 77, 0, kinds);
    run.quote(10, 0);
    assert_eq!(run.doubts(), doubt::UNPUBLISHED);
}

/// A map on which states are written, and what is in it by locate.
struct Written {
    writer: LatestWriter,
}

impl Written {
    fn new(stocks: &mut Stocks) -> Self {
        let mut writer = LatestWriter::on_heap(stock_map(20), 1).unwrap();
        let mut market = apply::unknown(0, 77);
        market.set_keeper(writer.number() as u16);
        let key = stock_key(UNSTATED_PUBLISHER_ID, WHOLE_MARKET);
        let _ = writer.insert(&key, market.words()).unwrap();
        stocks.market.set_keeper(writer.number() as u16);
        Self { writer }
    }

    fn copy(&self) -> CopiedStocks {
        CopiedStocks::with_old_keys(&self.writer.reader(), UNSTATED_PUBLISHER_ID).unwrap()
    }
}

/// Symbols move between stocks, are there twice, and are ones that no stock can have.
#[test]
fn every_stock_has_one_entry_whatever_the_symbols_are() {
    let symbols = ["A", "B", "C", "*", "#1", "#9"].map(|text| {
        let mut letters = *b"        ";
        letters[..text.len()].copy_from_slice(text.as_bytes());
        Symbol::new(letters)
    });
    let mut random = nanotape_harness::Random::new(17);
    for round in 0..nanotape_harness::campaign(300) {
        let mut run = Run::new();
        let mut written = Written::new(&mut run.stocks);
        let (mut names, mut trades) = ([None; 6], [0_u64; 6]);
        for _ in 0..60 {
            let place = random.index(5) + 1;
            if random.below(3) == 0 {
                names[place] = Some(symbols[random.index(6)]);
            }
            run.symbol = names[place];
            run.trade_of(place as u32, run.next, 10, 1);
            trades[place] += 1;
            if random.below(2) == 0 {
                let position = run.next - 1;
                assert!(run.stocks.write(&mut written.writer, position).is_ok());
                let copied = written.copy();
                for (place, count) in trades.iter().enumerate().skip(1) {
                    let of = |(_, state): &&(Symbol, StockState<StockWords>)| {
                        state.instrument_id() == place as u32
                    };
                    let all: Vec<_> = copied.stocks.iter().filter(of).collect();
                    let found = all.iter().map(|(_, state)| state.trades());
                    let expected: Vec<u64> = (*count > 0).then_some(*count).into_iter().collect();
                    assert_eq!(found.collect::<Vec<_>>(), expected, "round {round}, stock {place}");
                }
                if random.below(4) == 0 {
                    run.stocks = Stocks::of_map(UNSTATED_PUBLISHER_ID, copied);
                }
            }
        }
        // A symbol that one stock alone has is its key.
        let seen = |name: &Symbol| names.iter().filter(|other| **other == Some(*name)).count();
        for (place, name) in names.iter().enumerate().skip(1) {
            run.symbol = *name;
            run.trade_of(place as u32, run.next, 10, 1);
        }
        let position = run.next - 1;
        assert!(run.stocks.write(&mut written.writer, position).is_ok());
        let copied = written.copy();
        assert_eq!(copied.stocks.len(), 5, "round {round}");
        for (key, state) in &copied.stocks {
            let name = names[state.instrument_id() as usize];
            let own = name.filter(|name| seen(name) == 1 && symbols[..3].contains(name));
            let number = format!("#{:<7}", state.instrument_id());
            let is_number = key.as_bytes() == *number.as_bytes();
            assert!(own == Some(*key) || own.is_none() && (is_number || name == Some(*key)));
        }
    }
}

/// The reader of a map follows its page, while the keeper gives stocks other keys.
#[test]
fn a_reader_finds_every_stock_once_while_they_get_other_keys() {
    const STOCKS: u32 = 20;
    let mut run = Run::new();
    let mut written = Written::new(&mut run.stocks);
    let name = |stock: u32, turn: u64| {
        let mut letters = *b"A       ";
        letters[1] = b'A' + stock as u8;
        letters[2] = b'A' + ((turn + u64::from(stock)) % 2) as u8;
        Symbol::new(letters)
    };
    let reader = written.writer.reader();
    let mut turn = |run: &mut Run, turn: u64| {
        for stock in 1..=STOCKS {
            run.symbol = Some(name(stock, turn));
            run.trade_of(stock, 1, 2, 3);
        }
        assert!(run.stocks.write(&mut written.writer, run.next - 1).is_ok());
    };
    turn(&mut run, 0);
    std::thread::scope(|scope| {
        let copies = scope.spawn(move || {
            for _ in 0..nanotape_harness::campaign(2_000) {
                let copied = CopiedStocks::of(&reader, UNSTATED_PUBLISHER_ID).unwrap();
                let found = copied.stocks.iter().map(|(_, state)| state.instrument_id());
                assert!(found.eq(1..=STOCKS), "{copied:?}");
            }
        });
        let mut number = 1;
        while !copies.is_finished() {
            turn(&mut run, number);
            number += 1;
            // As rarely as a keeper: between two turns the reader has time for a copy.
            std::thread::sleep(std::time::Duration::from_micros(50));
        }
    });
}
