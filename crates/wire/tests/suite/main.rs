//! Tests of the wire formats, one module per subject.

mod captures;
mod golden;
mod layout;
mod properties;
mod tables;
mod vectors;
