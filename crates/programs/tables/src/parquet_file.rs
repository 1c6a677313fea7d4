//! A table as a Parquet file, whose columns are encoded on several threads.
//!
//! Memory: at most [`ParquetOptions::waiting`] batches that are not encoded, and the encoded
//! columns of one row group; a group is written when all of its columns are complete.

use std::{
    io::Write,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use arrow_array::RecordBatch;
use arrow_schema::{Field, SchemaRef};
use nanotape_types::rows::{Column, Kind};
use parquet::{
    arrow::{
        ArrowWriter,
        arrow_writer::{
            ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
        },
    },
    basic::{Compression, Encoding, ZstdLevel},
    file::{
        metadata::KeyValue,
        properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder},
        writer::SerializedFileWriter,
    },
    schema::types::ColumnPath,
};

use crate::{
    BatchSink, Lanes, TableError,
    lanes::{LaneHandle, Place, Room},
};

/// The compression of pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Compressed {
    /// zstd, level 1.
    #[default]
    Zstd,
    /// LZ4: faster, and larger.
    Lz4,
    /// None.
    No,
}

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub struct ParquetOptions {
    /// Rows of a row group.
    pub group_rows: usize,
    /// The compression of its pages.
    pub compressed: Compressed,
    /// Batches that may wait to be encoded.
    pub waiting: usize,
}

impl Default for ParquetOptions {
    fn default() -> Self {
        Self { group_rows: 1 << 20, compressed: Compressed::default(), waiting: 8 }
    }
}

/// A Parquet file that takes batches.
pub struct ParquetFile<W: Write + Send + 'static> {
    shared: Arc<Shared<W>>,
    factory: ArrowRowGroupWriterFactory,
    columns: Vec<ColumnLane>,
    options: ParquetOptions,
    room: Room,
    groups: usize,
    /// Rows of the group that is open.
    rows: usize,
}

struct Shared<W: Write + Send> {
    /// `None` after the end.
    file: Mutex<Option<SerializedFileWriter<W>>>,
    has_failed: AtomicBool,
    error: Mutex<Option<TableError>>,
}

/// A column and its writer of the open row group.
struct ColumnLane {
    lane: LaneHandle,
    field: Arc<Field>,
    writer: Arc<Mutex<Option<ArrowColumnWriter>>>,
}

/// A row group whose columns are being completed.
struct Group {
    chunks: Mutex<Vec<Option<ArrowColumnChunk>>>,
    left: AtomicUsize,
    _place: Place,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<W: Write + Send + 'static> std::fmt::Debug for ParquetFile<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetFile").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<W: Write + Send + 'static> ParquetFile<W> {
    /// Begins a file of these columns, which have this schema, on the threads of `lanes`.
    pub fn new(
        output: W,
        columns: &[Column],
        schema: SchemaRef,
        options: ParquetOptions,
        lanes: &Lanes,
    ) -> Result<Self, TableError> {
        let properties = properties(columns, &schema, options);
        let writer = ArrowWriter::try_new(output, schema.clone(), Some(properties))?;
        let (file, factory) = writer.into_serialized_writer()?;
        let columns = schema.fields().iter().map(|field| ColumnLane {
            lane: lanes.lane(),
            field: field.clone(),
            writer: Arc::default(),
        });
        let (file, error) = (Mutex::new(Some(file)), Mutex::new(None));
        Ok(Self {
            shared: Arc::new(Shared { file, has_failed: AtomicBool::new(false), error }),
            factory,
            columns: columns.collect(),
            options,
            room: Room::new(options.waiting),
            groups: 0,
            rows: 0,
        })
    }

    /// Completes the file with entries of its metadata, and returns the output.
    pub fn finish(mut self, metadata: &[(String, String)]) -> Result<W, TableError> {
        if self.rows > 0 {
            self.end_group();
        }
        self.room.wait_until_empty(self.options.waiting);
        if let Some(error) = lock(&self.shared.error).take() {
            return Err(error);
        }
        let Some(mut file) = lock(&self.shared.file).take() else { return Err(TableError::Gone) };
        for (key, value) in metadata {
            file.append_key_value_metadata(KeyValue::new(key.clone(), value.clone()));
        }
        Ok(file.into_inner()?)
    }

    fn begin_group(&mut self) -> Result<(), TableError> {
        let writers = self.factory.create_column_writers(self.groups)?;
        self.groups += 1;
        for (column, new) in self.columns.iter().zip(writers) {
            let writer = column.writer.clone();
            column.lane.push(move || *lock(&writer) = Some(new));
        }
        Ok(())
    }

    fn end_group(&mut self) {
        self.rows = 0;
        let group = Arc::new(Group {
            chunks: Mutex::new(self.columns.iter().map(|_| None).collect()),
            left: AtomicUsize::new(self.columns.len()),
            _place: self.room.enter(),
        });
        for (number, column) in self.columns.iter().enumerate() {
            let (group, shared) = (group.clone(), self.shared.clone());
            let writer = column.writer.clone();
            column.lane.push(move || {
                let complete = || -> Result<(), TableError> {
                    if let Some(writer) = lock(&writer).take() {
                        let chunk = writer.close()?;
                        lock(&group.chunks)[number] = Some(chunk);
                    }
                    // The last column writes the group. Its lane comes to the next group after
                    // that, so groups stay in order.
                    if group.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                        shared.write(mem::take(&mut *lock(&group.chunks)))?;
                    }
                    Ok(())
                };
                shared.keep(complete());
            });
        }
    }
}

