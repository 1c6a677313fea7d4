//! Rows written as Parquet and Arrow, and read back.

use std::{
    io::{self, Write},
    ops::ControlFlow,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use arrow_array::{
    Array, BooleanArray, Decimal128Array, DictionaryArray, Float64Array, Int64Array, RecordBatch,
    StringArray, TimestampNanosecondArray, UInt64Array, types::Int32Type,
};
use arrow_ipc::reader::FileReader;
use arrow_schema::DataType;
use nanotape_tables::{
    ArrowFile, Batches, Compressed, Fields, Lanes, ParquetFile, ParquetOptions, Prices,
};
use nanotape_types::{
    Symbol,
    rows::{Cell, Column, Kind, Sink, StockName},
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;

const MIDNIGHT_NS: u64 = 1_577_682_000_000_000_000;

const KINDS: [(&str, Kind); 9] = [
    ("message", Kind::U64),
    ("change", Kind::I64),
    ("ratio", Kind::F64),
    ("price", Kind::Price),
    ("exact", Kind::Price9),
    ("ts_ns", Kind::Time),
    ("ts_recv", Kind::UnixTime),
    ("symbol", Kind::Text),
    ("broken", Kind::Flag),
];

fn columns() -> Vec<Column> {
    KINDS.map(|(name, kind)| Column::new(name, kind, 0, "For a test.")).into()
}

/// A row: numbers from which cells of all kinds follow, and which of them are absent.
type Row = (u64, i64, u32, u16, u16);

/// The cells of a row.
fn cells(&(number, change, price, text, absent): &Row, with: impl FnOnce(&[Cell<'_>])) {
    let word = format!("word {}", text % 300);
    let symbol: Option<Symbol> = format!("S{}", text % 50).parse().ok().filter(|_| text % 7 > 0);
    let mut cells = [
        Cell::U64(number),
        Cell::I64(change),
        Cell::F64(change as f64 / 3.0),
        Cell::Price(price.into()),
        Cell::Price9(change),
        Cell::Time(number % 86_400_000_000_000),
        Cell::UnixTime(number % (1 << 62)),
        match text % 3 {
            0 => Cell::Text(&word),
            1 => Cell::Stock(StockName::new(symbol, (text % 60).into())),
            _ => Cell::Letter(b'A' + (text % 26) as u8),
        },
        Cell::Flag(text % 2 == 0),
    ];
    for (place, cell) in cells.iter_mut().enumerate() {
        if absent >> place & 1 == 1 {
            *cell = Cell::Absent;
        }
    }
    with(&cells);
}

/// The value of a cell as a text that does not depend on how it is stored.
fn expected(cell: Cell<'_>) -> String {
    match cell {
        Cell::Absent | Cell::Skipped => "absent".to_owned(),
        Cell::U64(value) => value.to_string(),
        Cell::I64(value) => value.to_string(),
        Cell::F64(value) => value.to_string(),
        Cell::Price(units) => (units * 100_000).to_string(),
        Cell::Price9(units) => units.to_string(),
        Cell::Time(nanos) => (MIDNIGHT_NS + nanos).to_string(),
        Cell::UnixTime(nanos) => nanos.to_string(),
        Cell::Text(text) => text.to_owned(),
        Cell::Letter(letter) => char::from(letter).to_string(),
        Cell::Stock(stock) => stock.to_string(),
        Cell::Flag(flag) => flag.to_string(),
    }
}

/// The same of a value that was read.
fn found(array: &dyn Array, row: usize, is_price: bool) -> String {
    fn of<T: 'static>(array: &dyn Array) -> &T {
        array.as_any().downcast_ref().unwrap()
    }
    if array.is_null(row) {
        return "absent".to_owned();
    }
    match array.data_type() {
        DataType::UInt64 => of::<UInt64Array>(array).value(row).to_string(),
        DataType::Int64 => of::<Int64Array>(array).value(row).to_string(),
        DataType::Float64 if is_price => {
            (of::<Float64Array>(array).value(row) * 1e4).round().to_string()
        }
        DataType::Float64 => of::<Float64Array>(array).value(row).to_string(),
        DataType::Decimal128(18, 9) => of::<Decimal128Array>(array).value(row).to_string(),
        DataType::Timestamp(_, Some(zone)) if &**zone == "UTC" => {
            of::<TimestampNanosecondArray>(array).value(row).to_string()
        }
        DataType::Boolean => of::<BooleanArray>(array).value(row).to_string(),
        DataType::Utf8 => of::<StringArray>(array).value(row).to_owned(),
        DataType::Dictionary(..) => {
            let words = of::<DictionaryArray<Int32Type>>(array);
            let key = words.keys().value(row) as usize;
            of::<StringArray>(words.values().as_ref()).value(key).to_owned()
        }
        other => panic!("{other}"),
    }
}

fn compare(batches: &[RecordBatch], rows: &[Row], prices: Prices) {
    let mut written = rows.iter();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let of_row = written.next().expect("no more rows than were written");
            cells(of_row, |cells| {
                for (place, cell) in cells.iter().enumerate() {
                    let (name, kind) = KINDS[place];
                    let is_price = matches!(kind, Kind::Price | Kind::Price9);
                    let found = found(batch.column(place), row, is_price);
                    let is_float = is_price && prices == Prices::Float;
                    match (cell, is_float) {
                        (Cell::Price(units), true) => assert_eq!(found, units.to_string()),
                        // As exact as a float is.
                        (Cell::Price9(_), true) => assert_ne!(found, "absent"),
                        _ => assert_eq!(found, expected(*cell), "{name} of {of_row:?}"),
                    }
                }
            });
        }
    }
    assert_eq!(written.count(), 0, "all rows were read");
}

/// Writes rows to batches of this size.
fn write<C: nanotape_tables::BatchSink>(batches: &mut Batches<C>, rows: &[Row]) {
    for row in rows {
        cells(row, |cells| assert_eq!(batches.row(cells), ControlFlow::Continue(())));
    }
}

fn rows_strategy() -> impl Strategy<Value = Vec<Row>> {
    let row = (
        prop_oneof![any::<u64>(), 0..1_000_u64],
        prop_oneof![-999_999_999_999_999_999..=999_999_999_999_999_999_i64, Just(0)],
        any::<u32>(),
        any::<u16>(),
        prop_oneof![Just(0), any::<u16>()],
    );
    prop::collection::vec(row, 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn rows_come_back_from_parquet_and_arrow_as_they_were(
        rows in rows_strategy(),
        batch in 1..90_usize,
        group_rows in 1..200_usize,
        threads in 1..4_usize,
        form in 0..3_usize,
    ) {
        let prices = [Prices::Fixed, Prices::Decimal, Prices::Float][form];
        let compressed = [Compressed::Zstd, Compressed::Lz4, Compressed::No][form];
        let fields = Fields { prices, midnight_ns: MIDNIGHT_NS };
        let schema = fields.schema(&columns(), &[]);
        let metadata = [("nanotape.input".to_owned(), "day".to_owned())];

        let lanes = Lanes::new(threads);
        let options = ParquetOptions { group_rows, compressed, waiting: 2 };
        let file = ParquetFile::new(Vec::new(), &columns(), schema.clone(), options, &lanes).unwrap();
        let mut batches = Batches::new(file, &columns(), (fields, schema.clone()), batch);
        write(&mut batches, &rows);
        let bytes = batches.finish().unwrap().finish(&metadata).unwrap();
        lanes.finish();
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
        let entries = reader.metadata().file_metadata().key_value_metadata().unwrap();
        prop_assert!(entries.iter().any(|entry| entry.key == "nanotape.input"));
        let groups = reader.metadata().num_row_groups();
        prop_assert!(groups <= rows.len().div_ceil(group_rows.max(1)));
        let read: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        compare(&read, &rows, prices);

        let file = ArrowFile::new(Vec::new(), schema.clone()).unwrap();
        let mut batches = Batches::new(file, &columns(), (fields, schema), batch);
        write(&mut batches, &rows);
        let bytes = batches.finish().unwrap().finish(&metadata).unwrap();
        let reader = FileReader::try_new(io::Cursor::new(bytes), None).unwrap();
        prop_assert_eq!(reader.custom_metadata().get("nanotape.input").map(String::as_str), Some("day"));
        compare(&reader.map(Result::unwrap).collect::<Vec<_>>(), &rows, prices);
    }
}

#[test]
fn a_field_has_the_unit_and_the_meaning_of_its_column() {
    let price = Column::new("bid_price", Kind::Price, 0, "Best bid.").of("USD");
    let time = Column::new("ts_ns", Kind::Time, 0, "Time.").of("ns since midnight");
    let schema = Fields::default().schema(&[price, time], &[]);
    let metadata = schema.field(0).metadata();
    let entry = |key: &str| metadata.get(key).map(String::as_str);
    assert_eq!(
        [entry("kind"), entry("unit"), entry("doc"), entry("scale")],
        [Some("price"), Some("USD"), Some("Best bid."), Some("9")]
    );
    assert_eq!(schema.field(1).name(), "ts_event");
    let unit = schema.field(1).metadata().get("unit").map(String::as_str);
    assert_eq!(unit, Some("ns since 1970, UTC"));
}

/// An output that takes a number of bytes.
#[derive(Clone)]
struct Full(Arc<AtomicUsize>, Arc<Mutex<usize>>);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.0.load(Ordering::Relaxed);
        if left < bytes.len() {
            *self.1.lock().unwrap() += 1;
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.0.store(left - bytes.len(), Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_output_that_fails_stops_the_rows() {
    let fields = Fields::default();
    let schema = fields.schema(&columns(), &[]);
    for room in [0, 3, 4, 2_000, 20_000] {
        let output = Full(Arc::new(AtomicUsize::new(room)), Arc::default());
        let lanes = Lanes::new(2);
        let options = ParquetOptions { group_rows: 100, ..ParquetOptions::default() };
        let file = ParquetFile::new(output.clone(), &columns(), schema.clone(), options, &lanes);
        let Ok(file) = file else { continue };
        let mut batches = Batches::new(file, &columns(), (fields, schema.clone()), 10);
        let mut written = 0;
        for number in 0..1_000_000 {
            let row = (number, number as i64, number as u32, number as u16, 0);
            let mut flow = ControlFlow::Continue(());
            cells(&row, |cells| flow = batches.row(cells));
            if flow.is_break() {
                break;
            }
            written = number;
        }
        assert!(written < 999_999, "{room}: the rows stop");
        let error = batches.take_error().unwrap().to_string();
        assert!(error.contains("no storage space"), "{error}");
        assert_eq!(*output.1.lock().unwrap(), 1, "nothing is written after an error");
    }
}
