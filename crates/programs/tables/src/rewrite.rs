//! Reads a Parquet file that was written: its metadata, or its rows to write them once more with
//! other values in a column.

use std::{collections::HashMap, fs::File, io::Write, sync::Arc};

use arrow_array::{Array as _, BooleanArray, RecordBatch, UInt64Array};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::{BATCH_ROWS, BatchSink as _, ParquetFile, TableError};

/// Writes the rows of a file to another one. The column of truth values `mark` becomes true where
/// `is_marked` is for the number in the column `by`.
pub fn marked<W: Write + Send + 'static>(
    from: File,
    mut to: ParquetFile<W>,
    (mark, by): (&str, &str),
    is_marked: impl Fn(u64) -> bool,
) -> Result<ParquetFile<W>, TableError> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(from)?.with_batch_size(BATCH_ROWS);
    for batch in reader.build()? {
        let batch = batch?;
        let schema = batch.schema();
        let (mark, by) = (schema.index_of(mark)?, schema.index_of(by)?);
        let marks = batch.column(mark).as_any().downcast_ref::<BooleanArray>();
        let numbers = batch.column(by).as_any().downcast_ref::<UInt64Array>();
        let (Some(marks), Some(numbers)) = (marks, numbers) else {
            to.batch(batch)?;
            continue;
        };
        let of_row = |(mark, number): (Option<bool>, Option<u64>)| {
            mark.map(|mark| mark || number.is_some_and(&is_marked))
        };
        let marks: BooleanArray = marks.iter().zip(numbers).map(of_row).collect();
        let mut columns = batch.columns().to_vec();
        columns[mark] = Arc::new(marks);
        to.batch(RecordBatch::try_new(schema, columns)?)?;
    }
    Ok(to)
}

/// The metadata of a file: its entries that have a value.
pub fn metadata_of(file: File) -> Result<HashMap<String, String>, TableError> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)?;
    let entries = reader.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    Ok(entries.filter_map(|entry| Some((entry.key.clone(), entry.value.clone()?))).collect())
}
