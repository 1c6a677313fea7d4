//! A map of the latest values: its entries as rows of one structured array, and single keys.

use nanotape_latest::{LatestError, LatestReader, LatestSpec};
use nanotape_schema::{FieldType, ValueField, ValueSchema, read_value};
use nanotape_tap::states::{CopiedStocks, CopyError, StockState, WHOLE_MARKET, stock_key};
use nanotape_types::Symbol;
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::errors::{NanotapeError, ReadError};

/// The schema of the values that `nanotape run --latest` keeps.
const STOCKS: &str = include_str!("../../../../schema/stock-state.toml");

/// Name, type of numpy and place in bytes of a field, and its elements if it is an array.
type FieldOf = (String, String, usize, Option<usize>);

/// A map that is open.
#[pyclass(frozen, module = "nanotape._core")]
pub(crate) struct Latest {
    reader: LatestReader,
    name: String,
    schema: Option<ValueSchema>,
}

#[pymethods]
impl Latest {
    #[new]
    fn new(
        name: std::ffi::OsString,
        schema: Option<(std::ffi::OsString, String)>,
    ) -> PyResult<Self> {
        let shown = name.display().to_string();
        let path = nanotape_shm::named(&name);
        let path = path.map_err(|error| ReadError::Choice(error.to_string()))?;
        let failed = |error: LatestError| ReadError::Choice(format!("{shown}: {error}"));
        let reader = LatestReader::open(&path).map_err(failed)?;
        let spec = reader.spec();
        let is_of_stocks = spec.expect::<StockState<()>>().is_ok();
        let schema = match &schema {
            Some((file, text)) => Some(schema_of(&file.to_string_lossy(), text)?),
            None if is_of_stocks => Some(schema_of("schema/stock-state.toml", STOCKS)?),
            None => None,
        };
        if let Some(schema) = &schema
            && (schema.layout(), schema.words()) != (spec.value_layout, spec.value_words)
        {
            let line = "has other values than the schema, or those of another version of it";
            return Err(ReadError::Choice(format!("{shown}: {line}")).into());
        }
        Ok(Self { reader, name: shown, schema })
    }

    /// Words of a key, and of a value.
    #[getter]
    fn words(&self) -> (usize, usize) {
        let LatestSpec { key_words, value_words, .. } = self.reader.spec();
        (key_words, value_words)
    }

    /// Whether keys are a publisher and a symbol.
    #[getter]
    fn is_of_stocks(&self) -> bool {
        self.reader.spec().expect::<StockState<()>>().is_ok()
    }

    /// The fields of a value; none without a schema.
    #[getter]
    fn fields(&self) -> Vec<FieldOf> {
        self.schema.iter().flat_map(|schema| &schema.fields).map(field_of).collect()
    }

    fn __len__(&self) -> PyResult<usize> {
        self.check()?;
        Ok(usize::try_from(self.reader.len()).unwrap_or(usize::MAX))
    }

    /// Raises an error if the file of the map was removed, replaced or truncated. Two system calls,
    /// so that each read begins with them.
    fn check(&self) -> PyResult<()> {
        self.reader.region().check().map_err(|error| {
            let line = format!("{error}: no writer changes these values any more");
            NanotapeError::new_err(format!("{line}: open the map again with nanotape.latest()"))
        })
    }

    /// All entries as little-endian words: those of the key, the version, those of the value.
    fn _entries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, numpy::PyArray1<u64>>> {
        self.check()?;
        let words = py.detach(|| {
            let mut words = match self.is_of_stocks() {
                true => self.stocks(),
                false => self.all(),
            }?;
            // In place: a map can be large.
            words.iter_mut().for_each(|word| *word = word.to_le());
            Ok(words)
        });
        Ok(numpy::PyArray1::from_vec(py, words.map_err(|error| self.failed(&error))?))
    }

    /// The version and the bytes of the value of a key; None if it is not there.
    fn _get(&self, py: Python<'_>, key: Vec<u64>) -> PyResult<Option<(u32, Vec<u8>)>> {
        self.check()?;
        let LatestSpec { key_words, value_words, .. } = self.reader.spec();
        if key.len() != key_words {
            let line = format!("keys of {} have {key_words} words, not {}", self.name, key.len());
            return Err(PyValueError::new_err(line));
        }
        let found = py.detach(|| {
            let mut value = vec![0; value_words];
            let version = self.reader.get(&key, &mut value)?;
            let bytes = |version| (version, value.into_iter().flat_map(u64::to_le_bytes).collect());
            Ok::<_, LatestError>(version.map(bytes))
        });
        found.map_err(|error| self.failed(&error.into()))
    }

    /// The words of the key of a stock.
    #[staticmethod]
    fn _stock_key(publisher: u16, symbol: &str) -> PyResult<Vec<u64>> {
        let symbol: Symbol = crate::input::parsed("symbol", symbol)?;
        Ok(stock_key(publisher, symbol).to_vec())
    }
}

impl Latest {
    fn failed(&self, error: &CopyError) -> PyErr {
        NanotapeError::new_err(format!("{}: {error}", self.name))
    }

    fn all(&self) -> Result<Vec<u64>, CopyError> {
        let mut words = Vec::new();
        self.reader.for_each(|key, value, version| {
            words.extend(key);
            words.push(version.into());
            words.extend(value);
        })?;
        Ok(words)
    }

    /// The markets and their stocks, each market copied as of one number. Copied states have no
    /// version.
    fn stocks(&self) -> Result<Vec<u64>, CopyError> {
        let mut publishers = Vec::new();
        self.reader.for_each(|key, _, _| {
            if key.get(1) == Some(&u64::from_le_bytes(WHOLE_MARKET.as_bytes())) {
                publishers.extend(key.first().and_then(|of| u16::try_from(*of).ok()));
            }
        })?;
        publishers.sort_unstable();
        let mut words = Vec::new();
        for publisher in publishers {
            let CopiedStocks { market, stocks } = CopiedStocks::of(&self.reader, publisher)?;
            for (symbol, state) in [(WHOLE_MARKET, market)].into_iter().chain(stocks) {
                words.extend(stock_key(publisher, symbol));
                words.push(0);
                words.extend(state.words());
            }
        }
        Ok(words)
    }
}

fn schema_of(file: &str, text: &str) -> PyResult<ValueSchema> {
    read_value(file, text).map_err(|problems| {
        let first = problems.0.first().map(ToString::to_string).unwrap_or_default();
        PyValueError::new_err(format!("schema={file:?}: {first}"))
    })
}

fn field_of(field: &ValueField) -> FieldOf {
    let width = field.width();
    let kind = match field.kind() {
        FieldType::Alpha(_) | FieldType::Symbol | FieldType::Mpid => format!("S{width}"),
        FieldType::Signed(_) => format!("<i{width}"),
        _ => format!("<u{width}"),
    };
    (field.of.field.name.clone(), kind, field.of.field.offset, field.count)
}
