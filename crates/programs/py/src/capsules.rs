//! Arrow's C structures in capsules of Python: the PyCapsule interface of Arrow.

use std::ffi::CStr;

use arrow_array::{
    Array as _, RecordBatch, RecordBatchReader, StructArray,
    ffi::{FFI_ArrowSchema, to_ffi},
    ffi_stream::FFI_ArrowArrayStream,
};
use arrow_schema::{ArrowError, DataType, Schema};
use nanotape_tables::{Prices, field_name};
use nanotape_types::rows::{Column, Kind};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyCapsule, PyTuple},
};

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// The error of a schema or an array that cannot be passed on.
fn failed(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A stream of batches.
pub(crate) fn stream<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// The schema of a stream or an array.
pub(crate) fn schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(failed)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// A batch, as a structure of its columns.
pub(crate) fn array<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyTuple>> {
    let columns = StructArray::from(batch.clone());
    let (array, _) = to_ffi(&columns.into_data()).map_err(failed)?;
    let array = PyCapsule::new_with_value(py, array, ARRAY)?;
    PyTuple::new(py, [schema(py, &batch.schema())?, array])
}

/// The form of prices that a requested schema has. Other types are given as they are, which the
/// interface allows; other names are an error.
pub(crate) fn requested_prices(
    requested: &Bound<'_, PyCapsule>,
    columns: &[Column],
    default: Prices,
) -> PyResult<Prices> {
    let pointer = requested.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    // SAFETY: a capsule of this name has a valid C schema, as the PyCapsule interface of Arrow
    // demands of its maker. It lives as long as the capsule, which the caller has borrowed.
    let requested = unsafe { pointer.as_ref() };
    let requested = Schema::try_from(requested).map_err(failed)?;
    let is_same = requested.fields().len() == columns.len()
        && requested.fields().iter().zip(columns).all(|(field, of)| field.name() == field_name(of));
    if !is_same {
        let names = columns.iter().map(field_name).collect::<Vec<_>>().join(", ");
        return Err(PyValueError::new_err(format!(
            "requested_schema: expected the fields {names}"
        )));
    }
    let fields = requested.fields().iter().zip(columns);
    let of_prices = fields.filter(|(_, of)| matches!(of.kind, Kind::Price | Kind::Price9));
    Ok(of_prices.fold(default, |prices, (field, _)| match field.data_type() {
        DataType::Float64 => Prices::Float,
        DataType::Decimal128(..) => Prices::Decimal,
        DataType::Int64 => Prices::Fixed,
        _ => prices,
    }))
}
