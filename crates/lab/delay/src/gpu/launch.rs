//! All calls that the language cannot check: loading libraries, pinned memory, transforms, kernels.
//!
//! A [`Lane`] owns a stream and every buffer that work on this stream uses, so that the order of
//! the stream is the only order that is needed. Its host buffers are given out only while nothing
//! is in flight. `cudarc` panics where a library is missing: [`driver_version`] and
//! [`has_transforms`] come before every other call.
#![allow(unsafe_code)]

use std::{fmt, sync::Arc};

use cudarc::{
    cufft,
    driver::{
        self, CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig,
        PinnedHostSlice, PushKernelArg,
        sys::{CUdevice, CUdevice_attribute, CUresult},
    },
    nvrtc::Ptx,
};

use super::{
    GpuError,
    shape::{PEAK_WORDS, Shape},
    words::Words,
};

/// Compiled by `scripts/gpu/kernels`.
pub(super) const PTX: &str = include_str!("kernels.ptx");

/// Threads of a block: `THREADS` and `SEARCH_THREADS` in kernels.cu.
const THREADS: u32 = 256;
const SEARCH_THREADS: u32 = 1_024;

/// The version of CUDA that the driver is for, times 1,000, as in 12080; `None` without a driver.
pub(super) fn driver_version() -> Option<i32> {
    // SAFETY: it only opens and closes libraries named libcuda, whose constructors are those of the
    // installed driver.
    if !unsafe { driver::sys::is_culib_present() } {
        return None;
    }
    let mut version = 0;
    // SAFETY: the library is there, the function exists since CUDA 2.2, and it writes one integer.
    let result = unsafe { driver::sys::cuDriverGetVersion(&raw mut version) };
    (result == CUresult::CUDA_SUCCESS).then_some(version)
}

/// Whether the library of transforms is installed.
pub(super) fn has_transforms() -> bool {
    // SAFETY: it only opens and closes libraries named libcufft, whose constructors are those of
    // the installed toolkit.
    unsafe { cufft::sys::is_culib_present() }
}

/// What the driver knows of a device.
pub(super) struct Facts {
    pub(super) memory_bytes: usize,
    pub(super) cache_bytes: usize,
    pub(super) compute: (i32, i32),
}

