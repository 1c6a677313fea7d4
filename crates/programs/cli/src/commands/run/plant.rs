//! One plant of `nanotape run`, from its first session to its last.

use std::sync::Arc;

use nanotape_answers::SymbolFilter;
use nanotape_arguments::{
    errors::of_run,
    regions::complain,
    verdict::{conclude, require_symbols, warn_of_taint},
};
use nanotape_board::BoardReader;
use nanotape_clock::Clock;
use nanotape_live::LiveSource;
use nanotape_plant::{
    Ended, Finished, FollowerSummary, Pace, PlantConfig, PlantRun, PlantSource, ReadySession,
    RecordingError, Report, Reported, RunError, Sessions, ShutdownFlag, WaitForError,
    records::StopReason,
};

use super::{
    journal, latest, live,
    outcome::{Outcome, end_of},
    recorder,
    results::Results,
    systemd::{Between, Notifier, Service},
};
use crate::{
    journals::make_parents,
    progress::Progress,
    status::{Status, labelled, note, warn},
};

/// A plant of this process.
#[derive(Debug)]
pub(super) struct Plant<'a> {
    config: &'a PlantConfig,
    /// What systemd knows of the plants, and the place of this one.
    service: &'a Arc<Service>,
    place: usize,
    results: &'a Results,
    /// Its name before each of its lines, if there are several.
    label: Option<Arc<str>>,
    report: Report,
}

impl<'a> Plant<'a> {
    /// A plant, with a label if it is one of several.
    pub(super) fn new(
        config: &'a PlantConfig,
        (service, place): (&'a Arc<Service>, usize),
        results: &'a Results,
        label: Option<Arc<str>>,
    ) -> Self {
        Self { config, service, place, results, report: report_of(label.clone()), label }
    }

    /// Runs it until its input, or its last session, has ended.
    pub(super) fn run(&self, stop: ShutdownFlag) -> anyhow::Result<Status> {
        let Self { config, report, .. } = self;
        let mut status = Status::Good;
        let mut sessions = Sessions::of(config).map_err(of_run)?;
        if let Some(folder) = config.input.live.as_ref().and_then(|live| live.keep.as_deref()) {
            make_parents(folder);
        }
        let mut source = match &mut sessions {
            Some(sessions) => sessions.open_first(config).map_err(of_run)?,
            None => None,
        };
        loop {
            let next = match (source.take(), &mut sessions) {
                (Some(mut source), Some(sessions)) => {
                    let mut between = Between::new(self.service, self.place);
                    let is_stopped = || stop.is_requested();
                    let works = |text: &str| between.works(text);
                    let of_config = (&mut *source, *config);
                    let next = sessions.next(of_config, is_stopped, works, report);
                    let Some(next) = next.map_err(of_run)? else {
                        between.ending();
                        break;
                    };
                    Some((source, next))
                }
                _ => None,
            };
            let (ended, input) = self.run_once(next, stop.clone())?;
            status = status.max(ended);
            match input {
                Some(PlantSource::Live(of_run)) if sessions.is_some() && !stop.is_requested() => {
                    source = Some(of_run);
                }
                _ => break,
            }
        }
        Ok(status)
    }

    /// Runs a plant of the input, or of the next session of a source; returns its input, unless it
    /// did not begin.
    fn run_once(
        &self,
        next: Option<(Box<LiveSource>, ReadySession)>,
        stop: ShutdownFlag,
    ) -> anyhow::Result<(Status, Option<PlantSource>)> {
        let is_stopped = stop.clone();
        let mut plant = match self.open(next, stop) {
            Err(
                error @ (RunError::Recording(RecordingError::Stopped)
                | RunError::WaitFor(WaitForError::Stopped { .. })),
            ) => {
                warn(error);
                return Ok((Status::Good, None));
            }
            opened => opened.map_err(of_run)?,
        };
        complain(plant.ring(), &plant.residency());
        let keeper = latest::start(self.config, &self.report)?;
        live::complain_of_sockets(plant.source());
        self.results.begun(&plant, self.label.as_deref())?;
        let notifier = Notifier::ready(&plant, self.service, self.place);

        let (ended, nanos) = {
            let progress = self.progress_of(&plant);
            // New threads inherit the processors of their parent. The threads of the reader and the
            // bar exist already, so they do not compete with the plant.
            if let Some(Err(refusal)) = self.config.machine.cpu.map(nanotape_host::pin_to) {
                warn(refusal);
            }
            let clock = Clock::monotonic();
            let began = clock.stamp();
            let news = |line: Reported<'_>| self.report.pass(line);
            let ended = plant.run_with(|now| progress.set(now.done_bytes), news);
            (ended, clock.nanos_between(began, clock.stamp()))
        };
        notifier.ending(!self.follows() || is_stopped.is_requested());
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                // Otherwise the error of the plant is the cause of one of its recorder.
                if let Err(full @ RecordingError::NoRoom { .. }) = plant.finish().recording {
                    warn(full);
                }
                let error = of_run(error);
                // Of several plants each one that fails has a result, also before it has begun.
                if self.label.is_none() {
                    self.results.failed(&self.config.ring.name, &error, None)?;
                }
                return Err(error);
            }
        };
        let concluded = conclude_run(self.config, &plant, &ended);
        let outcome = Outcome::new(&plant, ended, nanos);
        let (finished, source) = plant.finish_with_source();
        let is_kept = latest::is_whole(self.config, keeper);
        self.results.ended(outcome, &finished, self.label.as_deref())?;
        let status = conclude_finished(finished)?;
        let status = if is_kept { status } else { Status::Bad };
        Ok((status.max(concluded?), Some(source)))
    }

    /// Opens the plant, with its recorder if it has a journal.
    fn open(
        &self,
        next: Option<(Box<LiveSource>, ReadySession)>,
        stop: ShutdownFlag,
    ) -> Result<PlantRun, RunError> {
        let Self { config, report, .. } = self;
        let process = match &config.journal {
            Some(journal) => Some(recorder::process(journal, &config.ring.name, report.clone())?),
            None => None,
        };
        match next {
            Some(next) => PlantRun::open_next(config, next, stop, process.as_ref(), report.clone()),
            None => PlantRun::open_with(config, stop, process.as_ref(), report.clone()),
        }
    }

    /// Whether the next session is waited for when one has ended.
    fn follows(&self) -> bool {
        self.config.input.live.as_ref().is_some_and(|live| live.follow)
    }

    /// A bar with the bytes of the input, or at a recorded pace with the exchange's time of day.
    fn progress_of(&self, plant: &PlantRun) -> Progress {
        if self.label.is_some() {
            return Progress::hidden();
        }
        let total_bytes = plant.source().progress().total_bytes;
        let is_paced = Pace::of_milli(plant.start().pace_milli) != Pace::Max;
        match BoardReader::open(plant.ring()) {
            Ok(board) if is_paced => {
                let board = Arc::new(board);
                Progress::with_time(total_bytes, move || {
                    let time = board.sample().time_of_day().map(|time| time.to_string());
                    // Whole seconds: a person reads it.
                    let time = time.as_deref().and_then(|time| time.split('.').next());
                    time.map_or_else(String::new, |time| format!("exchange time {time}"))
                })
            }
            _ => Progress::with_total(total_bytes),
        }
    }
}

