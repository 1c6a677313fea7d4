//! One segment: layout, header, index and excerpts. Works on words, not on files.

pub(crate) mod excerpt;
pub(crate) mod header;
pub(crate) mod index;
pub(crate) mod layout;
pub(crate) mod view;
pub(crate) mod writer;
