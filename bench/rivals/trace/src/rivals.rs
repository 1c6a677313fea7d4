//! The compiled programs: a file for each.

#[cfg(feature = "fastrace")]
mod fastrace;
mod nanotape;
#[cfg(feature = "tracing")]
mod tracing;

use rivals_measure::Failure;

use crate::loops::Spans;

/// The name of every span.
pub(crate) const NAME: &str = "bench.stage";

type Make = fn() -> Result<Box<dyn Spans>, Failure>;

pub(crate) const ALL: &[(&str, Make)] = &[
    ("stamp", || Ok(Box::new(nanotape::Stamps::new()))),
    ("nanotape", || nanotape::Nanotape::boxed(true)),
    ("nanotape-off", || nanotape::Nanotape::boxed(false)),
    #[cfg(feature = "fastrace")]
    ("fastrace", || fastrace::Fastrace::boxed(fastrace::What::Number)),
    #[cfg(feature = "fastrace")]
    ("fastrace-name", || fastrace::Fastrace::boxed(fastrace::What::Name)),
    #[cfg(feature = "fastrace")]
    ("fastrace-off", || fastrace::Fastrace::boxed(fastrace::What::Off)),
    #[cfg(feature = "tracing")]
    ("tracing", || tracing::Tracing::boxed(true)),
    #[cfg(feature = "tracing")]
    ("tracing-off", || tracing::Tracing::boxed(false)),
];
