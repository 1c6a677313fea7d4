//! The rows of a second file that is measured in the same rounds, and how the first one compares.

use nanotape_console::values::grouped;

use super::Book;
use crate::engine::{Measured, Row, Run};

/// The section of these rows, and the first part of their names.
pub(super) const BESIDE: &str = "beside";

/// Whether a row is one of the second file.
pub(super) fn is_beside(row: &Row<Book>) -> bool {
    row.section.name == BESIDE
}

/// The line above them.
pub(super) fn title(run: &Run<Book>) -> String {
    let day = &run.options.second;
    format!(
        "Beside: {}, {} messages, {:.1} MB, ns a message",
        day.path().display(),
        grouped(day.messages),
        day.bytes as f64 / 1e6,
    )
}

/// The time of the first file for a message, divided by that of the second one in the same row.
pub(super) fn file_to_beside(row: &Measured<Book>, run: &Run<Book>) -> Option<f64> {
    let name = row.row.name.strip_prefix(BESIDE)?.strip_prefix('/')?;
    run.find(name)?.quotient(row)
}

/// The same for a byte of their messages.
pub(super) fn file_to_beside_per_byte(row: &Measured<Book>, run: &Run<Book>) -> Option<f64> {
    let [first, second] = [&run.options.day, &run.options.second].map(|day| day.message_bytes());
    Some(file_to_beside(row, run)? * second? / first?)
}
