//! Tests of sources of days, one module per subject.

mod damaged_days;
mod sources;
mod support;
