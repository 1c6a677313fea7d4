//! The input of a plant: a day file, a capture, standard input, a live session, or a kept one.

use std::path::Path;

use nanotape_board::LiveStat;
use nanotape_clock::Clock;
use nanotape_feed::{DaySource, SourceError, source::Progress};
use nanotape_history::DBN_MAGIC;
use nanotape_live::{ChannelSource, KeptSource, LiveError, LiveSource};
use nanotape_market::Venue;

use super::{PATIENCE, RunError};
use crate::{Pace, TradeDate, config::InputConfig};

/// A folder that no plant can read.
const OTHER_FOLDER: &str = "a folder without a kept session";

/// The input of a plant.
#[derive(Debug)]
pub enum PlantSource {
    /// The bytes of a day or of a capture.
    Day(Box<DaySource>),
    /// A live session.
    Live(Box<LiveSource>),
    /// A live feed of channels.
    Channels(Box<ChannelSource>),
    /// A session that was kept.
    Kept(Box<KeptSource>),
    /// It belongs to another plant now.
    HandedOn,
}

impl PlantSource {
    /// Its name in messages: a path, "standard input", or the addresses of its lines.
    pub fn name(&self) -> &str {
        match self {
            Self::Day(source) => source.name(),
            Self::Live(source) => source.name(),
            Self::Channels(source) => source.name(),
            Self::Kept(source) => source.name(),
            Self::HandedOn => "",
        }
    }

    /// Whose messages it has. That of standard input is not known before it is read.
    pub fn venue(&self) -> &'static Venue {
        match self {
            Self::Day(source) => source.venue(),
            Self::Live(source) => source.venue(),
            Self::Channels(source) => source.venue(),
            Self::Kept(source) => source.venue(),
            Self::HandedOn => Venue::UNKNOWN,
        }
    }

    /// How far it has been read.
    pub fn progress(&self) -> Progress {
        match self {
            Self::Day(source) => source.progress(),
            Self::Live(source) => source.progress(),
            Self::Channels(source) => source.progress(),
            Self::Kept(source) => source.progress(),
            Self::HandedOn => Progress { done_bytes: 0, total_bytes: None },
        }
    }

    /// Whether it is a live session, which waits for nothing.
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Live(_) | Self::Channels(_))
    }

    /// Whether it begins with what it has kept, and waits for the plant until then.
    pub(crate) fn is_behind(&self) -> bool {
        matches!(self, Self::Live(source) if source.is_behind())
    }

    /// Whether its session was left at the end of its time.
    pub(crate) fn has_left(&self) -> bool {
        matches!(self, Self::Live(source) if source.has_left())
    }

    /// The statistics of a session; `None` for a file.
    pub fn session(&self) -> Option<&LiveStat> {
        match self {
            Self::Day(_) | Self::HandedOn => None,
            Self::Live(source) => Some(source.stat()),
            Self::Channels(source) => Some(source.stat()),
            Self::Kept(source) => Some(source.stat()),
        }
    }
}

/// Opens the input, and determines its trade date.
pub(super) fn open_input(config: &InputConfig) -> Result<(PlantSource, TradeDate), RunError> {
    let InputConfig { file, date, pace, .. } = config;
    if let Some(live) = &config.live {
        if live.lines().is_empty() {
            return Err(RunError::NoLine);
        }
        // A session without a date is that of today, by the exchange's calendar.
        let today = || TradeDate::of_time(Clock::monotonic().utc_ns());
        let no_date = || RunError::NoDate { name: "live session".to_owned() };
        let date = date.or_else(today).ok_or_else(no_date)?;
        let source = Box::new(LiveSource::open(live, date)?);
        return Ok((PlantSource::Live(source), date));
    }
    if let Some(channels) = &config.channels {
        channels.check().map_err(LiveError::from)?;
        let venue = channels.feed.map_or(Venue::UNKNOWN, |feed| feed.feed().venue());
        let today = || TradeDate::of_day(venue, Clock::monotonic().utc_ns());
        let no_date = || RunError::NoDate { name: "live feed".to_owned() };
        let date = date.or_else(today).ok_or_else(no_date)?;
        let source = Box::new(ChannelSource::open(channels, date)?);
        return Ok((PlantSource::Channels(source), date));
    }
    if file.as_os_str().is_empty() {
        return Err(RunError::NoInput);
    }
    let no_day = |what| RunError::NoDay { name: file.display().to_string(), what };
    if file.is_dir() {
        let source = Box::new(KeptSource::open(file).map_err(|error| {
            // A folder of another kind is a mistake of the caller, and not damage.
            if error.is_other_folder() { no_day(OTHER_FOLDER) } else { error.into() }
        })?);
        let date = date.unwrap_or(source.date());
        return Ok((PlantSource::Kept(source), date));
    }
    let mut source = match (file.as_os_str() == "-", pace) {
        (true, _) => DaySource::stdin()?,
        (false, Pace::Max) => DaySource::open(file)?,
        // A paced run lasts hours. A second thread waits for the disk, and a file that is truncated
        // meanwhile is a day that ends early.
        (false, Pace::Recorded { .. }) => DaySource::open_on_thread(file)?,
    };
    // The first bytes of standard input might come later than a reader of the ring.
    if file.as_os_str() != "-" && source.starts_with(DBN_MAGIC)? {
        return Err(no_day("a DBN file"));
    }
    source.choose(&config.choice());
    if file.as_os_str() != "-" {
        source.check_day()?;
        source.check_choice()?;
    }
    if file.as_os_str() != "-" {
        source.find_venue()?;
    }
    source.set_patience(PATIENCE);
    let date = match date {
        Some(date) => Some(*date),
        // The first bytes of standard input might come later than a reader of the ring.
        None if file.as_os_str() == "-" => None,
        None => trade_date_of(&mut source, file)?,
    };
    let no_date = || RunError::NoDate { name: source.name().to_owned() };
    let date = date.ok_or_else(no_date)?;
    Ok((PlantSource::Day(Box::new(source)), date))
}

/// The trade date in the name of a day file or a capture, or that of the first packet of a capture.
/// Call it before the first block of the source is read.
pub fn trade_date_of(
    source: &mut DaySource,
    file: &Path,
) -> Result<Option<TradeDate>, SourceError> {
    let venue = source.find_venue()?;
    match TradeDate::of_file_name(file) {
        None => {
            let began_ns = source.capture_began_ns()?;
            Ok(began_ns.and_then(|began_ns| TradeDate::of_day(venue, began_ns)))
        }
        date => Ok(date),
    }
}
