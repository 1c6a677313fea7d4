//! The extension module of the Python package: inputs, rows of tables, books, and taps.
//!
//! Where: a skin on ANSWERS and TABLES. What is Python only, such as the conversions to data
//! frames, is in `python/nanotape`.
//! Protocol: a reading runs on a thread of its own without the interpreter's lock. It gives batches
//! through a channel of few places, so memory is bounded, and a slow reader slows the reading.

mod capsules;
mod days;
mod errors;
mod input;
mod latest;
mod measures;
mod reading;
mod rows;
mod stream;
mod structured;
mod tap;

use pyo3::prelude::*;

/// The extension module.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::days::{days_in, require_distinct_days};
    #[pymodule_export]
    use super::errors::{IncompleteInput, InputError, NanotapeError};
    #[pymodule_export]
    use super::input::Input;
    #[pymodule_export]
    use super::latest::Latest;
    #[pymodule_export]
    use super::measures::{delay, queue};
    #[pymodule_export]
    use super::rows::{Batch, BatchIterator, Collected, Rows};
    #[pymodule_export]
    use super::tap::{Event, Tap};
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("NANOTAPE_VERSION"))?;
        // The handler turns access to a truncated ring or journal into an error.
        nanotape_shm::guard_against_truncation()
            .map_err(|error| errors::NanotapeError::new_err(error.to_string()))
    }
}
