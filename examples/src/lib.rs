//! The examples in the READMEs of the crates and in the benchmarking guide, compiled and run as
//! documentation tests.
//!
//! Nothing is here outside of those tests.
#![forbid(unsafe_code)]

#[cfg(doctest)]
macro_rules! readmes {
    ($($name:ident)*) => {$(
        #[doc = include_str!(concat!("../../crates/", stringify!($name), "/README.md"))]
        mod $name {}
    )*};
}

#[cfg(doctest)]
readmes!(types shm clock wire feed book ring trace lab testkit plant bench cli);

#[cfg(doctest)]
#[doc = include_str!("../../docs/BENCHMARKING.md")]
mod benchmarking {}
