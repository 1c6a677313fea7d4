//! Tests of the wire formats, one module per subject.

mod captures;
mod first_message;
mod golden;
mod layout;
mod parcels;
mod properties;
mod tables;
mod vectors;
