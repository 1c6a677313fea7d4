//! Writes tables that are in memory with the writer of the `parquet` crate, and prints how long
//! that takes.
//!
//! Usage: `rivals-tables FOLDER FILE...`. Each FILE is a Parquet file that nanotape wrote. It is
//! read into memory whole, which is not part of the time, and written to FOLDER under its name.
#![forbid(unsafe_code)]

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use arrow_array::RecordBatch;
use parquet::{
    arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder},
    basic::{Compression, ZstdLevel},
    file::properties::WriterProperties,
};
use rivals_measure::{Failure, Wrong, finish};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

/// Rows of a batch, as nanotape gives them to its writer.
const BATCH_ROWS: usize = 1 << 16;

/// Rows of a row group, as in nanotape's files.
const GROUP_ROWS: usize = 1 << 20;

fn main() -> ExitCode {
    finish("rivals-tables", run().map(Some))
}

fn run() -> Result<String, Failure> {
    let mut words = env::args_os().skip(1).map(PathBuf::from);
    let folder = words.next().ok_or("usage: rivals-tables FOLDER FILE...")?;
    let files: Vec<PathBuf> = words.collect();
    if files.is_empty() {
        return Err("usage: rivals-tables FOLDER FILE...".into());
    }
    let (mut rows, mut bytes) = (0, 0);
    let (mut wall, mut cpu) = (Duration::ZERO, Duration::ZERO);
    for file in files {
        let batches = read(&file)?;
        let name = file.file_name().ok_or_else(|| format!("{}: not a file", file.display()))?;
        let output = folder.join(name);
        let (start, cpu_start) = (now(ClockId::Monotonic), now(ClockId::ProcessCPUTime));
        write(&output, &batches)?;
        wall += now(ClockId::Monotonic).saturating_sub(start);
        cpu += now(ClockId::ProcessCPUTime).saturating_sub(cpu_start);
        let expected: usize = batches.iter().map(RecordBatch::num_rows).sum();
        require_rows(&output, expected)?;
        rows += expected;
        bytes += fs::metadata(&output)?.len();
    }
    let (wall, cpu) = (wall.as_secs_f64(), cpu.as_secs_f64());
    let line = json!({ "seconds": wall, "cpu_seconds": cpu, "rows": rows, "bytes": bytes });
    Ok(line.to_string())
}

fn read(file: &Path) -> Result<Vec<RecordBatch>, Failure> {
    let input = File::open(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(input)?;
    let batches = reader.with_batch_size(BATCH_ROWS).build()?.collect::<Result<Vec<_>, _>>()?;
    if batches.is_empty() {
        return Err(format!("{}: no rows", file.display()).into());
    }
    Ok(batches)
}

fn write(output: &Path, batches: &[RecordBatch]) -> Result<(), Failure> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .build();
    let file = File::create(output)?;
    let mut writer = ArrowWriter::try_new(file, batches[0].schema(), Some(properties))?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.close()?;
    Ok(())
}

fn require_rows(output: &Path, expected: usize) -> Result<(), Failure> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(output)?)?;
    let rows = reader.metadata().file_metadata().num_rows();
    if usize::try_from(rows).ok() == Some(expected) {
        return Ok(());
    }
    let message = format!("{}: {rows} rows, expected {expected}", output.display());
    Err(Box::new(Wrong(message)))
}

/// The time of a clock: the wall's, or the CPU time of all threads of this process.
fn now(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
