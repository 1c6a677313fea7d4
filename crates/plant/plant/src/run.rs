//! A plant from its configuration to its last record: one thread reads, decodes, applies,
//! publishes.
//!
//! Where: `nanotape run`, and programs that embed a plant.
//! Protocol: the plant creates or takes over the ring, creates the board, then publishes the start.
//! So a reader of the start always finds the board of its run. The stop is the last record. If the
//! plant is recorded, the [recorder](crate::recording) is ready before the board is created. If it
//! waits for [named followers](crate::followers), they have joined before the start.
//! Failure: [`RunError`] before the first record. Later problems of the input are in records and in
//! [`Ended`]. A ring or board that is removed, replaced or truncated during the run ends it.

mod ending;
mod error;
mod input;
mod joining;
mod sessions;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ending::how_it_ended;
pub use error::RunError;
use input::open_input;
pub use input::{PlantSource, trade_date_of};
use joining::{check_size, check_wait_for};
use nanotape_board::{Board, BoardReader, BoardSpec, LiveStat, Watch};
use nanotape_book::{AnomalyCounts, DefaultBooks};
use nanotape_clock::Clock;
use nanotape_engine::{BookEngine, DayReport, EngineHandler, Observer, RunReport};
use nanotape_feed::{DaySource, source::Progress};
use nanotape_live::LiveSource;
use nanotape_market::{EventHandler as _, EventSource, EventTime, Venue};
use nanotape_ring::{Publish as _, RingError, Start, stream};
use nanotape_shm::{Origin, OwnerState, RegionError, RegionOptions, Residency};
use nanotape_tape::Pacer;
use nanotape_trace::spans::{Switches, Tracer};
pub use sessions::{ReadySession, Sessions};

use crate::{
    Moment, PlantConfig, Publisher, ShutdownFlag, TradeDate,
    config::{DEFAULT_CAPACITY_BYTES, InputConfig, RingConfig},
    followers::{Followers, FollowersSummary, HeldRing, Report, Reported},
    gate::{Gate, ReaderPosition},
    publisher::Parts,
    recording::{Recorded, RecorderProcess, Recording, RecordingError, RecordingSummary},
    records::{Gap, PlantStart, PlantStop, Predecessor, StopReason},
    traces::trace_plant,
};

/// How long a plant waits for input before it reports that it is alive, and checks for a requested
/// stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// How long a live plant that catches up waits for its recorder at a time.
const RECORDER_PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of a ring in private memory: larger than a batch, and small enough for a cache.
const PRIVATE_CAPACITY_BYTES: usize = 4 << 20;

/// A plant that is ready to run. If dropped before its end, it still publishes a stop.
#[derive(Debug)]
pub struct PlantRun {
    source: PlantSource,
    engine: BookEngine<DefaultBooks>,
    publisher: Publisher<stream::Writer>,
    board: Arc<Board>,
    origin: Origin,
    start: PlantStart,
    first_sequence: u64,
    has_ended: bool,
    stop: ShutdownFlag,
    /// Dropped after the publisher, which closes the ring.
    recording: Option<Recording>,
    followers: Option<Followers>,
}

/// A ring to publish on, with all that belongs to it.
struct OpenRing {
    writer: stream::Writer,
    board: Arc<Board>,
    watch: Watch,
    tracer: Option<Tracer>,
    gate: Option<Gate>,
    clock: Clock,
    report: Report,
}

/// What others have read of a run, after the ring was closed.
#[derive(Debug)]
pub struct Finished {
    /// What was recorded; `None` if the plant is not recorded.
    pub recording: Result<Option<RecordingSummary>, RecordingError>,
    /// What the named followers have read; `None` if the plant does not wait for any.
    pub followers: Option<FollowersSummary>,
}

/// The result of a run.
#[derive(Debug)]
pub struct Ended {
    /// The last record.
    pub stop: PlantStop,
    /// The damage of the input.
    pub report: DayReport,
    /// The messages that did not fit the books.
    pub anomalies: AnomalyCounts,
    /// Stocks whose book is unreliable.
    pub tainted_stocks: usize,
}

impl PlantRun {
    /// Opens the input, creates the ring and its board, and publishes the start of the plant.
    pub fn open(config: &PlantConfig, stop: ShutdownFlag) -> Result<Self, RunError> {
        if config.journal.is_some() {
            return Err(RunError::NoRecorder);
        }
        Self::open_with(config, stop, None, Report::default())
    }

