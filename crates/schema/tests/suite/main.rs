//! The schema compiler, one module a subject.

mod mistakes;
mod newcomer;
