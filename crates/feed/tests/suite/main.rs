//! Sources of days, one module a subject.

mod damaged_days;
mod sources;
mod support;
