//! `nanotape ring mirror`: the messages of a ring or a journal on another ring of this machine.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::bail;
use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::{
    errors::of_journal,
    regions::{complain, of_region, of_ring, place, report_state, within},
};
use nanotape_host::CpuList;
use nanotape_ring::{Capacity, Start};
use nanotape_shm::{RegionNode, RegionOptions};
use nanotape_tap::{Mirror, MirrorError, MirrorEvent, MirrorOptions, MirrorSummary};
use nanotape_tape::{ShutdownFlag, WriterState};

use super::following::FollowArguments;
use crate::{
    gaps::Gaps,
    interrupt,
    memory::MemoryArguments,
    output::{Format, Output, OutputArguments},
    record::Record,
    status::{BadData, Status, note, warn},
    values::{bytes, seconds},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape ring mirror equities equities-1 --node 1 --spin
  nanotape ring mirror equities /containers/a/equities --through-restarts --wait 60 --mode 0644
  nanotape ring mirror days/equities today --from newest
  nanotape tap equities-1 --heal days/equities       as a tap of equities
  nanotape tap equities-1 --format dbn | nanotape inside -

TARGET gets the messages of SOURCE under the same numbers. SOURCE is the name or the path of a ring,
or the folder of a journal. Readers of TARGET do not touch the memory of SOURCE. nanotape tap, also
with --heal and --whole, gives the rows that it gives of SOURCE, and nanotape stat the figures of the
plant: the board of a plant is mirrored too, and a journal of SOURCE is one of TARGET.

TARGET is created with the size of SOURCE, 32MiB for a journal. If it exists, the mirror continues
after its last message. A TARGET with other messages is refused, unless --replace is given. If the
mirror was too slow for a ring, the lost numbers are skipped: readers of TARGET see them as a gap,
and --heal reads them from the journal. A mirror of a journal loses nothing that is not pruned.

The mirror ends when the writer of SOURCE ends, or with Ctrl-C or SIGTERM. The writer of TARGET is
then closed, or dead as that of SOURCE, and dead after an error. With --through-restarts the mirror
waits for the next writer, and for the next ring if SOURCE is removed or replaced: then TARGET is
replaced by an empty ring. TARGET is also replaced if a journal gives numbers again that TARGET has
already.

--node keeps TARGET in the memory of a NUMA node, and runs the mirror on the processors of that node
unless --cpu is given. The first line has the bytes that the kernel counts there. A node that does
not exist is an error. On a machine with one node everything is on node 0.

Exit status: 0 success; 1 SOURCE is damaged, removed or replaced, a message is too long for TARGET,
TARGET was removed, or messages were lost and --fail-on-loss was given; 2 SOURCE cannot be opened,
or TARGET cannot be created or has other messages.")]
pub(super) struct MirrorCommand {
    /// Name or path of the ring, or folder of the journal, to mirror
    #[arg(value_name = "SOURCE")]
    source: Given,

    /// Name or path of the ring to write
    #[arg(value_name = "TARGET")]
    target: Given,

    /// Where a new TARGET begins: oldest, newest, a sequence number, or for a journal a time
    #[arg(long, value_name = "START", default_value = "oldest")]
    from: Start,

    /// Keep TARGET in the memory of NUMA node N
    #[arg(long, value_name = "N")]
    node: Option<u32>,

    /// Run on this processor only
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,

    #[command(flatten)]
    follow: FollowArguments,

    /// Wait up to SECONDS for SOURCE, or for the next writer of it
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    wait: Duration,

    /// Replace a TARGET that has other messages, unless its writer is alive
    #[arg(long)]
    replace: bool,

    /// End with status 1 if a message was lost
    #[arg(long)]
    fail_on_loss: bool,

    /// Bytes of a stream ring, a power of two
    #[arg(help_heading = "The ring", long, value_name = "BYTES", value_parser = bytes)]
    capacity: Option<usize>,

    /// Create a slot ring with N slots, a power of two
    #[arg(help_heading = "The ring", long, value_name = "N", conflicts_with = "capacity")]
    slots: Option<u64>,

    /// Longest message of a slot ring
    #[arg(help_heading = "The ring",
        long, value_name = "BYTES", default_value = "112", requires = "slots", value_parser = bytes)]
    max_length: usize,

    #[command(flatten)]
    output: OutputArguments,

    // The last one: the heading is for all that follow.
    #[command(flatten, next_help_heading = "The ring")]
    memory: MemoryArguments,
}

pub(super) fn run(command: &MirrorCommand) -> anyhow::Result<Status> {
    let shutdown = interrupt::install()?;
    let (source, target) = (source_of(&command.source)?, place(&command.target)?);
    let format = command.output.format_or(Format::Text)?;
    let mut output = command.output.open()?;
    command.run_where_requested()?;
    let options = command.options(&shutdown);
    let failed = |error| of_mirror(error, command);
    let Some(mut mirror) = Mirror::open(&source, &target, options).map_err(failed)? else {
        note(format_args!("{}: interrupted before it was created", source.display()));
        return Ok(Status::Good);
    };
    complain(&target, &mirror.residency());
    if format != Format::Csv {
        write_begin(&mirror, &source, &target, format, &mut output)?;
    }
    let mut gaps = Gaps::in_all("the mirror");
    let outcome = mirror.run(|event| report(&source, &target, &event, &mut gaps));
    let summary = mirror.summary();
    drop(mirror);
    write_summary(&summary, &source, &target, format, &mut output)?;
    output.finish()?;
    outcome.map_err(failed)?;
    if command.fail_on_loss && summary.lost > 0 {
        let lost = summary.lost;
        warn(format_args!("{}: messages lost: {lost} (--fail-on-loss)", source.display()));
        return Ok(Status::Bad);
    }
    Ok(Status::Good)
}

