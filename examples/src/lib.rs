//! The examples of the crates' READMEs and of guides, compiled and run as documentation tests.
//!
//! This crate contains nothing else.
#![forbid(unsafe_code)]

#[cfg(doctest)]
macro_rules! readmes {
    ($($floor:ident: $($name:ident)*;)*) => {$(
        mod $floor {
            $(
                #[doc = include_str!(concat!(
                    "../../crates/", stringify!($floor), "/", stringify!($name), "/README.md"
                ))]
                mod $name {}
            )*
        }
    )*};
}

#[cfg(doctest)]
readmes! {
    base: types host shm clock tape interface console;
    market: wire market feed book records;
    store: ring journal link aeron replication logging trace;
    plant: engine board live plant tap check;
    play: synth testkit;
    lab: report lab queue machine bench;
    programs: nanotape cli;
}

#[cfg(doctest)]
#[doc = include_str!("../../docs/rust.md")]
mod rust {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/BENCHMARKING.md")]
mod benchmarking {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/jitter.md")]
mod jitter {}
