//! The recursion, for up to [`LANES`] service times at once.

use nanotape_trace::Histogram;

use crate::{LANES, MAX_LIMITS, MAX_SERVICE_NS, QueueError, Windows};

/// One number for each service time.
type Lane = [f64; LANES];

/// Precision of the histograms, as that of [`Histogram::fine`].
const PRECISION_BITS: u32 = 8;

/// An `f64` keeps this many more bits of a number than a bucket does.
const SHIFT: u32 = f64::MANTISSA_DIGITS - PRECISION_BITS;

/// The bucket of 1, the shortest delay.
const FIRST_BUCKET: u64 = 1.0_f64.to_bits() >> SHIFT;

/// Buckets of delays up to 2^53.
const BUCKETS: usize = (f64::MANTISSA_DIGITS as usize) << (PRECISION_BITS - 1);

/// The queues of up to [`LANES`] service times over one series of arrivals.
#[derive(Clone, Debug)]
pub struct Simulation {
    services: Vec<u64>,
    limits: Vec<Over>,
    lanes: Box<Lanes>,
    /// For each service time, the counts of delays since the last transfer into `histograms`.
    counts: Vec<[u32; BUCKETS]>,
    histograms: Vec<Histogram>,
    uncounted: u32,
    windows: Windows,
    last_ns: Option<u64>,
    first_ns: u64,
    messages: u64,
    reversed: u64,
}

/// The state of each service time.
#[derive(Clone, Debug)]
struct Lanes {
    service: Lane,
    /// The delay of the last message.
    delay: Lane,
    /// The largest delay of the current window.
    largest: Lane,
    /// The service since the receiver was idle.
    behind: Lane,
    longest: Lane,
}

/// The messages with a delay above a limit.
#[derive(Clone, Debug)]
struct Over {
    limit: f64,
    counts: Lane,
}

/// The result for one service time.
#[derive(Clone, Debug)]
pub struct ServiceResult {
    /// The service time.
    pub service_ns: u64,
    /// The delays, at most 0.8% too high.
    pub delays: Histogram,
    /// The largest delay, exact; 0 without messages.
    pub largest_delay_ns: u64,
    /// The largest queue, exact.
    pub largest_queue: u64,
    /// The start of the window with the largest delay, the first of several.
    pub worst_window_ns: Option<u64>,
    /// The longest time without a moment at which the receiver was idle.
    pub catch_up_ns: u64,
    /// Windows whose messages need more time than the window has.
    pub overloaded_windows: u64,
    /// Messages with a delay above each limit, exact.
    pub over: Vec<u64>,
}

/// The results of all service times.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One for each service time, in their order.
    pub services: Vec<ServiceResult>,
    /// The windows with an arrival.
    pub windows: Windows,
    /// Arrivals.
    pub messages: u64,
    /// Arrivals with a timestamp below an earlier one.
    pub reversed: u64,
    /// The first and the latest arrival.
    pub span_ns: Option<(u64, u64)>,
}

/// [`LANES`] service times from 100 ns to 100 us, each the same factor above the one before it.
pub fn default_services() -> Vec<u64> {
    let last = (LANES - 1) as f64;
    (0..LANES).map(|lane| (100.0 * libm::pow(1_000.0, lane as f64 / last)).round() as u64).collect()
}

impl Simulation {
    /// A simulation of these service times, which counts delays above each of `limits_ns`.
    pub fn new(services_ns: &[u64], limits_ns: &[u64], window_ns: u64) -> Result<Self, QueueError> {
        if services_ns.is_empty() || services_ns.len() > LANES {
            return Err(QueueError::Services { count: services_ns.len() });
        }
        if let Some(&ns) = services_ns.iter().find(|ns| !(1..=MAX_SERVICE_NS).contains(*ns)) {
            return Err(QueueError::Service { ns });
        }
        if limits_ns.len() > MAX_LIMITS {
            return Err(QueueError::Limits { count: limits_ns.len() });
        }
        // Lanes without a service time repeat the first one, and have no result.
        let service = |lane| services_ns.get(lane).unwrap_or(&services_ns[0]);
        let over = |limit: &u64| Over { limit: *limit as f64, counts: [0.0; LANES] };
        Ok(Self {
            services: services_ns.to_vec(),
            limits: limits_ns.iter().map(over).collect(),
            lanes: Box::new(Lanes {
                service: std::array::from_fn(|lane| *service(lane) as f64),
                delay: [0.0; LANES],
                largest: [0.0; LANES],
                behind: [0.0; LANES],
                longest: [0.0; LANES],
            }),
            counts: vec![[0; BUCKETS]; services_ns.len()],
            histograms: vec![Histogram::growing(PRECISION_BITS); services_ns.len()],
            uncounted: 0,
            windows: Windows::new(services_ns.len(), window_ns).ok_or(QueueError::Window)?,
            last_ns: None,
            first_ns: 0,
            messages: 0,
            reversed: 0,
        })
    }

