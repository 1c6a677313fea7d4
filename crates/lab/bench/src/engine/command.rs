//! One run of a benchmark: from its arguments to its table.

use std::time::Duration;

use clap::Args;
use nanotape_clock::{Source, cross_core::Offset};
use nanotape_console::{interrupt, progress::Progress, records::RecordArguments, status::Status};
use nanotape_lab::{NoiseWatch, Pin, Placement, Rng, record::RunContext, text};
use serde_json::Value;

use super::{
    Benchmark, Cpus, Folder, Launch, Measured, Program, Reading, Row, Workers,
    cpus::offset_between, process::MOST_PADDING, row::select, table, worker::Job,
};
use crate::error::Error;

/// The arguments of `nanotape lab bench NAME`: what every benchmark has, and its own options.
#[derive(Args, Debug)]
pub(crate) struct TableArguments<B: Benchmark> {
    /// Print the names and measure nothing
    #[arg(long)]
    list: bool,

    /// Rounds; in each, every row is measured once
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = nanotape_console::values::count::<u32>(1..=10_000))]
    rounds: u32,

    /// Measure only these rows; without the row of comparison there are no ratios
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    #[command(flatten)]
    options: B,

    #[command(flatten)]
    output: RecordArguments,
}

/// One run: its options and its results.
#[derive(Debug)]
pub(crate) struct Run<B: Benchmark> {
    pub(crate) options: B,
    pub(crate) rows: Vec<&'static Row<B>>,
    /// Whether all rows are selected.
    pub(crate) is_all: bool,
    pub(crate) rounds: u32,
    pub(crate) cpus: Cpus,
    /// The writer's processor; None if pinning was refused.
    pub(crate) cpu: Option<u32>,
    pub(crate) real_time_priority: Option<u8>,
    pub(crate) context: RunContext,
    /// Offset between the clocks of the two processors.
    pub(crate) offset: Option<Offset>,
    /// Notes for readers of the results.
    pub(crate) notes: Vec<String>,
    pub(crate) program: Program,
    pub(crate) measured: Vec<Measured<B>>,
}

/// Runs a benchmark and prints its table.
pub(crate) fn run<B: Benchmark>(arguments: &TableArguments<B>) -> anyhow::Result<Status> {
    let rows = select::<B>(&arguments.only)?;
    let mut output = arguments.output.records(B::COLUMNS)?.in_one_list();
    if arguments.list {
        for row in rows {
            output.result(&format!("{}\n", row.name), B::listed(row))?;
        }
        output.finish()?;
        return Ok(Status::Good);
    }
    let mut run = Run::new(arguments, rows)?;
    B::prepare(&mut run)?;
    output.heading(&text::context(&run.context))?;
    if B::IS_PAIR {
        run.offset = offset_between(&run.context.clock, &run.cpus);
        run.note_clocks();
    }
    // Without a handler, Ctrl-C would leave folders.
    let interrupt = interrupt::install()?;
    let is_ended = || interrupt.is_requested();
    let progress = Progress::with_steps("measurements", run.readings());
    let started = B::start(&mut run, &progress, &is_ended);
    let watch = NoiseWatch::start_for_children(run.context.clock, run.cpu);
    let measured = started.and_then(|()| run.measure(&progress, &is_ended));
    run.context.noise = watch.stop();
    let concluded = measured.and_then(|()| B::conclude(&mut run, &progress));
    drop(progress);
    concluded.map_err(|error| match interrupt.is_requested() {
        true => Error::Interrupted.into(),
        false => error.judged(),
    })?;
    table::write(&run, &mut output)?;
    output.finish()?;
    Ok(Status::Good)
}

impl<B: Benchmark> Run<B> {
    pub(super) fn new(
        arguments: &TableArguments<B>,
        rows: Vec<&'static Row<B>>,
    ) -> anyhow::Result<Self> {
        let options = arguments.options.clone();
        let requested = options.requested();
        let cpus = Cpus::choose(requested.cpus)?;
        // Tried here, so that a refusal is reported once and not by every process.
        let placement = Placement::on(Pin::To(cpus.writer), requested.real_time_priority);
        let context = RunContext::capture(&placement);
        let (cpu, notes) = (placement.cpu(), placement.refused().to_vec());
        placement.release();
        Ok(Self {
            options,
            rows,
            is_all: arguments.only.is_empty(),
            rounds: arguments.rounds,
            cpus,
            cpu,
            real_time_priority: requested.real_time_priority,
            context,
            offset: None,
            notes,
            program: Program::this(B::NAME)?,
            measured: Vec::new(),
        })
    }

    /// The measurements of a row, if there are any.
    pub(crate) fn find(&self, row: &str) -> Option<&Measured<B>> {
        self.measured.iter().find(|measured| measured.row.name == row)
    }

