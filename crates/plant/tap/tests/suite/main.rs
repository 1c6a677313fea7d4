//! Tests of the plant, one module a subject.
//!
//! `no_allocation` is a separate program, since it has its own allocator.

mod damage_campaign;
mod format_document;
mod merges;
mod published;
mod same_market;
mod structures_agree;
mod synthetic_days;
