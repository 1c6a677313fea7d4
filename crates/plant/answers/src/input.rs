//! What an INPUT is: a day file, a capture, the folder of a journal, a DBN file, standard input, or
//! the ring of a plant. The content decides, not the suffix.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use nanotape_feed::{CaptureChoice, DaySource};
use nanotape_history::{DBN_MAGIC, DbnError, DbnStream};
use nanotape_market::{
    Damage, EventHandler, EventSource as _, MarketEvent, Origin, Position, StockDirectory, What,
};
use nanotape_plant::{TradeDate, trade_date_of};
use nanotape_shm::Refusal;
use nanotape_types::{StockLocate, Symbol};

use crate::{Choice, Given, InputError, InputKind, RunChoice};

/// What is chosen of an input. The default is the whole of its last run.
#[derive(Clone, Debug, Default)]
pub struct InputOptions {
    /// The run in a journal or in a DBN file.
    pub run: Option<RunChoice>,
    /// The trade date of a day file or a capture, instead of that of its name.
    pub date: Option<TradeDate>,
    /// The session of a capture, and its destinations.
    pub capture: CaptureChoice,
    /// Whether the name can be that of a ring, which might not exist yet.
    pub rings: bool,
    /// Whether choices that this kind of input does not have are ignored: they are for another one.
    pub lenient: bool,
}

impl InputOptions {
    /// Refuses choices that this kind of input does not have.
    fn check(&self, name: &Given, kind: InputKind) -> Result<(), InputError> {
        let is_of_runs = matches!(kind, InputKind::Journal | InputKind::Dbn);
        let given = [
            (Choice::Run, self.run.is_some() && !is_of_runs),
            (Choice::Date, self.date.is_some() && kind != InputKind::Day),
            (Choice::Capture, !self.capture.is_default() && kind != InputKind::Day),
        ];
        match given.into_iter().find(|(_, is_refused)| *is_refused && !self.lenient) {
            Some((choice, _)) => Err(InputError::NoChoice { name: name.to_string(), kind, choice }),
            None => Ok(()),
        }
    }
}

/// An input that is open.
#[derive(Debug)]
pub struct Input {
    pub(crate) name: Given,
    pub(crate) options: InputOptions,
    pub(crate) source: Source,
    /// Runs of a DBN file that are not read although no run was chosen; `None` before its run is
    /// looked for.
    pub(crate) earlier_runs: Option<u64>,
}

#[derive(Debug)]
pub(crate) enum Source {
    Ring,
    Journal(PathBuf),
    Day(Box<DaySource>, Option<TradeDate>),
    Dbn(Box<DbnStream>),
}

impl Input {
    /// Opens an input: a path, `-` for standard input, or the name of a ring if the options have
    /// rings.
    pub fn open(name: impl Into<Given>, options: InputOptions) -> Result<Self, InputError> {
        let name = name.into();
        let source = Source::open(&name, &options)?;
        let mut input = Self { name, options, source, earlier_runs: None };
        // The last run needs a reading of the file, which raw records do without.
        if input.options.run.is_some() {
            input.find_run()?;
        }
        Ok(input)
    }

    /// The name as it was given.
    pub fn name(&self) -> &Given {
        &self.name
    }

    /// Runs of a DBN file that are not read although no run was chosen.
    pub fn earlier_runs(&mut self) -> Result<u64, InputError> {
        self.find_run()
    }

    /// Brings a DBN file to the start of the run that is read. Returns the number of earlier runs
    /// that are not.
    pub(crate) fn find_run(&mut self) -> Result<u64, InputError> {
        if let Some(earlier) = self.earlier_runs {
            return Ok(earlier);
        }
        let mut earlier = 0;
        if let Source::Dbn(stream) = &mut self.source {
            stream.require_orders().map_err(|error| of_dbn(&self.name, error))?;
            earlier = find_run(&self.name, stream, self.options.run)?;
        }
        self.earlier_runs = Some(earlier);
        Ok(earlier)
    }

    /// What it is.
    pub fn kind(&self) -> InputKind {
        match self.source {
            Source::Ring => InputKind::Ring,
            Source::Journal(_) => InputKind::Journal,
            Source::Day(..) => InputKind::Day,
            Source::Dbn(_) => InputKind::Dbn,
        }
    }

    /// Whether its messages have receive times that differ from those of the exchange.
    pub fn has_receive_times(&mut self) -> Result<bool, InputError> {
        Ok(match &mut self.source {
            Source::Day(source, _) => source.capture_began_ns()?.is_some(),
            _ => true,
        })
    }

    /// The names of the stocks of a day, by a reading of its own: up to the first order if the day
    /// defines its stocks, otherwise to the end. No names for another kind of input, and for one
    /// that is read only once.
    pub fn stocks(&self) -> Result<Vec<(StockLocate, Symbol)>, InputError> {
        let mut names = Names::default();
        if self.kind() == InputKind::Day
            && let Some(mut source) = day_again(&self.name, &self.options.capture)?
        {
            source.read(&mut names, |_| ())?;
        }
        Ok(names.directory.iter().collect())
    }
}

/// Opens a file of the exchange's messages once more; `None` for what is no file.
pub fn day_again(name: &Given, capture: &CaptureChoice) -> Result<Option<DaySource>, InputError> {
    if name.is_read_once() {
        return Ok(None);
    }
    let mut source = open_bytes(name)?;
    choose(&mut source, capture)?;
    Ok(Some(source))
}

