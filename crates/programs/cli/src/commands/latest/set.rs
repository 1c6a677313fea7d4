//! `nanotape latest set`: gives keys values, to try out a map.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::regions::{complain, place};
use nanotape_latest::{Insertion, LatestSpec, LatestWriter};

use super::{
    entries::{Entries, EntryArguments},
    of_latest,
    shared::MapWriter,
};
use crate::{
    framing::Framing,
    interrupt,
    lines::{Line, Lines},
    memory::MemoryArguments,
    output::{Format, OutputArguments},
    record::Record,
    status::{BadData, Status},
    values::{count, some_duration},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape latest set levels 7 100                      one key
  nanotape latest set quotes AAPL 100 200 --keys text --entries 10000 --value-words 2
  seq 1000 | sed 's/$/ 0/' | nanotape latest set levels --entries 1000
  nanotape latest set levels --file levels.txt          a line for each: KEY VALUE...
  nanotape latest set quotes 7 bid=189.95 orders=2 --schema quote.toml --entries 1000

With --entries, the map is created if there is none; an existing one must have the same size. Without it,
the map must exist. The map stays when this command ends.

With --schema, a value is all words, or NAME=VALUE for fields, as get prints them: prices as decimals, and
nothing after = for absent. The whole value is replaced: other fields have their default, or are absent, or 0.

Exit status: 0 success; 1 a line has no key and value of this map, or the map is full; 2 the map cannot
be opened, or the file cannot be read.")]
pub(super) struct SetCommand {
    /// Name or path of the map
    #[arg(value_name = "NAME")]
    name: Given,

    /// A key, and the words of its value or its fields; without them, lines are read
    #[arg(value_name = "KEY VALUE", conflicts_with = "file")]
    words: Vec<String>,

    /// Lines of keys and values; - is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    file: PathBuf,

    /// Create a map for N keys
    #[arg(long, value_name = "N", value_parser = count::<u64>(1..))]
    entries: Option<u64>,

    /// Words of a key of a new map
    #[arg(long, value_name = "N", default_value_t = 1, requires = "entries", value_parser = count::<u16>(1..=4096))]
    key_words: u16,

    /// Words of a value of a new map; a schema states them
    #[arg(long, value_name = "N", default_value_t = 1, requires = "entries", conflicts_with = "schema", value_parser = count::<u16>(0..=4096))]
    value_words: u16,

    /// Most writers at the same time of a new map
    #[arg(long, value_name = "N", default_value_t = 64, requires = "entries", value_parser = count::<u32>(1..=1023))]
    writers: u32,

    /// How long to wait for a writer that has the same entry
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = some_duration)]
    patience: Duration,

    #[command(flatten)]
    memory: MemoryArguments,

    #[command(flatten)]
    entries_as: EntryArguments,

    #[command(flatten)]
    output: OutputArguments,
}

/// Longest wait for a line before interrupts are checked.
const TURN: Duration = Duration::from_millis(100);

pub(super) fn run(command: &SetCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let format = command.output.format_or(Format::Text)?;
    let interrupt = interrupt::install()?;
    let mut writer = open(command, &path)?;
    writer.set_patience(command.patience);
    let mut writer = MapWriter::of(&path, writer)?;
    let mut output = command.output.open()?;
    let entries = command.entries_as.of(&path, writer.spec())?;
    let mut setting = Setting { command, path: &path, entries, new: 0, replaced: 0 };
    let outcome = match &command.words[..] {
        [] => Lines::read(&command.file, Framing::Lines).and_then(|mut lines| {
            while !interrupt.is_requested() {
                match lines.next(TURN) {
                    Line::Some(line) => {
                        let line = line.with_context(|| format!("cannot read {}", lines.name()))?;
                        let set = setting.line(&mut writer, &line);
                        set.map_err(|error| of_line(&lines, error))?;
                    }
                    Line::NotYet => {}
                    Line::End => break,
                }
            }
            Ok(())
        }),
        words => setting.set(&mut writer, words.iter().map(String::as_str)),
    };
    let Setting { new, replaced, .. } = setting;
    let there = writer.len(&path)?;
    let record = Record::default()
        .with("path", path.display().to_string())
        .with("new", new)
        .with("replaced", replaced)
        .with("entries", there);
    record.write(&mut output, format, true, || {
        let name = path.display();
        format!("{name}: {new} new keys, {replaced} replaced; {there} there\n")
    })?;
    output.finish()?;
    outcome?;
    Ok(Status::Good)
}

fn open(command: &SetCommand, path: &Path) -> anyhow::Result<LatestWriter> {
    let (writers, options) = (command.writers, command.memory.options());
    let joined = match command.entries {
        None => LatestWriter::open(path, &options),
        Some(entries) => {
            let key_words = usize::from(command.key_words);
            let (value_words, value_layout) = match command.entries_as.given()? {
                Some(schema) => (schema.words(), schema.layout()),
                None => (usize::from(command.value_words), 0),
            };
            LatestWriter::join(
                path,
                LatestSpec { entries, key_words, value_words, writers, value_layout },
                &options,
            )
        }
    };
    let writer = joined.map_err(|error| of_latest(path, error))?;
    complain(path, &writer.residency());
    Ok(writer)
}

/// An error in a line is bad data, with its place.
fn of_line(lines: &Lines, error: anyhow::Error) -> anyhow::Error {
    BadData(format!("{}, line {}: {error}", lines.name(), lines.number())).into()
}

struct Setting<'a> {
    command: &'a SetCommand,
    path: &'a Path,
    entries: Entries,
    new: u64,
    replaced: u64,
}

impl Setting<'_> {
    fn line(&mut self, writer: &mut MapWriter, line: &[u8]) -> anyhow::Result<()> {
        let line = std::str::from_utf8(line).context("not UTF-8")?;
        if line.trim().is_empty() {
            return Ok(());
        }
        self.set(writer, line.split_whitespace())
    }

    fn set<'w>(
        &mut self,
        writer: &mut MapWriter,
        mut words: impl Iterator<Item = &'w str>,
    ) -> anyhow::Result<()> {
        let key = words.next().unwrap_or_default();
        let key = self.command.entries_as.keys.parse(key, writer.spec())?;
        let value = self.entries.value(&words.collect::<Vec<_>>(), writer.spec().value_words)?;
        let inserted = writer.insert(&key, &value);
        match inserted.map_err(|error| writer.of_insert(self.path, error))? {
            Insertion::New => self.new += 1,
            Insertion::Replaced => self.replaced += 1,
        }
        Ok(())
    }
}
