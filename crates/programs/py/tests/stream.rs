//! The end of a reading on a thread: a thread that panicked is an error, and no end of the rows.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader as _};
use arrow_schema::Schema;
use nanotape_tables::BatchSink as _;

// The extension module cannot be linked into a test.
#[path = "../src/stream.rs"]
mod stream;

use stream::{BatchReader, ToReader, WITHOUT_A_RESULT};

/// What a reading of one batch gives, up to the first batch after its end.
fn given(end: fn() -> Result<(), String>) -> Vec<Result<bool, String>> {
    let schema = Arc::new(Schema::empty());
    let batch = RecordBatch::new_empty(schema.clone());
    let mut reader = BatchReader::new(schema.clone(), move |mut to: ToReader| {
        to.batch(batch).map_err(|error| error.to_string())?;
        end()
    });
    assert_eq!(reader.schema(), schema);
    (0..3).map(|_| Ok(reader.next_batch()?.is_some())).collect()
}

#[test]
fn a_reading_that_panics_is_an_error_after_its_batches() {
    let found = given(|| panic!("on purpose"));
    assert_eq!(found, [Ok(true), Err(WITHOUT_A_RESULT.to_owned()), Ok(false)]);
}

#[test]
fn a_reading_ends_with_its_end_or_its_error() {
    assert_eq!(given(|| Ok(())), [Ok(true), Ok(false), Ok(false)]);
    let line = "the disk is gone";
    let found = given(|| Err("the disk is gone".to_owned()));
    assert_eq!(found, [Ok(true), Err(line.to_owned()), Ok(false)]);
}