/// A name without a slash is first that of a ring.
fn source_of(given: &Given) -> anyhow::Result<PathBuf> {
    let ring = place(given)?;
    let folder = given.path();
    Ok(if !ring.is_file() && folder.is_dir() { folder.to_owned() } else { ring })
}

impl MirrorCommand {
    fn options(&self, shutdown: &ShutdownFlag) -> MirrorOptions {
        let region = RegionOptions { node: self.node, ..self.memory.options() };
        let capacity = match (self.capacity, self.slots) {
            (Some(bytes), _) => Some(Capacity::Stream { capacity_bytes: bytes as u64 }),
            (None, Some(slots)) => {
                Some(Capacity::Slots { slots, max_length: self.max_length as u64 })
            }
            (None, None) => None,
        };
        MirrorOptions {
            start: self.from,
            capacity,
            region,
            replaces: self.replace,
            wait: self.wait,
            through_restarts: self.follow.through_restarts,
            strategy: self.follow.strategy(),
            shutdown: shutdown.clone(),
        }
    }

    /// Puts this thread on the requested processors, before memory is used.
    fn run_where_requested(&self) -> anyhow::Result<()> {
        if let Some(node) = self.node {
            let nodes = nanotape_host::System::default().memory_nodes();
            if !nodes.contains(&node) {
                let nodes = CpuList::of(nodes);
                bail!("--node {node}: this machine has no such memory node: its nodes are {nodes}");
            }
        }
        if let Some(cpu) = self.cpu {
            return nanotape_host::pin_to(cpu).map_err(|refusal| anyhow::anyhow!("{refusal}"));
        }
        let Some(node) = self.node else { return Ok(()) };
        let cpus = nanotape_host::usable_cpus_of_node(node);
        if cpus.is_empty() {
            bail!(
                "--node {node}: this process may use no processor of that node: choose one with \
                 --cpu, or change its control group"
            );
        }
        nanotape_host::run_on(&cpus).map_err(|error| {
            anyhow::anyhow!("--node {node}: its processors are refused: {error}; use --cpu")
        })
    }
}

fn write_begin(
    mirror: &Mirror,
    source: &Path,
    target: &Path,
    format: Format,
    output: &mut Output,
) -> anyhow::Result<()> {
    let residency = mirror.residency();
    let next = mirror.summary().next_sequence;
    let cpus = CpuList::of(nanotape_host::allowed_cpus());
    let (node, bytes, elsewhere) = match residency.node {
        RegionNode::Bound { node, bytes, elsewhere_bytes } => {
            (Some(node), bytes, Some(elsewhere_bytes))
        }
        RegionNode::Only { node } => (Some(node), None, None),
        _ => (None, None, None),
    };
    let record = Record::default()
        .with("target", target.display().to_string())
        .with("source", source.display().to_string())
        .with("next_sequence", next)
        .with("writer_epoch", mirror.writer_epoch())
        .with("cpus", cpus.to_string())
        .with("node", node)
        .with("node_bytes", bytes)
        .with("other_node_bytes", elsewhere);
    record.write(output, format, true, || {
        let (source, target) = (source.display(), target.display());
        format!("{target}: mirrors {source}; next message {next}; {residency}; processors {cpus}\n")
    })?;
    Ok(())
}

fn write_summary(
    summary: &MirrorSummary,
    source: &Path,
    target: &Path,
    format: Format,
    output: &mut Output,
) -> anyhow::Result<()> {
    let MirrorSummary { first_sequence, next_sequence, mirrored, lost, .. } = *summary;
    let record = Record::default()
        .with("source", source.display().to_string())
        .with("target", target.display().to_string())
        .with("mirrored", mirrored)
        .with("lost", lost)
        .with("next_sequence", next_sequence);
    record.write(output, format, true, || {
        format!(
            "mirrored {mirrored} messages from {first_sequence} on, lost {lost}; next message \
             {next_sequence}\n"
        )
    })?;
    Ok(())
}

fn report(source: &Path, target: &Path, event: &MirrorEvent<'_>, gaps: &mut Gaps) {
    let (from, to) = (source.display(), target.display());
    match event {
        MirrorEvent::Lost(gap) => {
            if let Some(line) = gaps.line(gap) {
                warn(format_args!("{from}: {line}"));
            }
        }
        MirrorEvent::Reused(reused) => warn(format_args!(
            "{from}: gives the numbers from {} on again; {to} was replaced by an empty ring",
            reused.from
        )),
        MirrorEvent::SourceGone(error) => warn(format_args!("{error}; waiting for the next ring")),
        MirrorEvent::NextSource => {
            warn(format_args!("{from}: is another ring now; {to} was replaced by an empty ring"))
        }
        MirrorEvent::WriterGone(WriterState::Alive) => warn(format_args!(
            "{from}: another writer took it over; use --through-restarts to mirror it too"
        )),
        MirrorEvent::WriterGone(state) => report_state(source, *state),
        _ => {}
    }
}

/// Damage and lost files are bad data; other errors belong to the environment.
fn of_mirror(error: MirrorError, command: &MirrorCommand) -> anyhow::Error {
    match error {
        error if error.is_pending() && !command.wait.is_zero() => {
            anyhow::anyhow!("{error}; it was not created{}", within(command.wait))
        }
        MirrorError::Journal(error) => of_journal(error),
        MirrorError::Region(error) => of_region(&error),
        MirrorError::Ring { path, error } => of_ring(&path, &error),
        MirrorError::Lost { .. }
        | MirrorError::TargetGone { .. }
        | MirrorError::Publish { .. }
        | MirrorError::Mark(_) => BadData(error.to_string()).into(),
        error => anyhow::anyhow!("{error}"),
    }
}
