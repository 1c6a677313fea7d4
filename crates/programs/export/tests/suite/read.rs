//! Reads a Parquet file as rows of texts, as the commands print them.

use std::{collections::HashMap, fs::File};

use arrow_array::{
    Array, BooleanArray, DictionaryArray, Int64Array, StringArray, TimestampNanosecondArray,
    UInt64Array, types::Int32Type,
};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// A table that was read.
pub(crate) struct Read {
    pub(crate) names: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) metadata: HashMap<String, String>,
    pub(crate) groups: usize,
}

impl Read {
    /// The table in a file. Times are in ns since 1970, absent values are empty.
    pub(crate) fn of(path: &str) -> Self {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        let entries = reader.metadata().file_metadata().key_value_metadata().unwrap().iter();
        let metadata =
            entries.map(|entry| (entry.key.clone(), entry.value.clone().unwrap_or_default()));
        let metadata = metadata.collect();
        let groups = reader.metadata().num_row_groups();
        let names = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
        let mut rows = Vec::new();
        for batch in reader.build().unwrap() {
            let batch = batch.unwrap();
            let of_row =
                |row| batch.columns().iter().map(move |column| text(column, row)).collect();
            rows.extend((0..batch.num_rows()).map(of_row));
        }
        Self { names, rows, metadata, groups }
    }

    /// The places of columns.
    pub(crate) fn places(&self, names: &[&str]) -> Vec<usize> {
        let place = |name: &&str| self.names.iter().position(|other| other == name);
        names.iter().map(|name| place(name).unwrap_or_else(|| panic!("no column {name}"))).collect()
    }

    /// The rows with these columns only.
    pub(crate) fn columns(&self, names: &[&str]) -> Vec<Vec<String>> {
        let places = self.places(names);
        let of_row = |row: &Vec<String>| places.iter().map(|&place| row[place].clone()).collect();
        self.rows.iter().map(of_row).collect()
    }
}

fn text(array: &dyn Array, row: usize) -> String {
    fn of<T: 'static>(array: &dyn Array) -> &T {
        array.as_any().downcast_ref().unwrap()
    }
    if array.is_null(row) {
        return String::new();
    }
    match array.data_type() {
        DataType::UInt64 => of::<UInt64Array>(array).value(row).to_string(),
        DataType::Int64 => decimal(of::<Int64Array>(array).value(row)),
        DataType::Timestamp(..) => of::<TimestampNanosecondArray>(array).value(row).to_string(),
        DataType::Boolean => of::<BooleanArray>(array).value(row).to_string(),
        DataType::Dictionary(..) => {
            let words = of::<DictionaryArray<Int32Type>>(array);
            let key = words.keys().value(row) as usize;
            of::<StringArray>(words.values().as_ref()).value(key).to_owned()
        }
        other => panic!("{other}"),
    }
}

/// A price in units of 1e-9 with four decimals, or as many as it needs.
fn decimal(price: i64) -> String {
    let text = format!("{}.{:09}", price / 1_000_000_000, price % 1_000_000_000);
    let zeros = text.bytes().rev().take(5).take_while(|&digit| digit == b'0').count();
    text[..text.len() - zeros].to_owned()
}
