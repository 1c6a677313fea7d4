//! Joins a ring or opens a journal, at the requested start.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use nanotape_board::{BoardReader, FollowerError, FollowerStart, NamedFollower, follower_path};
use nanotape_feed::DaySource;
use nanotape_history::{
    DbnStream, LocalBooks, Runs, SnapshotFile, Snapshots, snapshot::SnapshotRecords,
};
use nanotape_journal::{ErrorKind, Tailer, TailerSource};
use nanotape_market::Venue;
use nanotape_records::{RecordBuffer, TradeDate};
use nanotape_ring::{Rejoin, RingSource, Start, Subscribe as _, stream};
use nanotape_shm::Refusal;
use nanotape_tape::{Deadline, Follow, Tape as _, WriterState};

use super::{
    Failed, Opening, SubscribeError, Subscriber, Subscription,
    completed::{Completed, require_origin},
    day::DayFeed,
    dbn::DbnFeed,
    feed::Feed,
    filter::{CheckedDigests, SubscriptionFilter},
    oldest::first_of_oldest,
    polling::Polling,
};
use crate::{
    spans::{ReaderTrace, TAP},
    symbols::SymbolTable,
};

/// Limit of attempts to join, while other processes keep replacing the ring.
const ATTEMPTS: u32 = 16;

/// The ring that was joined, and its writer.
#[derive(Clone, Copy)]
struct Joined {
    created_ns: u64,
    epoch: u64,
}

impl Joined {
    fn of(reader: &stream::Reader) -> Self {
        Self { created_ns: reader.region().created_ns(), epoch: reader.region().epoch() }
    }
}

impl Subscriber {
    /// Shows its position under a name; `epoch` is that of the only writer it follows.
    fn follow_as(&mut self, named: Option<NamedFollower>, run_first: u64, epoch: Option<u64>) {
        if named.is_none() {
            return;
        }
        (self.polling.named, self.run_first) = (named, run_first);
        epoch.into_iter().for_each(|epoch| self.follow.set_only_writer(epoch));
    }
}

impl Subscription {
    /// Joins the ring, or opens a journal if the name is that of a folder and not of a ring.
    pub fn open(mut self) -> Result<Subscriber, SubscribeError> {
        match self.latest.take() {
            Some(map) => self.open_behind(&map),
            None => self.open_alone(),
        }
    }

    /// The same without a map of the newest states.
    pub(super) fn open_alone(mut self) -> Result<Subscriber, SubscribeError> {
        let path = nanotape_shm::named(&self.ring)?;
        let is_ring = path.is_file();
        if !is_ring && self.ring.is_dir() {
            return self.open_journal();
        }
        self.check_name(&path)?;
        let deadline = Deadline::after(self.wait);
        let shutdown = self.shutdown.clone();
        let join = || {
            let joined = self.join(&path);
            self.begins_with_run |= joined.as_ref().is_err_and(SubscribeError::is_pending);
            joined
        };
        let joined = deadline.open(&shutdown, SubscribeError::is_pending, join)?;
        let (mut reader, board) = joined.ok_or(SubscribeError::Shutdown)?;
        let rejoin = (self.is_from_oldest() && self.heal.is_none()).then_some(self.rejoin);
        let Some((journal, patience)) = self.heal.clone() else {
            return self.open_ring(path, reader, board, rejoin, deadline);
        };
        let origin = (path.clone(), reader.region().created_ns());
        require_origin(&journal, &origin).map_err(|error| error.on(&path))?;
        let (snapshot, next) =
            self.begin(&journal, Some((&reader, &board)), reader.next_sequence())?;
        // What comes from the journal holds no place in the ring.
        reader.seek(Start::Newest).map_err(|error| Failed::Ring(error).on(&path))?;
        let (joined, run_first) = (Joined::of(&reader), board.first_sequence());
        let ring = (RingSource::new(reader), origin);
        let completed =
            Completed::new(ring, &journal, patience, next).map_err(|error| error.on(&path))?;
        let position_bytes = completed.ring.reader().position_bytes();
        let named = self.follower(&path, joined, completed.next_sequence(), position_bytes)?;
        let feed = Feed::completed(completed);
        let symbols = SymbolTable::new(&path, Some(board), self.symbols.clone());
        let symbols = symbols.completed_from(&journal);
        let spans = self.spans(&path);
        let follows_one = !self.through_restarts;
        let deadline = if named.is_some() { Deadline::after(Duration::ZERO) } else { deadline };
        let mut subscriber = self.subscriber(feed, path, symbols, snapshot, rejoin, deadline);
        subscriber.polling.spans = spans;
        subscriber.follow_as(named, run_first, follows_one.then_some(joined.epoch));
        Ok(subscriber)
    }

