//! The clock that measurements read, with its own cost.
