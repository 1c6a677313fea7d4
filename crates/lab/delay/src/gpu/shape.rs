//! The numbers that buffers and kernels of a device are made for.

use super::GpuError;
use crate::{Signal, XcorrSettings};

/// Points that a block of threads samples or multiplies: TILE in kernels.cu.
pub(super) const TILE: u32 = 2_048;
/// Numbers that a correlation is reduced to: `PEAK_WORDS` in kernels.cu.
pub(super) const PEAK_WORDS: usize = 5;
/// Lanes of a device: one computes while the other is filled and copied.
pub(super) const LANES: usize = 2;
/// Transforms of a lane, forward and inverse, each with a work area of at most the data.
const WORK_AREAS: usize = 2;
/// Changes for which a job has room on average. One with more takes the room of others.
const CHANGES_OF_A_JOB: usize = 1_024;
/// Most jobs of a batch: a limit of the second dimension of a grid.
const MOST_JOBS: usize = 65_535;
/// Share of the second-level cache that the points of all lanes may fill, in quarters.
const CACHE_QUARTERS: usize = 3;

/// What a device may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GpuLimits {
    /// Device memory, in bytes.
    pub memory_bytes: usize,
    /// Jobs of a batch; `None` for as many as leave the intermediate results in the second-level
    /// cache, so that few bytes move through the memory.
    pub batch_jobs: Option<usize>,
}

impl Default for GpuLimits {
    /// 1 GiB, and batches that fit into the cache.
    fn default() -> Self {
        Self { memory_bytes: 1 << 30, batch_jobs: None }
    }
}

/// Numbers of one lane. The fields are private to keep what [`Shape::new`] establishes, on which
/// the kernels rely: all are at least 1, twice the `lags` and `origin` are below `points`, and what
/// kernels compute in 32 bits fits into 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    points: u32,
    lags: u32,
    origin: u32,
    apart: u32,
    is_level: bool,
    jobs: u32,
    changes: u32,
}

impl Shape {
    /// The largest batches that the limits allow.
    ///
    /// # Errors
    ///
    /// [`GpuError::Settings`], or [`GpuError::Memory`] if not even one job fits.
    pub(super) fn new(
        settings: &XcorrSettings,
        apart: usize,
        limits: GpuLimits,
        device: &Room,
    ) -> Result<Self, GpuError> {
        settings.check()?;
        let points = settings.transform_length();
        let allowed_bytes = limits.memory_bytes.min(device.free_bytes);
        let needed_bytes = bytes_of(points, 1);
        if needed_bytes > allowed_bytes {
            return Err(GpuError::Memory {
                device: device.name.clone(),
                doing: "a window",
                needed_bytes: needed_bytes as u64,
                allowed_bytes: allowed_bytes as u64,
            });
        }
        let by_cache = device.cache_bytes / 4 * CACHE_QUARTERS / (LANES * 8 * points);
        let wanted = limits.batch_jobs.unwrap_or(by_cache).clamp(1, MOST_JOBS);
        // The largest that fits; memory rises with the jobs.
        let (mut jobs, mut beyond) = (1, wanted + 1);
        while beyond - jobs > 1 {
            let middle = jobs.midpoint(beyond);
            if bytes_of(points, middle) <= allowed_bytes {
                jobs = middle;
            } else {
                beyond = middle;
            }
        }
        // `check` allows at most 2^22 points, and lags that a transform has room for.
        Ok(Self {
            points: points as u32,
            lags: settings.lags() as u32,
            origin: ((points + settings.margin() - settings.lags()) % points) as u32,
            apart: apart.min(points) as u32,
            is_level: settings.signal == Signal::Levels,
            jobs: jobs as u32,
            changes: changes_of(points, jobs) as u32,
        })
    }

    /// Points of a transform.
    pub(super) fn points(self) -> u32 {
        self.points
    }

    /// Places on either side of lag zero.
    pub(super) fn lags(self) -> u32 {
        self.lags
    }

    /// Where the first place is among the points.
    pub(super) fn origin(self) -> u32 {
        self.origin
    }

    /// Places next to the best that belong to its peak.
    pub(super) fn apart(self) -> u32 {
        self.apart
    }

    /// Whether a value lasts until the next.
    pub(super) fn is_level(self) -> bool {
        self.is_level
    }

    /// Jobs of a batch.
    pub(super) fn jobs(self) -> usize {
        self.jobs as usize
    }

    /// Changes of a batch.
    pub(super) fn changes(self) -> usize {
        self.changes as usize
    }

    /// Words before the changes: where those of each tile start and the last ones end, and a floor
    /// for each job; even, since a change is read as 8 bytes.
    pub(super) fn head(self) -> usize {
        head_of(self.points as usize, self.jobs())
    }