    /// The same for a plant that is recorded: starts the recorder, and publishes when it is ready.
    /// The caller builds the process from [`PlantConfig::journal`]. If the recorder fails for good,
    /// the plant requests `stop`.
    pub fn open_recorded(
        config: &PlantConfig,
        stop: ShutdownFlag,
        recorder: &RecorderProcess,
    ) -> Result<Self, RunError> {
        Self::open_with(config, stop, Some(recorder), recorder.report.clone())
    }

    /// The same, with or without a recorder. `report` receives lines for an operator: about named
    /// followers, and what a paced plant waits for.
    pub fn open_with(
        config: &PlantConfig,
        stop: ShutdownFlag,
        recorder: Option<&RecorderProcess>,
        report: Report,
    ) -> Result<Self, RunError> {
        let input = || open_input(&config.input);
        Self::open_on(config, (input, None), stop, recorder, report)
    }

    /// A plant of the next session of a source whose last one has ended: on the same ring, with a
    /// start, books and a trade date of its own.
    pub fn open_next(
        config: &PlantConfig,
        (source, session): (Box<LiveSource>, ReadySession),
        stop: ShutdownFlag,
        recorder: Option<&RecorderProcess>,
        report: Report,
    ) -> Result<Self, RunError> {
        let ReadySession { date, books } = session;
        let input = || Ok((PlantSource::Live(source), date));
        Self::open_on(config, (input, Some(books)), stop, recorder, report)
    }

    fn open_on(
        config: &PlantConfig,
        (input, ready): (
            impl FnOnce() -> Result<(PlantSource, TradeDate), RunError>,
            Option<DefaultBooks>,
        ),
        stop: ShutdownFlag,
        recorder: Option<&RecorderProcess>,
        report: Report,
    ) -> Result<Self, RunError> {
        if config.ring.name.as_os_str().is_empty() {
            return Err(RunError::NoRing);
        }
        check_wait_for(config)?;
        check_room(config)?;
        // The slow steps come first: packets wait in the sockets of a live session, and after the
        // start record the plant is expected to work. A plant that goes on with what is kept has a
        // thread that receives meanwhile.
        let touched = || books(config).touched();
        let is_early = config.input.channels.is_some()
            || config.input.live.as_ref().is_some_and(|live| live.keep.is_none());
        let early = ready.or_else(|| is_early.then(touched));
        let (source, date) = input()?;
        let engine = BookEngine::new(early.unwrap_or_else(touched));
        let clock = Clock::calibrate();

        let path = nanotape_shm::named(&config.ring.name)?;
        let RingConfig { mode, lock, huge_pages, .. } = config.ring;
        let options = RegionOptions { mode, lock, huge_pages, ..RegionOptions::default() };
        let capacity_bytes = config.ring.capacity_bytes.unwrap_or_else(|| size_there(&path));
        check_size(config, capacity_bytes as u64)?;
        if let Some(recorder) = recorder.filter(|_| config.ring.replace) {
            Recording::check_replaced(recorder, &path, capacity_bytes as u64)?;
        }
        let (writer, origin) = make_ring(&path, config.ring.replace, capacity_bytes, &options)?;
        let first_sequence = writer.next_sequence();
        let start = start(config, (source.venue(), date), &clock, predecessor(origin));
        let made = record(recorder, &writer, &path, &stop).and_then(|recording| {
            let board = Board::create(
                &path,
                &BoardSpec::of(&start, first_sequence),
                writer.region().epoch(),
                config.ring.wait_for,
                &options,
            )?;
            let tracer = trace_plant(&config.trace, &path, clock, &options)?;
            let answers = tracer.as_ref().and_then(Tracer::answers);
            let watch = Watch::start(vec![writer.region().share(), board.region()], answers);
            let watch = watch.map_err(|error| RunError::Thread { path: path.clone(), error })?;
            Ok((recording, Arc::new(board), watch, tracer))
        });
        let (recording, board, watch, tracer) = match made {
            Ok(made) => made,
            Err(error) => {
                // A newly created ring without records would resemble a plant that never started.
                drop(writer);
                if origin == Origin::Created {
                    nanotape_shm::remove(&path)?;
                }
                return Err(error);
            }
        };
        // A live session does not wait for its plant, so the plant does not wait for a recorder,
        // except while it catches up.
        let waits = !source.is_live() || source.is_behind();
        let hold = recording.as_ref().and_then(Recording::hold).filter(|_| waits);
        let followers = (config.ring.wait_for > 0).then(|| {
            let ring = HeldRing {
                path,
                created_ns: writer.region().share().created_ns(),
                epoch: writer.region().epoch(),
                first_sequence,
            };
            Followers::new(ring, report.clone())
        });
        let shared = followers.as_ref().map(|followers| Arc::clone(followers.shared()));
        let gate = Gate::new(writer.region().spec().parameters[0], hold, shared);
        let of_live = |gate: Gate| gate.with_patience(RECORDER_PATIENCE);
        let gate = if source.is_live() { gate.map(of_live) } else { gate };
        let ring = OpenRing { writer, board, watch, tracer, gate, clock, report };
        let mut run = Self::on(config, source, engine, ring, start, stop);
        (run.origin, run.recording, run.followers) = (origin, recording, followers);
        run.wait_for_followers(config)?;
        run.publisher.begin(start);
        Ok(run)
    }

