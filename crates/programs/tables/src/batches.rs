//! Rows of typed cells as batches of columns.

use std::{ops::ControlFlow, sync::Arc};

use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, RecordBatch,
    TimestampNanosecondArray, UInt64Array,
};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, NullBufferBuilder, ScalarBuffer};
use arrow_schema::{ArrowError, SchemaRef};
use nanotape_types::rows::{Cell, Column, Kind, Sink};

use crate::{Fields, Prices, TableError, words::Words};

/// Rows of a batch.
pub const BATCH_ROWS: usize = 1 << 16;

/// Units of 1e-9 in one of 1e-4.
const NANOS: i64 = 100_000;

/// Takes the batches of a table.
pub trait BatchSink {
    /// Takes a batch. After an error it gets no other.
    fn batch(&mut self, batch: RecordBatch) -> Result<(), TableError>;
}

impl<F: FnMut(RecordBatch) -> Result<(), TableError>> BatchSink for F {
    fn batch(&mut self, batch: RecordBatch) -> Result<(), TableError> {
        self(batch)
    }
}

/// Collects rows as batches for a sink of batches.
#[derive(Debug)]
pub struct Batches<C> {
    /// Takes the batches.
    pub batches: C,
    schema: SchemaRef,
    fields: Fields,
    columns: Vec<Values>,
    rows: usize,
    most: usize,
    total: u64,
    error: Option<TableError>,
}

/// The values of a column so far.
#[derive(Debug)]
struct Values {
    of: Of,
    nulls: NullBufferBuilder,
}

#[derive(Debug)]
enum Of {
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
    /// In units of 1e-9.
    Price(Vec<i64>),
    Time(Vec<i64>),
    Text(Vec<i32>, Box<Words>),
    Flag(BooleanBufferBuilder),
}

impl<C: BatchSink> Batches<C> {
    /// Batches of this many rows, at most, with this schema of these columns.
    pub fn new(
        batches: C,
        columns: &[Column],
        (fields, schema): (Fields, SchemaRef),
        most: usize,
    ) -> Self {
        let columns = columns.iter().map(|column| Values::new(column.kind)).collect();
        let (rows, total, error) = (0, 0, None);
        Self { batches, schema, fields, columns, rows, most, total, error }
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.total
    }

    /// The error that stopped the rows, if there is one.
    pub fn take_error(&mut self) -> Option<TableError> {
        self.error.take()
    }

    /// Gives the rows that wait.
    pub fn flush(&mut self) -> Result<(), TableError> {
        if self.rows > 0 { self.give() } else { Ok(()) }
    }

    /// Gives the rows that wait, and returns their sink.
    pub fn finish(mut self) -> Result<C, TableError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.flush()?;
        Ok(self.batches)
    }

    fn give(&mut self) -> Result<(), TableError> {
        // The next batch is as large as this one.
        let (fields, rows) = (self.fields, self.rows);
        let columns = self.columns.iter_mut().map(|values| values.take(fields, rows));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        self.rows = 0;
        self.batches.batch(RecordBatch::try_new(self.schema.clone(), columns)?)
    }
}

