//! `nanotape journal promote`: makes a leader of a copy.

use std::path::PathBuf;

use clap::Args;
use nanotape_arguments::{errors::of_journal, regions::of_region, text::time_text};
use nanotape_replication::{PromoteError, Promotion, promote};

use super::links::bad;
use crate::{
    output::{Format, OutputArguments},
    record::Record,
    sides::side_name,
    status::Status,
    values::mode,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal promote days/nasdaq --dry-run     what would be missing
  nanotape journal promote days/nasdaq

End `nanotape journal replicate` first. The copy becomes a journal that an appender opens and that
`nanotape journal serve` serves, with an epoch that is one higher. Followers of the new leader refuse
the old one from then on. The old leader's machine follows the new one with
`nanotape journal replicate`; what only it has goes to its folder cut.

Promote the follower with the highest number: what was acknowledged by one follower is missing on
another one. What the copy knows to be missing is printed; it can only know what its leader had told
it before the connection ended.

Exit status: 0 success; 1 the copy is damaged; 2 it is not a copy, or a process writes it.")]
pub(super) struct PromoteCommand {
    /// Folder of the copy
    #[arg(value_name = "JOURNAL")]
    journal: PathBuf,

    /// Name of the new leader
    #[arg(long, value_name = "NAME", default_value = "leader", value_parser = side_name)]
    name: String,

    /// Only print what would be missing
    #[arg(long)]
    dry_run: bool,

    /// Permissions of new files
    #[arg(long, value_name = "OCTAL", default_value = "0600", value_parser = mode)]
    mode: u32,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &PromoteCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let mut output = command.output.open()?;
    let promoted = promote(&command.journal, &command.name, command.mode, command.dry_run);
    let promotion = promoted.map_err(of_promote)?;
    let Promotion { term, next_sequence, leader } = promotion;
    let (acknowledged, others) = promotion.missing();
    let record = Record::default()
        .with("journal", command.journal.display().to_string())
        .with("epoch", term.epoch)
        .with("next_sequence", next_sequence)
        .with("missing_acknowledged", acknowledged)
        .with("missing_unacknowledged", others)
        .with("leader_next_sequence", leader.map(|leader| leader.next_sequence))
        .with("leader_seen_ns", leader.map(|leader| leader.arrived_ns))
        .with("is_promoted", !command.dry_run);
    record.write(&mut output, format, true, || {
        let range = match acknowledged + others {
            0 => String::new(),
            all => format!(": {next_sequence} to {}", next_sequence + all - 1),
        };
        let seen = match leader {
            Some(leader) if leader.arrived_ns > 0 => {
                format!(", as known at {}", time_text(leader.arrived_ns))
            }
            _ => ", as far as known: its leader never stated its end".to_owned(),
        };
        let done = if command.dry_run { "would begin" } else { "begins" };
        format!(
            "missing: {acknowledged} acknowledged, {others} unacknowledged excerpts{range}{seen}\n\
             epoch {} {done} with excerpt {next_sequence}\n",
            term.epoch
        )
    })?;
    output.finish()?;
    Ok(Status::Good)
}

fn of_promote(error: PromoteError) -> anyhow::Error {
    match error {
        PromoteError::Journal(error) => of_journal(error),
        PromoteError::Region(error) => of_region(&error),
        PromoteError::Terms(error) => bad(error),
        error => error.into(),
    }
}
