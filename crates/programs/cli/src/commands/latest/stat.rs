//! `nanotape latest stat`: the size of a map and its writers.

use std::fmt::Write as _;

use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::regions::{of_region, place};
use nanotape_latest::ValueLayout;

use super::{check, open};
use crate::{
    output::{Format, OutputArguments},
    record::Record,
    status::Status,
    values::bytes_text,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape latest stat levels
  nanotape latest stat levels --format json

While writers insert and remove keys, the number of keys is of no single moment. Nothing is written to
the map.

Exit status: 0 success; 1 the map is damaged; 2 it cannot be opened.")]
pub(super) struct StatCommand {
    /// Name or path of the map
    #[arg(value_name = "NAME")]
    name: Given,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &StatCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let format = command.output.format_or(Format::Text)?;
    let reader = open(&path)?;
    let info = nanotape_shm::inspect(&path).map_err(|error| of_region(&error))?;
    let (spec, writers) = (reader.spec(), reader.writers());
    let (entries, recovered) = (reader.len(), reader.recovered());
    check(&reader)?;
    let layout = ValueLayout(spec.value_layout);
    let each = info.file_bytes as f64 / spec.entries as f64;
    let record = Record::default()
        .with("path", path.display().to_string())
        .with("entries", entries)
        .with("capacity", spec.entries)
        .with("key_words", spec.key_words)
        .with("value_words", spec.value_words)
        .with("value_version", (spec.value_layout != 0).then(|| layout.version()))
        .with("value_hash", (spec.value_layout != 0).then(|| format!("{:012x}", layout.hash())))
        .with("file_bytes", info.file_bytes)
        .with("bytes_for_each", (each * 10.0).round() / 10.0)
        .with("mode", format!("{:04o}", info.mode))
        .with("user", info.user)
        .with("writers", writers.clone())
        .with("most_writers", spec.writers)
        .with("recovered", recovered);
    let mut output = command.output.open()?;
    record.write(&mut output, format, true, || {
        let mut text = format!("{}\n", path.display());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "keys            {entries} of {}", spec.entries);
        let _ = writeln!(
            text,
            "words           {} of a key, {} of a value",
            spec.key_words, spec.value_words
        );
        let _ = writeln!(text, "values          {layout}");
        let _ = writeln!(
            text,
            "file            {}, {each:.1} bytes for each key that fits; mode {:04o}, user {}",
            bytes_text(info.file_bytes),
            info.mode,
            info.user
        );
        let numbers: Vec<String> = writers.iter().map(u32::to_string).collect();
        let alive = match numbers.len() {
            0 => "none".to_owned(),
            _ => format!("{}: numbers {}", numbers.len(), numbers.join(", ")),
        };
        let _ = writeln!(text, "writers alive   {alive}; at most {}", spec.writers);
        let _ = writeln!(text, "recovered       {recovered} locks of dead writers");
        text
    })?;
    output.finish()?;
    Ok(Status::Good)
}
