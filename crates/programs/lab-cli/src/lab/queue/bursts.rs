//! `--bursts`: the worst bursts as day files.

use std::{fmt::Write as _, fs, io::Write as _, path::Path};

use anyhow::{Context as _, bail};
use nanotape_console::{
    output::Output,
    values::{grouped, nanos_text},
};
use nanotape_queue::{Bursts, burst_records};
use serde_json::Value;

use super::{QueueCommand, text::time};

/// Bursts that are written.
const MOST: usize = 100;

/// Bursts in the text.
const SHOWN: usize = 10;

impl QueueCommand {
    /// Refuses a folder with files, unless `--force` is given, and standard input.
    pub(super) fn require_new_folder(&self) -> anyhow::Result<()> {
        let Some(folder) = &self.bursts else { return Ok(()) };
        if self.input.is_read_once() {
            bail!("standard input is read only once: give --bursts a file");
        }
        if folder.exists() && !is_empty(folder) && !self.output.force {
            bail!("{}: not an empty folder; use --force to write into it", folder.display());
        }
        Ok(())
    }

    /// Writes the worst bursts of a service time, if a folder is given, and returns their records.
    pub(super) fn write_bursts(&self, service_ns: u64) -> anyhow::Result<Vec<Value>> {
        let Some(folder) = &self.bursts else { return Ok(Vec::new()) };
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
        let bursts = bursts.finish();
        for (index, burst) in bursts.iter().enumerate() {
            let path = folder.join(format!("burst-{:03}.itch50", index + 1));
            let mut output = Output::create(&path, self.output.force)?;
            output.write_all(&burst.bytes)?;
            output.finish()?;
        }
        Ok(burst_records(&bursts, service_ns, self.ring))
    }
}

/// The table of the worst bursts. `ring`: that of `--ring`.
pub(super) fn text(bursts: &[Value], ring: Option<u64>) -> String {
    let mut text = String::new();
    if bursts.is_empty() {
        return text;
    }
    let drops = ring.map_or_else(String::new, |ring| format!("{} drop at", grouped(ring)));
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\n{:<12} {:<18} {:>10} {:>10} {drops:>16}",
        "burst", "from", "messages", "largest"
    );
    for (index, burst) in bursts.iter().take(SHOWN).enumerate() {
        let number = |name: &str| burst[name].as_u64().unwrap_or(0);
        let speed = match (ring, burst["ring_speed"].as_f64()) {
            (Some(_), Some(speed)) => format!("{speed:.2} times"),
            (Some(_), None) => "no speed".to_owned(),
            (None, _) => String::new(),
        };
        let _ = writeln!(
            text,
            "{:<12} {:<18} {:>10} {:>10} {speed:>16}",
            format!("burst-{:03}", index + 1),
            time(number("first_ns")),
            grouped(number("messages")),
            nanos_text(number("largest_delay_ns")),
        );
    }
    text
}

/// Whether it is a folder without entries.
fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
