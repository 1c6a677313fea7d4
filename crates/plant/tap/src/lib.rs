//! Reads a plant from another process: a [`Subscription`] to its ring or journal, its
//! [`Recorder`], a [`Mirror`] of either, a [keeper](LatestKeeper) of the newest [states], an
//! [`Audit`] of the journal beside the ring, [DBN files](DbnFile) of what was read, and a
//! [merge](TimeMerge) of several sources by time.
//!
//! Where: after a plant, in any number of processes. A plant does no work for a reader.
#![forbid(unsafe_code)]

mod audit;
mod dbn_file;
mod keeper;
mod merge;
mod mirror;
mod recorder;
mod spans;
pub mod states;
mod subscribe;
mod symbols;

pub use audit::{Audit, AuditDifference, AuditReport};
pub use dbn_file::{DbnFile, MergedNames, NextFile};
pub use keeper::{
    LatestKeeper, LatestKeeperError, LatestKeeperEvent, LatestKeeperOptions, LatestKeeperSummary,
};
pub use merge::{
    LateItems, MergeBy, MergeStep, Merged, MergedInstruments, MergedSource, MergedSources,
    SourceEnd, StoredEvent, TimeMerge, TooManyInstruments,
};
pub use mirror::{Mirror, MirrorError, MirrorEvent, MirrorMismatch, MirrorOptions, MirrorSummary};
pub use recorder::{
    NotShown, OriginMismatch, Recorder, RecorderError, RecorderEvent, RecorderOptions,
    RecorderSummary, open_when_free,
};
pub use subscribe::{
    Delivery, Event, Handover, Opening, ReceivedEnd, ReceivedRing, SubscribeError, Subscriber,
    Subscription, has_journal,
};
