//! `nanotape ring list`: the regions in /dev/shm.

use clap::Args;
use nanotape_arguments::regions::{in_folder, kind_name, state_name};

use crate::{
    output::{Format, OutputArguments},
    rows::{Column, Kind, Rows},
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape ring list
  nanotape ring list --format json

Lists every region in /dev/shm whose name starts with nanotape-, of any kind. The last column reports
a region that is damaged, incomplete or not readable for this user.")]
pub(super) struct ListCommand {
    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &ListCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let regions = in_folder()?;
    let columns = vec![
        Column::new("name", Kind::Text, 20, "Name of the region."),
        Column::new("kind", Kind::Text, 6, "What it is. Absent if it has no header."),
        Column::new("file_bytes", Kind::U64, 12, "Size of its file.").of("bytes"),
        Column::new("mode", Kind::Text, 4, "Permissions of the file, in octal."),
        Column::new("user", Kind::U64, 5, "Number of the user that the file belongs to."),
        Column::new("writer", Kind::Text, 6, "State of its writer. Absent if it had none."),
        Column::new("pid", Kind::U64, 7, "Number of the writer's process."),
        Column::new("epoch", Kind::U64, 5, "Number of the writer: 1 created the region."),
        Column::new("remark", Kind::Text, 0, "What is wrong with it. Absent if nothing is."),
    ];
    let mut rows = Rows::new(command.output.open()?, format, columns);
    for (name, path) in regions {
        let info = match nanotape_shm::inspect(&path) {
            Ok(info) => Ok(info),
            // The file was removed after the folder was read.
            Err(error) if *error.refusal() == nanotape_shm::Refusal::NotFound => continue,
            Err(error) => Err(error.refusal().to_string()),
        };
        rows.text(name.escape_default());
        match info {
            Ok(info) => {
                let owner = info.owner();
                match info.header {
                    Some(header) => rows.text(kind_name(header.spec.kind)),
                    None => rows.absent(),
                }
                rows.integer(info.file_bytes);
                rows.text(format_args!("{:04o}", info.mode));
                rows.integer(u64::from(info.user));
                match owner {
                    Some(owner) => rows.text(state_name(owner.state)),
                    None => rows.absent(),
                }
                rows.integer_or_absent(owner.map(|owner| u64::from(owner.pid)));
                rows.integer_or_absent(owner.map(|owner| owner.epoch));
                match info.refusal {
                    Some(refusal) => rows.text(refusal),
                    None => rows.absent(),
                }
            }
            Err(remark) => {
                (0..7).for_each(|_| rows.absent());
                rows.text(remark);
            }
        }
        rows.end_row()?;
    }
    rows.finish()?;
    Ok(Status::Good)
}
