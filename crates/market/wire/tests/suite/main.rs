//! Tests of the wire formats, one module per subject.

mod captures;
mod first_message;
mod golden;
mod golden_exchanges;
mod layout;
mod parcels;
mod properties;
mod specifications;
mod tables;
mod vectors;
