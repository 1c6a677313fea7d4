//! Publishers with a ring in private memory: for threads, tests, and measuring the cost of
//! publishing.

use std::{sync::Arc, time::Duration};

use nanotape_board::{Board, BoardSpec, Watch};
use nanotape_clock::Clock;
use nanotape_ring::{RingError, stream};

use super::{Parts, Publisher};
use crate::{
    ShutdownFlag,
    followers::Report,
    records::{RecordKinds, UNSTATED_PUBLISHER_ID},
};

impl Publisher<stream::Writer> {
    /// A publisher with a ring in private memory: for threads, tests, and measuring the cost of
    /// publishing. All stocks, unlimited speed.
    pub fn on_heap(
        capacity_bytes: usize,
        kinds: RecordKinds,
        midnight_ns: u64,
    ) -> Result<Self, RingError> {
        Self::on_heap_by(Clock::calibrate(), capacity_bytes, kinds, midnight_ns)
    }

    /// The same with a clock of the caller: to calibrate one takes milliseconds.
    pub fn on_heap_by(
        clock: Clock,
        capacity_bytes: usize,
        kinds: RecordKinds,
        midnight_ns: u64,
    ) -> Result<Self, RingError> {
        let writer = stream::Writer::on_heap(capacity_bytes)?;
        let spec = BoardSpec { midnight_ns, kinds: kinds.bits(), ..BoardSpec::default() };
        Ok(Self::new(Parts {
            writer,
            board: Arc::new(Board::on_heap(&spec)),
            clock,
            kinds,
            symbols: Vec::new(),
            publisher_id: UNSTATED_PUBLISHER_ID,
            midnight_ns,
            pacer: None,
            until: None,
            stop: ShutdownFlag::new(),
            watch: Watch::default(),
            tracer: None,
            ask_above: Duration::MAX,
            gate: None,
            report: Report::default(),
        }))
    }
}