    /// A plant of this source on a ring in private memory, with a reader of all of its records. The
    /// plant waits when the [position](ReaderPosition) that the reader shows is half a ring behind,
    /// so nothing is lost. It leaves no file.
    pub fn open_private(
        config: &PlantConfig,
        mut source: DaySource,
        date: TradeDate,
        stop: ShutdownFlag,
    ) -> Result<(Self, stream::Reader, ReaderPosition), RunError> {
        let engine = BookEngine::new(books(config));
        let clock = Clock::calibrate();
        let refused =
            |error| RunError::Ring { path: PathBuf::from(source.name()), error: Box::new(error) };
        let writer = stream::Writer::on_heap(PRIVATE_CAPACITY_BYTES).map_err(refused)?;
        let reader = writer.reader(Start::Newest).map_err(refused)?;
        let start = start(config, (source.venue(), date), &clock, Predecessor::None);
        let board = Arc::new(Board::on_heap(&BoardSpec::of(&start, writer.next_sequence())));
        let position = ReaderPosition::default();
        position.show(writer.position_bytes());
        let gate = Some(Gate::of_reader(position.clone(), PRIVATE_CAPACITY_BYTES as u64));
        let report = Report::default();
        let watch = Watch::default();
        let ring = OpenRing { writer, board, watch, tracer: None, gate, clock, report };
        source.set_patience(PATIENCE);
        let source = PlantSource::Day(Box::new(source));
        let mut run = Self::on(config, source, engine, ring, start, stop);
        run.publisher.begin(start);
        Ok((run, reader, position))
    }

    /// A plant that has published nothing yet.
    fn on(
        config: &PlantConfig,
        mut source: PlantSource,
        engine: BookEngine<DefaultBooks>,
        ring: OpenRing,
        start: PlantStart,
        stop: ShutdownFlag,
    ) -> Self {
        let OpenRing { writer, board, watch, tracer, gate, clock, report } = ring;
        let InputConfig { pace, pace_from, until, .. } = config.input;
        let of_day = |moment: Moment| moment.on_day(start.midnight_ns);
        let first_sequence = writer.next_sequence();
        if let PlantSource::Day(day) = &mut source {
            day.set_day_begins(start.midnight_ns);
        }
        let input = source.progress();
        board.show_input(input.done_bytes, input.total_bytes);
        let publisher = Publisher::new(Parts {
            writer,
            board: Arc::clone(&board),
            clock,
            kinds: config.publish.records,
            symbols: config.publish.symbols.clone(),
            publisher_id: start.publisher_id,
            midnight_ns: start.midnight_ns,
            pacer: Pacer::new(pace.milli(), pace_from.map_or(0, of_day)),
            until: until.map(of_day).map(EventTime::new),
            stop: stop.clone(),
            watch,
            tracer,
            ask_above: config.trace.ask_above,
            gate,
            report,
        });
        let end_ns = until.map(of_day).map(|ns| ns.saturating_sub(start.midnight_ns));
        let skew_ns = source.venue().skew_ns;
        let mut engine = engine.ending(end_ns.unwrap_or(u64::MAX), skew_ns);
        let mut publisher = publisher;
        // Of a program that passes events itself, too.
        engine.live(&mut publisher).day_begins(start.midnight_ns);
        Self {
            source,
            engine,
            publisher,
            board,
            origin: Origin::Created,
            start,
            first_sequence,
            has_ended: false,
            stop,
            recording: None,
            followers: None,
        }
    }

