//! Generated views and encoders of exchange messages, and the framings that carry them.
