//! The payloads of a journal, and nothing else.

use std::{
    io::{self, BufWriter},
    path::{Path, PathBuf},
};

use nanotape_journal::Excerpt;
use nanotape_tape::{Gap, Reused};

use super::Dumped;
use crate::{framing::Framing, output::Output, status::warn, values::counted};

/// Writes payloads, and counts what the output does not show.
pub(super) struct Payloads {
    journal: PathBuf,
    framing: Framing,
    output: BufWriter<Output>,
    payload: Vec<u8>,
    ambiguous: u64,
    is_missing: bool,
}

impl Payloads {
    pub(super) fn new(journal: &Path, framing: Framing, output: BufWriter<Output>) -> Self {
        let journal = journal.to_owned();
        Self { journal, framing, output, payload: Vec::new(), ambiguous: 0, is_missing: false }
    }

    /// Completes the output; returns whether it shows every excerpt as it is.
    pub(super) fn finish(self) -> anyhow::Result<bool> {
        self.output.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
        if self.ambiguous > 0 {
            warn(format_args!(
                "{}: {} would read back as several; --payloads length keeps them",
                self.journal.display(),
                counted(self.ambiguous, "payload")
            ));
        }
        Ok(self.ambiguous == 0 && !self.is_missing)
    }
}

impl Dumped for Payloads {
    fn excerpt(&mut self, excerpt: &Excerpt<'_>) -> io::Result<()> {
        self.payload.resize(excerpt.len(), 0);
        excerpt.copy_to(&mut self.payload);
        self.ambiguous += u64::from(self.framing.is_ambiguous(&self.payload));
        self.framing.write(&mut self.output, &self.payload)
    }

    fn gap(&mut self, gap: Gap) -> io::Result<()> {
        self.is_missing = true;
        let Gap { from, to } = gap;
        warn(format_args!("{}: excerpts {from} to {to} are missing", self.journal.display()));
        Ok(())
    }

    fn reused(&mut self, reused: Reused) -> io::Result<()> {
        let Reused { from, to } = reused;
        let journal = self.journal.display();
        warn(format_args!("{journal}: numbers {from} to {to} are used again by what follows"));
        Ok(())
    }
}
