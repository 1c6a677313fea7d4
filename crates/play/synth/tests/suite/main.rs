//! Tests of the synthetic market, one module per subject.

mod leads;
mod market;
mod market_rules;
mod protocols;
mod quote_day;
mod second_feed;
