//! `nanotape trace list`: the sites of traced threads.

use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::{
    regions::state_name,
    threads::{self, Thread},
};
use nanotape_ring::Start;
use nanotape_trace::spans::{Rate, SpanReader};

use crate::{
    output::{Format, OutputArguments},
    rows::{Column, Kind, Rows},
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape trace list                         all traced threads in /dev/shm
  nanotape trace list equities
  nanotape trace list 4711 --format json

The rate of a site is off, all, or 1/N: one message in N, those whose number is a multiple of N. All
threads choose the same messages. `spans` is the number of spans that the thread has written at all of
its sites.")]
pub(super) struct ListCommand {
    /// Name or path of a ring, path of a thread's region, or number of a process
    #[arg(value_name = "NAME|PID")]
    target: Option<Given>,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &ListCommand) -> anyhow::Result<Status> {
    let threads = match &command.target {
        Some(target) => threads::of_target(target)?,
        None => threads::all()?,
    };
    print(&threads, &command.output)?;
    Ok(Status::Good)
}

/// Prints the sites of these threads.
pub(super) fn print(threads: &[Thread], output: &OutputArguments) -> anyhow::Result<()> {
    let format = output.format_or(Format::Text)?;
    let readers: Vec<SpanReader> =
        threads.iter().map(|thread| thread.open(Start::Newest)).collect::<Result<_, _>>()?;
    let columns = vec![
        Column::new("thread", Kind::Text, 20, "Name of the thread."),
        Column::new("pid", Kind::U64, 7, "Number of its process."),
        Column::new("state", Kind::Text, 6, "State of the process."),
        Column::new("spans", Kind::U64, 12, "Spans that the thread has written.").of("spans"),
        Column::new("site", Kind::Text, 16, "Name of a stage. Absent before the thread has any."),
        Column::new("rate", Kind::Text, 0, "Which of its spans are written: off, all or 1/N."),
    ];
    let mut rows = Rows::new(output.open()?, format, columns);
    for (thread, reader) in threads.iter().zip(&readers) {
        let owner = reader.owner();
        // A thread whose sites have not appeared yet has a row too.
        let sites: Vec<_> = reader.sites().into_iter().map(Some).collect();
        for site in if sites.is_empty() { vec![None] } else { sites } {
            rows.text(thread.name.escape_default());
            rows.integer(u64::from(owner.pid));
            rows.text(state_name(owner.state));
            rows.integer(reader.next_sequence().saturating_sub(1));
            match site.map(|site| site.name) {
                Some(Some(name)) => rows.text(name),
                Some(None) => rows.text("damaged"),
                None => rows.absent(),
            }
            match site.map(|site| site.rate) {
                Some(Some(rate)) => rows.text(rate_text(rate)),
                Some(None) => rows.text("damaged"),
                None => rows.absent(),
            }
            rows.end_row()?;
        }
    }
    rows.finish()?;
    Ok(())
}

fn rate_text(rate: Rate) -> String {
    match rate.count() {
        None => "off".to_owned(),
        Some(1) => "all".to_owned(),
        Some(count) => format!("1/{count}"),
    }
}