/// Reads them.
pub(super) fn facts(device: CUdevice) -> Result<Facts, DriverError> {
    use CUdevice_attribute as Attribute;
    // SAFETY: the driver refuses a device that it does not have, and writes one number otherwise.
    let memory_bytes = unsafe { driver::result::device::total_mem(device) }?;
    // SAFETY: as above.
    let read = |attribute| unsafe { driver::result::device::get_attribute(device, attribute) };
    Ok(Facts {
        memory_bytes,
        cache_bytes: read(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.max(0) as usize,
        compute: (
            read(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            read(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
    })
}

/// Names a device and what was done in an error of the driver.
pub(super) fn failed(
    device: &str,
    doing: &'static str,
) -> impl FnOnce(DriverError) -> GpuError + use<> {
    let device = device.to_owned();
    move |error| {
        let text = error.error_string().map(|text| text.to_string_lossy().into_owned());
        let cause = text.unwrap_or_else(|_| format!("{:?}", error.0));
        GpuError::Failed { device, doing, cause }
    }
}

/// The kernels of a device.
#[derive(Clone, Debug)]
pub(super) struct Kernels {
    pub(super) context: Arc<CudaContext>,
    /// Number and name of the device.
    pub(super) device: String,
    nothing: CudaFunction,
    sample: CudaFunction,
    multiply: CudaFunction,
    peak: CudaFunction,
}

impl Kernels {
    /// Loads them into a context, which must not be used for anything else.
    pub(super) fn load(context: Arc<CudaContext>, device: String) -> Result<Self, GpuError> {
        // SAFETY: the events that are no longer recorded keep streams from using a buffer at the
        // same time. Each buffer of this module is used by the stream of its lane only.
        unsafe { context.disable_event_tracking() };
        let module = context.load_module(Ptx::from_src(PTX));
        let module = module.map_err(failed(&device, "loading the kernels"))?;
        let function =
            |name| module.load_function(name).map_err(failed(&device, "loading the kernels"));
        Ok(Self {
            nothing: function("nothing")?,
            sample: function("sample")?,
            multiply: function("multiply")?,
            peak: function("peak")?,
            context,
            device,
        })
    }
}

/// A plan of cuFFT: transforms of all jobs of a batch in place.
#[derive(Debug)]
struct Plan {
    handle: cufft::sys::cufftHandle,
}

impl Plan {
    /// Complex values of a job to complex values, or the first half of them to twice as many reals
    /// if `is_inverse`, both at distances of `points` complex values.
    fn new(
        shape: Shape,
        stream: &CudaStream,
        is_inverse: bool,
    ) -> Result<Self, cufft::result::CufftError> {
        let points = shape.points() as i32;
        let (kind, reals) = match is_inverse {
            false => (cufft::sys::cufftType::CUFFT_C2C, 1),
            true => (cufft::sys::cufftType::CUFFT_C2R, 2),
        };
        let (mut length, mut stored) = ([points], [points]);
        // SAFETY: the context of the stream is current in this thread, see `Lane::new`. The arrays
        // have the one number that rank 1 promises and live until the call returns.
        let handle = unsafe {
            cufft::result::plan_many(
                1,
                length.as_mut_ptr(),
                stored.as_mut_ptr(),
                1,
                points,
                stored.as_mut_ptr(),
                1,
                points * reals,
                kind,
                shape.jobs() as i32,
            )
        }?;
        let plan = Self { handle };
        // SAFETY: the plan is the one just made; the lane keeps the stream as long as the plan.
        unsafe { cufft::result::set_stream(plan.handle, stream.cu_stream().cast()) }?;
        Ok(plan)
    }

    /// Bytes of its work area.
    fn bytes(&self) -> Result<usize, cufft::result::CufftError> {
        // SAFETY: the plan is valid from `new` until `drop`.
        unsafe { cufft::result::get_size(self.handle) }
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: the plan is valid, and nothing uses it after this. A device that has vanished
        // makes the call fail, and there is nothing left to free then.
        let _ = unsafe { cufft::result::destroy(self.handle) };
    }
}

/// What a correlation was reduced to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Found {
    /// The place of the best lag: 0 is the smallest one, twice [`crate::XcorrSettings::lags`] the
    /// largest.
    pub(super) place: u32,
    /// The correlations before, at and after it, times the points of a transform.
    pub(super) around: [f32; 3],
    /// The best correlation that is not next to it, times the points.
    pub(super) next: f32,
}

impl Found {
    pub(super) fn of(words: &[u32]) -> Self {
        let real = |index: usize| f32::from_bits(words[index]);
        Self { place: words[0], around: [real(1), real(2), real(3)], next: real(4) }
    }
}

/// A part of a batch's work, to time it alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A launch that does nothing.
    Nothing,
    /// The copy of the batch to the device.
    Send,
    /// Sampling, transforms and multiplication.
    Correlate,
    /// The reduction of correlations to peaks.
    Reduce,
    /// The copy of the peaks to the host.
    Receive,
    /// A copy of one half of the points to the other half: what the memory can do.
    Copy,
}

/// A stream with the buffers of one batch.
pub(super) struct Lane {
    kernels: Kernels,
    shape: Shape,
    /// Words of the batch in `host_words`.
    filled: usize,
    // Plans before the stream that they run on: fields are dropped in this order.
    forward: Plan,
    inverse: Plan,
    host_words: PinnedHostSlice<u32>,
    host_peaks: PinnedHostSlice<u32>,
    words: CudaSlice<u32>,
    points: CudaSlice<f32>,
    weights: CudaSlice<f32>,
    peaks: CudaSlice<u32>,
    stream: Arc<CudaStream>,
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane").field("shape", &self.shape).finish_non_exhaustive()
    }
}

impl Lane {
    /// Allocates the buffers, and makes the plans. `weights` has a number for each frequency.
    pub(super) fn new(kernels: &Kernels, shape: Shape, weights: &[f32]) -> Result<Self, GpuError> {
        let device = &kernels.device;
        assert_eq!(weights.len(), shape.frequencies() as usize, "a weight for each frequency");
        let context = &kernels.context;
        let no_memory = |error: DriverError| match error.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => out_of_memory(kernels, shape),
            _ => failed(device, "allocating")(error),
        };
        let no_plan = |error: cufft::result::CufftError| match error.0 {
            cufft::sys::cufftResult::CUFFT_ALLOC_FAILED => out_of_memory(kernels, shape),
            cause => {
                let device = device.clone();
                GpuError::Failed { device, doing: "planning", cause: format!("{cause:?}") }
            }
        };
        context.bind_to_thread().map_err(failed(device, "opening"))?;
        let stream = context.new_stream().map_err(failed(device, "opening a stream"))?;
        let jobs = shape.jobs();
        let forward = Plan::new(shape, &stream, false).map_err(no_plan)?;
        let inverse = Plan::new(shape, &stream, true).map_err(no_plan)?;
        let lane = Self {
            filled: 0,
            forward,
            inverse,
            // Write-combined: the processor only writes it.
            host_words: pinned(context, shape.words(), true).map_err(no_memory)?,
            host_peaks: pinned(context, jobs * PEAK_WORDS, false).map_err(no_memory)?,
            words: stream.alloc_zeros(shape.words()).map_err(no_memory)?,
            points: stream.alloc_zeros(2 * jobs * shape.points() as usize).map_err(no_memory)?,
            weights: stream.clone_htod(weights).map_err(no_memory)?,
            peaks: stream.alloc_zeros(jobs * PEAK_WORDS).map_err(no_memory)?,
            stream,
            kernels: kernels.clone(),
            shape,
        };
        // `weights` is pageable memory, which is copied before the call returns; the rest is to be
        // done before the first batch is timed.
        lane.stream.synchronize().map_err(no_memory)?;
        Ok(lane)
    }

    /// Bytes of the work areas of the transforms.
    pub(super) fn work_bytes(&self) -> usize {
        self.forward.bytes().unwrap_or(0) + self.inverse.bytes().unwrap_or(0)
    }

    /// Bytes that one [`Step::Send`] copies.
    pub(super) fn sent_bytes(&self) -> usize {
        4 * self.filled
    }

    /// Waits until nothing is in flight, and has a batch written.
    pub(super) fn fill<T>(
        &mut self,
        write: impl FnOnce(&mut Words<'_>) -> T,
    ) -> Result<T, GpuError> {
        self.wait()?;
        let device = &self.kernels.device;
        let buffer = self.host_words.as_mut_slice().map_err(failed(device, "filling"))?;
        let mut words = Words::new(self.shape, buffer);
        let written = write(&mut words);
        self.filled = words.finish();
        Ok(written)
    }

    /// Starts the work on the batch that was filled last.
    pub(super) fn start(&mut self) -> Result<(), GpuError> {
        for step in [Step::Send, Step::Correlate, Step::Reduce, Step::Receive] {
            self.run(step)?;
        }
        Ok(())
    }

    /// Waits for the work that was started. The words are those of [`Found`], job after job.
    pub(super) fn peaks(&mut self) -> Result<&[u32], GpuError> {
        self.wait()?;
        self.host_peaks.as_slice().map_err(failed(&self.kernels.device, "receiving"))
    }

    /// Waits until nothing is in flight.
    pub(super) fn wait(&self) -> Result<(), GpuError> {
        self.stream.synchronize().map_err(failed(&self.kernels.device, "computing"))
    }

    /// Starts one step. Every step is valid in any order: the buffers are initialised, and batches
    /// are written by [`Words`] only.
    pub(super) fn run(&mut self, step: Step) -> Result<(), GpuError> {
        let device = self.kernels.device.clone();
        let doing = match step {
            Step::Nothing => "launching",
            Step::Send => "sending",
            Step::Correlate => "correlating",
            Step::Reduce => "reducing",
            Step::Receive => "receiving",
            Step::Copy => "copying",
        };
        let context = &self.kernels.context;
        context.bind_to_thread().map_err(failed(&device, doing))?;
        let ran = match step {
            Step::Nothing => self.nothing(),
            Step::Send => self.send(),
            Step::Correlate => {
                self.sample().map_err(failed(&device, "sampling"))?;
                self.transform(false)?;
                self.multiply().map_err(failed(&device, "multiplying"))?;
                return self.transform(true);
            }
            Step::Reduce => self.reduce(),
            Step::Receive => self.receive(),
            Step::Copy => self.copy(),
        };
        ran.map_err(failed(&device, doing))
    }

    fn send(&mut self) -> Result<(), DriverError> {
        let words = &self.host_words.as_slice()?[..self.filled];
        // It returns before the copy is done. The host buffer is pinned, lives as long as the
        // stream, and is not written before `wait` in `fill`.
        self.stream.memcpy_htod(words, &mut self.words)
    }

    fn receive(&mut self) -> Result<(), DriverError> {
        self.stream.memcpy_dtoh(&self.peaks, &mut self.host_peaks)
    }

    fn copy(&mut self) -> Result<(), DriverError> {
        let half = self.points.len() / 2;
        let (from, mut to) = self.points.split_at_mut(half);
        self.stream.memcpy_dtod(&from, &mut to.slice_mut(..half))
    }

    fn nothing(&self) -> Result<(), DriverError> {
        let mut launch = self.stream.launch_builder(&self.kernels.nothing);
        // SAFETY: the kernel has no argument and touches no memory.
        unsafe { launch.launch(grid(1, 1, THREADS)) }?;
        Ok(())
    }

    fn sample(&mut self) -> Result<(), DriverError> {
        let shape = self.shape;
        let changes = self.words.slice(shape.head()..);
        let (points, is_level) = (shape.points(), u32::from(shape.is_level()));
        let mut launch = self.stream.launch_builder(&self.kernels.sample);
        launch.arg(&self.words).arg(&changes).arg(&mut self.points).arg(&points).arg(&is_level);
        // SAFETY: five arguments of the types that kernels.cu declares. `Words` wrote the batch:
        // starts of all tiles are within the changes, and the cells of a tile are in it and rise,
        // so that a tile is written within its bounds. `changes` is 8-byte aligned, since the head
        // is even and allocations are aligned to 256 bytes. `points` has a series for each job.
        unsafe { launch.launch(grid(shape.sample_tiles(), shape.jobs(), THREADS)) }?;
        Ok(())
    }

    fn multiply(&mut self) -> Result<(), DriverError> {
        let shape = self.shape;
        let floors = self.words.slice(shape.floors_at()..shape.floors_at() + shape.jobs());
        let points = shape.points();
        let mut launch = self.stream.launch_builder(&self.kernels.multiply);
        launch.arg(&mut self.points).arg(&self.weights).arg(&floors).arg(&points);
        // SAFETY: four arguments of the types that kernels.cu declares; floors are written as the
        // bits of `f32`. `weights` has a number for each frequency and `floors` one for each job,
        // with which the grid was computed.
        unsafe { launch.launch(grid(shape.multiply_tiles(), shape.jobs(), THREADS)) }?;
        Ok(())
    }

    fn reduce(&mut self) -> Result<(), DriverError> {
        let shape = self.shape;
        let (points, lags, origin) = (shape.points(), shape.lags(), shape.origin());
        let apart = shape.apart();
        let mut launch = self.stream.launch_builder(&self.kernels.peak);
        launch.arg(&self.points).arg(&mut self.peaks);
        launch.arg(&points).arg(&lags).arg(&origin).arg(&apart);
        // SAFETY: six arguments of the types that kernels.cu declares. The kernel reads places
        // modulo the points of its job, and writes `PEAK_WORDS` numbers; the buffers have these for
        // each job, and the grid has a block for each job.
        unsafe { launch.launch(grid(shape.jobs() as u32, 1, SEARCH_THREADS)) }?;
        Ok(())
    }

    fn transform(&mut self, is_inverse: bool) -> Result<(), GpuError> {
        use cudarc::driver::DevicePtrMut as _;
        let (data, _recorded) = self.points.device_ptr_mut(&self.stream);
        let result = if is_inverse {
            // SAFETY: the plan reads and writes the points of all jobs in place: `points` complex
            // values a job, of which it reads the first half and writes the same bytes as reals.
            unsafe { cufft::result::exec_c2r(self.inverse.handle, data as _, data as _) }
        } else {
            // SAFETY: the plan transforms the points of all jobs in place.
            unsafe { cufft::result::exec_c2c(self.forward.handle, data as _, data as _, FORWARD) }
        };
        let device = &self.kernels.device;
        result.map_err(|error| GpuError::Failed {
            device: device.clone(),
            doing: "transforming",
            cause: error.to_string(),
        })
    }
}

/// `CUFFT_FORWARD`.
const FORWARD: i32 = -1;

impl Drop for Lane {
    fn drop(&mut self) {
        // Work in flight uses the pinned buffers; after an error of the device there is none.
        let _ = self.stream.synchronize();
    }
}

fn grid(blocks: u32, jobs: usize, threads: u32) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (blocks, jobs as u32, 1),
        block_dim: (threads, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// Pinned memory of zeros.
fn pinned(
    context: &Arc<CudaContext>,
    words: usize,
    only_written: bool,
) -> Result<PinnedHostSlice<u32>, DriverError> {
    let flags = if only_written { driver::sys::CU_MEMHOSTALLOC_WRITECOMBINED } else { 0 };
    // SAFETY: the memory is written below before it is read.
    let mut memory = unsafe { context.alloc_pinned_with_flags::<u32>(words, flags) }?;
    let start = memory.as_mut_ptr()?;
    // SAFETY: `start` is the start of so many words, which only this function knows.
    unsafe { start.write_bytes(0, words) };
    Ok(memory)
}

fn out_of_memory(kernels: &Kernels, shape: Shape) -> GpuError {
    let free = kernels.context.mem_get_info().map_or(0, |(free, _)| free);
    GpuError::Memory {
        device: kernels.device.clone(),
        doing: "a batch",
        needed_bytes: shape.bytes() as u64,
        allowed_bytes: free as u64,
    }
}
