//! Values as typed and printed.

pub(crate) use nanotape_console::values::{
    bytes, bytes_text, count, counted, duration, duration_or_seconds, grouped, mode, nanos,
    nanos_text, seconds, some_duration,
};
