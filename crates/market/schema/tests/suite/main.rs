//! Tests of the schema compiler, one module per subject.

mod growing;
mod interfaces;
mod mistakes;
mod newcomer;
mod values;