    /// Reads the day to its end, or until a stop is requested. Calls `progress` about once a
    /// megabyte.
    pub fn run(&mut self, progress: impl FnMut(Progress)) -> Result<Ended, RunError> {
        self.run_with(progress, |_| {})
    }

    /// The same, and calls `news` with what happens in a live session, in lines for an operator.
    pub fn run_with(
        &mut self,
        mut progress: impl FnMut(Progress),
        mut news: impl FnMut(Reported<'_>),
    ) -> Result<Ended, RunError> {
        let Self { source, engine, publisher, board, .. } = self;
        let mut show = |now: Progress, live: Option<&LiveStat>| {
            board.show_input(now.done_bytes, now.total_bytes);
            live.into_iter().for_each(|stat| board.show_live(stat));
            progress(now);
        };
        let report = match source {
            PlantSource::Day(source) => {
                let source = source.as_mut();
                // Standard input could not be checked when it was opened.
                let idle = || Observer::<DefaultBooks>::idle(publisher);
                let checked = source.check_day_while(idle);
                // The next messages of a pipe might come late.
                publisher.set_holding(source.progress().total_bytes.is_some());
                let run =
                    |()| engine.run(source, publisher, |source| show(source.progress(), None));
                checked.and_then(run).map_err(RunError::from)
            }
            PlantSource::Live(source) => {
                let report = engine.run(source.as_mut(), publisher, |source| {
                    show(source.progress(), Some(source.stat()));
                    source.news().iter().for_each(|line| news(Reported::of(line)));
                });
                report.map_err(RunError::from)
            }
            PlantSource::Channels(source) => {
                let report = engine.run(source.as_mut(), publisher, |source| {
                    show(source.progress(), Some(source.stat()));
                    source.news().iter().for_each(|line| news(Reported::of(line)));
                });
                report.map_err(RunError::from)
            }
            PlantSource::HandedOn => return Err(RunError::NoInput),
            PlantSource::Kept(source) => {
                let report = engine.run(source.as_mut(), publisher, |source| {
                    show(source.progress(), Some(source.stat()));
                });
                report.map_err(RunError::from)
            }
        };
        self.publisher.set_holding(false);
        let report = match report {
            Ok(report) => report,
            Err(error) => {
                self.say_the_end(StopReason::Fault, None);
                return Err(error);
            }
        };
        let left = self.source.has_left().then_some(StopReason::ScheduleEnd);
        let (reason, cut) = how_it_ended(&report, self.reason().or(left));
        if let (StopReason::EndOfInput, Some(total)) = (reason, self.source.progress().total_bytes)
        {
            // A source counts a block only when the next one is requested.
            self.board.show_input(total, Some(total));
        }
        let stop = self.say_the_end(reason, cut);
        let books = self.engine.books();
        let tainted = books.tainted().filter(|(locate, _)| locate.is_of_a_stock());
        let (anomalies, tainted_stocks) = (books.anomalies(), tainted.count());
        self.loss_error()?;
        if let Some(error) = self.publisher.refused() {
            return Err(RunError::Refused { path: self.ring().to_owned(), error });
        }
        Ok(Ended { stop, report, anomalies, tainted_stocks })
    }

    /// The midnight from which times of day count, in ns since the UNIX epoch.
    pub fn midnight_ns(&self) -> u64 {
        self.start.midnight_ns
    }

    /// A handler that applies single events and publishes their records, without knowledge of
    /// later events, as from a live feed. Their times are in ns since the UNIX epoch. A program
    /// with its own feed passes it each event, and calls [`end`](Self::end) after the last,
    /// instead of [`run`](Self::run).
    #[inline(always)]
    pub fn live(&mut self) -> EngineHandler<'_, DefaultBooks, Publisher<stream::Writer>> {
        self.engine.live(&mut self.publisher)
    }

    /// Reads another source than the input, with its look-ahead. As with [`live`](Self::live), the
    /// program calls [`end`](Self::end) after the last event.
    pub fn read<E: EventSource>(
        &mut self,
        source: &mut E,
    ) -> Result<RunReport<E::Summary>, E::Error> {
        self.engine.run(source, &mut self.publisher, |_| ())
    }

