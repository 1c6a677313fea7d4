//! A day file as records: those that a plant publishes of it.
//!
//! Protocol: a thread runs a plant of the file on a ring in private memory. The plant waits when
//! the reader is half a ring behind, as it waits for its recorder, so nothing is lost.
//! Failure: the thread returns the result of the plant, with the damage of the file.

use std::{
    ops::ControlFlow,
    path::PathBuf,
    thread::{self, JoinHandle},
};

use nanotape_board::BoardReader;
use nanotape_feed::DaySource;
use nanotape_plant::{Ended, PlantConfig, PlantRun, ReaderPosition, RunError};
use nanotape_records::{RecordKinds, TradeDate};
use nanotape_ring::{RingSource, Subscribe as _, stream};
use nanotape_tape::{Item, Progress, ShutdownFlag, Source as _};

use super::{Failed, SubscribeError, feed::Amount};

/// A plant of a day file, and the reader of its ring.
#[derive(Debug)]
pub(super) struct DayFeed {
    pub(super) ring: RingSource<stream::Reader>,
    position: ReaderPosition,
    stop: ShutdownFlag,
    /// `None` after its end.
    thread: Option<JoinHandle<Result<Ended, RunError>>>,
}

impl DayFeed {
    /// Starts the plant.
    pub(super) fn start(
        source: DaySource,
        date: TradeDate,
    ) -> Result<(Self, BoardReader), SubscribeError> {
        let failed = |error| SubscribeError::Plant(Box::new(error));
        let mut config = PlantConfig::default();
        // The subscriber selects; the plant numbers all records.
        config.publish.records = RecordKinds::ALL;
        config.input.file = PathBuf::from(source.name());
        let path = config.input.file.clone();
        let stop = ShutdownFlag::new();
        let opened = PlantRun::open_private(&config, source, date, stop.clone());
        let (mut plant, reader, position) = opened.map_err(failed)?;
        let board = plant.board();
        let thread = thread::Builder::new().name("plant".to_owned());
        let thread = thread.spawn(move || plant.run(|_| ()));
        let thread = thread.map_err(|error| failed(RunError::Thread { path, error }))?;
        let ring = RingSource::new(reader);
        Ok((Self { ring, position, stop, thread: Some(thread) }, board))
    }

    #[inline]
    pub(super) fn poll(
        &mut self,
        amount: Amount,
        mut visit: impl FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, Failed> {
        let polled = match amount {
            Amount::One => self.ring.poll_one(|item| _ = visit(item)),
            Amount::Batch => self.ring.poll(visit),
        };
        self.position.show(self.ring.reader().position_bytes());
        Ok(polled?)
    }

    /// Ends the plant, and returns its result; `None` if it was returned before.
    pub(super) fn finish(&mut self) -> Option<Result<Ended, RunError>> {
        self.stop.request();
        self.thread.take().map(|thread| match thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }
}

impl Drop for DayFeed {
    /// The plant must not outlive its only reader.
    fn drop(&mut self) {
        self.stop.request();
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}
