//! Answers as columns: the rows of tables as Arrow batches, in Parquet and Arrow files.
//!
//! Where: above ANSWERS, below the programs that write files and the package for Python. Nothing
//! else depends on it, since Arrow and Parquet take as long to compile as all of nanotape.
//!
//! ```text
//!  rows of typed cells --> Batches --> RecordBatch --+--> ParquetFile --> lanes: a column each
//!  (a Sink)                                          +--> ArrowFile
//! ```
//!
//! Failure: an error of an output stops the reading, and is returned at the end.
#![forbid(unsafe_code)]

mod arrow_file;
mod batches;
mod error;
mod fields;
mod lanes;
mod parquet_file;
mod rewrite;
mod words;

pub use arrow_file::ArrowFile;
pub use batches::{BATCH_ROWS, BatchSink, Batches};
pub use error::TableError;
pub use fields::{Fields, Prices, field_name};
pub use lanes::Lanes;
pub use parquet_file::{Compressed, ParquetFile, ParquetOptions};
pub use rewrite::{marked, metadata_of};
