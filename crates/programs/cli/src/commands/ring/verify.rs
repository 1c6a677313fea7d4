//! `nanotape ring verify`: checks the whole contents of a ring.

use std::fmt::Write as _;

use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::regions::{
    kind_name, of_region, of_ring, place, state_name, state_sentence,
};
use nanotape_ring::{RingMonitor, writer_state};

use crate::{
    output::{Format, OutputArguments},
    record::Record,
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape ring verify quotes
  nanotape ring verify /dev/shm/nanotape-quotes --format json

Checks the header, the writer's counters, every entry of the index, and the length and the
sequence number of every frame or slot that can be read. What a live writer overwrites meanwhile
is skipped and counted; it is not damage. Offsets are in words of 8 bytes after the header of
4,096 bytes.

Exit status: 0 no damage; 1 the ring is damaged; 2 it cannot be opened.")]
pub(super) struct VerifyCommand {
    /// Name or path of the ring
    #[arg(value_name = "NAME")]
    name: Given,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &VerifyCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let format = command.output.format_or(Format::Text)?;
    let observer = RingMonitor::open(&path).map_err(|error| of_ring(&path, &error))?;
    let verified = observer.verify().map_err(|error| of_ring(&path, &error))?;
    observer.region().check().map_err(|error| of_region(&error))?;
    let state = observer.region().owner().state;
    let kind = kind_name(observer.region().spec().kind);
    let record = Record::default()
        .with("path", path.display().to_string())
        .with("kind", kind.as_str())
        .with("writer_state", state_name(state))
        .with("index_entries", (kind == "stream").then_some(verified.entries))
        .with("messages", verified.messages)
        .with("first_sequence", verified.first_sequence)
        .with("next_sequence", verified.next_sequence)
        .with("paddings", (kind == "stream").then_some(verified.paddings))
        .with("skipped", verified.skipped)
        .with("overtaken", verified.overtaken);
    let mut output = command.output.open()?;
    record.write(&mut output, format, true, || {
        let mut text = format!(
            "{}: OK, {kind} ring; {}\n",
            path.display(),
            state_sentence(writer_state(state))
        );
        let range = match verified.next_sequence - verified.first_sequence {
            0 => format!("none; the next is {}", verified.next_sequence),
            _ => format!("{} to {}", verified.first_sequence, verified.next_sequence - 1),
        };
        let _ = writeln!(text, "messages        {}, in order: {range}", verified.messages);
        if kind == "stream" {
            let _ = writeln!(text, "index entries   {}", verified.entries);
            let _ = writeln!(text, "paddings        {}", verified.paddings);
        }
        let _ = writeln!(text, "skipped         {} numbers", verified.skipped);
        let _ = writeln!(text, "overtaken       {} times by the writer", verified.overtaken);
        text
    })?;
    output.finish()?;
    Ok(Status::Good)
}
