//! The sessions of a plant that runs day and night: which one comes next, and when none is joined.

use nanotape_book::DefaultBooks;
use nanotape_live::{Begun, Between, LiveSource};
use nanotape_types::Alpha;

use super::{RunError, books, check_room};
use crate::{
    PlantConfig, TradeDate,
    followers::Report,
    records::{Schedule, ScheduleWindow},
};

/// The sessions that a plant follows.
#[derive(Debug)]
pub struct Sessions {
    schedule: Option<Schedule>,
    /// The window that is open, or the next one.
    window: Option<ScheduleWindow>,
    /// Whether it was open, if that is known.
    was_open: Option<bool>,
    /// What the plant waits for.
    text: String,
    waits_first: bool,
    /// The last session that was not joined because it is kept to its end.
    over: Option<(Alpha<10>, TradeDate)>,
    /// The books of the next session.
    books: Option<DefaultBooks>,
}

/// A session that has begun, and for which a plant can be opened.
#[derive(Debug)]
pub struct ReadySession {
    pub(super) date: TradeDate,
    /// Books whose memory was written while the session was waited for. That takes up to some
    /// seconds, in which packets would wait in the sockets.
    pub(super) books: DefaultBooks,
}

/// The text without a schedule.
const NEXT: &str = "waiting for the next session";

impl Sessions {
    /// The sessions of a configuration, whose schedule is read now. `None` if the plant ends with
    /// its first session.
    pub fn of(config: &PlantConfig) -> Result<Option<Self>, RunError> {
        let Some(live) = config.input.live.as_ref().filter(|live| live.follow) else {
            return match config.schedule {
                Some(_) => Err(RunError::NoSessions),
                None => Ok(None),
            };
        };
        check_room(config)?;
        let schedule = config.schedule.as_ref();
        let schedule = schedule.map(crate::config::ScheduleConfig::load).transpose()?;
        let waits_first = schedule.is_some() || live.keep.is_some();
        let (window, was_open, over, books) = (None, None, None, None);
        let text = NEXT.to_owned();
        Ok(Some(Self { schedule, window, was_open, text, waits_first, over, books }))
    }

    /// Opens the sockets of a plant that waits for its first session too, because it has a schedule
    /// or keeps sessions. `None` if the plant is opened before its first session.
    pub fn open_first(
        &mut self,
        config: &PlantConfig,
    ) -> Result<Option<Box<LiveSource>>, RunError> {
        match &config.input.live {
            Some(live) if live.lines().is_empty() => Err(RunError::NoLine),
            Some(live) if self.waits_first => {
                // What comes meanwhile waits in the sockets, and is not missed.
                let source = LiveSource::open_between(live)?;
                self.books = Some(books(config).touched());
                Ok(Some(Box::new(source)))
            }
            _ => Ok(None),
        }
    }

    /// Waits for the next session of a source of this configuration, and begins it. `None` if
    /// `is_stopped`.
    /// `works` is called at least ten times a second with what the plant waits for; `report`
    /// receives the same for an operator, when it changes.
    pub fn next(
        &mut self,
        (source, config): (&mut LiveSource, &PlantConfig),
        is_stopped: impl Fn() -> bool,
        mut works: impl FnMut(&str),
        report: &Report,
    ) -> Result<Option<ReadySession>, RunError> {
        self.was_open = None;
        let ready = self.books.take().unwrap_or_else(|| books(config).touched());
        loop {
            let next = source.wait_for_session(|now_ns| {
                if is_stopped() {
                    return Between::Ends;
                }
                let is_open = self.poll(now_ns, report);
                works(&self.text);
                if is_open { Between::Joins } else { Between::Shut }
            })?;
            let Some(next) = next else { return Ok(None) };
            let (date, until_ns) = match self.window {
                Some(window) => (Some(window.date), window.end_ns),
                None => (TradeDate::of_time(next.first_ns), u64::MAX),
            };
            // A time without a date is that of a clock that was never set.
            let Some(date) = date else {
                return Err(RunError::NoDate { name: next.session.to_string() });
            };
            match source.begin_session(&next, date, until_ns)? {
                Begun::Yes => return Ok(Some(ReadySession { date, books: ready })),
                Begun::Later => {}
                Begun::Over => {
                    let name = next.session;
                    if self.over.replace((name, date)) != Some((name, date)) {
                        let text =
                            format!("session {name} of {date} is kept to its end: not joined");
                        report.note(&text);
                    }
                }
            }
        }
    }

    /// Whether sessions are joined now.
    fn poll(&mut self, now_ns: u64, report: &Report) -> bool {
        let Some(schedule) = &self.schedule else {
            if self.was_open.replace(true).is_none() {
                report.note(NEXT);
            }
            return true;
        };
        if self.was_open.is_none() || self.window.is_none_or(|window| now_ns >= window.end_ns) {
            self.window = schedule.next(now_ns);
        }
        let is_open = self.window.is_some_and(|window| window.contains(now_ns));
        if self.was_open.replace(is_open) != Some(is_open) {
            self.text = match &self.window {
                Some(window) if is_open => {
                    format!("{NEXT}, until {}", schedule.end_text(window))
                }
                Some(window) => format!("waiting for {}", schedule.start_text(window, now_ns)),
                None => "waiting: the schedule has no further day".to_owned(),
            };
            report.note(&self.text);
        }
        is_open
    }
}
