//! Files that are open at the same time: `--partition symbol` has one for each stock and table.

use std::cell::Cell;

use anyhow::ensure;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files beside those of stocks: the input, standard streams, signals.
const OTHERS: u64 = 32;

/// How many files of stocks may be open, and how many are.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    most: u64,
    open: Cell<u64>,
}

impl OpenFiles {
    /// Raises the limit of this process for so many files, as far as it may.
    pub(crate) fn allow(files: u64) -> Self {
        let needed = files.saturating_add(OTHERS);
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current.is_some_and(|current| current < needed) {
            let current = Some(maximum.map_or(needed, |maximum| needed.min(maximum)));
            // If that fails, the limit is the one that is read below.
            let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
        }
        let current = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Self { most: current.saturating_sub(OTHERS), open: Cell::new(0) }
    }

    /// Refuses more files than may be open.
    pub(crate) fn require(&self, files: u64) -> anyhow::Result<()> {
        ensure!(
            files <= self.most,
            "--partition symbol: {files} files of stocks and tables are open at the same time, and the \
             limit is {} with {OTHERS} others: use ulimit -n {} or higher, or fewer --symbols",
            self.most,
            files.saturating_add(OTHERS)
        );
        Ok(())
    }

    /// Counts one more.
    pub(crate) fn open(&self) -> anyhow::Result<()> {
        ensure!(
            self.open.get() < self.most,
            "--partition symbol: more than {} files of stocks and tables are open at the same time, \
             the limit with {OTHERS} others: use ulimit -n {} or higher, or fewer --symbols",
            self.most,
            self.most.max(OTHERS).saturating_mul(2).saturating_add(OTHERS)
        );
        self.open.set(self.open.get() + 1);
        Ok(())
    }
}
