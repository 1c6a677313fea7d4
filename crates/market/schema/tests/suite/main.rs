//! Tests of the schema compiler, one module per subject.

mod mistakes;
mod newcomer;
