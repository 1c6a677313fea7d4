//! Why a GPU does not answer. Each is one line: what, on which device, and what to do.

use thiserror::Error;

use crate::SettingsError;

/// Why a GPU does not answer.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum GpuError {
    /// The driver is not installed.
    #[error(
        "no GPU: libcuda.so.1 was not found; install the driver of the GPU, or compute without it"
    )]
    NoDriver,
    /// The driver is older than the kernels.
    #[error(
        "no GPU: the driver is for CUDA {major}.{minor}; install one for CUDA 12.0 or newer, or \
         compute without it"
    )]
    OldDriver {
        /// Major version of CUDA that the driver is for.
        major: i32,
        /// Minor version.
        minor: i32,
    },
    /// The library of Fourier transforms is not installed.
    #[error(
        "no GPU: libcufft.so was not found; install cuFFT of CUDA 12 or 13, or name its folder in \
         LD_LIBRARY_PATH"
    )]
    NoTransforms,
    /// The driver sees no device.
    #[error("no GPU: the driver lists no device; compute without it")]
    NoDevice,
    /// There are fewer devices.
    #[error("no GPU {chosen}: the driver lists {count}, counted from 0")]
    NoSuchDevice {
        /// The number of the device that does not exist.
        chosen: usize,
        /// How many there are.
        count: usize,
    },
    /// The settings cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Device memory does not suffice.
    #[error(
        "{device}: {doing} needs {needed_bytes} bytes of device memory, {allowed_bytes} are allowed \
         and free; allow more, or choose shorter windows"
    )]
    Memory {
        /// Number and name of the device.
        device: String,
        /// What was being done.
        doing: &'static str,
        /// What it needs.
        needed_bytes: u64,
        /// The smaller of the limit and what is free.
        allowed_bytes: u64,
    },
    /// A call failed: the device has vanished, is broken, or ran out of memory nevertheless.
    #[error("{device}: {doing} failed: {cause}; compute without it, or restart the program")]
    Failed {
        /// Number and name of the device.
        device: String,
        /// What was being done.
        doing: &'static str,
        /// What the library says.
        cause: String,
    },
    /// A device answers otherwise than the CPU.
    #[error("{device}: {found} is its answer, {expected} that of the CPU; do not use it")]
    Differs {
        /// Number and name of the device.
        device: String,
        /// What the device says.
        found: String,
        /// What the CPU says.
        expected: String,
    },
    /// Work was left after all devices had failed, and there was no core to take over.
    #[error("no core takes over from the devices that failed; the first: {first}")]
    NoneLeft {
        /// The first failure.
        first: Box<GpuError>,
    },
}
