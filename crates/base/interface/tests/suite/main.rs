//! Tests of interfaces, one module per subject, on two versions of an interface for tests.

mod calls;
mod document;
mod evolution;
mod generated;
mod hostile;
mod naive;
mod streams;
