//! A map that takes the place of another one, with other values or for more keys.
//!
//! Where: a tool calls it while no writer has the map (`nanotape latest upgrade`).
//! Protocol: what dead writers left is finished first. The owner's lock of the old file then keeps
//! writers out: one that joins waits, and opens the new file. All entries are inserted into a file
//! beside the old one, which is renamed over it when their number is right.
//! Failure: whenever the process is killed, the old map is as it was, and the file beside it is
//! removed by the next one. Readers of the old file get `Refusal::Replaced` from its check.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use nanotape_shm::{JoinedRegion, Refusal, RegionOptions, StillRegion};

use crate::{
    error::LatestError,
    hand::Hand,
    layout::Layout,
    patience::Patience,
    reader::LatestReader,
    spec::{KIND, LAYOUT, LatestSpec},
    writer::{LatestWriter, PATIENCE_AT_START},
};

/// What the name of the new file has after that of the old one.
const SUFFIX: &str = ".upgrade";

/// A map without writers, which another one is to replace. Readers go on.
#[derive(Debug)]
pub struct Replacement {
    path: PathBuf,
    reader: LatestReader,
    options: RegionOptions,
    /// Keeps writers out.
    old: StillRegion,
}

impl Replacement {
    /// Keeps writers out of the map at a path, until this is dropped. While one is alive, it is
    /// [`LatestError::Alive`].
    pub fn of(path: &Path) -> Result<Self, LatestError> {
        let reader = LatestReader::open(path)?;
        let writers = reader.writers().len();
        if writers > 0 {
            return Err(LatestError::Alive { writers });
        }
        let mode = nanotape_shm::inspect(path)?.mode & 0o777;
        let options = RegionOptions { mode, ..RegionOptions::default() };
        finish_left(path, &options)?;
        let old = StillRegion::hold(path)?;
        let reader = LatestReader::open(path)?;
        Ok(Self { path: path.to_owned(), reader, options, old })
    }

    /// A reader of the map.
    pub fn reader(&self) -> &LatestReader {
        &self.reader
    }

    /// Gives the new map the creation time of the old one: to processes that compare it, both are
    /// the same map.
    pub fn keep_creation_time(&mut self) {
        self.options.created_ns = Some(self.reader.region().created_ns());
    }

    /// Replaces the map by one of these sizes, with the same keys and the same mode. `change` makes
    /// a new value of an old one. `each` gets the number of entries so far, and can stop it: then
    /// the map stays, and the result is `None`. Otherwise it is the number of entries; their
    /// versions are 1.
    ///
    /// # Panics
    ///
    /// If keys have another length.
    pub fn write(
        self,
        spec: LatestSpec,
        change: impl FnMut(&[u64], &mut [u64]),
        each: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Option<u64>, LatestError> {
        assert!(spec.key_words == self.reader.spec().key_words, "keys of another length");
        let beside = nanotape_shm::beside(&self.path, SUFFIX);
        remove(&beside)?;
        let filled = self.fill(&beside, spec, change, each);
        let Self { old, .. } = self;
        let written = match filled {
            Ok(Some(copied)) => {
                old.replace_with(&beside).map(|()| Some(copied)).map_err(Into::into)
            }
            stopped => stopped,
        };
        if !matches!(written, Ok(Some(_))) {
            // The first error counts.
            let _ = remove(&beside);
        }
        written
    }

    fn fill(
        &self,
        beside: &Path,
        spec: LatestSpec,
        mut change: impl FnMut(&[u64], &mut [u64]),
        mut each: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Option<u64>, LatestError> {
        let mut writer = LatestWriter::join(beside, spec, &self.options)?;
        let mut new = vec![0; spec.value_words];
        let (mut copied, mut failed, mut is_stopped) = (0, None, false);
        self.reader.for_each_while(|key, value, _| {
            change(value, &mut new);
            if let Err(error) = writer.insert(key, &new) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
            copied += 1;
            let flow = each(copied);
            is_stopped = flow.is_break();
            flow
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        if is_stopped {
            return Ok(None);
        }
        for counted in [self.reader.len(), writer.reader().len()] {
            if counted != copied {
                return Err(LatestError::Count { copied, counted });
            }
        }
        self.reader.region().check()?;
        Ok(Some(copied))
    }
}

/// Removes what a killed process left.
fn remove(beside: &Path) -> Result<(), LatestError> {
    match nanotape_shm::remove(beside) {
        Ok(_) => Ok(()),
        Err(error) if *error.refusal() == Refusal::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Finishes what each dead writer began, so that all entries are whole and counted.
fn finish_left(path: &Path, options: &RegionOptions) -> Result<(), LatestError> {
    let region = JoinedRegion::open(path, KIND, LAYOUT, options)?;
    let layout = Layout::of(region.spec()).ok_or(LatestError::NoMap)?;
    for me in 1..=layout.spec.writers {
        // One that has a writer by now is found when the lock is taken.
        let Some(_slot) = region.take_number(me)? else { continue };
        let patience = Patience::new(PATIENCE_AT_START);
        let hand = Hand { region: &region, layout, me, patience: &patience, recovers: false };
        hand.finish_left()?;
    }
    Ok(())
}
