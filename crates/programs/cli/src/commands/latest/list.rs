//! `nanotape latest list`: the maps in /dev/shm.

use clap::Args;
use nanotape_arguments::regions::in_folder;
use nanotape_latest::{KIND, LatestReader};

use crate::{
    output::{Format, OutputArguments},
    rows::{Column, Kind, Rows},
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape latest list
  nanotape latest list --format json

Lists the maps in /dev/shm whose name starts with nanotape-. The last column reports a map that cannot
be read. nanotape ring list lists all regions.")]
pub(super) struct ListCommand {
    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &ListCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let columns = vec![
        Column::new("name", Kind::Text, 20, "Name of the map."),
        Column::new("entries", Kind::U64, 12, "Keys that are there."),
        Column::new("capacity", Kind::U64, 12, "Keys that fit."),
        Column::new("key_words", Kind::U64, 9, "Words of a key."),
        Column::new("value_words", Kind::U64, 11, "Words of a value."),
        Column::new("writers", Kind::U64, 7, "Writers that are alive."),
        Column::new("file_bytes", Kind::U64, 12, "Size of its file.").of("bytes"),
        Column::new("remark", Kind::Text, 0, "What is wrong with it. Absent if nothing is."),
    ];
    let mut rows = Rows::new(command.output.open()?, format, columns);
    for (name, path) in in_folder()? {
        let Ok(info) = nanotape_shm::inspect(&path) else { continue };
        if info.header.is_none_or(|header| header.spec.kind != KIND) {
            continue;
        }
        rows.text(name.escape_default());
        match LatestReader::open(&path) {
            Ok(reader) => {
                let spec = reader.spec();
                rows.integer(reader.len());
                rows.integer(spec.entries);
                rows.integer(spec.key_words as u64);
                rows.integer(spec.value_words as u64);
                rows.integer(reader.writers().len() as u64);
                rows.integer(info.file_bytes);
                rows.absent();
            }
            Err(error) => {
                (0..5).for_each(|_| rows.absent());
                rows.integer(info.file_bytes);
                rows.text(error);
            }
        }
        rows.end_row()?;
    }
    rows.finish()?;
    Ok(Status::Good)
}
