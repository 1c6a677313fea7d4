//! `nanotape audit`: compares what a recorder stores with what the plant publishes.

use std::{path::PathBuf, time::Duration};

use anyhow::Context as _;
use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::{errors::of_subscription, regions::place};
use nanotape_tap::{Audit, AuditReport};

use crate::{
    interrupt,
    output::{Format, OutputArguments},
    record::Record,
    status::Status,
    values::{counted, seconds},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape audit equities days/equities
  nanotape audit equities days/equities --count 1000000 --format json

Follows the journal from the last snapshot before the oldest record of the ring, and rebuilds the
books from its records. Compares every record with that of the ring, as long as the ring has it,
and every inside that the plant published with the rebuilt book. When the plant stops, compares the
digest of all records with that of the plant. It ends when the plant stops, when the recorder
closes the journal, on Ctrl-C, or after N records. The plant and the recorder are not affected.

Exit status: 0 all that was compared is the same; 1 something differs, records are missing in the
journal, or the journal is damaged; 2 the ring or the journal cannot be opened, or the journal is
that of another ring.")]
pub(crate) struct AuditArguments {
    /// Name or path of the plant's ring
    #[arg(value_name = "RING")]
    ring: Given,

    /// Folder of the journal that records the ring
    #[arg(value_name = "JOURNAL")]
    journal: PathBuf,

    /// Stop after N records
    #[arg(long, value_name = "N", value_parser = crate::values::count::<u64>(1..))]
    count: Option<u64>,

    /// Wait up to SECONDS for the recorder to begin
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    wait: Duration,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(command: &AuditArguments) -> anyhow::Result<Status> {
    nanotape_shm::guard_against_truncation().context("cannot install a handler for SIGBUS")?;
    let format = command.output.format_or(Format::Text)?;
    let ring = place(&command.ring)?;
    let interrupt = interrupt::install()?;
    let audit = Audit::open(&ring, &command.journal, command.wait, &interrupt);
    let mut audit = audit.map_err(of_subscription)?;
    let most = command.count.unwrap_or(u64::MAX);
    while audit.report().records < most && audit.step().map_err(of_subscription)? {}
    let mut output = command.output.open()?;
    let report = audit.report();
    let next = audit.next_sequence();
    record(report, next).write(&mut output, format, true, || text(report, next))?;
    output.finish()?;
    Ok(if report.is_good() { Status::Good } else { Status::Bad })
}

fn record(report: &AuditReport, next: u64) -> Record {
    Record::default()
        .with("is_good", report.is_good())
        .with("records", report.records)
        .with("same_records", report.same_records)
        .with("overwritten", report.overwritten)
        .with("same_insides", report.same_insides)
        .with("unknown_insides", report.unknown_insides)
        .with("lost", report.lost)
        .with("differences", report.differences)
        .with("first_difference", report.first_difference.map(|first| first.to_string()))
        .with("is_digest_same", report.is_digest_same)
        .with("next_sequence", next)
}

fn text(report: &AuditReport, next: u64) -> String {
    let digest = match report.is_digest_same {
        Some(true) => "the same as the plant's",
        Some(false) => "DIFFERENT from the plant's",
        None => "not compared",
    };
    let first = report.first_difference.map_or(String::new(), |first| format!(": {first}"));
    format!(
        "{} read, next {next}\nring            {} the same, {} overwritten before they were \
         compared\ninsides         {} the same, {} not compared, since the books lack records\n\
         missing         {}\ndifferences     {}{first}\ndigest          {digest}\n",
        counted(report.records, "record"),
        report.same_records,
        report.overwritten,
        report.same_insides,
        report.unknown_insides,
        report.lost,
        report.differences,
    )
}
