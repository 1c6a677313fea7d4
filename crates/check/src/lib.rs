//! The rules of the exchange for a whole day, checked while the day runs through the books.
//!
//! Where: layer 5, beside the benchmarks. `nanotape check` prints its findings.
#![forbid(unsafe_code)]

mod number_set;
mod validator;

pub use validator::{Finding, Rule, Strength, Validator};
