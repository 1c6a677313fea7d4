//! The devices of this machine, or the reason why there are none.

use std::{fmt, sync::Arc};

use cudarc::driver::{CudaContext, DriverError, result, sys::CUresult};

use super::{
    GpuError,
    launch::{self, Kernels},
    shape::Room,
};

/// The version of CUDA, times 1,000, from which on the driver has all functions that are called.
const LEAST_DRIVER: i32 = 12_000;

/// A GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GpuDevice {
    /// Its number, from 0, in the order of the driver.
    pub index: usize,
    /// What its vendor calls it.
    pub name: String,
    /// Its memory, in bytes.
    pub memory_bytes: usize,
    /// Its second-level cache, in bytes.
    pub cache_bytes: usize,
    /// Its compute capability: major and minor version.
    pub compute: (i32, i32),
}

impl GpuDevice {
    /// All devices. It loads the driver, and keeps it loaded.
    ///
    /// # Errors
    ///
    /// What is missing, if the machine has no GPU that can be used.
    pub fn all() -> Result<Vec<Self>, GpuError> {
        (0..count()?).map(Self::of).collect()
    }

    fn of(index: usize) -> Result<Self, GpuError> {
        let unnamed = format!("GPU {index}");
        let named = result::device::get(index as i32).and_then(|device| {
            let name = result::device::get_name(device)?;
            let facts = launch::facts(device)?;
            Ok(Self {
                index,
                name,
                memory_bytes: facts.memory_bytes,
                cache_bytes: facts.cache_bytes,
                compute: facts.compute,
            })
        });
        named.map_err(launch::failed(&unnamed, "describing it"))
    }

    /// Loads the kernels into a device.
    pub(super) fn open(index: usize) -> Result<(Kernels, Room), GpuError> {
        let count = count()?;
        if index >= count {
            return Err(GpuError::NoSuchDevice { chosen: index, count });
        }
        if !launch::has_transforms() {
            return Err(GpuError::NoTransforms);
        }
        let device = Self::of(index)?;
        let label = device.to_string();
        let failed = |doing| launch::failed(&label, doing);
        let context: Arc<CudaContext> = CudaContext::new(index).map_err(failed("opening"))?;
        let (free_bytes, _) = context.mem_get_info().map_err(failed("opening"))?;
        let kernels = Kernels::load(context, label.clone())?;
        Ok((kernels, Room { name: label, free_bytes, cache_bytes: device.cache_bytes }))
    }
}

impl fmt::Display for GpuDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GPU {} ({})", self.index, self.name)
    }
}

/// How many devices there are; at least one.
fn count() -> Result<usize, GpuError> {
    let version = launch::driver_version().ok_or(GpuError::NoDriver)?;
    if version < LEAST_DRIVER {
        return Err(GpuError::OldDriver { major: version / 1_000, minor: version % 1_000 / 10 });
    }
    let counted = result::init().and_then(|()| result::device::get_count());
    match counted {
        Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) | Ok(0) => Err(GpuError::NoDevice),
        Ok(count) => Ok(usize::try_from(count).unwrap_or(0)),
        Err(error) => Err(launch::failed("the driver", "starting")(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_gpu_says_so_in_one_line() {
        let Err(error) = GpuDevice::all() else { return };
        let text = error.to_string();
        assert!(text.starts_with("no GPU: ") && !text.contains('\n'), "{text}");
        assert_eq!(GpuDevice::open(0).expect_err("as before"), error);
    }
}
