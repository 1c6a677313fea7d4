//! Tests of the library for C, one module a subject. Programs in C and C++ run beside real writers,
//! and print what readers in Rust read.

mod calls;
mod ends;
mod header;
mod plants;
mod streams;
mod support;