impl<W: Write + Send + 'static> BatchSink for ParquetFile<W> {
    fn batch(&mut self, batch: RecordBatch) -> Result<(), TableError> {
        if self.shared.has_failed.load(Ordering::Acquire)
            && let Some(error) = lock(&self.shared.error).take()
        {
            return Err(error);
        }
        if self.rows == 0 {
            self.begin_group()?;
        }
        self.rows += batch.num_rows();
        let place = Arc::new(self.room.enter());
        for (column, array) in self.columns.iter().zip(batch.columns()) {
            let ColumnLane { lane, field, writer } = column;
            let (field, writer, array) = (field.clone(), writer.clone(), array.clone());
            let (shared, place) = (self.shared.clone(), place.clone());
            lane.push(move || {
                let encode = || -> Result<(), TableError> {
                    let mut writer = lock(&writer);
                    let Some(writer) = writer.as_mut() else { return Ok(()) };
                    for leaf in compute_leaves(&field, &array)? {
                        writer.write(&leaf)?;
                    }
                    Ok(())
                };
                shared.keep(encode());
                drop((array, place));
            });
        }
        if self.rows >= self.options.group_rows {
            self.end_group();
        }
        Ok(())
    }
}

impl<W: Write + Send> Shared<W> {
    fn write(&self, chunks: Vec<Option<ArrowColumnChunk>>) -> Result<(), TableError> {
        let mut file = lock(&self.file);
        let Some(file) = file.as_mut().filter(|_| !self.has_failed.load(Ordering::Acquire)) else {
            return Ok(());
        };
        let mut group = file.next_row_group()?;
        for chunk in chunks.into_iter().flatten() {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        Ok(())
    }

    /// Keeps the first error, after which nothing more is written.
    fn keep(&self, result: Result<(), TableError>) {
        if let Err(error) = result {
            lock(&self.error).get_or_insert(error);
            self.has_failed.store(true, Ordering::Release);
        }
    }
}

fn properties(columns: &[Column], schema: &SchemaRef, options: ParquetOptions) -> WriterProperties {
    let compression = match options.compressed {
        Compressed::Zstd => Compression::ZSTD(ZstdLevel::default()),
        Compressed::Lz4 => Compression::LZ4_RAW,
        Compressed::No => Compression::UNCOMPRESSED,
    };
    let mut builder = WriterProperties::builder()
        .set_compression(compression)
        .set_created_by(concat!("nanotape ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_max_row_group_row_count(None)
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for (column, field) in columns.iter().zip(schema.fields()) {
        builder = encoded(builder, column, ColumnPath::from(field.name().as_str()));
    }
    builder.build()
}

/// The encoding that suits a column: numbers and times that grow as differences; prices as bytes of
/// equal weight together; what has few values as a dictionary.
fn encoded(
    builder: WriterPropertiesBuilder,
    column: &Column,
    path: ColumnPath,
) -> WriterPropertiesBuilder {
    let is_number = matches!(&*column.name, "message" | "order_reference_number" | "match_number");
    match column.kind {
        Kind::Time | Kind::UnixTime => builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        Kind::U64 if is_number => builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        _ => builder,
    }
}
