//! The rules of exchanges for a whole day, checked while the day runs through the books.
//!
//! Where: plant, next to the benchmarks. `nanotape check` prints the findings.
#![forbid(unsafe_code)]

mod checked_channels;
mod iex;
mod itch;
mod number_set;
mod pitch;
mod rule;
mod tally;
mod validator;

pub use rule::{FeedRule, Rule, Strength, rules_of};
pub use tally::Finding;
pub use validator::Validator;