impl<C: BatchSink> Sink for Batches<C> {
    #[inline]
    fn row(&mut self, cells: &[Cell<'_>]) -> ControlFlow<()> {
        debug_assert_eq!(cells.len(), self.columns.len());
        for (values, cell) in self.columns.iter_mut().zip(cells) {
            values.push(*cell, self.fields.midnight_ns);
        }
        self.rows += 1;
        self.total += 1;
        if self.rows < self.most {
            return ControlFlow::Continue(());
        }
        match self.give() {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

impl Values {
    fn new(kind: Kind) -> Self {
        let of = match kind {
            Kind::U64 => Of::U64(Vec::new()),
            Kind::I64 => Of::I64(Vec::new()),
            Kind::F64 => Of::F64(Vec::new()),
            Kind::Price | Kind::Price9 => Of::Price(Vec::new()),
            Kind::Time | Kind::UnixTime => Of::Time(Vec::new()),
            Kind::Text => Of::Text(Vec::new(), Box::default()),
            Kind::Flag => Of::Flag(BooleanBufferBuilder::new(0)),
        };
        Self { of, nulls: NullBufferBuilder::new(0) }
    }

    #[inline]
    fn push(&mut self, cell: Cell<'_>, midnight_ns: u64) {
        match (&mut self.of, cell) {
            (Of::U64(values), Cell::U64(value)) => values.push(value),
            (Of::I64(values), Cell::I64(value)) => values.push(value),
            (Of::F64(values), Cell::F64(value)) => values.push(value),
            (Of::Price(values), Cell::Price(units)) => values.push(units as i64 * NANOS),
            (Of::Price(values), Cell::Price9(units)) => values.push(units),
            (Of::Time(values), Cell::Time(nanos)) => values.push((midnight_ns + nanos) as i64),
            (Of::Time(values), Cell::UnixTime(nanos)) => values.push(nanos as i64),
            (Of::Text(keys, words), Cell::Stock(stock)) => keys.push(words.stock(stock)),
            (Of::Text(keys, words), Cell::Letter(letter)) => keys.push(words.letter(letter)),
            (Of::Text(keys, words), Cell::Text(text)) => keys.push(words.key(text)),
            (Of::Flag(values), Cell::Flag(flag)) => values.append(flag),
            (_, cell) => return self.absent(cell),
        }
        self.nulls.append_non_null();
    }

    #[inline]
    fn absent(&mut self, cell: Cell<'_>) {
        debug_assert!(matches!(cell, Cell::Absent | Cell::Skipped), "{cell:?} of another kind");
        match &mut self.of {
            Of::U64(values) => values.push(0),
            Of::I64(values) | Of::Price(values) | Of::Time(values) => values.push(0),
            Of::F64(values) => values.push(0.0),
            Of::Text(keys, _) => keys.push(0),
            Of::Flag(values) => values.append(false),
        }
        self.nulls.append_null();
    }

    /// The column of the values, which begins anew.
    fn take(&mut self, fields: Fields, rows: usize) -> Result<ArrayRef, ArrowError> {
        let nulls: Option<NullBuffer> = self.nulls.finish();
        fn taken<T>(values: &mut Vec<T>, rows: usize) -> ScalarBuffer<T>
        where
            T: arrow_buffer::ArrowNativeType,
        {
            ScalarBuffer::from(std::mem::replace(values, Vec::with_capacity(rows)))
        }
        Ok(match &mut self.of {
            Of::U64(values) => Arc::new(UInt64Array::try_new(taken(values, rows), nulls)?),
            Of::I64(values) => Arc::new(Int64Array::try_new(taken(values, rows), nulls)?),
            Of::F64(values) => Arc::new(Float64Array::try_new(taken(values, rows), nulls)?),
            Of::Price(values) => match fields.prices {
                Prices::Fixed => Arc::new(Int64Array::try_new(taken(values, rows), nulls)?),
                Prices::Decimal => {
                    let values: Vec<i128> = values.drain(..).map(i128::from).collect();
                    let decimals = Decimal128Array::try_new(ScalarBuffer::from(values), nulls)?;
                    Arc::new(decimals.with_precision_and_scale(18, 9)?)
                }
                Prices::Float => {
                    let values: Vec<f64> = values.drain(..).map(float).collect();
                    Arc::new(Float64Array::try_new(ScalarBuffer::from(values), nulls)?)
                }
            },
            Of::Time(values) => {
                let times = TimestampNanosecondArray::try_new(taken(values, rows), nulls)?;
                Arc::new(times.with_timezone("UTC"))
            }
            Of::Text(keys, words) => {
                words.column(std::mem::replace(keys, Vec::with_capacity(rows)), nulls)?
            }
            Of::Flag(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
        })
    }
}

/// The price in USD. Units of 1e-4 are divided by 1e4, which is exact: the quotient is the nearest
/// float.
fn float(price: i64) -> f64 {
    match price % NANOS {
        0 => (price / NANOS) as f64 / 1e4,
        _ => price as f64 / 1e9,
    }
}
