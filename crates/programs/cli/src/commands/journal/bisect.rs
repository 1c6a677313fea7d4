//! `nanotape journal bisect`: the first record at which two recorded runs differ.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use nanotape_answers::RunChoice;
use nanotape_arguments::{
    errors::{of_input, of_journal, of_runs},
    input::note_earlier_runs,
};
use nanotape_history::{Compared, Comparison, ComparisonEnd, MissingRecords, Run, RunIn, Runs};
use nanotape_plant::records::{Header, RecordBuffer};
use nanotape_tap::{Delivery, Event};
use nanotape_types::StockLocate;

use crate::{
    commands::tap::line_of,
    output::{Format, OutputArguments},
    progress::Progress,
    record::Record,
    status::Status,
    values::counted,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal bisect days/equities copy/equities
  nanotape journal bisect days/equities days/equities --run-a 1 --run-b 2
  nanotape journal bisect monday tuesday --format json

Reads every record of both runs and compares them in their order, without ts_recv, which differs
from run to run. Starts and stops of plants and the notices of a session are not compared. Records
that one journal lacks end the comparison, with their file and offset.

Exit status: 0 every record was read on both sides, and the runs are the same; 1 they differ, or a
journal lacks records or is damaged; 2 a journal cannot be read, or has no such run.")]
pub(super) struct BisectCommand {
    /// Folder of the first journal
    #[arg(value_name = "A")]
    first: PathBuf,

    /// Folder of the second journal
    #[arg(value_name = "B")]
    second: PathBuf,

    /// Run of the first journal: a number from 1, or last [default: last]
    #[arg(long, value_name = "N")]
    run_a: Option<RunChoice>,

    /// Run of the second journal: a number from 1, or last [default: last]
    #[arg(long, value_name = "N")]
    run_b: Option<RunChoice>,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &BisectCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let runs_of = |journal: &Path| {
        // A damaged list might name another run as the last one.
        Runs::read(journal).and_then(|_| Runs::of_journal(journal)).map_err(of_runs)
    };
    let (first_runs, second_runs) = (runs_of(&command.first)?, runs_of(&command.second)?);
    let first = chosen(&command.first, &first_runs, command.run_a)?;
    let second = chosen(&command.second, &second_runs, command.run_b)?;
    let sides = [
        RunIn { journal: &command.first, runs: &first_runs, run: first },
        RunIn { journal: &command.second, runs: &second_runs, run: second },
    ];
    let progress = Progress::with_steps("records", 0);
    let [left, right] = sides;
    let compared = nanotape_history::bisect(left, right, |done| progress.set_of(done, 0, ""));
    drop(progress);
    let comparison = compared.map_err(of_journal)?;
    let mut output = command.output.open()?;
    let lines = match &comparison.end {
        ComparisonEnd::Different([left, right]) => {
            [line(left.as_ref(), first), line(right.as_ref(), second)]
        }
        _ => [None, None],
    };
    record(&comparison, &lines)
        .write(&mut output, format, true, || text(command, &comparison, &lines))?;
    output.finish()?;
    let is_same = matches!(comparison.end, ComparisonEnd::Same { .. });
    Ok(if is_same { Status::Good } else { Status::Bad })
}

fn chosen<'a>(
    journal: &Path,
    runs: &'a Runs,
    choice: Option<RunChoice>,
) -> anyhow::Result<&'a Run> {
    let name = journal.display().to_string();
    let number = RunChoice::of(choice, &name, runs.len() as u64).map_err(of_input)?;
    note_earlier_runs(&name, RunChoice::earlier(choice, runs.len() as u64));
    let run = (number as usize).checked_sub(1).and_then(|index| runs.iter().nth(index));
    let Some(run) = run else { bail!("{name}: no run of a plant: nothing to compare") };
    Ok(run)
}

/// A record as a tap prints it; `None` for the end of a run.
fn line(compared: Option<&Compared>, run: &Run) -> Option<String> {
    let Compared { sequence, type_id, payload } = compared?;
    let mut buffer = RecordBuffer::default();
    let Ok(Some(record)) = buffer.decode(*sequence, *type_id, payload) else {
        return Some(format!("{sequence}  type {type_id}, {} bytes", payload.len()));
    };
    let instrument = Header::of(payload).map_or(0, |header| header.instrument_id);
    let locate = StockLocate::new(u16::try_from(instrument).unwrap_or(0));
    let symbol = run.directory().symbol(locate);
    let event = Event::Record(Delivery {
        sequence: *sequence,
        type_id: *type_id,
        symbol,
        record,
        bytes: payload,
        midnight_ns: Some(run.midnight_ns),
        books: None,
        is_digest_same: None,
    });
    Some(line_of(&event))
}

fn record(comparison: &Comparison, lines: &[Option<String>; 2]) -> Record {
    let sequence = |side: usize| match &comparison.end {
        ComparisonEnd::Different(different) => different[side].as_ref().map(|it| it.sequence),
        _ => None,
    };
    let missing = match &comparison.end {
        ComparisonEnd::Missing(missing) => Some(missing),
        _ => None,
    };
    let are_stopped = match comparison.end {
        ComparisonEnd::Same { are_stopped } => Some(are_stopped),
        _ => None,
    };
    Record::default()
        .with("is_same", are_stopped.is_some())
        .with("are_stopped", are_stopped)
        .with("same_records", comparison.same)
        .with("a_sequence", sequence(0))
        .with("b_sequence", sequence(1))
        .with("a_record", lines[0].clone())
        .with("b_record", lines[1].clone())
        .with("missing_path", missing.map(|missing| missing.path.display().to_string()))
        .with("missing_offset", missing.map(|missing| missing.offset))
        .with("missing", missing.map(|missing| missing.what.clone()))
}

fn text(command: &BisectCommand, comparison: &Comparison, lines: &[Option<String>; 2]) -> String {
    let same = counted(comparison.same, "record");
    match &comparison.end {
        ComparisonEnd::Same { are_stopped: true } => {
            format!("the runs are the same: {same} compared\n")
        }
        ComparisonEnd::Same { are_stopped: false } => format!(
            "the runs are the same: {same} compared; neither run has a stop record, so both may lack \
             the same end\n"
        ),
        ComparisonEnd::Missing(MissingRecords { path, offset, what, .. }) => format!(
            "the runs cannot be compared after {same}, which are the same:\n{}: offset {offset}: \
             {what}\n",
            path.display()
        ),
        ComparisonEnd::Different(_) => {
            let line = |line: &Option<String>| line.clone().unwrap_or("end of the run".to_owned());
            let (first, second) = (command.first.display(), command.second.display());
            let [left, right] = lines;
            format!(
                "the runs differ after {same}, which are the same:\n{first}: {}\n{second}: {}\n",
                line(left),
                line(right)
            )
        }
    }
}
