//! `nanotape journal tailers`: the readers of a journal, and the distance of each to the end.

mod unnamed;

use std::{io::Write as _, path::PathBuf};

use clap::Args;
use nanotape_arguments::{errors::of_journal, regions::state_name, text::time_text};
use nanotape_journal::{
    ErrorKind, JournalError, NamedTailer, Start, Tailer, TailerInfo, remove_tailer, tailers,
};
use nanotape_shm::Refusal;

use crate::{
    output::{Format, OutputArguments},
    record::Record,
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal tailers quotes
  nanotape journal tailers quotes --format json
  nanotape journal tailers quotes --remove audit            forget its position
  nanotape journal tailers quotes --set audit --to 1000     its next reader begins with excerpt 1000
  nanotape journal tailers quotes --set audit --to newest   it has everything up to now

The journal stores the positions of named tailers, and `nanotape journal prune` keeps what they
have not read. Processes that read without a name are found by their mapped files, if this user
may see them: the segment is known, the position in it is not.

--set stores a position, forwards or back, under a name that exists or a new one. Excerpts before it
count as handled, so that pruning may remove them.

Exit status: 0 success; 1 a stored position is damaged; 2 the journal cannot be opened, a tailer
cannot be removed or set because it is alive, or there is no such position.")]
pub(super) struct TailersCommand {
    /// Folder of the journal
    #[arg(value_name = "JOURNAL")]
    journal: PathBuf,

    /// Remove this tailer and its stored position instead of listing
    #[arg(long, value_name = "NAME")]
    remove: Option<String>,

    /// Store the position --to under this name instead of listing
    #[arg(long, value_name = "NAME", requires = "to", conflicts_with = "remove")]
    set: Option<String>,

    /// The position of --set: oldest (or beginning), newest (or end), a sequence number, or a time
    #[arg(long, value_name = "START", requires = "set")]
    to: Option<Start>,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &TailersCommand) -> anyhow::Result<Status> {
    if let Some(name) = &command.remove {
        remove_tailer(&command.journal, name).map_err(|error| of_removal(error, command, name))?;
        return Ok(Status::Good);
    }
    if let (Some(name), Some(start)) = (&command.set, command.to) {
        // Before anything is stored under a new name.
        Tailer::open(&command.journal, start).map_err(of_journal)?;
        let (mut tailer, _) =
            NamedTailer::open(&command.journal, name, start).map_err(of_journal)?;
        tailer.seek(start).map_err(of_journal)?;
        tailer.done();
        return Ok(Status::Good);
    }
    let format = command.output.format_or(Format::Text)?;
    let end = Tailer::open(&command.journal, Start::Newest).map_err(of_journal)?.next_sequence();
    let named = tailers(&command.journal).map_err(of_journal)?;
    let unnamed = unnamed::readers(&command.journal, &named)?;
    let mut output = command.output.open()?;
    if format == Format::Text {
        let (count, end) = (named.len(), end.max(1));
        writeln!(output, "named tailers: {count}; the next excerpt is {end}")?;
    }
    let mut is_first = true;
    for tailer in &named {
        row(tailer, end).write(&mut output, format, is_first, || line(tailer, end))?;
        is_first = false;
    }
    for reader in &unnamed {
        let row = Record::default()
            .with("name", None::<String>)
            .with("state", "alive")
            .with("pid", reader.pid)
            .with("next_sequence", None::<u64>)
            .with("behind", None::<u64>)
            .with("read", None::<u64>)
            .with("moved_ns", None::<u64>)
            .with("segment", reader.segment)
            .with("program", reader.program.clone())
            .with("problem", None::<String>);
        row.write(&mut output, format, is_first, || {
            let unnamed::Reader { pid, segment, program } = reader;
            format!("  (no name)  pid {pid} ({program}), segment {segment}\n")
        })?;
        is_first = false;
    }
    output.finish()?;
    let is_damaged = named.iter().any(|tailer| tailer.refusal.is_some());
    Ok(if is_damaged { Status::Bad } else { Status::Good })
}

/// A tailer that does not exist is a mistake in its name.
fn of_removal(error: JournalError, command: &TailersCommand, name: &str) -> anyhow::Error {
    match error.kind() {
        ErrorKind::Region(region) if matches!(region.refusal(), Refusal::NotFound) => {
            let journal = command.journal.display();
            anyhow::anyhow!(
                "{journal}: no tailer is named {name}; nanotape journal tailers {journal} lists those \
                 that have a name"
            )
        }
        _ => of_journal(error),
    }
}

fn row(tailer: &TailerInfo, end: u64) -> Record {
    let known = |value: u64| tailer.refusal.is_none().then_some(value);
    Record::default()
        .with("name", tailer.name.clone())
        .with("state", tailer.owner.map(|owner| state_name(owner.state)))
        .with("pid", tailer.owner.map(|owner| owner.pid))
        .with("next_sequence", known(tailer.next_sequence))
        .with("behind", known(end.saturating_sub(tailer.next_sequence.max(1))))
        .with("read", known(tailer.read))
        .with("moved_ns", known(tailer.moved_ns))
        .with("segment", None::<u64>)
        .with("program", None::<String>)
        .with("problem", tailer.refusal.map(|refusal| refusal.to_string()))
}

fn line(tailer: &TailerInfo, end: u64) -> String {
    let TailerInfo { name, next_sequence, moved_ns, read, .. } = tailer;
    if let Some(refusal) = &tailer.refusal {
        return format!("  {name}  cannot be read: {refusal}\n");
    }
    let behind = end.saturating_sub((*next_sequence).max(1));
    let who = match tailer.owner {
        Some(owner) => format!("{}, pid {}", owner.state, owner.pid),
        None => "no process".to_owned(),
    };
    let moved = time_text(*moved_ns);
    format!("  {name}  at {next_sequence}, {behind} behind; {read} read, moved {moved}; {who}\n")
}
