//! The runs of a DBN file, and the names of the stocks in each. A file of a tap has the runs of the
//! plant; in a file of another writer each trade date is a run.

use std::ops::ControlFlow;

use dbn::{MappingInterval, Metadata, RecordHeader, SType, UNDEF_TIMESTAMP};
use nanotape_records::{
    Notice, PlantStart, PlantStop, Predecessor, RecordKind, RecordKinds, StopReason, TradeDate,
    UNSTATED_PUBLISHER_ID,
};
use nanotape_tape::Progress;
use nanotape_types::StockLocate;

use super::word;
use crate::Entry;

/// The runs so far.
#[derive(Debug)]
pub(super) struct Days {
    metadata: Metadata,
    /// The first time that begins another trade date; 0 before the first one.
    until_ns: u64,
    /// Whether a run is open that the file does not end with a stop of its own.
    is_open: bool,
    has_begun: bool,
    /// The time of a start whose visitor stopped before the names.
    unnamed: Option<u64>,
}

impl Days {
    pub(super) fn new(metadata: Metadata) -> Self {
        Self { metadata, until_ns: 0, is_open: false, has_begun: false, unnamed: None }
    }

    #[inline]
    pub(super) fn until_ns(&self) -> u64 {
        self.until_ns
    }

    /// Begins the trade date of an order record. A plant's runs begin with their own start, and
    /// have one date each.
    #[cold]
    pub(super) fn date_of(
        &mut self,
        record: &[u8],
        sequence: u64,
        visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        /// The receive time of an order record.
        const TS_RECV: usize = 40;
        let (ts_event, ts_recv) = (word(record, 8), word(record, TS_RECV));
        match [ts_event, ts_recv].into_iter().find(|&time| time != UNDEF_TIMESTAMP) {
            // A record without a time belongs to the trade date so far.
            None if self.has_begun => ControlFlow::Continue(()),
            Some(time) if time < self.until_ns => ControlFlow::Continue(()),
            time => {
                let publisher_id = (word(record, 0) >> 16) as u16;
                let time = time.unwrap_or(self.metadata.start);
                self.date(time, publisher_id, sequence, visit)
            }
        }
    }

    fn date(
        &mut self,
        time: u64,
        publisher_id: u16,
        sequence: u64,
        visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if let Some(notice) = self.stop() {
            visit(Entry::Notice { sequence, notice })?;
        }
        let date = TradeDate::of_time(time);
        let next = date.and_then(TradeDate::next);
        // A time without a date counts from the epoch, and lasts to the end of the file.
        self.until_ns = next.map_or(u64::MAX, TradeDate::midnight_ns);
        self.is_open = true;
        let start = PlantStart {
            publisher_id,
            started_ns: time,
            midnight_ns: date.map_or(0, TradeDate::midnight_ns),
            date: date.map_or(0, TradeDate::number),
            kinds: RecordKinds::NONE.with(RecordKind::Mbo),
            predecessor: Predecessor::None,
            pace_milli: 0,
        };
        self.begin(start, sequence, visit)
    }

    /// The start of a plant.
    pub(super) fn plant_start(
        &mut self,
        start: PlantStart,
        sequence: u64,
        visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        (self.until_ns, self.is_open) = (u64::MAX, false);
        self.begin(start, sequence, visit)
    }

    /// The stop of a plant. A tap that joined late has no start of the run.
    pub(super) fn plant_stop(
        &mut self,
        stop: Option<PlantStop>,
        sequence: u64,
        visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if std::mem::take(&mut self.is_open) || !self.has_begun {
            let text = "the plant stops, but its start and the records before are not in the file";
            visit(Entry::Loss { sequence, text })?;
        }
        self.has_begun = true;
        visit(Entry::Notice { sequence, notice: stop.map_or(STOP, Notice::Stop) })
    }

    /// Visits a start and the names of its date.
    pub(super) fn begin(
        &mut self,
        start: PlantStart,
        sequence: u64,
        visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.has_begun = true;
        let time = if self.is_open { start.started_ns } else { start.midnight_ns };
        self.unnamed = Some(time);
        visit(Entry::Notice { sequence, notice: Notice::Start(start) })?;
        self.names_of_start(visit)
    }

    /// Visits the names of a start, if its visitor stopped before them.
    pub(super) fn names_of_start(
        &mut self,
        visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.unnamed.take().map_or(ControlFlow::Continue(()), |time| self.names(time, visit))
    }

    /// The stop of a trade date.
    fn stop(&mut self) -> Option<Notice> {
        std::mem::take(&mut self.is_open).then_some(STOP)
    }

    /// The end of the file. A file without orders is a run without events.
    pub(super) fn end(
        &mut self,
        sequence: u64,
        visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Progress {
        if !self.has_begun
            && self.date(self.metadata.start, UNSTATED_PUBLISHER_ID, sequence, visit).is_break()
        {
            return Progress::Stopped;
        }
        if let Some(notice) = self.stop() {
            let _ = visit(Entry::Notice { sequence, notice });
        }
        Progress::Nothing
    }

    /// The names that the metadata has for the date of a time, in UTC.
    fn names(
        &self,
        time: u64,
        visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let time = RecordHeader::new::<dbn::MboMsg>(dbn::rtype::MBO, 0, 0, time).ts_event();
        let Some(date) = time.map(|time| time.date()) else { return ControlFlow::Continue(()) };
        let is_inverse = self.metadata.stype_in == Some(SType::InstrumentId);
        for mapping in &self.metadata.mappings {
            // A symbol of several sources has a number of each.
            let of_date = |of: &&MappingInterval| of.start_date <= date && date < of.end_date;
            for interval in mapping.intervals.iter().filter(of_date) {
                let (number, symbol) = match is_inverse {
                    true => (&mapping.raw_symbol, &interval.symbol),
                    false => (&interval.symbol, &mapping.raw_symbol),
                };
                // Other numbers and longer symbols are refused or unnamed when a record has them.
                if let (Ok(locate), Ok(symbol)) = (number.parse(), symbol.parse()) {
                    visit(Entry::Name(StockLocate::new(locate), symbol))?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The end of a run of which a file has no numbers.
const STOP: Notice = Notice::Stop(PlantStop {
    ts_event: 0,
    stopped_ns: 0,
    reason: StopReason::EndOfInput,
    messages: 0,
    records: 0,
    damaged: 0,
    anomalies: 0,
    digest: 0,
});
