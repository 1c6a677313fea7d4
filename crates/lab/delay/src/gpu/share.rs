//! Devices and cores share windows: each takes more from one queue when it has done its last.

use std::{
    mem,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use super::GpuError;
use crate::{Estimate, Estimator, Job, NoEstimate};

/// What an estimator says about a window.
pub type Answer = Result<Estimate, NoEstimate>;

/// Windows that a core takes at once: few, since a core has them done in a millisecond or so.
const CORE_JOBS: usize = 4;
/// Batches that a device takes at once, at most: it is idle for about one between two takes.
const DEVICE_BATCHES: usize = 8;

/// Estimates many windows at once. A device does, and what stands for it in tests.
pub trait BatchEstimator: Send {
    /// Windows that it computes at once.
    fn batch_jobs(&self) -> usize;

    /// Answers each job, in the order of the jobs.
    ///
    /// # Errors
    ///
    /// The failure of the device. Some answers may have been written then.
    fn estimate_batch(&mut self, jobs: &[Job<'_>], answers: &mut [Answer]) -> Result<(), GpuError>;
}

/// What happens to the windows of a device that fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fallback {
    /// Nothing: the failure is the result.
    Fail,
    /// The others answer them, cores first of all.
    Cpu,
}

/// Who answered how many windows.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Shares {
    /// Windows that each device answered.
    pub devices: Vec<usize>,
    /// Windows that each core answered.
    pub cores: Vec<usize>,
    /// Failures of devices, after which the others went on.
    pub failures: Vec<GpuError>,
}

/// A part of the jobs, with the room for the answers.
type Part<'q, 'j> = (&'q [Job<'j>], &'q mut [Answer]);

/// What is left to do.
struct Queue<'q, 'j> {
    parts: Vec<Part<'q, 'j>>,
    /// Parts that devices have, which come back if these fail.
    with_devices: usize,
    fallback: Fallback,
    failures: Vec<GpuError>,
}

struct Shared<'q, 'j> {
    queue: Mutex<Queue<'q, 'j>>,
    /// A part came back, or none will.
    changed: Condvar,
}

/// Answers all jobs, on all devices and cores at once. Devices that are absent are no failure: the
/// list may be empty, and so may be that of the cores.
///
/// # Errors
///
/// The first failure of a device with [`Fallback::Fail`]; [`GpuError::NoneLeft`] if all devices
/// fail and there is no core. Some answers may have been written then.
///
/// # Panics
///
/// If there is not an answer for each job, or neither a device nor a core.
pub fn share(
    jobs: &[Job<'_>],
    answers: &mut [Answer],
    devices: &mut [&mut dyn BatchEstimator],
    cores: &mut [impl Estimator],
    fallback: Fallback,
) -> Result<Shares, GpuError> {
    assert_eq!(jobs.len(), answers.len(), "an answer for each job");
    assert!(!devices.is_empty() || !cores.is_empty(), "neither a device nor a core");
    let parts = vec![(jobs, answers)];
    let queue = Queue { parts, with_devices: 0, fallback, failures: Vec::new() };
    let shared = Shared { queue: Mutex::new(queue), changed: Condvar::new() };
    let many = devices.len();
    let mut shares = Shares::default();
    thread::scope(|scope| {
        let shared = &shared;
        let devices: Vec<_> = devices
            .iter_mut()
            .map(|device| scope.spawn(|| shared.serve_device(*device, many)))
            .collect();
        let cores: Vec<_> =
            cores.iter_mut().map(|core| scope.spawn(|| shared.serve_core(core))).collect();
        let counts = |threads: Vec<thread::ScopedJoinHandle<'_, usize>>| {
            let counts = threads.into_iter().map(|thread| thread.join());
            counts
                .map(|count| count.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        };
        (shares.devices, shares.cores) = (counts(devices), counts(cores));
    });
    let queue = shared.queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    shares.failures = queue.failures;
    match shares.failures.first() {
        Some(first) if fallback == Fallback::Fail => Err(first.clone()),
        Some(first) if !queue.parts.is_empty() => {
            Err(GpuError::NoneLeft { first: Box::new(first.clone()) })
        }
        _ => Ok(shares),
    }
}

impl<'q, 'j> Shared<'q, 'j> {
    fn queue(&self) -> MutexGuard<'_, Queue<'q, 'j>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a device parts until none is left or it fails. The result is how many jobs it did.
    fn serve_device(&self, device: &mut dyn BatchEstimator, devices: usize) -> usize {
        let batch = device.batch_jobs().max(1);
        let mut done = 0;
        loop {
            let mut queue = self.queue();
            let left: usize = queue.parts.iter().map(|part| part.0.len()).sum();
            // Less towards the end, so that the others have work as long as this one.
            let most = (left / (2 * devices)).clamp(batch, DEVICE_BATCHES * batch);
            let Some((jobs, answers)) = queue.take(most) else { return done };
            queue.with_devices += 1;
            drop(queue);
            let held = Held(self);
            if let Err(error) = device.estimate_batch(jobs, answers) {
                let mut queue = self.queue();
                queue.failures.push(error);
                queue.parts.push((jobs, answers));
                return done;
            }
            drop(held);
            done += jobs.len();
        }
    }

    /// Gives a core parts until none is left, nor with a device.
    fn serve_core(&self, core: &mut impl Estimator) -> usize {
        let mut done = 0;
        loop {
            let mut queue = self.queue();
            let part = loop {
                if let Some(part) = queue.take(CORE_JOBS) {
                    break part;
                }
                let may_come = queue.fallback == Fallback::Cpu && queue.with_devices > 0;
                if !may_come {
                    return done;
                }
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            };
            drop(queue);
            let (jobs, answers) = part;
            for (job, answer) in jobs.iter().zip(answers) {
                *answer = core.estimate(job.first, job.second, job.window);
            }
            done += jobs.len();
        }
    }
}

/// A part that a device has. The cores that wait for it are woken when it has no more, even if the
/// thread panics.
struct Held<'s, 'q, 'j>(&'s Shared<'q, 'j>);

impl Drop for Held<'_, '_, '_> {
    fn drop(&mut self) {
        self.0.queue().with_devices -= 1;
        self.0.changed.notify_all();
    }
}

