//! The synthetic market, one module a subject.

mod market;
mod market_rules;
