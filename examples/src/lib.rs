//! The examples in the READMEs of the crates, compiled and run as documentation tests.
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
readmes!(types shm clock wire feed book trace testkit plant cli);
