//! Reads protocol schemas and writes the code, documents and test material derived from them.
