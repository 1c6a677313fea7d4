//! Rows of a table: streams of batches, and arrays.

use std::{
    ops::ControlFlow,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, sync_channel},
    },
    thread,
};

use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader as _};
use arrow_schema::SchemaRef;
use nanotape_tables::{Fields, Prices, field_name};
use nanotape_types::rows::{Cell, Column, Sink as _};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyCapsule, PyDict, PyTuple},
};

use crate::{
    capsules,
    errors::{NanotapeError, ReadError},
    reading::{Ended, LONGEST_WAIT, Prepared, Recipe, lock},
    stream::{BatchReader, WITHOUT_A_RESULT, Waited},
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

    /// Opens the input for a reading, of which nothing is known until it ends.
    fn begun(&self, py: Python<'_>) -> PyResult<Prepared> {
        *lock(&self.ended) = None;
        self.prepared(py)
    }

    fn reader(&self, py: Python<'_>) -> PyResult<BatchReader> {
        Ok(self.begun(py)?.stream(self.prices, self.ended.clone()))
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
        let prepared = self.begun(py)?;
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
        let recipe = self.recipe.clone();
        *lock(&self.ended) = None;
        let (rows, report) = on_thread(py, move |is_wanted| {
            let prepared = recipe.prepare()?;
            let mut rows = Structured::new(&prepared.columns, prepared.midnight_ns);
            let (_, report) = prepared.read(
                |cells: &[Cell<'_>]| match is_wanted.load(Ordering::Relaxed) {
                    true => rows.row(cells),
                    false => ControlFlow::Break(()),
                },
                |_| Ok(()),
            )?;
            Ok((rows, report))
        })?;
        *lock(&self.ended) = Some(Ok(report));
        let (bytes, fields) = rows.into_array();
        Ok((numpy::PyArray1::from_vec(py, bytes), fields))
    }

    /// All rows in memory, for a library that would not look for signals while it reads a stream.
    fn _collected(&self, py: Python<'_>, prices: &str) -> PyResult<Collected> {
        let prepared = self.begun(py)?;
        let mut reader = prepared.stream(prices_of(prices)?, self.ended.clone());
        let mut batches = Vec::new();
        loop {
            match py.detach(|| reader.wait_for_batch(LONGEST_WAIT)) {
                Waited::Over(Ok(Some(batch))) => batches.push(batch),
                Waited::Over(Ok(None)) => break,
                Waited::Over(Err(line)) => return Err(kept_error(&self.ended, line)),
                Waited::Longer => {}
            }
            py.check_signals()?;
        }
        Ok(Collected { schema: reader.schema(), batches })
    }

    /// The form of prices of streams.
    #[getter]
    fn _prices(&self) -> &'static str {
        match self.prices {
            Prices::Fixed => "fixed",
            Prices::Decimal => "decimal",
            Prices::Float => "float",
        }
    }

    /// Whether the last reading had all of the input, what was missing, and what its rows lack
    /// otherwise. None before its end, and after an error.
    #[getter]
    fn _report(&self) -> Option<(bool, Vec<String>, Vec<String>)> {
        match &*lock(&self.ended) {
            Some(Ok(report)) => Some((report.is_whole, report.lines.clone(), report.notes.clone())),
            _ => None,
        }
    }

    /// The name of the input.
    #[getter]
    fn _name(&self) -> String {
        self.recipe.name.to_string()
    }
}

/// Reads on a thread, and looks for signals meanwhile. A caller that was interrupted does not wait
/// for the result, which is not wanted any more.
pub(crate) fn on_thread<T: Send + 'static>(
    py: Python<'_>,
    reading: impl FnOnce(&AtomicBool) -> Result<T, ReadError> + Send + 'static,
) -> PyResult<T> {
    // The first use of the library fails while a signal waits.
    drop(numpy::PyArray1::<u8>::from_vec(py, Vec::new()));
    let is_wanted = Arc::new(AtomicBool::new(true));
    let of_thread = is_wanted.clone();
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        let _ = sender.send(reading(&of_thread));
    });
    let receiver = Mutex::new(receiver);
    loop {
        match py.detach(|| lock(&receiver).recv_timeout(LONGEST_WAIT)) {
            Ok(ended) => return Ok(ended?),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(NanotapeError::new_err(WITHOUT_A_RESULT));
            }
        }
        if let Err(signal) = py.check_signals() {
            is_wanted.store(false, Ordering::Relaxed);
            return Err(signal);
        }
    }
}

/// The error that the reading kept, of which its stream has the line.
fn kept_error(ended: &Ended, line: String) -> PyErr {
    match lock(ended).take() {
        Some(Err(error)) => error.into(),
        _ => NanotapeError::new_err(line),
    }
}

fn described<'py>(py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", field_name(column))?;
    dict.set_item("kind", column.kind.name())?;
    dict.set_item("unit", column.unit)?;
    dict.set_item("doc", column.doc.as_ref())?;
    Ok(dict)
}

/// Rows that were read: a stream of them costs nothing.
#[pyclass(frozen, module = "nanotape._core")]
pub(crate) struct Collected {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Collected {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The rows exist: a request for other types is not met, which the interface allows.
        let _ = requested_schema;
        let batches: Vec<_> = self.batches.iter().cloned().map(Ok).collect();
        capsules::stream(py, Box::new(RecordBatchIterator::new(batches, self.schema.clone())))
    }
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
        let waited = loop {
            match py.detach(|| lock(&self.reader).wait_for_batch(LONGEST_WAIT)) {
                Waited::Over(batch) => break batch,
                Waited::Longer => py.check_signals()?,
            }
        };
        let batch = waited.map_err(|line| kept_error(&self.ended, line))?;
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