    /// A ring alone. Creates the region of a named follower.
    fn open_ring(
        self,
        path: PathBuf,
        reader: stream::Reader,
        board: BoardReader,
        rejoin: Option<Rejoin>,
        deadline: Deadline,
    ) -> Result<Subscriber, SubscribeError> {
        let (joined, run_first) = (Joined::of(&reader), board.first_sequence());
        let (next, position_bytes) = (reader.next_sequence(), reader.position_bytes());
        let named = self.follower(&path, joined, next, position_bytes)?;
        let symbols = SymbolTable::new(&path, Some(board), self.symbols.clone());
        let feed = Feed::ring(RingSource::new(reader));
        let follows_one = !self.through_restarts;
        // A named follower has joined a living plant, and does not wait for the next one.
        let deadline = if named.is_some() { Deadline::after(Duration::ZERO) } else { deadline };
        let spans = self.spans(&path);
        let mut subscriber = self.subscriber(feed, path, symbols, None, rejoin, deadline);
        subscriber.polling.spans = spans;
        subscriber.follow_as(named, run_first, follows_one.then_some(joined.epoch));
        Ok(subscriber)
    }

    /// The region of a named follower, if the subscriber is one.
    fn follower(
        &self,
        ring: &Path,
        joined: Joined,
        next_sequence: u64,
        position_bytes: u64,
    ) -> Result<Option<NamedFollower>, FollowerError> {
        let begin = |name: &str| {
            let start = FollowerStart {
                ring,
                ring_created_ns: joined.created_ns,
                writer_epoch: (!self.through_restarts).then_some(joined.epoch),
                next_sequence,
                position_bytes,
            };
            NamedFollower::begin(name, &start)
        };
        self.name.as_deref().map(begin).transpose()
    }

    /// The spans of the subscriber of this ring, if it is to have any.
    fn spans(&self, ring: &Path) -> Option<ReaderTrace> {
        if self.is_traced { ReaderTrace::start(ring, TAP) } else { None }
    }

    /// Checks a name before anything is waited for.
    fn check_name(&self, path: &Path) -> Result<(), FollowerError> {
        self.name.iter().try_for_each(|name| follower_path(path, name).map(drop))
    }

    /// Whether to read what the ring still has of the requested records, and to report the rest.
    fn is_from_oldest(&self) -> bool {
        let is_of_old = |start| matches!(start, Start::Oldest | Start::Sequence(_));
        self.start.map_or(self.is_from_run(), is_of_old)
    }

    /// Whether to begin with the first record of the run.
    fn is_from_run(&self) -> bool {
        self.start.is_none() && (self.name.is_some() || self.begins_with_run)
    }

