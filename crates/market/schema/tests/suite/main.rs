//! Tests of the schema compiler, one module per subject.

mod interfaces;
mod mistakes;
mod newcomer;
mod values;
