//! The plant, one module a subject.
//!
//! `no_allocation` and `publishing_allocates_nothing` are programs of their own: they have an allocator.

mod damage_campaign;
mod format_document;
#[path = "../../../testkit/place.rs"]
mod place;
mod published;
mod structures_agree;
mod synthetic_days;
