//! The columns of rows as the fields of an Arrow schema.
//!
//! Kind, unit and meaning of a column are in the metadata of its field. A time is a timestamp in
//! ns, UTC: events that are 1 ns apart stay apart.

use std::{collections::HashMap, sync::Arc};

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use nanotape_types::rows::{Column, Kind};

/// The form of prices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Prices {
    /// Whole numbers in units of 1e-9, as in DBN; the metadata of the field has the scale.
    #[default]
    Fixed,
    /// Decimals of 18 digits, 9 of them after the point.
    Decimal,
    /// Floating point. Units of 0.0001 below 10^11 come back exactly when they are rounded.
    Float,
}

/// How columns become fields.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fields {
    /// The form of prices.
    pub prices: Prices,
    /// The exchange's midnight, in ns since the UNIX epoch.
    pub midnight_ns: u64,
}

/// The type of a time.
pub(crate) fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
}

/// The type of a text: most columns have few different ones.
pub(crate) fn dictionary() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// The name of a column in tables: the time of day of a row is a time of the world there.
pub fn field_name(column: &Column) -> &str {
    if column.name == "ts_ns" { "ts_event" } else { &column.name }
}

/// The name of a kind; a time of day becomes a time.
fn name_of(kind: Kind) -> &'static str {
    if kind == Kind::Time { Kind::UnixTime.name() } else { kind.name() }
}

impl Fields {
    /// The schema of a table, with entries of its own metadata.
    pub fn schema(&self, columns: &[Column], metadata: &[(String, String)]) -> SchemaRef {
        let fields: Vec<_> = columns.iter().map(|column| self.field(column)).collect();
        let metadata: HashMap<_, _> = metadata.iter().cloned().collect();
        Arc::new(Schema::new_with_metadata(fields, metadata))
    }

    fn field(&self, column: &Column) -> Field {
        let kind = self.kind(column.kind);
        let mut metadata = HashMap::from([
            ("kind".to_owned(), name_of(column.kind).to_owned()),
            ("doc".to_owned(), column.doc.to_string()),
        ]);
        if !column.unit.is_empty() {
            let is_time = matches!(column.kind, Kind::Time | Kind::UnixTime);
            let unit = if is_time { "ns since 1970, UTC" } else { column.unit };
            metadata.insert("unit".to_owned(), unit.to_owned());
        }
        if matches!(column.kind, Kind::Price | Kind::Price9) && self.prices == Prices::Fixed {
            metadata.insert("scale".to_owned(), "9".to_owned());
        }
        Field::new(field_name(column), kind, true).with_metadata(metadata)
    }

    fn kind(&self, kind: Kind) -> DataType {
        match kind {
            Kind::U64 => DataType::UInt64,
            Kind::I64 => DataType::Int64,
            Kind::F64 => DataType::Float64,
            Kind::Price | Kind::Price9 => match self.prices {
                Prices::Fixed => DataType::Int64,
                Prices::Decimal => DataType::Decimal128(18, 9),
                Prices::Float => DataType::Float64,
            },
            Kind::Time | Kind::UnixTime => timestamp(),
            Kind::Text => dictionary(),
            Kind::Flag => DataType::Boolean,
        }
    }
}