    /// Words of a full batch.
    pub(super) fn words(self) -> usize {
        self.head() + 2 * self.changes()
    }

    /// Where the floors begin.
    pub(super) fn floors_at(self) -> usize {
        2 * self.jobs() * self.sample_tiles() as usize + 1
    }

    /// Blocks that sample a job.
    pub(super) fn sample_tiles(self) -> u32 {
        self.points.div_ceil(TILE)
    }

    /// Frequencies of a spectrum.
    pub(super) fn frequencies(self) -> u32 {
        self.points / 2 + 1
    }

    /// Blocks that multiply the spectra of a job.
    pub(super) fn multiply_tiles(self) -> u32 {
        self.frequencies().div_ceil(TILE)
    }

    /// Part of [`Shape::bytes`] that is set aside for work areas of the transforms.
    pub(super) fn work_bytes(self) -> usize {
        LANES * self.jobs() * 8 * self.points as usize * WORK_AREAS
    }

    /// Device memory of all lanes, in bytes, work areas of the transforms included.
    pub(super) fn bytes(self) -> usize {
        bytes_of(self.points as usize, self.jobs())
    }
}

/// What a device has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Room {
    /// Number and name of the device.
    pub(super) name: String,
    /// Free memory.
    pub(super) free_bytes: usize,
    /// Second-level cache.
    pub(super) cache_bytes: usize,
}

fn head_of(points: usize, jobs: usize) -> usize {
    let tiles = points.div_ceil(TILE as usize);
    ((2 * tiles + 1) * jobs + 1).next_multiple_of(2)
}

/// One job always fits, however many changes it has: no cell has two.
fn changes_of(points: usize, jobs: usize) -> usize {
    (2 * points).max(jobs * CHANGES_OF_A_JOB)
}

fn bytes_of(points: usize, jobs: usize) -> usize {
    let words = head_of(points, jobs) + 2 * changes_of(points, jobs);
    let of_a_job = 8 * points * (1 + WORK_AREAS) + 4 * PEAK_WORDS;
    let weights = 4 * (points / 2 + 1);
    LANES * (jobs * of_a_job + 4 * words + weights)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Padding;

    fn room() -> Room {
        Room { name: "GPU 0 (none)".into(), free_bytes: 80 << 30, cache_bytes: 50 << 20 }
    }

    #[test]
    fn a_batch_fills_the_cache_and_no_more_than_the_memory() {
        let settings =
            XcorrSettings { grid_ns: 1_000, window_ns: 16_384_000, ..XcorrSettings::default() };
        assert_eq!(settings.transform_length(), 20_736);
        let shape = Shape::new(&settings, 90, GpuLimits::default(), &room()).expect("it fits");
        assert_eq!(shape.jobs(), (50 << 20) / 4 * 3 / (2 * 8 * 20_736));
        for memory_bytes in [4 << 20, 10 << 20, 100 << 20] {
            for batch_jobs in [None, Some(0), Some(1), Some(1_000_000)] {
                let limits = GpuLimits { memory_bytes, batch_jobs };
                let shape = Shape::new(&settings, 90, limits, &room()).expect("it fits");
                assert!(shape.bytes() <= memory_bytes, "{shape:?}");
                assert!((1..=MOST_JOBS).contains(&shape.jobs()));
                assert!(shape.changes() >= 2 * shape.points() as usize);
                assert!(
                    shape.head().is_multiple_of(2)
                        && shape.head() >= shape.floors_at() + shape.jobs()
                );
            }
        }
    }

    #[test]
    fn memory_that_one_job_does_not_fit_into_is_an_error() {
        let limits = GpuLimits { memory_bytes: 1 << 20, batch_jobs: None };
        let error = Shape::new(&XcorrSettings::default(), 90, limits, &room()).expect_err("small");
        let text = error.to_string();
        assert!(text.starts_with("GPU 0 (none): a window needs "), "{text}");
        assert!(text.contains("1048576 are allowed"), "{text}");
    }

    #[test]
    fn the_first_place_is_the_smallest_lag() {
        let padded = XcorrSettings::default();
        let shape = Shape::new(&padded, 90, GpuLimits::default(), &room()).expect("it fits");
        assert_eq!(shape.origin(), 0);
        let circular = XcorrSettings::published();
        assert_eq!(circular.padding, Padding::Circular);
        let shape = Shape::new(&circular, 1, GpuLimits::default(), &room()).expect("it fits");
        assert_eq!((shape.points(), shape.lags(), shape.origin()), (2_048, 1_023, 1_025));
    }
}
