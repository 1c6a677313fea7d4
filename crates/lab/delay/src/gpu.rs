//! Cross-correlation on NVIDIA GPUs, with libraries that are found at run time or not at all.
//!
//! The host sends changes, not samples: they are far fewer. The device samples them ([`cells`]
//! makes what it needs), transforms both feeds of a job at once as the real and imaginary part of
//! one series, multiplies the spectra, transforms back, and reduces each correlation to five
//! numbers. The host turns these into an estimate with the rules of the estimator on the CPU.
//!
//! ```text
//! Job --cells--> Words --copy--> sample -> cuFFT -> multiply -> cuFFT -> peak --copy--> answer
//! host           pinned          device, two lanes, so that copies and kernels overlap  host
//! ```
//!
//! The kernels are compiled beforehand (`kernels.ptx`, from `kernels.cu`): a machine needs the
//! driver and cuFFT, and no compiler (docs/decisions/0052-kernels-are-compiled-beforehand.md). All
//! unsafe code is in [`launch`].

mod cells;
mod device;
mod error;
mod launch;
mod rows;
mod shape;
mod share;
mod words;
mod xcorr;

#[cfg(test)]
mod emulated;

pub use device::GpuDevice;
pub use error::GpuError;
pub use rows::{GpuRow, GpuRows};
pub use shape::GpuLimits;
pub use share::{Answer, BatchEstimator, Fallback, Shares, share};
pub use xcorr::GpuXcorr;
