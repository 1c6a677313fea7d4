//! A subscriber that begins with the newest state of every stock, and goes on with the records
//! after it.
//!
//! Protocol: the map has a number up to which all states are complete, and was copied after that
//! number was read. So the next record has the number after it. Some states are newer: records that
//! they include are not delivered.

use std::{collections::BTreeSet, path::Path};

use nanotape_board::BoardReader;
use nanotape_history::Runs;
use nanotape_latest::LatestError;
use nanotape_ring::Start;
use nanotape_tape::Deadline;
use nanotape_types::{LocateTable, StockLocate};

use super::{SubscribeError, Subscriber, Subscription};
use crate::states::{CopiedStocks, CopyError};

/// The last record that the state of each stock includes.
#[derive(Debug)]
pub(super) struct Included {
    last: LocateTable<u64>,
    /// The highest of them.
    end: u64,
}

impl Included {
    fn of(copied: &CopiedStocks) -> Self {
        let (mut last, mut end) = (LocateTable::filled(0), 0);
        for (_, state) in &copied.stocks {
            if let Ok(locate) = u16::try_from(state.instrument_id()) {
                let of_stock: &mut u64 = &mut last[StockLocate::new(locate)];
                *of_stock = state.sequence().max(*of_stock);
                end = end.max(state.sequence());
            }
        }
        Self { last, end }
    }

    /// Whether the state of the stock includes the record. Forgets the states behind their end.
    #[inline(never)]
    pub(super) fn includes(
        this: &mut Option<Self>,
        locate: Option<StockLocate>,
        sequence: u64,
    ) -> bool {
        let Some(Self { last, end }) = this else { return false };
        if sequence > *end {
            *this = None;
            return false;
        }
        locate.is_some_and(|locate| sequence <= last[locate])
    }
}

impl Subscription {
    /// Joins behind the states of a map, as soon as it has those of the plant that runs.
    pub(super) fn open_behind(mut self, map: &Path) -> Result<Subscriber, SubscribeError> {
        let map = nanotape_shm::named(map)?;
        let is_pending = |error: &SubscribeError| match error {
            SubscribeError::Region(error) => error.refusal().is_pending(),
            SubscribeError::OtherRun { .. } => true,
            SubscribeError::Latest { error, .. } => match &**error {
                CopyError::Empty => true,
                CopyError::Latest(LatestError::Region(error)) => error.refusal().is_pending(),
                _ => false,
            },
            _ => false,
        };
        let copy = || self.copied(&map);
        let copied = Deadline::after(self.wait).open(&self.shutdown, is_pending, copy)?;
        let copied = copied.ok_or(SubscribeError::Shutdown)?;
        self.start = Some(Start::Sequence(copied.next_sequence()));
        let mut subscriber = self.open_alone()?;
        subscriber.polling.filter.included = Some(Included::of(&copied));
        subscriber.latest = Some(copied);
        Ok(subscriber)
    }

    /// The states in the map of the run of the ring, or of a run of the journal. A map can have
    /// those of several publishers.
    fn copied(&self, map: &Path) -> Result<CopiedStocks, SubscribeError> {
        let path = nanotape_shm::named(&self.ring)?;
        let runs: Vec<(u16, u64)> = match !path.is_file() && self.ring.is_dir() {
            true => {
                let runs = Runs::read_good(&self.ring).unwrap_or_default();
                runs.iter().map(|run| (run.publisher_id, run.started_ns)).collect()
            }
            false => {
                let board = BoardReader::open(&path)?;
                vec![(board.run().publisher_id, board.run().started_ns)]
            }
        };
        let publishers: BTreeSet<u16> = runs.iter().map(|(publisher, _)| *publisher).collect();
        let mut found = Err(SubscribeError::OtherRun { map: map.to_owned(), path });
        for publisher in publishers {
            match CopiedStocks::read(map, publisher) {
                Ok(copied) if runs.contains(&(publisher, copied.market.started_ns())) => {
                    return Ok(copied);
                }
                Ok(_) => {}
                Err(error) => {
                    let error = Box::new(error);
                    found = Err(SubscribeError::Latest { map: map.to_owned(), error });
                }
            }
        }
        found
    }
}
