//! The exchange's rules for a whole day, checked while the day runs through the books.
//!
//! Where: plant, next to the benchmarks. `nanotape check` prints the findings.
#![forbid(unsafe_code)]

mod number_set;
mod validator;

pub use validator::{Finding, Rule, Strength, Validator};
