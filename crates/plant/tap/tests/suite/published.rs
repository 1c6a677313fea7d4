//! A plant and its subscribers, in one process: the records agree with the events.

mod boards;
mod books;
mod clears_and_modifies;
mod dbn_file;
mod faulty_snapshots;
mod files;
mod following;
mod gaps;
mod healing;
mod hostile;
mod latest;
mod levels;
mod mapping;
mod messages;
mod pair;
mod properties;
mod reading_spans;
mod recorded_names;
mod recording;
mod restarts;
mod spans;
mod states;
mod support;
mod tape;
