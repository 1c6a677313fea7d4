//! `--bursts`: the worst bursts as day files.

use std::{fs, path::Path};

use anyhow::{Context as _, bail};
use nanotape_lab::queue::Bursts;

use super::QueueCommand;

/// Bursts that are written.
const MOST: usize = 100;

impl QueueCommand {
    /// Refuses a folder with files, unless `--force` is given, and standard input.
    pub(super) fn require_new_folder(&self) -> anyhow::Result<()> {
        let Some(folder) = &self.bursts else { return Ok(()) };
        if self.input.name() == "-" {
            bail!("standard input is read only once: give --bursts a file");
        }
        if folder.exists() && !is_empty(folder) && !self.output.force {
            bail!("{}: not an empty folder; use --force to write into it", folder.display());
        }
        Ok(())
    }

    /// Writes the worst bursts of a service time, if a folder is given.
    pub(super) fn write_bursts(&self, service_ns: u64) -> anyhow::Result<()> {
        let Some(folder) = &self.bursts else { return Ok(()) };
        let mut bursts = Bursts::new(service_ns, MOST);
        let mut lacks_messages = false;
        self.read_arrivals(|at_ns, _, message| {
            lacks_messages |= message.is_empty();
            bursts.arrive(at_ns, |bytes| {
                // A message of the exchange is shorter than 64 KiB: its length had 16 bits.
                bytes.extend_from_slice(&(message.len() as u16).to_be_bytes());
                bytes.extend_from_slice(message);
            });
        })?;
        if lacks_messages {
            bail!(
                "{}: has records without the exchange's messages; --bursts needs a day file or a \
                 capture",
                self.input.name()
            );
        }
        let cannot = |path: &Path| format!("cannot write {}", path.display());
        fs::create_dir_all(folder).with_context(|| cannot(folder))?;
        for (index, burst) in bursts.finish().iter().enumerate() {
            let path = folder.join(format!("burst-{:03}.itch50", index + 1));
            fs::write(&path, &burst.bytes).with_context(|| cannot(&path))?;
        }
        Ok(())
    }
}

/// Whether it is a folder without entries.
fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
