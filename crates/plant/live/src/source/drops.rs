//! Counts the datagrams that the kernel dropped, in a thread of its own: the kernel's table takes
//! microseconds to read, which the thread that receives does not have.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use nanotape_feed::udp::KernelDrops;

/// Time between two readings.
const PERIOD: Duration = Duration::from_millis(500);

/// The drops of each line. The thread ends with the value.
#[derive(Debug, Default)]
pub(crate) struct DropCounter {
    counts: Arc<Vec<AtomicU64>>,
    lines: Vec<KernelDrops>,
}

impl DropCounter {
    /// Begins to count. Without a thread the counts stay 0 until the [end](Self::finish).
    pub(crate) fn start(lines: Vec<KernelDrops>) -> Self {
        let counts: Arc<Vec<AtomicU64>> =
            Arc::new(lines.iter().map(|_| AtomicU64::new(0)).collect());
        let (weak, watched) = (Arc::downgrade(&counts), lines.clone());
        let work = move || {
            while read(&weak, &watched) {
                thread::sleep(PERIOD);
            }
        };
        let _ = thread::Builder::new().name("drops".to_owned()).spawn(work);
        Self { counts, lines }
    }

    /// The drops of a line.
    pub(crate) fn of(&self, line: usize) -> u64 {
        self.counts.get(line).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Reads the final counts.
    pub(crate) fn finish(&self) {
        read(&Arc::downgrade(&self.counts), &self.lines);
    }
}

/// Reads the drops; `false` after the counter was dropped.
fn read(counts: &Weak<Vec<AtomicU64>>, lines: &[KernelDrops]) -> bool {
    let Some(counts) = counts.upgrade() else { return false };
    for (count, line) in counts.iter().zip(lines) {
        // A failed reading leaves the last count.
        if let Ok(drops) = line.count() {
            count.store(drops, Ordering::Relaxed);
        }
    }
    true
}
