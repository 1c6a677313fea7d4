//! `nanotape latest remove`: removes keys, or a whole map that has no writer.

use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::regions::{kind_name, of_region, place};
use nanotape_latest::{KIND, LatestWriter};
use nanotape_shm::{Refusal, RegionOptions};

use super::{entries::KeyArguments, of_latest, shared::MapWriter};
use crate::{
    output::{Format, OutputArguments},
    record::Record,
    status::Status,
    values::{bytes_text, counted},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape latest remove levels 7 8            two keys
  nanotape latest remove levels                the map

Does not remove a map that has a writer, or a file that is not a map. Readers that have the map open can
read on. A key that is not there is counted, and is no error.

Exit status: 0 success; 1 the map is damaged; 2 it cannot be opened or removed.")]
pub(super) struct RemoveCommand {
    /// Name or path of the map
    #[arg(value_name = "NAME")]
    name: Given,

    /// Keys to remove; without them, the map is removed
    #[arg(value_name = "KEY")]
    key: Vec<String>,

    #[command(flatten)]
    keys: KeyArguments,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &RemoveCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let format = command.output.format_or(Format::Text)?;
    let name = path.display();
    let (record, text) = if command.key.is_empty() {
        match nanotape_shm::inspect(&path) {
            // A damaged or half-created region has no kind; it can be removed, since no process can
            // use it.
            Ok(info) => {
                match info.header.map(|header| header.spec.kind).filter(|kind| *kind != KIND) {
                    None => {}
                    Some(kind) => {
                        anyhow::bail!("{name}: a region of kind {}, not a map", kind_name(kind))
                    }
                }
            }
            Err(error) => return Err(of_latest(&path, error.into())),
        }
        let removed = nanotape_shm::remove(&path).map_err(|error| match error.refusal() {
            Refusal::LockedByReader => {
                anyhow::anyhow!(
                    "{name}: not removed: it has a writer; nanotape latest stat counts them"
                )
            }
            _ => of_region(&error),
        })?;
        let record = Record::default().with("file_bytes", removed.file_bytes);
        (record, format!("removed {name}: a map in a file of {}\n", bytes_text(removed.file_bytes)))
    } else {
        let opened = LatestWriter::open(&path, &RegionOptions::default());
        let writer = opened.map_err(|error| of_latest(&path, error))?;
        let mut writer = MapWriter::of(&path, writer)?;
        let spec = writer.spec();
        let parse = |text: &String| command.keys.parse(text, spec);
        let keys: Vec<_> = command.key.iter().map(parse).collect::<Result<_, _>>()?;
        let mut removed = 0_u64;
        for key in &keys {
            let was_there = writer.remove(key).map_err(|error| of_latest(&path, error))?;
            removed += u64::from(was_there);
        }
        let absent = keys.len() as u64 - removed;
        let record = Record::default().with("removed", removed).with("absent", absent);
        let text = format!("{name}: {} removed, {absent} not there\n", counted(removed, "key"));
        (record, text)
    };
    let mut output = command.output.open()?;
    let path = Record::default().with("path", name.to_string());
    path.joined(record).write(&mut output, format, true, || text)?;
    output.finish()?;
    Ok(Status::Good)
}