    /// A message arrives.
    #[inline]
    pub fn arrive(&mut self, at_ns: u64) {
        let last_ns = self.last_ns.unwrap_or_else(|| {
            self.first_ns = at_ns;
            at_ns
        });
        self.reversed += u64::from(at_ns < last_ns);
        let at_ns = at_ns.max(last_ns);
        self.last_ns = Some(at_ns);
        if !self.windows.has(at_ns) {
            self.next_window(at_ns);
        }
        self.windows.count();
        self.messages += 1;
        let lanes = &mut *self.lanes;
        lanes.arrive((at_ns - last_ns) as f64);
        for over in &mut self.limits {
            for (count, &delay) in over.counts.iter_mut().zip(&lanes.delay) {
                *count += if delay > over.limit { 1.0 } else { 0.0 };
            }
        }
        for (counts, delay) in self.counts.iter_mut().zip(&lanes.delay) {
            let bucket = (delay.to_bits() >> SHIFT).wrapping_sub(FIRST_BUCKET);
            // Every delay is 1 to 2^53.
            if let Some(count) = counts.get_mut(bucket as usize) {
                *count += 1;
            }
        }
        self.uncounted += 1;
        if self.uncounted == u32::MAX {
            self.transfer();
        }
    }

    /// The results.
    pub fn finish(mut self) -> Outcome {
        self.transfer();
        self.windows.close(&self.lanes.largest);
        let services = self.services.iter().zip(self.histograms).enumerate();
        let services = services.map(|(lane, (&service_ns, delays))| {
            let worst = self.windows.worst(lane);
            let largest_delay_ns = worst.map_or(0, |window| window.delays_ns[lane]);
            ServiceResult {
                service_ns,
                delays,
                largest_delay_ns,
                largest_queue: largest_delay_ns.div_ceil(service_ns),
                worst_window_ns: worst.map(|window| window.start_ns),
                catch_up_ns: self.lanes.longest[lane] as u64,
                overloaded_windows: self.windows.overloaded(service_ns),
                over: self.limits.iter().map(|over| over.counts[lane] as u64).collect(),
            }
        });
        Outcome {
            services: services.collect(),
            messages: self.messages,
            reversed: self.reversed,
            span_ns: self.last_ns.map(|last_ns| (self.first_ns, last_ns)),
            windows: self.windows,
        }
    }

    #[cold]
    #[inline(never)]
    fn next_window(&mut self, at_ns: u64) {
        self.windows.close(&self.lanes.largest);
        self.windows.open(at_ns);
        self.lanes.largest = [0.0; LANES];
    }

    /// Moves the counts into the histograms.
    #[cold]
    #[inline(never)]
    fn transfer(&mut self) {
        for (counts, histogram) in self.counts.iter_mut().zip(&mut self.histograms) {
            for (bucket, count) in counts.iter_mut().enumerate() {
                let next_lowest = f64::from_bits((bucket as u64 + 1 + FIRST_BUCKET) << SHIFT);
                let highest = next_lowest.ceil() as u64 - 1;
                histogram.record_many(highest, u64::from(std::mem::take(count)));
            }
        }
        self.uncounted = 0;
    }
}

impl Lanes {
    /// The recursion. Each comparison selects one of two numbers, so that the loop has no branch;
    /// `f64::max` would also handle numbers that are none.
    #[inline]
    fn arrive(&mut self, gap: f64) {
        for lane in 0..LANES {
            let service = self.service[lane];
            let left = self.delay[lane] - gap;
            let left = if left > 0.0 { left } else { 0.0 };
            let delay = left + service;
            self.delay[lane] = delay;
            let largest = self.largest[lane];
            self.largest[lane] = if delay > largest { delay } else { largest };
            let behind = if left > 0.0 { self.behind[lane] } else { 0.0 } + service;
            self.behind[lane] = behind;
            let longest = self.longest[lane];
            self.longest[lane] = if behind > longest { behind } else { longest };
        }
    }
}

impl ServiceResult {
    /// The delay that a share `quantile` of all messages does not exceed, at most 0.8% too high;
    /// `None` without messages.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        // The histogram has the highest value of each bucket, so its maximum may be too high.
        Some(self.delays.quantile(quantile)?.min(self.largest_delay_ns))
    }
}
