//! Rows of a table: streams of batches, and arrays.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use nanotape_tables::{Fields, Prices};
use nanotape_types::rows::Column;
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyCapsule, PyDict, PyTuple},
};

use crate::{
    capsules,
    errors::{NanotapeError, ReadError},
    reading::{BatchReader, Ended, Prepared, Recipe},
    structured::Structured,
};

/// The bytes of a structured array, and name and type of each of its fields.
type Raw<'py> = (Bound<'py, numpy::PyArray1<u8>>, Vec<(String, String)>);

/// Rows of a table. Each reading of them reads the input.
#[pyclass(frozen, subclass, module = "nanotape._core")]
pub(crate) struct Rows {
    recipe: Recipe,
    prices: Prices,
    ended: Ended,
}

/// The form of prices with this name.
pub(crate) fn prices_of(name: &str) -> PyResult<Prices> {
    match name {
        "fixed" => Ok(Prices::Fixed),
        "decimal" => Ok(Prices::Decimal),
        "float" => Ok(Prices::Float),
        other => Err(PyValueError::new_err(format!(
            "prices={other:?}: expected \"fixed\", \"decimal\" or \"float\""
        ))),
    }
}

impl Rows {
    pub(crate) fn new(recipe: Recipe, prices: Prices) -> Self {
        Self { recipe, prices, ended: Arc::default() }
    }

    fn prepared(&self, py: Python<'_>) -> PyResult<Prepared> {
        Ok(py.detach(|| self.recipe.prepare())?)
    }

    fn reader(&self, py: Python<'_>) -> PyResult<BatchReader> {
        Ok(self.prepared(py)?.stream(self.prices, self.ended.clone()))
    }
}

#[pymethods]
impl Rows {
    /// An independent stream of all rows, for any library that reads Arrow.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let prepared = self.prepared(py)?;
        let prices = match requested_schema {
            Some(schema) => capsules::requested_prices(schema, &prepared.columns, self.prices)?,
            None => self.prices,
        };
        capsules::stream(py, Box::new(prepared.stream(prices, self.ended.clone())))
    }

    /// The schema of the stream.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let prepared = self.prepared(py)?;
        let fields = Fields { prices: self.prices, midnight_ns: prepared.midnight_ns };
        capsules::schema(py, &fields.schema(&prepared.columns, &[]))
    }

    /// Iterates over the rows in batches.
    fn __iter__(&self, py: Python<'_>) -> PyResult<BatchIterator> {
        Ok(BatchIterator { reader: Mutex::new(self.reader(py)?), ended: self.ended.clone() })
    }

    /// Name, kind, unit and meaning of each column.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.prepared(py)?.columns.iter().map(|column| described(py, column)).collect()
    }

    /// All rows as bytes of one structured array, and the fields of its type.
    fn _structured<'py>(&self, py: Python<'py>) -> PyResult<Raw<'py>> {
        let rows = py.detach(|| -> Result<Structured, ReadError> {
            let prepared = self.recipe.prepare()?;
            let rows = Structured::new(&prepared.columns, prepared.midnight_ns);
            let (rows, report) = prepared.read(rows, |_| Ok(()))?;
            *lock(&self.ended) = Some(Ok(report));
            Ok(rows)
        })?;
        let (bytes, fields) = rows.into_array();
        Ok((numpy::PyArray1::from_vec(py, bytes), fields))
    }

    /// The same rows with this form of prices.
    fn _with_prices(&self, name: &str) -> PyResult<Self> {
        let ended = self.ended.clone();
        Ok(Self { recipe: self.recipe.clone(), prices: prices_of(name)?, ended })
    }

    /// Whether the last reading that ended had all of the input, and what was missing. None before
    /// the first one, and after an error.
    #[getter]
    fn _report(&self) -> Option<(bool, Vec<String>)> {
        match &*lock(&self.ended) {
            Some(Ok(report)) => Some((report.is_whole, report.lines.clone())),
            _ => None,
        }
    }

    /// Raises the error that ended the last reading, if one did.
    fn _raise(&self) -> PyResult<()> {
        let mut ended = lock(&self.ended);
        match ended.take() {
            Some(Err(error)) => Err(error.into()),
            other => {
                *ended = other;
                Ok(())
            }
        }
    }

    /// The name of the input.
    #[getter]
    fn _name(&self) -> String {
        self.recipe.name.to_string()
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn described<'py>(py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let name = if column.name == "ts_ns" { "ts_event" } else { &column.name };
    dict.set_item("name", name)?;
    dict.set_item("kind", column.kind.name())?;
    dict.set_item("unit", column.unit)?;
    dict.set_item("doc", column.doc.as_ref())?;
    Ok(dict)
}

/// The batches of a reading, one after the other.
#[pyclass(frozen, module = "nanotape._core")]
pub(crate) struct BatchIterator {
    reader: Mutex<BatchReader>,
    ended: Ended,
}

#[pymethods]
impl BatchIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let batch = py.detach(|| lock(&self.reader).next_batch());
        let batch = batch.map_err(|line| match lock(&self.ended).take() {
            Some(Err(error)) => error.into(),
            _ => NanotapeError::new_err(line),
        })?;
        Ok(batch.map(Batch))
    }
}

/// Some rows of a table, which any library that reads Arrow takes without a copy.
#[pyclass(frozen, subclass, module = "nanotape._core")]
pub(crate) struct Batch(pub(crate) RecordBatch);

#[pymethods]
impl Batch {
    /// The rows, as an array of structures.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // The rows exist: a request for other types is not met, which the interface allows.
        let _ = requested_schema;
        capsules::array(py, &self.0)
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<nanotape.Batch of {} rows>", self.0.num_rows())
    }
}