impl Source {
    fn open(name: &Given, options: &InputOptions) -> Result<Self, InputError> {
        if options.rings && is_ring(name)? {
            options.check(name, InputKind::Ring)?;
            return Ok(Self::Ring);
        }
        if !name.is_standard() && name.path().is_dir() {
            options.check(name, InputKind::Journal)?;
            return Ok(Self::Journal(name.path().to_owned()));
        }
        let mut source = open_bytes(name)?;
        if source.starts_with(DBN_MAGIC)? {
            options.check(name, InputKind::Dbn)?;
            let stream = DbnStream::new(source).map_err(|error| of_dbn(name, error))?;
            return Ok(Self::Dbn(Box::new(stream)));
        }
        if options.run.is_some() {
            source.require_bytes()?;
        }
        options.check(name, InputKind::Day)?;
        source.check_day()?;
        choose(&mut source, &options.capture)?;
        // The zone of a given date is that of the venue.
        source.find_venue()?;
        let date = match options.date {
            Some(date) => Some(date),
            None => trade_date_of(&mut source, name.path())?,
        };
        Ok(Self::Day(Box::new(source), date))
    }
}

/// Whether a name is that of a ring, which might not exist yet.
fn is_ring(name: &Given) -> Result<bool, InputError> {
    if name.is_standard() {
        return Ok(false);
    }
    let ring = nanotape_shm::named(name)?;
    let is_there = ring.is_file() && (!name.contains('/') || is_region(&ring));
    // A pipe is read as a file is.
    Ok(is_there || !name.path().exists())
}

/// Whether a file is a region, valid or not: a damaged ring is no day file. An empty file is one
/// that is being created, if it is in the folder of rings.
fn is_region(path: &Path) -> bool {
    if path.metadata().is_ok_and(|metadata| metadata.len() == 0) {
        return path.starts_with("/dev/shm");
    }
    let inspected = nanotape_shm::inspect(path);
    !inspected.is_err_and(|error| matches!(error.refusal(), Refusal::NotARegion { .. }))
}

/// Opens a day file or a capture, for a caller that needs one.
pub fn open_day(name: &Given, capture: &CaptureChoice) -> Result<DaySource, InputError> {
    let no_messages = |is| InputError::NoMessages { name: name.to_string(), is };
    if !name.is_standard() && name.path().is_dir() {
        return Err(no_messages("a folder"));
    }
    let mut source = open_bytes(name)?;
    if source.starts_with(DBN_MAGIC)? {
        return Err(no_messages("a DBN file"));
    }
    source.check_day()?;
    choose(&mut source, capture)?;
    Ok(source)
}

/// The same with a second thread that reads the file, for a day that takes hours.
pub fn open_day_on_thread(name: &Given, capture: &CaptureChoice) -> Result<DaySource, InputError> {
    let source = open_day(name, capture)?;
    if name.is_read_once() {
        return Ok(source);
    }
    let mut source = DaySource::open_on_thread(name.path())?;
    choose(&mut source, capture)?;
    Ok(source)
}

/// The bytes of a file, or of standard input.
fn open_bytes(name: &Given) -> Result<DaySource, InputError> {
    Ok(if name.is_standard() { DaySource::stdin()? } else { DaySource::open(name.path())? })
}

/// Chooses a part of a source, which is then a capture.
fn choose(source: &mut DaySource, capture: &CaptureChoice) -> Result<(), InputError> {
    source.choose(capture);
    Ok(source.check_choice()?)
}

fn of_dbn(name: &Given, error: DbnError) -> InputError {
    InputError::Dbn { name: name.to_string(), error }
}

/// Reads a DBN file up to the chosen run. Returns the number of earlier runs if none was chosen.
fn find_run(
    name: &Given,
    stream: &mut DbnStream,
    choice: Option<RunChoice>,
) -> Result<u64, InputError> {
    let mut earlier = 0;
    let number = match choice {
        Some(RunChoice::Number(number)) => number,
        Some(RunChoice::Last) if name.is_read_once() => {
            let name = if name.is_standard() { "standard input" } else { name };
            return Err(InputError::LastOfStream { name: name.to_owned() });
        }
        None if name.is_read_once() => 1,
        _ => {
            // Damage ends the search, and the reading reports it.
            let runs = stream.skip_to_run(u64::MAX).unwrap_or_else(|_| stream.runs());
            *stream = DbnStream::new(open_bytes(name)?).map_err(|error| of_dbn(name, error))?;
            earlier = RunChoice::earlier(choice, runs);
            RunChoice::of(choice, name, runs)?
        }
    };
    if number > 0 {
        let before = stream.skip_to_run(number).map_err(|error| of_dbn(name, error))?;
        RunChoice::of(Some(RunChoice::Number(number)), name, before)?;
    }
    Ok(earlier)
}

/// Collects the names of stocks.
#[derive(Default)]
struct Names {
    directory: StockDirectory,
    has_definitions: bool,
}

impl EventHandler for Names {
    type Hint = ();

    fn event(&mut self, _: Position, event: &MarketEvent, _: impl Origin) -> ControlFlow<()> {
        self.directory.learn(event);
        match event.what {
            What::Definition(_) => self.has_definitions = true,
            What::Order(_) if self.has_definitions => return ControlFlow::Break(()),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    // The reading of the records reports it.
    fn damage(&mut self, _: Damage) {}
}
