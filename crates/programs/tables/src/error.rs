//! Why a table cannot be written.

use std::io;

/// Why a table cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The output failed.
    #[error("{0}")]
    Output(#[from] io::Error),
    /// The rows cannot be columns.
    #[error("cannot write the table: {0}")]
    Arrow(#[from] arrow_schema::ArrowError),
    /// The columns cannot be written as Parquet.
    #[error("cannot write the table: {0}")]
    Parquet(parquet::errors::ParquetError),
    /// The receiver of a stream of batches is gone.
    #[error("nothing reads the batches any more")]
    Gone,
}

impl From<parquet::errors::ParquetError> for TableError {
    fn from(error: parquet::errors::ParquetError) -> Self {
        use parquet::errors::ParquetError;
        match error {
            ParquetError::External(error) => match error.downcast::<io::Error>() {
                Ok(error) => Self::Output(*error),
                Err(error) => Self::Parquet(ParquetError::External(error)),
            },
            error => Self::Parquet(error),
        }
    }
}
