//! A plant and its subscribers, in one process: the records agree with the events.

mod boards;
mod books;
mod dbn_file;
mod files;
mod following;
mod healing;
mod hostile;
mod mapping;
mod messages;
mod properties;
mod reading_spans;
mod recorded_names;
mod recording;
mod restarts;
mod spans;
mod states;
mod support;
mod tape;
