//! The largest delays in windows of equal length.
//!
//! Windows begin at multiples of their length. Only windows with an arrival are kept. If there are
//! too many, their length doubles, so that memory is bounded for any timestamps.

use crate::{LANES, MAX_WINDOWS};

/// A window with at least one arrival.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    /// Its start, a multiple of the length.
    pub start_ns: u64,
    /// Arrivals in it.
    pub messages: u64,
    /// The largest delay of its messages, for each service time.
    pub delays_ns: Vec<u64>,
}

/// The windows of a simulation, in the order of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Windows {
    services: usize,
    length_ns: u64,
    closed: Vec<Window>,
    start_ns: u64,
    messages: u64,
}

impl Windows {
    /// None without a length.
    pub(super) fn new(services: usize, length_ns: u64) -> Option<Self> {
        let empty = Self { services, length_ns, closed: Vec::new(), start_ns: 0, messages: 0 };
        (length_ns > 0).then_some(empty)
    }

    /// The length of each window.
    pub fn length_ns(&self) -> u64 {
        self.length_ns
    }

    /// The windows with an arrival.
    pub fn iter(&self) -> impl Iterator<Item = &Window> {
        self.closed.iter()
    }

    /// The window with this moment, if it has an arrival.
    pub fn at(&self, ns: u64) -> Option<&Window> {
        let start_ns = ns - ns % self.length_ns;
        let found = self.closed.binary_search_by_key(&start_ns, |window| window.start_ns);
        found.ok().map(|index| &self.closed[index])
    }

    /// The first of the windows with the largest delay of a service time.
    pub(super) fn worst(&self, lane: usize) -> Option<&Window> {
        // The last maximum in reverse order is the first one.
        self.closed.iter().rev().max_by_key(|window| window.delays_ns[lane])
    }

    /// Windows whose messages need more time than the window has.
    pub(super) fn overloaded(&self, service_ns: u64) -> u64 {
        let need_ns = |window: &Window| u128::from(window.messages) * u128::from(service_ns);
        let is_overloaded = |window: &&Window| need_ns(window) > u128::from(self.length_ns);
        self.closed.iter().filter(is_overloaded).count() as u64
    }

    /// Whether the current window has this moment, which is not before its start.
    #[inline]
    pub(super) fn has(&self, at_ns: u64) -> bool {
        self.messages > 0 && at_ns - self.start_ns < self.length_ns
    }

    #[inline]
    pub(super) fn count(&mut self) {
        self.messages += 1;
    }

    pub(super) fn open(&mut self, at_ns: u64) {
        self.start_ns = at_ns - at_ns % self.length_ns;
        self.messages = 0;
    }

    /// Keeps the current window, if it has an arrival.
    pub(super) fn close(&mut self, largest: &[f64; LANES]) {
        if self.messages == 0 {
            return;
        }
        let delays_ns = largest[..self.services].iter().map(|&delay| delay as u64).collect();
        let (start_ns, messages) = (self.start_ns, self.messages);
        self.messages = 0;
        let window = Window { start_ns, messages, delays_ns };
        self.keep(window);
        while self.closed.len() > MAX_WINDOWS {
            self.length_ns = self.length_ns.saturating_mul(2);
            for window in std::mem::take(&mut self.closed) {
                let start_ns = window.start_ns - window.start_ns % self.length_ns;
                self.keep(Window { start_ns, ..window });
            }
        }
    }

    /// Appends a window, or joins it with the last one if both have one start.
    fn keep(&mut self, window: Window) {
        match self.closed.last_mut() {
            Some(last) if last.start_ns == window.start_ns => {
                last.messages += window.messages;
                for (largest, delay) in last.delays_ns.iter_mut().zip(window.delays_ns) {
                    *largest = delay.max(*largest);
                }
            }
            _ => self.closed.push(window),
        }
    }
}