    /// Publishes the end of the events given to [`live`](Self::live) or read by
    /// [`read`](Self::read): the last record.
    pub fn end(&mut self) -> PlantStop {
        let reason = self.reason().unwrap_or(StopReason::EndOfInput);
        self.say_the_end(reason, None)
    }

    /// Closes the ring, and waits until the recorder has recorded everything and ended, and until
    /// the named followers have read everything or ended. If the plant has not ended before, it
    /// publishes its stop. After a requested stop it does not wait for followers.
    pub fn finish(self) -> Finished {
        self.finish_with_source().0
    }

    /// The same, and returns the input, which can have another session.
    pub fn finish_with_source(mut self) -> (Finished, PlantSource) {
        if !self.has_ended {
            self.say_the_end(StopReason::Abandoned, None);
        }
        let (recording, end) = (self.recording.take(), self.next_sequence());
        let followers = self.followers.take();
        // The followers of a ring that was removed or truncated might never read to the end.
        let stop = if self.loss().is_some() { ShutdownFlag::new() } else { self.stop.clone() };
        if self.loss().is_some() {
            stop.request();
        }
        let waited_ns = |of: fn(&Gate) -> u64| self.publisher.gate().map_or(0, of);
        let for_recorder_ns = waited_ns(Gate::waited_for_recorder_ns);
        let for_followers_ns = waited_ns(Gate::waited_for_followers_ns);
        recording.as_ref().into_iter().for_each(Recording::ending);
        let source = core::mem::replace(&mut self.source, PlantSource::HandedOn);
        // Closes the ring.
        drop(self);
        let followers =
            followers.and_then(|followers| followers.finish(end, for_followers_ns, &stop));
        let recording = recording.map(|recording| recording.finish(end, for_recorder_ns));
        (Finished { recording: recording.transpose(), followers }, source)
    }

    /// The reason to end the run before its input, if there is one. A recorder that has failed for
    /// good requests the end.
    fn reason(&self) -> Option<StopReason> {
        let by_recorder = self.recording.as_ref().is_some_and(Recording::has_ended_plant);
        match self.publisher.reason() {
            Some(StopReason::Requested) if by_recorder => Some(StopReason::RecorderFailed),
            reason => reason,
        }
    }

    /// The error of a ring or board that was removed, replaced or truncated.
    fn loss_error(&self) -> Result<(), RunError> {
        let Some(error) = self.loss().cloned() else { return Ok(()) };
        let last_sequence = self.next_sequence() - 1;
        Err(RunError::RegionLost { error, last_sequence })
    }

    fn say_the_end(&mut self, reason: StopReason, cut: Option<Gap>) -> PlantStop {
        self.has_ended = true;
        self.followers.as_ref().into_iter().for_each(Followers::ending);
        self.publisher.end(reason, self.engine.books().anomalies().total(), cut)
    }

    /// The ring or board that was removed, replaced or truncated, if any. After a loss
    /// [`live`](Self::live) breaks, within a second.
    pub fn loss(&self) -> Option<&RegionError> {
        self.publisher.loss()
    }

    /// The input.
    pub fn source(&self) -> &PlantSource {
        &self.source
    }

    /// The path of the ring.
    pub fn ring(&self) -> &Path {
        self.publisher.writer().region().path().unwrap_or(Path::new("memory"))
    }

    /// Whether the ring was created, or taken over from a plant that exited.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The first record.
    pub fn start(&self) -> &PlantStart {
        &self.start
    }

    /// The sequence number of the first record.
    pub fn first_sequence(&self) -> u64 {
        self.first_sequence
    }

    /// The sequence number of the next record; after the end, one above that of the last.
    pub fn next_sequence(&self) -> u64 {
        self.publisher.writer().next_sequence()
    }

    /// The folder of the journal, if the plant is recorded.
    pub fn journal(&self) -> Option<&Path> {
        self.recording.as_ref().map(Recording::journal)
    }

    /// A reader of the plant's board.
    pub fn board(&self) -> BoardReader {
        self.publisher.board()
    }

    /// The switches of the plant's [spans](nanotape_trace::spans), which
    /// [`trace_path`](nanotape_board::trace_path) leads to; `None` if it has none.
    pub fn trace_switches(&self) -> Option<Switches> {
        self.publisher.trace_switches()
    }

