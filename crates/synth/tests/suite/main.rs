//! Tests of the synthetic market, one module per subject.

mod market;
mod market_rules;
mod second_feed;
