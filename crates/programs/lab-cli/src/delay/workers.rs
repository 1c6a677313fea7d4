//! The cores and devices that estimate the windows of all series.

use nanotape_console::status::warn;
use nanotape_delay::{
    BatchEstimator, Estimate, Estimator, Fallback, GpuDevice, GpuError, GpuLimits, GpuXcorr, Job,
    NoEstimate, XcorrSettings, estimate_all, share,
};

use super::method::{GpuUse, MethodArguments};

pub(super) struct Workers {
    cores: Vec<Box<dyn Estimator>>,
    devices: Vec<GpuXcorr>,
    fallback: Fallback,
}

impl Workers {
    pub(super) fn new(method: &MethodArguments, cores: usize) -> anyhow::Result<Self> {
        let cores = (0..cores.max(1)).map(|_| method.estimator()).collect::<Result<_, _>>()?;
        let fallback = match method.gpu {
            Some(GpuUse::OrCpu) => Fallback::Cpu,
            _ => Fallback::Fail,
        };
        let devices = match (method.gpu, method.of_transforms()) {
            (None, _) => Vec::new(),
            (Some(_), None) => anyhow::bail!("--gpu applies to --method xcorr"),
            (Some(_), Some(settings)) => match open_all(settings) {
                Ok(devices) => devices,
                Err(error) if fallback == Fallback::Fail => return Err(error.into()),
                Err(error) => {
                    warn(format_args!("{error}; the cores do all of the work"));
                    Vec::new()
                }
            },
        };
        Ok(Self { cores, devices, fallback })
    }

    /// The name of the method.
    pub(super) fn name(&self) -> &'static str {
        self.cores[0].name()
    }

    /// An estimator for one more pass over a window.
    pub(super) fn one(&mut self) -> &mut dyn Estimator {
        &mut *self.cores[0]
    }

    /// The answers in the order of the jobs.
    pub(super) fn estimate(
        &mut self,
        jobs: &[Job<'_>],
    ) -> Result<Vec<Result<Estimate, NoEstimate>>, GpuError> {
        if self.devices.is_empty() {
            return Ok(estimate_all(jobs, &mut self.cores));
        }
        let unanswered = NoEstimate::FewMatches { matches: 0, least: 1 };
        let mut answers = vec![Err(unanswered); jobs.len()];
        let mut devices: Vec<&mut dyn BatchEstimator> =
            self.devices.iter_mut().map(|device| device as &mut dyn BatchEstimator).collect();
        let shares = share(jobs, &mut answers, &mut devices, &mut self.cores, self.fallback)?;
        if let Some(failure) = shares.failures.first() {
            warn(format_args!("{failure}; the cores do all of the work from now on"));
            self.devices.clear();
        }
        Ok(answers)
    }
}

fn open_all(settings: XcorrSettings) -> Result<Vec<GpuXcorr>, GpuError> {
    let devices = GpuDevice::all()?;
    let open = |device: &GpuDevice| GpuXcorr::open(device.index, settings, GpuLimits::default());
    devices.iter().map(open).collect()
}
