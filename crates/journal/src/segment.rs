//! One segment: its layout, its header and index, its excerpts; words and nothing of files.

pub(crate) mod excerpt;
pub(crate) mod header;
pub(crate) mod index;
pub(crate) mod layout;
pub(crate) mod view;
pub(crate) mod writer;
