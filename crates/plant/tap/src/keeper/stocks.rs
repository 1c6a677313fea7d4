//! The states of all stocks of a run, as the keeper has them, and which of them the map lacks.

use std::collections::BTreeMap;

use nanotape_latest::{LatestError, LatestWriter};
use nanotape_records::{
    GapKind, Header, Notice, PlantStart, Record, RecordKind, RecordKinds, RestoredCause,
    RestoredNotice, SuspectReason,
};
use nanotape_tape::Gap;
use nanotape_types::{LocateTable, StockLocate, Symbol};

use super::apply::unknown;
use crate::{
    Delivery,
    states::{CopiedStocks, StockState, StockWords, WHOLE_MARKET, doubt, stock_key},
};

/// What a state needs.
const NEEDED: [RecordKind; 3] = [RecordKind::Bbo, RecordKind::Trades, RecordKind::Status];

/// A stock without a state.
const NO_PLACE: u32 = u32::MAX;

/// The states of all stocks.
#[derive(Debug)]
pub(super) struct Stocks {
    /// DBN's number of their publisher.
    pub(super) publisher: u16,
    pub(super) market: StockState<StockWords>,
    stocks: Vec<Stock>,
    /// The stock of each key, also of those that are stale.
    keys: BTreeMap<Symbol, u32>,
    /// Keys of the map that the stocks of these places do not have any more. No other stock gets
    /// one before it has left the map: so each stock has an entry at any moment.
    stale: Vec<(Symbol, u32)>,
    /// The places of stocks that wait for the key that their symbol is.
    waiting: Vec<u32>,
    /// Where the state of each locate is among them.
    places: LocateTable<u32>,
    /// The places of stocks that the map lacks.
    changed: Vec<u32>,
}

#[derive(Debug)]
struct Stock {
    state: StockState<StockWords>,
    /// The symbol, or a name from its number: if no message has named it, if another stock has the
    /// same symbol, or if it is one that is not for stocks.
    key: Symbol,
    symbol: Option<Symbol>,
    is_changed: bool,
}

/// Why the states cannot be written.
pub(super) enum WriteError {
    Latest(LatestError),
    /// Another keeper has the market's entry.
    Taken,
}

impl From<LatestError> for WriteError {
    fn from(error: LatestError) -> Self {
        Self::Latest(error)
    }
}

impl Stocks {
    /// No stock of the run that started then, of a plant of this publisher with records of these
    /// kinds.
    pub(super) fn of_run(publisher: u16, started_ns: u64, before: u64, kinds: RecordKinds) -> Self {
        let mut market = unknown(0, started_ns);
        market.set_sequence(before);
        if !NEEDED.iter().all(|kind| kinds.has(*kind)) {
            market.doubt(doubt::UNPUBLISHED, before + 1);
        }
        Self {
            publisher,
            market,
            stocks: Vec::new(),
            keys: BTreeMap::new(),
            stale: Vec::new(),
            waiting: Vec::new(),
            places: LocateTable::filled(NO_PLACE),
            changed: Vec::new(),
        }
    }

    /// Those of a publisher in a map, to go on with.
    pub(super) fn of_map(publisher: u16, copied: CopiedStocks) -> Self {
        let mut all = Self::of_run(publisher, 0, 0, RecordKinds::ALL);
        all.market = copied.market;
        for (key, state) in copied.stocks {
            let Ok(locate) = u16::try_from(state.instrument_id()) else { continue };
            let locate = StockLocate::new(locate);
            let symbol = Some(key).filter(|key| *key != nameless(locate));
            let stock = Stock { state, key, symbol, is_changed: false };
            let place = all.places[locate];
            if place == NO_PLACE {
                all.places[locate] = all.stocks.len() as u32;
                all.keys.insert(key, all.places[locate]);
                all.stocks.push(stock);
                continue;
            }
            // The keeper was killed between two keys of a stock.
            let there = &mut all.stocks[place as usize];
            let order = |stock: &Stock| (stock.state.sequence(), stock.symbol.is_some());
            let old = match order(&stock) > order(there) {
                true => std::mem::replace(there, stock),
                false => stock,
            };
            all.keys.insert(key, place);
            all.stale.push((old.key, place));
        }
        all
    }

