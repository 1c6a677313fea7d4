//! The estimator on a device: batches of windows, two at a time.

use super::{
    Answer, BatchEstimator, GpuDevice, GpuError, GpuLimits,
    cells::Sampler,
    launch::{Found, Lane, Step},
    shape::{LANES, PEAK_WORDS, Shape},
};
use crate::{Job, NoEstimate, Peak, XcorrSettings, matcher::Matcher};

/// Cross-correlation on one device, with the settings and the answers of the estimator on the CPU.
/// It keeps its memory: a batch allocates nothing once as many windows were given.
#[derive(Debug)]
pub struct GpuXcorr {
    device: String,
    settings: XcorrSettings,
    shape: Shape,
    sampler: Sampler,
    matcher: Matcher,
    lanes: Vec<Flight>,
}

/// A lane, and which jobs are in flight on it, with the product of the energies of their feeds.
#[derive(Debug)]
struct Flight {
    lane: Lane,
    jobs: Vec<(usize, f64)>,
}

impl GpuXcorr {
    /// Opens the device with this number, and allocates all that it uses.
    ///
    /// # Errors
    ///
    /// What is missing on this machine, a setting that cannot be used, or that memory does not
    /// suffice.
    pub fn open(
        index: usize,
        settings: XcorrSettings,
        limits: GpuLimits,
    ) -> Result<Self, GpuError> {
        settings.check()?;
        let (kernels, room) = GpuDevice::open(index)?;
        let shape = Shape::new(&settings, settings.neighbourhood(), limits, &room)?;
        let frequencies = 0..shape.frequencies() as usize;
        let weights: Vec<f32> = frequencies.map(|k| settings.weight(k) as f32).collect();
        let mut lanes = Vec::new();
        for _ in 0..LANES {
            let mut lane = Lane::new(&kernels, shape, &weights)?;
            // An empty batch, so that the first one does not wait for the driver to compile.
            lane.run(Step::Nothing)?;
            lane.fill(|_| ())?;
            lane.start()?;
            lane.wait()?;
            lanes.push(Flight { lane, jobs: Vec::with_capacity(shape.jobs()) });
        }
        let device = kernels.device.clone();
        let opened = Self {
            device,
            settings,
            shape,
            sampler: Sampler::new(settings),
            matcher: Matcher::new(),
            lanes,
        };
        let (needed, allowed) = (opened.memory_bytes(), limits.memory_bytes);
        if needed > allowed {
            return Err(GpuError::Memory {
                device: opened.device,
                doing: "a batch with its transforms",
                needed_bytes: needed as u64,
                allowed_bytes: allowed as u64,
            });
        }
        Ok(opened)
    }

    /// Number and name of the device.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Sends jobs, which fit into a batch, and gives the lane that has them to a benchmark.
    pub(super) fn resident(&mut self, jobs: &[Job<'_>]) -> Result<&mut Lane, GpuError> {
        let few = NoEstimate::AtTheEdge { lag_ns: 0 };
        let mut answers = vec![Err(few); jobs.len()];
        let taken = self.send(0, jobs, 0, &mut answers)?;
        assert_eq!(taken, jobs.len(), "the jobs of a benchmark fit into a batch");
        self.receive(0, jobs, &mut answers)?;
        Ok(&mut self.lanes[0].lane)
    }

    /// Device memory that it uses, in bytes: what was planned, and what the transforms took beyond.
    pub fn memory_bytes(&self) -> usize {
        let work: usize = self.lanes.iter().map(|flight| flight.lane.work_bytes()).sum();
        let set_aside = self.shape.work_bytes();
        self.shape.bytes() - set_aside + work.max(set_aside)
    }

    /// Fills the next batch with jobs, from one on, and starts the work on it. Jobs that change too
    /// rarely are answered at once. The result is the job after the last that was taken.
    fn send(
        &mut self,
        lane: usize,
        jobs: &[Job<'_>],
        mut next: usize,
        answers: &mut [Answer],
    ) -> Result<usize, GpuError> {
        let Flight { lane, jobs: sent } = &mut self.lanes[lane];
        let (settings, sampler) = (&self.settings, &mut self.sampler);
        lane.fill(|words| {
            while let Some(job) = jobs.get(next) {
                match settings.sides(job.first, job.second, job.window) {
                    Err(few) => answers[next] = Err(few),
                    Ok(sides) => {
                        sampler.sample(&sides);
                        if !words.has_room(sampler.room()) {
                            break;
                        }
                        sent.push((next, sampler.write(words)));
                    }
                }
                next += 1;
            }
        })?;
        if !sent.is_empty() {
            lane.start()?;
        }
        Ok(next)
    }

    /// Waits for the batch of a lane, and judges its peaks. The lane has no batch then, whatever
    /// happens.
    fn receive(
        &mut self,
        lane: usize,
        jobs: &[Job<'_>],
        answers: &mut [Answer],
    ) -> Result<(), GpuError> {
        let Flight { lane, jobs: sent } = &mut self.lanes[lane];
        let sent = sent.drain(..);
        if sent.len() == 0 {
            return Ok(());
        }
        let peaks = lane.peaks()?.chunks_exact(PEAK_WORDS);
        for ((number, energies), words) in sent.zip(peaks) {
            let (job, settings, matcher) = (jobs[number], &self.settings, &mut self.matcher);
            let (peak, around) = in_unit_of_cpu(Found::of(words));
            let sides = settings.sides(job.first, job.second, job.window);
            answers[number] = sides
                .and_then(|sides| settings.judge(matcher, &sides, peak, || around, || energies));
        }
        Ok(())
    }
}

impl BatchEstimator for GpuXcorr {
    fn batch_jobs(&self) -> usize {
        self.shape.jobs()
    }

    fn estimate_batch(&mut self, jobs: &[Job<'_>], answers: &mut [Answer]) -> Result<(), GpuError> {
        assert_eq!(jobs.len(), answers.len(), "an answer for each job");
        // What was in flight when an earlier batch failed belongs to no job of this one.
        self.lanes.iter_mut().for_each(|flight| flight.jobs.clear());
        let (mut next, mut lane) = (0, 0);
        while next < jobs.len() {
            self.receive(lane, jobs, answers)?;
            next = self.send(lane, jobs, next, answers)?;
            lane = (lane + 1) % LANES;
        }
        (0..LANES).try_for_each(|ahead| self.receive((lane + ahead) % LANES, jobs, answers))
    }
}

/// A peak in the unit of the estimator on the CPU, which is half of the points; and the values
/// around it.
pub(super) fn in_unit_of_cpu(found: Found) -> (Peak, [f32; 3]) {
    let around = found.around.map(|value| value / 2.0);
    // No other lag stays none.
    let second = if found.next == f32::MIN { found.next } else { found.next / 2.0 };
    (Peak { at: found.place as usize, value: around[1], second }, around)
}
