//! Measurements of arrays: the queue in front of a receiver, and the delay between two feeds.

use std::sync::atomic::Ordering;

use nanotape_delay::{Combiner, Estimator as _, MatchValue, MatchValueSettings, Series, Window};
use nanotape_queue::{LANES, Simulation, default_services};
use numpy::PyReadonlyArray1;
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{errors::ReadError, rows::on_thread};

/// Arrivals between two looks at whether the result is still wanted.
const ARRIVALS: usize = 1 << 16;

/// A service time and its delays: see the fields of `nanotape.queue`.
type Service = (u64, u64, [u64; 5], u64, u64, u64, u64);

/// Delays of messages that a receiver processes one after the other, for each service time.
#[pyfunction]
pub(crate) fn queue(
    py: Python<'_>,
    arrivals_ns: PyReadonlyArray1<'_, u64>,
    mut services_ns: Vec<u64>,
    window_ns: u64,
) -> PyResult<Vec<Service>> {
    if services_ns.is_empty() {
        services_ns = default_services();
    }
    if services_ns.len() > LANES {
        let line = format!("{} service times, and {LANES} at most", services_ns.len());
        return Err(PyValueError::new_err(line));
    }
    let arrivals_ns = arrivals_ns.as_array().to_vec();
    on_thread(py, move |is_wanted| {
        let simulation = Simulation::new(&services_ns, &[], window_ns);
        let mut simulation = simulation.map_err(|error| ReadError::Value(error.to_string()))?;
        for (number, at_ns) in arrivals_ns.into_iter().enumerate() {
            if number % ARRIVALS == 0 && !is_wanted.load(Ordering::Relaxed) {
                break;
            }
            simulation.arrive(at_ns);
        }
        let outcome = simulation.finish();
        let services = outcome.services.iter().map(|service| {
            let quantile = |of| service.quantile_ns(of).unwrap_or(0);
            (
                service.service_ns,
                outcome.messages,
                [0.5, 0.9, 0.99, 0.999, 0.9999].map(quantile),
                service.largest_delay_ns,
                service.largest_queue,
                service.catch_up_ns,
                service.overloaded_windows,
            )
        });
        Ok(services.collect())
    })
}

/// How much later a second feed shows the values of a first one: delay, its interval, matches,
/// windows with an estimate and all windows.
#[pyfunction]
pub(crate) fn delay(
    py: Python<'_>,
    first: (PyReadonlyArray1<'_, i64>, PyReadonlyArray1<'_, i64>),
    second: (PyReadonlyArray1<'_, i64>, PyReadonlyArray1<'_, i64>),
    max_lag_ns: i64,
    window_ns: i64,
) -> PyResult<(f64, f64, f64, usize, usize, usize)> {
    let first = series(&first)?;
    let second = series(&second)?;
    on_thread(py, move |is_wanted| {
        let settings = MatchValueSettings { max_lag_ns, ..MatchValueSettings::default() };
        let mut estimator = MatchValue::new(settings);
        let (first, second) = (first.changes(), second.changes());
        let Some(&from) = first.times_ns.first() else {
            return Err(ReadError::Value("the first feed has no changes".to_owned()));
        };
        let (mut estimates, mut windows, mut reason) = (Vec::new(), 0, None);
        let mut left = first.times_ns;
        // Windows begin at multiples of their length after the first change, and have changes.
        while let Some(&at) = left.first() {
            if !is_wanted.load(Ordering::Relaxed) {
                break;
            }
            let start = at - at.saturating_sub(from) % window_ns;
            let window = Window::new(start, window_ns);
            windows += 1;
            match estimator.estimate(first, second, window) {
                Ok(estimate) => estimates.push((window.middle_ns(), estimate)),
                Err(none) => reason = reason.or(Some(none)),
            }
            let end = start.saturating_add(window_ns);
            left = &left[left.partition_point(|at| *at < end).max(1)..];
        }
        let support = estimates.iter().map(|(_, estimate)| estimate.support).sum();
        let Some(combined) = Combiner::default().combine_windows(&estimates) else {
            let reason = reason.map(|reason| format!("; of the first: {reason}"));
            let reason = reason.unwrap_or_default();
            return Err(ReadError::Value(format!("no delay in any of {windows} windows{reason}")));
        };
        let (delay, low, high) = (combined.delay_ns, combined.low_ns, combined.high_ns);
        Ok((delay, low, high, support, estimates.len(), windows))
    })
}

fn series(
    (times_ns, values): &(PyReadonlyArray1<'_, i64>, PyReadonlyArray1<'_, i64>),
) -> PyResult<Series> {
    let (times_ns, values) = (times_ns.as_array(), values.as_array());
    if times_ns.len() != values.len() {
        let line = format!("{} times and {} values", times_ns.len(), values.len());
        return Err(PyValueError::new_err(line));
    }
    let mut series = Series::new();
    for (&time_ns, &value) in times_ns.iter().zip(values) {
        series.push(time_ns, value);
    }
    Ok(series)
}