    /// Whether stamps are from the time stamp counter.
    fn has_counter(&self) -> bool {
        self.context.clock.source() == Source::TimeStampCounter
    }

    fn note_clocks(&mut self) {
        self.notes.push(match self.has_counter() {
            true => "stamps of all processes are raw values of the time stamp counter".to_owned(),
            false => "stamps are of the kernel's monotonic clock: whether all processors have the \
                      same counter is unknown"
                .to_owned(),
        });
        self.notes.push(match &self.offset {
            Some(offset) => format!("clocks: {offset}; nothing is subtracted"),
            None if self.cpus.are_two() => {
                "the offset between the clocks of the two processors is unknown".to_owned()
            }
            None => {
                "both sides share one processor: every time includes a context switch".to_owned()
            }
        });
    }

    /// Number of readings to take.
    pub(crate) fn readings(&self) -> u64 {
        let passes = self.rows.iter().map(|row| self.options.passes(row).len() as u64);
        u64::from(self.rounds) * passes.sum::<u64>()
    }

    /// Takes all readings. In each round every pass of every row runs once, in random order, so
    /// that disturbances of the machine affect all of them alike.
    fn measure(&mut self, progress: &Progress, is_ended: &dyn Fn() -> bool) -> Result<(), Error> {
        let measured =
            |&row: &&'static Row<B>| Measured { row, readings: Vec::new(), others: Vec::new() };
        self.measured = self.rows.iter().map(measured).collect();
        let mut turns = Vec::new();
        for (place, row) in self.rows.iter().enumerate() {
            turns.extend(self.options.passes(row).into_iter().map(|pass| (place, pass)));
        }
        // First passes first: this keeps the order of turns of earlier versions.
        turns.sort_by_key(|(_, pass)| *pass != B::Pass::default());
        let total = self.readings();
        let mut done = 0;
        for round in 1..=self.rounds {
            let mut rng = Rng::new(round.into());
            rng.shuffle(&mut turns);
            for &(place, pass) in &turns {
                if is_ended() {
                    return Err(Error::Interrupted);
                }
                let row = self.rows[place];
                progress.set_of(done, total, row.name);
                let reading = self.read(row, pass, rng.below(MOST_PADDING))?;
                if let Some(complaint) = reading.complaint(B::may_lose(row)) {
                    return Err(Error::found(row.name, complaint));
                }
                let Measured { readings, others, .. } = &mut self.measured[place];
                if pass == B::Pass::default() { readings } else { others }.push(reading);
                done += 1;
            }
        }
        Ok(())
    }

    /// Takes one reading of a row.
    pub(crate) fn read(
        &self,
        row: &'static Row<B>,
        pass: B::Pass,
        padding: usize,
    ) -> Result<Reading, Error> {
        let made = Error::system("make a folder to meet in");
        let folder = Folder::new(B::NAME).map_err(made)?;
        let data = match self.options.data_folder(row) {
            Some(parent) => Folder::new_in(parent, B::NAME),
            None => Folder::new_in(folder.path(), "data"),
        };
        let data = data.map_err(Error::system("make a folder for data"))?;
        let jobs = (0..=B::readers(row)).map(|process| {
            let mut job = self.job(row, process, pass);
            (job.folder, job.data) = (folder.path().to_owned(), data.path().to_owned());
            serde_json::to_value(&job)
                .map_err(|error| Error::system("describe a job")(error.into()))
        });
        let jobs = jobs.collect::<Result<Vec<Value>, Error>>()?;
        let launch = |job| Launch { program: &self.program, job, padding, is_detached: false };
        let launches: Vec<_> = jobs.iter().map(launch).collect();
        // Removed as soon as all files are open: nothing is left if this process dies.
        let on_open = || {
            if B::LEAVES_FOLDER {
                folder.remove();
            }
        };
        let longest = self.options.longest(row);
        let reports = Workers::answers::<Reading>(row.name, &launches, longest, on_open)?;
        Ok(reports.into_iter().fold(Reading::default(), Reading::with))
    }

    /// The job of a process of a row.
    fn job(&self, row: &'static Row<B>, process: usize, pass: B::Pass) -> Job<B> {
        let readers = B::readers(row);
        let (cpu, shares) = match process.checked_sub(1) {
            None => (self.cpus.writer, readers > 0 && !self.cpus.are_two()),
            Some(index) => self.cpus.reader(index, readers),
        };
        Job {
            row: row.name.to_owned(),
            process,
            pass,
            cpu: self.cpu.map(|_| cpu),
            shares: shares || self.cpu.is_none(),
            real_time_priority: self.real_time_priority,
            counter: self.has_counter(),
            folder: Default::default(),
            data: Default::default(),
            options: self.options.clone(),
        }
    }
}

/// Limit of the time for `messages`, at the slowest expected pace.
pub(crate) fn slowest(messages: u64) -> Duration {
    Duration::from_micros(100 * messages.min(1 << 40))
}
