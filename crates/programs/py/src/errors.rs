//! The exceptions of the package.

use nanotape_answers::InputError as AnswersError;
use nanotape_tables::TableError;
use pyo3::{
    PyErr, create_exception,
    exceptions::{PyException, PyValueError},
};

create_exception!(nanotape, NanotapeError, PyException, "The base of all errors of nanotape.");
create_exception!(
    nanotape,
    InputError,
    NanotapeError,
    "An input cannot be opened or read, or has not what was chosen of it."
);
create_exception!(
    nanotape,
    IncompleteInput,
    NanotapeError,
    "A part of an input is missing or damaged, and strict=True was given."
);

/// What ends a reading.
#[derive(Debug)]
pub(crate) enum ReadError {
    Input(AnswersError),
    Table(TableError),
    /// A wrong choice, with what to choose instead.
    Choice(String),
    /// With strict=True.
    Incomplete(String),
    /// A wrong argument.
    Value(String),
}

impl From<AnswersError> for ReadError {
    fn from(error: AnswersError) -> Self {
        Self::Input(error)
    }
}

impl From<TableError> for ReadError {
    fn from(error: TableError) -> Self {
        Self::Table(error)
    }
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Input(error @ AnswersError::NoDate { .. }) => {
                write!(f, "{error}: pass date=\"2019-12-30\"")
            }
            Self::Input(error @ AnswersError::IsARing { .. }) => {
                write!(f, "{error}: use nanotape.tap()")
            }
            Self::Input(error) => error.fmt(f),
            Self::Table(error) => error.fmt(f),
            Self::Choice(line) | Self::Incomplete(line) | Self::Value(line) => f.write_str(line),
        }
    }
}

impl From<ReadError> for PyErr {
    fn from(error: ReadError) -> Self {
        let line = error.to_string();
        match error {
            ReadError::Incomplete(_) => IncompleteInput::new_err(line),
            ReadError::Input(_) | ReadError::Choice(_) => InputError::new_err(line),
            ReadError::Table(_) => NanotapeError::new_err(line),
            ReadError::Value(_) => PyValueError::new_err(line),
        }
    }
}
