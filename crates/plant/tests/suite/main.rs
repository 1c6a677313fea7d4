//! The plant, one module a subject.
//!
//! `no_allocation` is a program of its own: it has an allocator of its own.

mod damage_campaign;
mod format_document;
mod published;
mod structures_agree;
mod synthetic_days;
