//! Keys and values as text: words as numbers, keys of symbols as letters, and values of a schema
//! by field.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use nanotape_latest::{LatestSpec, pack_bytes, pack_text, unpack_bytes};
use nanotape_schema::ValueSchema;
use nanotape_tap::states::{StockState, stock_key};
use nanotape_types::Symbol;

use crate::{
    rows::{Column, Kind, Rows},
    value_rows, value_schemas,
};

/// How keys are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum KeyForm {
    /// A number for each word, with commas between them
    Words,
    /// Letters, as many as the key has bytes, and zero bytes after them
    Text,
    /// A byte string: a word with its length, and its letters
    Bytes,
    /// A symbol, after a publisher as DBN numbers it and a comma if that is not 2: AAPL; the
    /// market as a whole is the symbol *
    Stock,
}

#[derive(Args, Debug)]
pub(super) struct KeyArguments {
    /// How keys are written: 7 or 0x7, and 7,8 for two words; or letters, with or without a length
    /// [default: words, or stock for the newest states of a plant]
    #[arg(long, value_name = "FORM", value_enum)]
    keys: Option<KeyForm>,
}

#[derive(Args, Debug)]
pub(super) struct EntryArguments {
    #[command(flatten)]
    pub(super) keys: KeyArguments,

    /// Schema of the values, of the version that the map has: fields have their names
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
}

impl EntryArguments {
    /// The schema in the file, if one is given.
    pub(super) fn given(&self) -> anyhow::Result<Option<ValueSchema>> {
        self.schema.as_deref().map(value_schemas::of_file).transpose()
    }

    /// How the entries of a map are written: with the schema that is given, or one in this program.
    pub(super) fn of(&self, map: &Path, spec: LatestSpec) -> anyhow::Result<Entries> {
        let schema = match self.given()? {
            Some(schema) => Some(schema),
            None => value_schemas::of_layout(spec.value_layout)?,
        };
        if let Some(schema) = &schema {
            value_schemas::require(schema, map, spec)?;
        }
        Ok(Entries { form: self.keys.form(spec), schema })
    }
}

/// How the entries of a map are written.
pub(super) struct Entries {
    form: KeyForm,
    schema: Option<ValueSchema>,
}

/// A word, in decimal or hexadecimal digits.
fn word(text: &str) -> anyhow::Result<u64> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    match parsed {
        Ok(word) => Ok(word),
        Err(_) => {
            bail!("{text:?} is not a word: a number from 0 to 2^64 - 1, or 0x and its digits")
        }
    }
}

impl KeyArguments {
    /// How keys of this map are written.
    fn form(&self, spec: LatestSpec) -> KeyForm {
        let is_of_stocks = spec.expect::<StockState<()>>().is_ok();
        let form = if is_of_stocks { KeyForm::Stock } else { KeyForm::Words };
        self.keys.unwrap_or(form)
    }

    /// The words of a key.
    pub(super) fn parse(&self, text: &str, spec: LatestSpec) -> anyhow::Result<Vec<u64>> {
        self.form(spec).parse(text, spec.key_words)
    }
}

impl KeyForm {
    fn parse(self, text: &str, key_words: usize) -> anyhow::Result<Vec<u64>> {
        if self == Self::Stock {
            let (publisher, symbol) = text.split_once(',').unwrap_or(("2", text));
            let publisher = u16::try_from(word(publisher)?)
                .map_err(|_| anyhow!("publisher {publisher}: expected 0 to 65535"))?;
            let symbol = symbol.parse::<Symbol>();
            let symbol = symbol.map_err(|error| anyhow!("key '{text}': {error}"))?;
            let key = stock_key(publisher, symbol);
            if key.len() != key_words {
                bail!("keys of this map have {key_words} words: they are not those of stocks");
            }
            return Ok(key.into());
        }
        if self == Self::Text {
            let mut words = vec![0; key_words];
            if !pack_text(text.as_bytes(), &mut words) {
                let most = 8 * key_words;
                bail!("key {text:?} has {} bytes, and keys of this map have {most}", text.len());
            }
            return Ok(words);
        }
        if self == Self::Bytes {
            let mut words = vec![0; key_words];
            if !pack_bytes(text.as_bytes(), &mut words) {
                let most = 8 * (key_words - 1);
                bail!("key {text:?} has {} bytes, and byte strings of this map {most}", text.len());
            }
            return Ok(words);
        }
        let words: Vec<u64> = text.split(',').map(word).collect::<Result<_, _>>()?;
        if words.len() != key_words {
            bail!("key {text:?} has {} words, and keys of this map have {key_words}", words.len());
        }
        Ok(words)
    }
}