impl<'q, 'j> Queue<'q, 'j> {
    /// At most so many jobs of one part. None if there are none, or if a failure ends the work.
    fn take(&mut self, most: usize) -> Option<Part<'q, 'j>> {
        if self.fallback == Fallback::Fail && !self.failures.is_empty() {
            return None;
        }
        let (jobs, answers) = self.parts.last_mut()?;
        let count = most.min(jobs.len());
        let (taken, rest) = jobs.split_at(count);
        let (room, left) = mem::take(answers).split_at_mut(count);
        (*jobs, *answers) = (rest, left);
        if rest.is_empty() {
            self.parts.pop();
        }
        Some((taken, room))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Changes, Window};

    /// Answers with the beginning of the window, and fails after some jobs.
    #[derive(Debug)]
    struct Fake {
        until_failure: usize,
        batch: usize,
    }

    fn answer(window: Window) -> Answer {
        let delay_ns = window.from_ns as f64;
        Ok(Estimate { delay_ns, low_ns: 0.0, high_ns: 0.0, support: 0, quality: 0.0 })
    }

    fn lost() -> GpuError {
        let device = "GPU 0 (a fake)".to_owned();
        GpuError::Failed { device, doing: "computing", cause: "it has vanished".into() }
    }

    impl BatchEstimator for Fake {
        fn batch_jobs(&self) -> usize {
            self.batch
        }

        fn estimate_batch(
            &mut self,
            jobs: &[Job<'_>],
            answers: &mut [Answer],
        ) -> Result<(), GpuError> {
            for (job, room) in jobs.iter().zip(answers) {
                let left = self.until_failure.checked_sub(1);
                self.until_failure = left.ok_or_else(lost)?;
                *room = answer(job.window);
            }
            Ok(())
        }
    }

    impl Estimator for Fake {
        fn name(&self) -> &'static str {
            "fake"
        }

        fn estimate(&mut self, _: Changes<'_>, _: Changes<'_>, window: Window) -> Answer {
            answer(window)
        }
    }

    fn shared(
        count: usize,
        devices: &[Option<usize>],
        cores: usize,
        fallback: Fallback,
    ) -> (Vec<Job<'static>>, Vec<Answer>, Result<Shares, GpuError>) {
        let nothing = Changes { times_ns: &[], values: &[], marks: &[] };
        let jobs: Vec<Job<'_>> = (0..count as i64)
            .map(|at| Job { first: nothing, second: nothing, window: Window::new(at, 1) })
            .collect();
        let mut answers = vec![Err(NoEstimate::AtTheEdge { lag_ns: 0 }); count];
        let fake = |until_failure, batch| Fake { until_failure, batch };
        let mut devices: Vec<Fake> = (devices.iter().zip(3..))
            .map(|(failing, batch)| fake(failing.unwrap_or(usize::MAX), batch))
            .collect();
        let mut devices: Vec<&mut dyn BatchEstimator> =
            devices.iter_mut().map(|device| device as &mut dyn BatchEstimator).collect();
        let mut cores: Vec<Fake> = (0..cores).map(|_| fake(usize::MAX, 1)).collect();
        let shares = share(&jobs, &mut answers, &mut devices, &mut cores, fallback);
        (jobs, answers, shares)
    }

    fn check_all(jobs: &[Job<'_>], answers: &[Answer], shares: &Shares) {
        for (job, found) in jobs.iter().zip(answers) {
            assert_eq!(*found, answer(job.window));
        }
        let done: usize = shares.devices.iter().chain(&shares.cores).sum();
        assert_eq!(done, jobs.len(), "{shares:?}");
    }

    proptest! {
        #[test]
        fn every_job_is_answered_once(
            count in 0_usize..300,
            failing in prop::collection::vec(prop::option::of(0_usize..100), 0..3),
            cores in 1_usize..3,
        ) {
            let (jobs, answers, shares) = shared(count, &failing, cores, Fallback::Cpu);
            check_all(&jobs, &answers, &shares.expect("a core takes over"));
        }
    }

    #[test]
    fn a_failure_is_the_result_unless_cores_may_take_over() {
        let (.., alone) = shared(500, &[Some(20)], 0, Fallback::Fail);
        assert_eq!(alone.expect_err("it failed"), lost());
        let (jobs, answers, shares) = shared(500, &[Some(0)], 1, Fallback::Cpu);
        check_all(&jobs, &answers, &shares.expect("the core took over"));
    }

    #[test]
    fn another_device_takes_over_and_none_left_is_said() {
        let (jobs, answers, shares) = shared(500, &[Some(10), None], 0, Fallback::Cpu);
        check_all(&jobs, &answers, &shares.expect("the other device took over"));
        let (.., shares) = shared(500, &[Some(10), Some(10)], 0, Fallback::Cpu);
        let text = shares.expect_err("both failed").to_string();
        assert!(text.starts_with("no core takes over"), "{text}");
        assert!(text.contains("GPU 0 (a fake): computing failed: it has vanished"), "{text}");
    }
}
