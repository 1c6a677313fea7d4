//! The days of a dataset, as `nanotape export` finds and checks them.

use std::ffi::OsString;

use nanotape_answers::Given;
use pyo3::{
    exceptions::{PyNotADirectoryError, PyValueError},
    prelude::*,
};

/// The paths of the days in a folder.
#[pyfunction]
pub(crate) fn days_in(folder: OsString) -> PyResult<Vec<OsString>> {
    let folder = Given::from(folder);
    if !folder.path().is_dir() {
        return Err(PyNotADirectoryError::new_err(format!("{folder}: is no folder of days")));
    }
    let days = nanotape_answers::days_of([&folder])?;
    Ok(days.iter().map(|day| day.path().as_os_str().to_owned()).collect())
}

/// Refuses two days whose rows would be in the same file. `has_date`: all of them are of one date.
#[pyfunction]
pub(crate) fn require_distinct_days(days: Vec<OsString>, has_date: bool) -> PyResult<()> {
    let days: Vec<_> = days.into_iter().map(Given::from).collect();
    nanotape_answers::require_distinct_days(&days, has_date)
        .map_err(|error| PyValueError::new_err(format!("days: {error}")))
}
