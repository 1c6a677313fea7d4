//! Values of tracing events, encoded one after the other.

use std::{error::Error, fmt};

use tracing_core::field::{Field, Visit};

use crate::{encode::ValueWriter, layout::tag};

/// Encodes values.
pub(super) struct Visitor<'buffer>(ValueWriter<'buffer>);

impl<'buffer> Visitor<'buffer> {
    /// Appends to `buffer` until it has `end` bytes.
    pub(super) fn new(buffer: &'buffer mut Vec<u8>, end: usize) -> Self {
        Self(ValueWriter::new(buffer, end))
    }

    pub(super) fn finish(self) {
        self.0.finish();
    }
}

impl Visit for Visitor<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.fixed(field.index(), tag::F64, value.to_le_bytes());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.fixed(field.index(), tag::I64, value.to_le_bytes());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.fixed(field.index(), tag::U64, value.to_le_bytes());
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.0.fixed(field.index(), tag::I128, value.to_le_bytes());
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.0.fixed(field.index(), tag::U128, value.to_le_bytes());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.fixed(field.index(), tag::BOOL, [u8::from(value)]);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.text(field.index(), value);
    }

    fn record_bytes(&mut self, field: &Field, value: &[u8]) {
        self.0.bytes(field.index(), value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.0.error(field.index(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.debug(field.index(), value);
    }
}