impl Entries {
    /// The columns of a table of entries.
    pub(super) fn columns(&self, spec: LatestSpec) -> Vec<Column> {
        let mut columns = match self.form {
            KeyForm::Stock => vec![
                Column::new("publisher", Kind::U64, 9, "The publisher as DBN numbers it."),
                Column::new("symbol", Kind::Text, 8, "The symbol; * is the market as a whole."),
            ],
            KeyForm::Text | KeyForm::Bytes => vec![Column::new("key", Kind::Text, 16, "The key.")],
            KeyForm::Words => words("key", spec.key_words, "of the key"),
        };
        let version =
            "How often the value was set: 1 for a new key. Absent if the key is not there.";
        columns.push(Column::new("version", Kind::U64, 10, version));
        match &self.schema {
            Some(schema) => columns.extend(value_rows::columns(schema)),
            None => columns.extend(words("value", spec.value_words, "of the value")),
        }
        columns
    }

    /// A row of it; without a version, the key is not there.
    pub(super) fn row(
        &self,
        rows: &mut Rows,
        key: &[u64],
        version: Option<u32>,
        value: &[u64],
    ) -> std::io::Result<()> {
        match self.form {
            KeyForm::Stock => {
                rows.integer(key[0]);
                let letters = key.get(1).copied().unwrap_or_default().to_le_bytes();
                rows.text(letters.trim_ascii_end().escape_ascii());
            }
            KeyForm::Words => key.iter().for_each(|word| rows.integer(*word)),
            KeyForm::Text => {
                let bytes: Vec<u8> = key.iter().flat_map(|word| word.to_le_bytes()).collect();
                let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                rows.text(bytes[..end].escape_ascii());
            }
            KeyForm::Bytes => {
                let mut buffer = vec![0; 8 * key.len()];
                match unpack_bytes(key, &mut buffer) {
                    Some(bytes) => rows.text(bytes.escape_ascii()),
                    None => rows.text(format_args!("{key:x?} is no byte string")),
                }
            }
        }
        rows.integer_or_absent(version.map(u64::from));
        match &self.schema {
            Some(schema) => value_rows::put(schema, rows, version.map(|_| value)),
            None => {
                value.iter().for_each(|word| rows.integer_or_absent(version.map(|_| *word)));
            }
        }
        rows.end_row()
    }

    /// The words of a value: all of them as numbers, or the fields of a schema by name.
    pub(super) fn value(&self, texts: &[&str], value_words: usize) -> anyhow::Result<Vec<u64>> {
        match (texts.iter().find(|text| text.contains('=')), &self.schema) {
            (Some(_), Some(schema)) => return value_rows::parse(schema, texts),
            (Some(text), None) => {
                bail!("{text:?} is a field by name, which needs the schema: --schema FILE")
            }
            (None, _) => {}
        }
        let value: Vec<u64> = texts.iter().map(|text| word(text)).collect::<Result<_, _>>()?;
        if value.len() != value_words {
            bail!("a value of {} words, and values of this map have {value_words}", value.len());
        }
        Ok(value)
    }
}

/// A column for each word; with a number if there are several.
fn words(name: &str, count: usize, of: &str) -> Vec<Column> {
    let column = |word: usize| {
        let name = if count == 1 { name.to_owned() } else { format!("{name}_{word}") };
        Column::new(name, Kind::U64, 12, format!("Word {word} {of}."))
    };
    (0..count).map(column).collect()
}
