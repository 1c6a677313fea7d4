//! `nanotape journal compress`: compresses closed segments with zstd.

use std::{io::Write as _, path::PathBuf};

use clap::Args;
use nanotape_arguments::text::size_text;
use nanotape_journal::{CompressOptions, Compressed};

use super::with_bar;
use crate::{
    output::{Format, OutputArguments},
    record::Record,
    status::Status,
    values::counted,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal compress quotes
  nanotape journal compress quotes --level 12 --keep-plain 2
  nanotape journal compress quotes --undo

Readers unpack compressed segments by themselves, one at a time and in memory. The active segment
and prepared ones stay as they are. Before an original file is removed, its compressed copy is on
disk and was unpacked and compared. The journal may be in use.

Exit status: 0 success; 1 a segment is damaged; 2 the journal cannot be opened or written.")]
pub(super) struct CompressCommand {
    /// Folder of the journal
    #[arg(value_name = "JOURNAL")]
    path: PathBuf,

    /// zstd compression level, from 1 (fastest) to 19 (smallest)
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(i32).range(1..=19))]
    level: i32,

    /// Leave the N newest closed segments uncompressed
    #[arg(long, value_name = "N", default_value = "0")]
    keep_plain: u64,

    /// Unpack compressed segments instead
    #[arg(long, conflicts_with_all = ["level", "keep_plain"])]
    undo: bool,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &CompressCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let mut output = command.output.open()?;
    let options = CompressOptions { level: command.level, keep_plain: command.keep_plain };
    let done = with_bar(|progress| match command.undo {
        true => nanotape_journal::uncompress(&command.path, progress),
        false => nanotape_journal::compress(&command.path, &options, progress),
    })?;
    for (number, compressed) in done.iter().enumerate() {
        let Compressed { plain_bytes, packed_bytes, .. } = *compressed;
        let record = Record::default()
            .with("segment", compressed.number)
            .with("path", compressed.path.display().to_string())
            .with("plain_bytes", plain_bytes)
            .with("compressed_bytes", packed_bytes);
        record.write(&mut output, format, number == 0, || line(compressed))?;
    }
    if format == Format::Text {
        let plain: u64 = done.iter().map(|one| one.plain_bytes).sum();
        let packed: u64 = done.iter().map(|one| one.packed_bytes).sum();
        let (path, plain, packed) = (command.path.display(), size_text(plain), size_text(packed));
        match (done.len(), command.undo) {
            (0, false) => writeln!(output, "{path}: no closed segment to compress")?,
            (0, true) => writeln!(output, "{path}: no segment is compressed")?,
            (n, false) => {
                writeln!(output, "{path}: compressed {}, {plain} to {packed}", segments(n))?
            }
            (n, true) => writeln!(output, "{path}: unpacked {}, {packed} to {plain}", segments(n))?,
        }
    }
    output.finish()?;
    Ok(Status::Good)
}

fn segments(number: usize) -> String {
    counted(number as u64, "segment")
}

fn line(compressed: &Compressed) -> String {
    format!(
        "{}: {} plain, {} compressed\n",
        compressed.path.display(),
        size_text(compressed.plain_bytes),
        size_text(compressed.packed_bytes)
    )
}
