//! Tests of the schema compiler, one module per subject.

mod compared;
mod descriptions;
mod growing;
mod imported;
mod interfaces;
mod mistakes;
mod newcomer;
mod values;