    /// No stock of the next run, for the same keeper.
    pub(super) fn next_run(&self, started_ns: u64, before: u64, kinds: RecordKinds) -> Self {
        let mut next = Self::of_run(self.publisher, started_ns, before, kinds);
        next.market.set_keeper(self.market.keeper());
        next
    }

    /// Number of stocks.
    pub(super) fn len(&self) -> u64 {
        self.stocks.len() as u64
    }

    /// Includes a record. Returns whether it starts a run, whose stocks are all new.
    pub(super) fn apply(&mut self, delivery: &Delivery<'_>) -> Option<PlantStart> {
        let Delivery { sequence, symbol, record, bytes, .. } = *delivery;
        let header = Header::of(bytes)?;
        let ts_recv = record.ts_recv();
        if let Record::Notice(notice) = record {
            return self.notice(sequence, &header, &notice);
        }
        self.market.include(sequence, &header, ts_recv);
        // The entry of the market lacks all records that come, and a stock not always.
        if let Record::Trade(trade) = record {
            self.market.count(sequence, trade);
        }
        let Ok(locate @ 1..) = u16::try_from(header.instrument_id) else {
            if let Record::Status(status) = record {
                self.market.status(sequence, status);
            }
            return None;
        };
        let stock = self.stock_before(StockLocate::new(locate), symbol, sequence)?;
        stock.include(sequence, &header, ts_recv);
        match record {
            Record::Bbo(quote) => stock.quote(sequence, quote),
            Record::Trade(trade) => stock.trade(sequence, trade),
            Record::Status(status) => stock.status(sequence, status),
            _ => {}
        }
        None
    }

    /// Records were lost.
    pub(super) fn lose(&mut self, gap: &Gap) {
        self.doubt_all(doubt::AFTER_LOSS, gap.to);
    }

    fn notice(&mut self, sequence: u64, header: &Header, notice: &Notice) -> Option<PlantStart> {
        self.market.include(sequence, header, None);
        match notice {
            Notice::Start(start) => return Some(*start),
            Notice::Stop(_) => self.market.set_is_over(1),
            Notice::Taint(taint) => {
                if let Some(stock) = self.numbered(taint.instrument_id, sequence) {
                    stock.include(sequence, header, Some(taint.ts_recv));
                    stock.doubt(doubt::TAINTED, sequence);
                    stock.set_anomaly(taint.anomaly.map_or(u8::MAX - 1, |anomaly| anomaly as u8));
                }
            }
            Notice::Suspect(suspect) => {
                let late = match suspect.reason {
                    SuspectReason::LateJoin => doubt::LATE,
                    _ => 0,
                };
                self.doubt_all(doubt::SUSPECT | late, sequence);
            }
            Notice::Restored(restored) => self.restored(sequence, header, restored),
            Notice::Gap(gap) => match gap.kind {
                // Nothing was lost, or another line or a later notice says what was.
                GapKind::Length | GapKind::Packet => {}
                GapKind::Cut => self.doubt_all(doubt::INPUT_LOST, sequence),
                _ => self.doubt_all(doubt::SUSPECT | doubt::INPUT_LOST, sequence),
            },
            // It says what becomes of messages, and the notices above what that means.
            Notice::SessionGap(_) => {}
        }
        None
    }

    fn restored(&mut self, sequence: u64, header: &Header, restored: &RestoredNotice) {
        match restored.cause {
            RestoredCause::Complete => self.change_all(sequence, |state| {
                // What came before a late join has come, unless a snapshot took its place.
                let is_final = state.doubts() & doubt::INPUT_LOST != 0;
                state.trust(if is_final { doubt::SUSPECT } else { doubt::SUSPECT | doubt::LATE });
            }),
            RestoredCause::Snapshot => {
                self.change_all(sequence, |state| {
                    // What came before a late join will not come any more.
                    if state.doubts() & doubt::LATE != 0 {
                        state.doubt(doubt::INPUT_LOST, sequence);
                    }
                    state.trust(doubt::SUSPECT | doubt::TAINTED);
                });
            }
            _ => {
                if let Some(stock) = self.numbered(restored.instrument_id, sequence) {
                    stock.include(sequence, header, Some(restored.ts_recv));
                    stock.trust(doubt::TAINTED);
                }
            }
        }
    }

