//! Wires the stages together: a day in, books and their changes out.