/// Reports what is missing in the journal and at the followers, and returns the exit status for it.
fn conclude_finished(finished: Finished) -> anyhow::Result<Status> {
    let mut status = Status::Good;
    for follower in finished.followers.iter().flat_map(|followers| &followers.followers) {
        if follower.was_promised && !follower.is_whole {
            let FollowerSummary { name, state, missing, .. } = follower;
            warn(format_args!("follower {name} {}: messages not read: {missing}", end_of(*state)));
            status = Status::Bad;
        }
    }
    Ok(if journal::is_whole(finished.recording)? { status } else { Status::Bad })
}

/// Prints what a plant reports, from any of its threads, after its name if there are several.
fn report_of(label: Option<Arc<str>>) -> Report {
    Report::new(move |line| {
        labelled(label.as_ref(), || match line {
            Reported::Note(line) => note(line),
            Reported::Problem(line) => warn(line),
        });
    })
}

/// Prints the damage of the day, and returns the exit status for it.
fn conclude_run(config: &PlantConfig, plant: &PlantRun, ended: &Ended) -> anyhow::Result<Status> {
    live::report_session(plant.source());
    let status = conclude(plant.source().name(), &ended.report);
    let has_unkept = matches!(plant.source(), PlantSource::Live(source) if source.has_unkept());
    let is_late = live::report_late_join(&ended.report);
    let status = if has_unkept || is_late { Status::Bad } else { status };
    warn_of_taint(plant.source().name(), ended.anomalies, ended.tainted_stocks, None);
    // If the run ended early, a later message could still name them.
    if !matches!(ended.stop.reason, StopReason::Requested | StopReason::ScheduleEnd) {
        let filter = SymbolFilter::new(&config.publish.symbols);
        require_symbols(plant.source().name(), &filter, plant.engine().directory())?;
    }
    Ok(status)
}