    /// The state of the stock of a notice, unless it includes the notice already.
    fn numbered(
        &mut self,
        instrument_id: u32,
        sequence: u64,
    ) -> Option<&mut StockState<StockWords>> {
        let locate = u16::try_from(instrument_id).ok().filter(|locate| *locate != 0)?;
        self.stock_before(StockLocate::new(locate), None, sequence)
    }

    /// The state of a stock, to be changed by this record; `None` if it includes it already,
    /// because the keeper was started again.
    fn stock_before(
        &mut self,
        locate: StockLocate,
        symbol: Option<Symbol>,
        sequence: u64,
    ) -> Option<&mut StockState<StockWords>> {
        if self.places[locate] == NO_PLACE {
            self.places[locate] = self.stocks.len() as u32;
            let mut state = unknown(locate.get().into(), self.market.started_ns());
            let mut doubts = self.market.doubts() & doubt::OF_MARKET;
            if doubts & doubt::RECORDS_LOST != 0 {
                // This stock has had no state since the loss.
                doubts |= doubt::AFTER_LOSS;
            }
            if doubts != 0 {
                state.doubt(doubts, self.market.doubt_sequence());
            }
            let key = nameless(locate);
            self.keys.insert(key, self.places[locate]);
            self.stocks.push(Stock { state, key, symbol: None, is_changed: false });
        }
        let place = self.places[locate];
        if symbol.is_some() && symbol != self.stocks[place as usize].symbol {
            self.rename(place, locate, symbol);
        }
        let stock = &mut self.stocks[place as usize];
        if sequence <= stock.state.sequence() {
            return None;
        }
        if !stock.is_changed {
            stock.is_changed = true;
            self.changed.push(place);
        }
        Some(&mut stock.state)
    }

    fn change_all(&mut self, sequence: u64, mut change: impl FnMut(&mut StockState<StockWords>)) {
        change(&mut self.market);
        self.changed = (0..self.stocks.len() as u32).collect();
        for stock in &mut self.stocks {
            if sequence > stock.state.sequence() {
                stock.is_changed = true;
                stock.state.set_sequence(sequence);
                change(&mut stock.state);
            }
        }
    }

    fn doubt_all(&mut self, doubts: u16, sequence: u64) {
        self.change_all(sequence, |state| state.doubt(doubts, sequence));
        // The market has no inside and no restriction.
        self.market.trust(doubt::MISSED | doubt::RESTRICTION_MISSED);
    }

    /// The stock of a place has another symbol.
    #[cold]
    fn rename(&mut self, place: u32, locate: StockLocate, symbol: Option<Symbol>) {
        let stock = &mut self.stocks[place as usize];
        stock.symbol = symbol;
        let key = symbol.filter(|symbol| is_of_stock(*symbol)).unwrap_or(nameless(locate));
        let is_free = self.keys.get(&key).is_none_or(|owner| *owner == place);
        let key = if is_free { key } else { nameless(locate) };
        if !is_free {
            self.waiting.push(place);
        }
        if key != stock.key {
            // If the key was stale, its stock has it again.
            self.stale.retain(|(stale, _)| *stale != key);
            self.stale.push((std::mem::replace(&mut stock.key, key), place));
            self.keys.insert(key, place);
            if !std::mem::replace(&mut stock.is_changed, true) {
                self.changed.push(place);
            }
        }
    }

