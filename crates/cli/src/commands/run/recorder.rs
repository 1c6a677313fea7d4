//! The process that records a plant: this program again, as `nanotape journal record`.

use std::ffi::OsString;

use nanotape_plant::{
    RecorderProcess, RunError,
    config::{JournalConfig, roll_cycle_text, sync_policy_text},
};

use crate::status::tell;

/// The process that records the ring of this name.
pub(super) fn process(journal: &JournalConfig, ring: &str) -> Result<RecorderProcess, RunError> {
    let ring = nanotape_shm::named(ring)?;
    let mut arguments: Vec<OsString> =
        ["journal", "record", "--for-plant"].into_iter().map(OsString::from).collect();
    let mut option = |name: &str, value: String| {
        arguments.extend([OsString::from(name), OsString::from(value)]);
    };
    option("--segment", journal.segment_bytes.to_string());
    option("--roll", roll_cycle_text(journal.roll));
    option("--sync", sync_policy_text(journal.sync));
    option("--ahead", journal.ahead_bytes.to_string());
    option("--mode", format!("{:o}", journal.mode));
    if let Some(cpu) = journal.cpu {
        option("--cpu", cpu.to_string());
    }
    if journal.small_pages {
        arguments.push("--small-pages".into());
    }
    let mut snapshots: Vec<OsString> = Vec::new();
    if journal.snapshots {
        let words = ["journal", "snapshot", "--follow", "--mode"];
        snapshots.extend(words.into_iter().map(OsString::from));
        snapshots.push(format!("{:o}", journal.mode).into());
        if let Some(cpu) = journal.snapshot_cpu {
            snapshots.extend([OsString::from("--cpu"), cpu.to_string().into()]);
        }
        snapshots.extend(["--".into(), journal.dir.clone().into()]);
    }
    // After this, a path that begins with a dash is a path.
    arguments.extend(["--".into(), ring.into(), journal.dir.clone().into()]);
    Ok(RecorderProcess {
        program: std::env::current_exe().unwrap_or_else(|_| "nanotape".into()),
        arguments,
        snapshots,
        journal: journal.dir.clone(),
        waits: journal.wait,
        report: |line| tell(line),
    })
}