    /// Whether the ring is in huge pages and locked in memory, and the cause if not.
    pub fn residency(&self) -> Residency {
        self.publisher.writer().region().residency()
    }

    /// The current books and stock directory.
    pub fn engine(&self) -> &BookEngine<DefaultBooks> {
        &self.engine
    }
}

fn books(config: &PlantConfig) -> DefaultBooks {
    let estimate = || match config.input.is_live() {
        true => MOST_ORDERS,
        false => orders_of(&config.input.file),
    };
    let orders = config.machine.orders.unwrap_or_else(estimate);
    DefaultBooks::with_capacity(orders)
}

/// Refuses a configured number of live orders whose tables do not fit into memory: the plant
/// touches all of their pages.
fn check_room(config: &PlantConfig) -> Result<(), RunError> {
    let Some(orders) = config.machine.orders else { return Ok(()) };
    let room = DefaultBooks::check_room(orders).map_err(|room| RunError::Orders { room })?;
    match nanotape_host::available_memory_bytes() {
        Some(available_bytes) if room.bytes as u64 > available_bytes => {
            Err(RunError::Memory { room, available_bytes })
        }
        _ => Ok(()),
    }
}

fn start(
    config: &PlantConfig,
    (venue, date): (&Venue, TradeDate),
    clock: &Clock,
    predecessor: Predecessor,
) -> PlantStart {
    PlantStart {
        publisher_id: venue.publisher_id,
        started_ns: clock.utc_ns(),
        midnight_ns: date.begins_ns(venue),
        date: date.number(),
        kinds: config.publish.records,
        predecessor,
        pace_milli: config.input.pace.milli(),
    }
}

/// Starts the recorder, if there is to be one.
fn record(
    recorder: Option<&RecorderProcess>,
    writer: &stream::Writer,
    path: &Path,
    stop: &ShutdownFlag,
) -> Result<Option<Recording>, RunError> {
    let Some(recorder) = recorder else { return Ok(None) };
    let region = writer.region().share();
    let ring = Recorded {
        ring: path.to_owned(),
        created_ns: region.created_ns(),
        capacity_bytes: region.spec().parameters[0],
        first_sequence: writer.next_sequence(),
    };
    Ok(Some(Recording::start(recorder, ring, stop)?))
}

/// Live orders of a full day.
const MOST_ORDERS: usize = 1 << 21;

/// Live orders to reserve memory for, from the size of a file: about one for twenty messages of
/// thirty bytes, and at most two million, as in a full day. Larger tables grow on demand.
pub fn orders_of(path: &Path) -> usize {
    const BYTES_FOR_ONE: u64 = 20 * 30;
    let Ok(file) = std::fs::metadata(path) else { return 1 << 18 };
    let is_packed = path.extension().is_some_and(|suffix| suffix == "gz" || suffix == "zst");
    let bytes = if is_packed { file.len().saturating_mul(3) } else { file.len() };
    (bytes / BYTES_FOR_ONE).clamp(1 << 12, MOST_ORDERS as u64) as usize
}

impl Drop for PlantRun {
    fn drop(&mut self) {
        if !self.has_ended {
            self.say_the_end(StopReason::Abandoned, None);
        }
    }
}

fn predecessor(origin: Origin) -> Predecessor {
    match origin {
        Origin::Created => Predecessor::None,
        Origin::TakenOver { previous } if previous.state == OwnerState::Dead => Predecessor::Died,
        Origin::TakenOver { .. } => Predecessor::Closed,
    }
}

fn make_ring(
    path: &Path,
    replaces: bool,
    capacity_bytes: usize,
    options: &RegionOptions,
) -> Result<(stream::Writer, Origin), RunError> {
    let make = if replaces { stream::Writer::replace } else { stream::Writer::create };
    make(path, capacity_bytes, options).map_err(|error| match error {
        // This error contains the path.
        RingError::Region(error) => RunError::Region(error),
        error => RunError::Ring { path: path.to_owned(), error: Box::new(error) },
    })
}

/// The size of the existing ring, or the default.
fn size_there(path: &Path) -> usize {
    let header = nanotape_shm::inspect(path).ok().and_then(|info| info.header);
    let there = header.filter(|header| header.spec.kind == stream::KIND);
    let bytes = there.and_then(|header| usize::try_from(header.spec.parameters[0]).ok());
    bytes.unwrap_or(DEFAULT_CAPACITY_BYTES)
}
