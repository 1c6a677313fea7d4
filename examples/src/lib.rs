//! The examples of the crates' READMEs and of guides, compiled and run as documentation tests.
//!
//! This crate contains nothing else.
#![forbid(unsafe_code)]

#[cfg(doctest)]
macro_rules! readmes {
    ($($name:ident)*) => {$(
        #[doc = include_str!(concat!("../../crates/", stringify!($name), "/README.md"))]
        mod $name {}
    )*};
}

#[cfg(doctest)]
readmes!(types shm clock tape market wire feed book ring journal trace logging report lab machine synth testkit records plant
    nanotape console check bench cli);

#[cfg(doctest)]
#[doc = include_str!("../../docs/rust.md")]
mod rust {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/BENCHMARKING.md")]
mod benchmarking {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/jitter.md")]
mod jitter {}
