//! Many estimates at once, over several cores.

use std::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

use crate::{Changes, Estimate, Estimator, NoEstimate, Window};

/// Jobs that a thread takes at once: few enough that no thread waits long for another at the end,
/// and enough that threads seldom meet at the counter.
const CHUNK: usize = 16;

/// One window of one attribute of one instrument.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Changes of the first feed.
    pub first: Changes<'a>,
    /// Changes of the second feed.
    pub second: Changes<'a>,
    /// The window of the first feed.
    pub window: Window,
}

/// Estimates every job, with a thread for each estimator. The answers are in the order of the jobs
/// and do not depend on the number of estimators, which must be alike: each answers from its input
/// alone. Without an estimator there are no answers.
pub fn estimate_all<E: Estimator>(
    jobs: &[Job<'_>],
    estimators: &mut [E],
) -> Vec<Result<Estimate, NoEstimate>> {
    on_threads(jobs.len(), CHUNK, estimators, |estimator, index| {
        let Job { first, second, window } = jobs[index];
        estimator.estimate(first, second, window)
    })
}

/// Does the work of each index below `count`, with a thread for each worker, which takes `chunk`
/// indices at once. The results are in the order of the indices; without a worker there are none.
pub(crate) fn on_threads<W: Send, R: Send>(
    count: usize,
    chunk: usize,
    workers: &mut [W],
    work: impl Fn(&mut W, usize) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let serve = |worker: &mut W| {
        let mut done = Vec::new();
        loop {
            let from = next.fetch_add(chunk, Relaxed);
            if from >= count {
                return done;
            }
            let indices = from..count.min(from + chunk);
            done.push((from, indices.map(|index| work(worker, index)).collect::<Vec<_>>()));
        }
    };
    let threads = workers.len().min(count.div_ceil(chunk));
    let Some((own, others)) = workers[..threads].split_first_mut() else { return Vec::new() };
    let mut chunks = thread::scope(|scope| {
        let serve = &serve;
        let others: Vec<_> =
            others.iter_mut().map(|worker| scope.spawn(move || serve(worker))).collect();
        let mut chunks = serve(own);
        for other in others {
            match other.join() {
                Ok(results) => chunks.extend(results),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        chunks
    });
    chunks.sort_unstable_by_key(|&(from, _)| from);
    chunks.into_iter().flat_map(|(_, results)| results).collect()
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Random;

    use super::*;
    use crate::{Series, Xcorr, XcorrSettings};

    /// Walks, and the same some time later.
    fn pairs(count: u64) -> Vec<[Series; 2]> {
        let pair = |seed| {
            let mut random = Random::new(seed);
            let (mut first, mut second, mut time_ns) = (Series::new(), Series::new(), 0);
            // Some have too few changes for an estimate.
            for _ in 0..random.below(60) {
                time_ns += random.below(200_000) as i64;
                let value = random.below(1_000) as i64;
                first.push(time_ns, value);
                second.push(time_ns + 10_000 * seed as i64, value);
            }
            [first, second]
        };
        (0..count).map(pair).collect()
    }

    #[test]
    fn answers_do_not_depend_on_threads() {
        let settings = XcorrSettings { window_ns: 8_192_000, ..XcorrSettings::default() };
        let planned = Xcorr::new(settings).expect("good settings");
        let make = || planned.clone();
        let window = Window::new(0, settings.window_ns);
        for count in [0, 1, CHUNK as u64 - 1, 3 * CHUNK as u64 + 5] {
            let pairs = pairs(count);
            let jobs: Vec<Job<'_>> = pairs
                .iter()
                .map(|[first, second]| Job {
                    first: first.changes(),
                    second: second.changes(),
                    window,
                })
                .collect();
            let mut estimator = make();
            let one_by_one: Vec<_> = jobs
                .iter()
                .map(|job| estimator.estimate(job.first, job.second, job.window))
                .collect();
            assert!(count < 9 || one_by_one.iter().any(Result::is_ok), "some have an estimate");
            for threads in [1, 2, 7] {
                let mut estimators: Vec<_> = (0..threads).map(|_| make()).collect();
                assert_eq!(estimate_all(&jobs, &mut estimators), one_by_one);
            }
        }
    }
}
