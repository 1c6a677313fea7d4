//! Tests of sources of days, one module per subject.

mod capture_surveys;
mod captures;
mod captures_as_files;
mod damaged_days;
mod recognised;
mod session;
mod soupbintcp;
mod sources;
mod support;
mod udp;