    /// Gives stocks the keys that have become free.
    fn name_waiting(&mut self) {
        for place in std::mem::take(&mut self.waiting) {
            let Stock { state, symbol, .. } = &self.stocks[place as usize];
            let locate = StockLocate::new(state.instrument_id() as u16);
            let symbol = *symbol;
            self.rename(place, locate, symbol);
        }
    }

    /// Writes what the map lacks, and then up to which number it is complete.
    pub(super) fn write(
        &mut self,
        writer: &mut LatestWriter,
        position: u64,
    ) -> Result<(), WriteError> {
        while !self.changed.is_empty() || !self.stale.is_empty() {
            // One by one, so that the map needs room for one stock more.
            for (old, place) in std::mem::take(&mut self.stale) {
                self.put(writer, place)?;
                // A reader that came too early for the new key, and too late for the old one, must
                // find out. The rest of the market's entry is complete up to its own number.
                let changes = self.market.key_changes().wrapping_add(1);
                self.market.set_key_changes(changes);
                change_market(writer, self.publisher, |value| {
                    StockState::of(value).set_key_changes(changes);
                })?;
                writer.remove(&stock_key(self.publisher, old))?;
                self.keys.remove(&old);
            }
            while let Some(place) = self.changed.pop() {
                self.put(writer, place)?;
            }
            self.name_waiting();
        }
        self.market.set_sequence(position);
        self.write_market(writer)
    }

    /// Why the state of a stock might be wrong.
    #[cfg(test)]
    pub(super) fn doubts_of(&self, locate: u16) -> u16 {
        self.stocks[self.places[StockLocate::new(locate)] as usize].state.doubts()
    }

    /// Writes the stock of a place, if the map lacks it.
    fn put(&mut self, writer: &mut LatestWriter, place: u32) -> Result<(), LatestError> {
        let stock = &mut self.stocks[place as usize];
        if !std::mem::take(&mut stock.is_changed) {
            return Ok(());
        }
        let (key, words) = (stock_key(self.publisher, stock.key), stock.state.words());
        if writer.update(&key, |value| value.copy_from_slice(words))?.is_none() {
            writer.insert(&key, words)?;
        }
        Ok(())
    }

    /// Writes every state.
    #[cfg(test)]
    pub(super) fn write_all(&mut self, writer: &mut LatestWriter, position: u64) {
        self.changed = (0..self.stocks.len() as u32).collect();
        self.stocks.iter_mut().for_each(|stock| stock.is_changed = true);
        assert!(self.write(writer, position).is_ok());
    }

    /// Writes the entry of the market, as long as it is that of this keeper.
    pub(super) fn write_market(&self, writer: &mut LatestWriter) -> Result<(), WriteError> {
        change_market(writer, self.publisher, |value| value.copy_from_slice(self.market.words()))
    }
}

/// Whether a stock can have the symbol as its key.
fn is_of_stock(symbol: Symbol) -> bool {
    symbol != WHOLE_MARKET && symbol.as_bytes()[0] != b'#'
}

/// Leaves the entry of the market of a publisher to the next keeper. It stays as it was written
/// last: what came after it might not be in the map.
pub(super) fn release(writer: &mut LatestWriter, publisher: u16) -> Result<(), WriteError> {
    change_market(writer, publisher, |value| StockState::of(value).set_keeper(0))
}

/// Changes the entry of the market of a publisher, if it has the number of this writer.
fn change_market(
    writer: &mut LatestWriter,
    publisher: u16,
    change: impl FnOnce(&mut [u64]),
) -> Result<(), WriteError> {
    let me = writer.number() as u16;
    let mut is_mine = false;
    writer.update(&stock_key(publisher, WHOLE_MARKET), |value| {
        is_mine = StockState::of(&*value).keeper() == me;
        if is_mine {
            change(value);
        }
    })?;
    if is_mine { Ok(()) } else { Err(WriteError::Taken) }
}

/// The name of a stock that no message has named.
fn nameless(locate: StockLocate) -> Symbol {
    let mut name = *b"#       ";
    let digits = locate.get().to_string();
    name[1..=digits.len()].copy_from_slice(digits.as_bytes());
    Symbol::new(name)
}
