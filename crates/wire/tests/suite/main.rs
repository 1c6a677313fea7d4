//! The wire formats, one module a subject.

mod golden;
mod layout;
mod properties;
mod tables;
mod vectors;