    /// Opens a journal alone.
    fn open_journal(self) -> Result<Subscriber, SubscribeError> {
        let path = self.ring.clone();
        if self.name.is_some() {
            return Err(FollowerError::NotARing { path }.into());
        }
        let deadline = Deadline::after(self.wait);
        let is_pending = |error: &nanotape_journal::JournalError| {
            matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotYet { .. })
        };
        let is_of_end =
            self.whole_before.is_none() && matches!(self.start, None | Some(Start::Newest));
        let open = || match Tailer::open(&path, Start::Newest) {
            // The end is damaged: what is before it can be read.
            Err(error) if !is_pending(&error) && !is_of_end => Tailer::open(&path, Start::Oldest),
            opened => opened,
        };
        let opened = deadline.open(&self.shutdown, is_pending, open);
        let tailer = opened.map_err(SubscribeError::Journal)?.ok_or(SubscribeError::Shutdown)?;
        let mut source = TailerSource::new(tailer);
        source.set_stops_at_end(source.writer().state != WriterState::Alive);
        let (snapshot, next) = self.begin(&path, None, source.next_sequence())?;
        if next != source.next_sequence() {
            nanotape_tape::Source::seek(&mut source, Start::Sequence(next))
                .map_err(SubscribeError::Journal)?;
        }
        let symbols = SymbolTable::new(&path, None, self.symbols.clone()).completed_from(&path);
        Ok(self.subscriber(Feed::journal(source), path, symbols, snapshot, None, deadline))
    }

    /// Reads a day file: the records of all kinds that a plant publishes of it. A thread of this
    /// process runs the plant, which waits for the subscriber, so nothing is lost.
    pub fn open_day(
        mut self,
        source: DaySource,
        date: TradeDate,
    ) -> Result<Subscriber, SubscribeError> {
        self.skip_to_start();
        let path = PathBuf::from(source.name());
        let (day, board) = DayFeed::start(source, date)?;
        let symbols = SymbolTable::new(&path, Some(board), self.symbols.clone());
        let deadline = Deadline::after(Duration::ZERO);
        Ok(self.subscriber(Feed::day(day), path, symbols, None, None, deadline))
    }

    /// Reads one run of a DBN file, from the position of the stream on. A record's number is that
    /// of its record in the file.
    pub fn open_dbn(mut self, stream: DbnStream) -> Subscriber {
        self.skip_to_start();
        let path = PathBuf::from(stream.source().name());
        let symbols = SymbolTable::new(&path, None, self.symbols.clone());
        let deadline = Deadline::after(Duration::ZERO);
        self.subscriber(Feed::dbn(DbnFeed::new(stream)), path, symbols, None, None, deadline)
    }

    /// A file is read from its first record on, and records before the start are not delivered.
    fn skip_to_start(&mut self) {
        if let Some(Start::Sequence(first)) = self.start {
            self.window.get_or_insert_default().first = first;
        }
    }

    pub(super) fn subscriber(
        self,
        mut feed: Feed,
        path: PathBuf,
        mut symbols: SymbolTable,
        snapshot: Option<SnapshotFile>,
        rejoin: Option<Rejoin>,
        deadline: Deadline,
    ) -> Subscriber {
        let mut books = self.keeps_books.then(LocalBooks::new);
        let mut digests = self.checks_digests.then(CheckedDigests::default);
        let opening = snapshot.as_ref().map(|snapshot| {
            let moment = snapshot.moment();
            let tainted = snapshot.stocks().iter().filter(|entry| {
                entry.tainted > 0 && symbols.is_wanted(Some(entry.locate), moment.sequence)
            });
            let tainted = tainted.map(|entry| (entry.locate, entry.tainted)).collect();
            let (sequence, losses) = (moment.sequence, moment.losses);
            Opening { sequence, losses, first_loss: moment.first_loss, tainted }
        });
        if let Some(snapshot) = snapshot {
            let moment = *snapshot.moment();
            if let Some(books) = &mut books {
                books.begin_at(moment.losses == 0);
            }
            if let Some(checked) = &mut digests {
                let stocks = snapshot.stocks().iter();
                stocks.for_each(|entry| checked.digests.set(entry.locate, entry.digest));
                checked.is_whole = moment.losses == 0;
            }
            let publisher_id = symbols.publisher_id(feed.next_sequence());
            feed.open_with(SnapshotRecords::new(snapshot, publisher_id, |locate| {
                symbols.is_wanted(Some(locate), moment.sequence)
            }));
        }
        let buffer = RecordBuffer::default();
        let midnight_ns = symbols.midnight_ns(feed.next_sequence());
        let Self { kinds, window, shutdown, quiet_after, .. } = self;
        let filter = SubscriptionFilter {
            kinds,
            symbols,
            books,
            buffer,
            digests,
            window,
            midnight_ns,
            included: None,
            is_unnamed_reported: false,
        };
        let mut follow = Follow::new(feed).shutdown(&shutdown).deadline(deadline);
        if let Some(time) = quiet_after {
            follow = follow.quiet_after(time);
        }
        Subscriber {
            follow,
            polling: Polling { filter, rejoin, named: None, spans: None },
            run_first: 0,
            opening,
            latest: None,
            path,
            record: Vec::new(),
            reported: String::new(),
            is_over: false,
        }
    }

    /// The snapshot to begin with, and the number of the first record after it. `newest` is the
    /// next number of the source.
    pub(super) fn begin(
        &self,
        journal: &Path,
        ring: Option<(&stream::Reader, &BoardReader)>,
        newest: u64,
    ) -> Result<(Option<SnapshotFile>, u64), SubscribeError> {
        if let Some(end) = self.whole_before {
            let runs = Runs::read_good(journal).unwrap_or_default();
            let of_board = ring.map(|(_, board)| board.first_sequence());
            let first = of_board.or(runs.iter().last().map(|run| run.first_sequence)).unwrap_or(1);
            let snapshots = Snapshots::list(journal).map_err(SubscribeError::Snapshot)?;
            let range = first..end.max(first);
            // The board of a ring has all names.
            let last = match ring {
                Some(_) => snapshots.last_in(range),
                None => snapshots.last_named_until(range, u64::MAX),
            };
            let next = last.as_ref().map_or(first, SnapshotFile::next_sequence);
            return Ok((last, next));
        }
        let start = match self.start.unwrap_or(Start::Newest) {
            Start::Newest => return Ok((None, newest)),
            Start::Oldest => return Ok((None, first_of_oldest(journal, ring)?.unwrap_or(newest))),
            Start::Sequence(first) => {
                let next = self.skipped_to(journal, first)?;
                return Ok((None, next.unwrap_or(first)));
            }
            start => start,
        };
        match Tailer::open(journal, start) {
            Ok(tailer) => Ok((None, TailerSource::new(tailer).next_sequence())),
            // The recorder has not begun.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound) => Ok((None, newest)),
            Err(error) => Err(SubscribeError::Journal(error)),
        }
    }

    /// The record after the last snapshot before the first moment: every record before it is
    /// earlier.
    fn skipped_to(&self, journal: &Path, first: u64) -> Result<Option<u64>, SubscribeError> {
        let window = self.window.unwrap_or_default();
        let Some(until_ns) = window.from_ns.checked_sub(1) else { return Ok(None) };
        let snapshots = Snapshots::list(journal).map_err(SubscribeError::Snapshot)?;
        // Where times are out of order, a snapshot can be a little later than records after it.
        let until_ns = until_ns.saturating_sub(Venue::UNKNOWN.skew_ns);
        let last = snapshots.last_named_until(first..window.end, until_ns);
        Ok(last.as_ref().map(SnapshotFile::next_sequence))
    }

    fn join(&self, path: &Path) -> Result<(stream::Reader, BoardReader), SubscribeError> {
        for _ in 1..ATTEMPTS {
            match self.try_join(path) {
                // Another process has just replaced the ring, or has removed it and has not linked
                // the next one yet. If there is no next one, the next attempt says so.
                Err(SubscribeError::Region(error))
                    if matches!(error.refusal(), Refusal::Replaced | Refusal::Removed) => {}
                joined => return joined,
            }
        }
        self.try_join(path)
    }

    fn try_join(&self, path: &Path) -> Result<(stream::Reader, BoardReader), SubscribeError> {
        // A reader that starts at record 1 and may rejoin at the oldest reports what was lost
        // before that. With a journal, the start might be in the journal only.
        let is_from_oldest = self.is_from_oldest();
        let start = match self.start.unwrap_or(Start::Newest) {
            _ if self.heal.is_some() => Start::Newest,
            Start::Oldest => Start::Sequence(1),
            start => start,
        };
        let mut reader =
            stream::Reader::open(path, start).map_err(|error| Failed::Ring(error).on(path))?;
        // The board is opened after the ring: a run without a board has not published its start
        // yet, so the reader will read that start. The check ensures that the board belongs to this
        // ring.
        let board = BoardReader::open(path)?;
        reader.region().check()?;
        if self.name.is_some() && !board.is_of_writer(reader.region()) {
            return Err(SubscribeError::NoPlant { path: path.to_owned() });
        }
        // The next plant has no board before its first record.
        if self.is_from_run() && board.writer_epoch() == reader.region().epoch() {
            let first = Start::Sequence(board.first_sequence());
            reader.seek(first).map_err(|error| Failed::Ring(error).on(path))?;
        }
        reader.set_rejoin(if is_from_oldest { Rejoin::Oldest } else { self.rejoin });
        Ok((reader, board))
    }
}
