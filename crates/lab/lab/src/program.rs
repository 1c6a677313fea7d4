//! The `main` of a benchmark program: measures and prints, serves as a worker, or is counted.

use std::{
    fs::File,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Parser, ValueEnum};
use rustix::fs::OFlags;

use crate::{
    arguments::BenchArguments,
    measure::measure,
    placement::Placement,
    record::{self, RunContext},
    suite::{BenchError, Suite},
    text,
    worker::{COUNT, ROLE, WORKER, serve},
};

#[derive(Parser, Debug)]
#[command(
    about = "Measures the benchmarks of this program.",
    after_help = "\
Examples:
  cargo bench                                 every benchmark of every target
  cargo bench --bench hot -- book             those with `book` in their name
  cargo bench --bench hot -- --html hot.html  with a page of distributions

To compare two programs or two revisions: nanotape lab compare --help"
)]
struct Arguments {
    #[command(flatten)]
    bench: BenchArguments,

    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    /// Write one page of plots, which loads nothing from the network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Overwrite the page if it exists
    #[arg(long)]
    force: bool,

    /// Passed by cargo to every benchmark program; has no effect
    #[arg(long = "bench", hide = true)]
    by_cargo: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// Human-readable lines
    Text,
    /// One JSON object per line
    Json,
}

/// The reason why a measurement has no result.
#[derive(Debug, thiserror::Error)]
enum ProgramError {
    #[error(transparent)]
    Bench(#[from] BenchError),
    #[error(transparent)]
    Record(#[from] record::RecordError),
    #[error("cannot write {0}")]
    Write(String, #[source] io::Error),
    #[error("the machine was not quiet: {0}")]
    Noise(String),
}

impl Suite {
    /// Runs a benchmark program as the command line or the environment requests.
    ///
    /// Exit status: 0 good, 1 a benchmark gave a wrong answer, 2 it could not be measured.
    pub fn main(&self) -> ExitCode {
        if let Some(code) = self.role() {
            return code;
        }
        match run(self, &Arguments::parse()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{}: {}", self.name(), text::in_full(&error));
                ExitCode::from(status_of(&error))
            }
        }
    }

    /// Runs the role that the environment gives to this process, if there is one. Programs with
    /// their own command line call this before they parse it.
    pub fn role(&self) -> Option<ExitCode> {
        let role = std::env::var(ROLE).ok()?;
        let words: Vec<&str> = role.split(' ').collect();
        let outcome = match words.as_slice() {
            [WORKER] => serve(self, io::stdin().lock(), io::stdout().lock())
                .map_err(|error| error.to_string()),
            [COUNT, runs, name] => self.counted(runs, name),
            _ => Err(format!("{ROLE}={role:?} is not a role of this version")),
        };
        Some(match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(reason) => {
                eprintln!("{}: {reason}", self.name());
                ExitCode::from(2)
            }
        })
    }

    fn counted(&self, runs: &str, name: &str) -> Result<(), String> {
        let runs = runs.parse().map_err(|_| format!("{runs:?} is not a number"))?;
        let mut running = self.open(name).map_err(|error| error.to_string())?;
        // Run once before: the first run grows tables and allocates buffers.
        running.warm_runs(1).map_err(|error| error.to_string())?;
        running.counted_runs(runs).map_err(|error| error.to_string())
    }
}

fn run(suite: &Suite, arguments: &Arguments) -> Result<(), ProgramError> {
    let mut out = io::stdout().lock();
    let names = arguments.bench.select(suite)?;
    if arguments.bench.list {
        let lines = names.iter().map(|name| format!("{name}\n")).collect::<String>();
        return print(&mut out, &lines);
    }
    let placement = Placement::apply(&arguments.bench.place.request());
    let context = RunContext::capture(&placement);
    if arguments.format == Format::Text {
        print(&mut out, &text::context(&context))?;
    }
    let mut records = Vec::with_capacity(names.len());
    for name in names {
        let options = arguments.bench.options(name);
        let measured = measure(suite, name, &options, &context)?;
        arguments.bench.admit(&measured).map_err(ProgramError::Noise)?;
        let record = measured.record();
        match arguments.format {
            Format::Text => print(&mut out, &text::measured(&measured))?,
            Format::Json => print(&mut out, &format!("{record}\n"))?,
        }
        records.push(record);
    }
    if let Some(folder) = &arguments.bench.record {
        let host = context.environment.host.as_deref().unwrap_or("unknown");
        record::append(folder, host, &records)?;
    }
    if let Some(path) = &arguments.html {
        write_page(path, arguments.force, &nanotape_report::results(&records))?;
    }
    Ok(())
}

fn status_of(error: &ProgramError) -> u8 {
    match error {
        ProgramError::Bench(BenchError::Answer { .. }) => 1,
        _ => 2,
    }
}

fn print(out: &mut impl io::Write, text: &str) -> Result<(), ProgramError> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // The reader has closed the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| ProgramError::Write("standard output".to_owned(), error)),
    }
}

fn write_page(path: &Path, force: bool, page: &str) -> Result<(), ProgramError> {
    let mut options = File::options();
    // A link in a folder of several users would let another one choose the file.
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let options = options.write(true).custom_flags(flags);
    let file = match force {
        true => options.create(true).truncate(true).open(path),
        false => options.create_new(true).open(path),
    };
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let exists = io::Error::other("exists; use --force to overwrite it");
            ProgramError::Write(path.display().to_string(), exists)
        }
        _ => ProgramError::Write(path.display().to_string(), error),
    };
    file.and_then(|mut file| file.write_all(page.as_bytes())).map_err(failed)
}
