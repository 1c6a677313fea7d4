//! Values of a map in columns: one for each field of a schema.

use anyhow::{anyhow, bail};
use nanotape_schema::{FieldType, Form, Literal, ValueField, ValueSchema};
use nanotape_types::{Price8, nearest, rows::Cell, units::decimal};

use crate::rows::{Column, Kind, Rows};

/// A column for each field, and for each element of an array.
pub(crate) fn columns(schema: &ValueSchema) -> Vec<Column> {
    let column = |(field, element): (&ValueField, usize)| {
        let (kind, width) = kind(field);
        Column::new(field.element_name(element), kind, width, doc(field))
    };
    elements(schema).map(column).collect()
}

/// The cells of a value; all are absent if there is none.
pub(crate) fn put(schema: &ValueSchema, rows: &mut Rows, words: Option<&[u64]>) {
    for (field, element) in elements(schema) {
        match words.map(|words| field.bits(words, element)).filter(|bits| !field.is_absent(*bits)) {
            Some(bits) => put_one(field, rows, bits),
            None => rows.absent(),
        }
    }
}

/// The words of a value of texts such as `bid=189.95`: fields as they are printed, and nothing
/// after `=` for absent. Other fields have their default, or are absent, or 0.
pub(crate) fn parse(schema: &ValueSchema, texts: &[&str]) -> anyhow::Result<Vec<u64>> {
    let mut words = schema.initial();
    let mut given: Vec<&str> = Vec::new();
    for text in texts {
        let Some((name, value)) = text.split_once('=') else {
            bail!("{text:?} is not a field and its value, expected NAME=VALUE");
        };
        let found = elements(schema).find(|(field, element)| field.element_name(*element) == name);
        let (field, element) = found.ok_or_else(|| unknown(schema, name))?;
        if given.contains(&name) {
            bail!("field {name} is given twice");
        }
        given.push(name);
        let bits = bits(field, value).map_err(|expected| {
            anyhow!("{text:?} does not fit the field: {name} must be {expected}")
        })?;
        field.set_bits(&mut words, element, bits);
    }
    Ok(words)
}

/// Each field with each of its elements.
fn elements(schema: &ValueSchema) -> impl Iterator<Item = (&ValueField, usize)> {
    let of = |field| (0..ValueField::elements(field)).map(move |element| (field, element));
    schema.fields.iter().flat_map(of)
}

fn unknown(schema: &ValueSchema, name: &str) -> anyhow::Error {
    let names: Vec<String> =
        elements(schema).map(|(field, element)| field.element_name(element)).collect();
    match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => anyhow!("{} has no field {name:?}; did you mean {near}?", schema.name),
        None => anyhow!("{} has no field {name:?}: it has {}", schema.name, names.join(", ")),
    }
}

fn doc(field: &ValueField) -> String {
    match &field.of.unit {
        Some(unit) => format!("{} Unit: {unit}.", field.of.field.doc),
        None => field.of.field.doc.clone(),
    }
}

/// What the cells are, and the characters that most of them need.
fn kind(field: &ValueField) -> (Kind, usize) {
    let digits = [3, 5, 10, 12][field.width().ilog2() as usize];
    match (field.form, field.kind()) {
        _ if !field.flags.is_empty() => (Kind::Text, 12),
        (Form::Price, _) => (Kind::Price9, 12),
        (Form::Time, _) => (Kind::UnixTime, 19),
        (Form::Number, FieldType::Signed(_)) => (Kind::I64, digits),
        (Form::Number, FieldType::Unit(scalar)) if scalar.rust == "Price4" => (Kind::Price, 10),
        (Form::Number, FieldType::Unit(scalar)) if scalar.rust == "Price8" => (Kind::F64, 14),
        (Form::Number, kind) if kind.is_text() => (Kind::Text, field.width()),
        (Form::Number, _) => (Kind::U64, digits),
    }
}

fn put_one(field: &ValueField, rows: &mut Rows, bits: u64) {
    let signed = || i64::try_from(field.number(bits)).unwrap_or(i64::MAX);
    match (field.form, field.kind()) {
        _ if !field.flags.is_empty() => rows.text(field.flags_text(bits)),
        (Form::Price, _) => rows.put(Cell::Price9(signed())),
        (Form::Time, _) => rows.put(Cell::UnixTime(bits)),
        (Form::Number, FieldType::Signed(_)) => rows.signed(signed()),
        (Form::Number, FieldType::Unit(scalar)) if scalar.rust == "Price4" => {
            rows.put(Cell::Price((bits as u32).into()));
        }
        (Form::Number, FieldType::Unit(scalar)) if scalar.rust == "Price8" => {
            rows.digits(Price8::new(bits).to_string().as_bytes());
        }
        (Form::Number, kind) if kind.is_text() => {
            let bytes = &bits.to_le_bytes()[..field.width()];
            let end = bytes.iter().rposition(|byte| !matches!(byte, 0 | b' '));
            rows.text(bytes[..end.map_or(0, |last| last + 1)].escape_ascii());
        }
        (Form::Number, _) => rows.integer(bits),
    }
}

/// The bits of a field from its text, or what it must be.
fn bits(field: &ValueField, text: &str) -> Result<u64, String> {
    let is_text = field.kind().is_text();
    if !field.flags.is_empty() && whole(text).is_none() {
        let names = || format!("some of {}, with plus signs between them", field.flags.join(", "));
        return field.flags_of(text).map_err(|_| names());
    }
    if text.is_empty() && !is_text {
        return field.absent_bits().ok_or_else(|| "a number: no value of it means absent".into());
    }
    let scale = match (field.form, field.kind()) {
        (Form::Price, _) => Some(1_000_000_000),
        (Form::Number, FieldType::Unit(scalar)) if scalar.rust == "Price4" => Some(10_000),
        (Form::Number, FieldType::Unit(scalar)) if scalar.rust == "Price8" => Some(100_000_000),
        _ => None,
    };
    let value = match scale {
        _ if is_text => Literal::Text(text.to_owned()),
        Some(scale) => {
            let units = decimal(text, scale).ok_or("a price such as 189.95")?;
            Literal::Number(units.into())
        }
        None => Literal::Number(whole(text).ok_or("a whole number")?),
    };
    field.checked(&value)
}

/// A whole number, in decimal digits or, after 0x, in hexadecimal ones.
fn whole(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(i128::from),
        None => text.parse().ok(),
    }
}
