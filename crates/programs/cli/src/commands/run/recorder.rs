//! The process that records a plant: this program again, as `nanotape journal record`.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use nanotape_plant::{
    Companion, RecorderProcess, Report, RunError,
    config::{Compression, JournalConfig, sync_policy_text},
};

use crate::verbosity::is_quiet;

/// The process that records the ring of this name.
pub(super) fn process(
    journal: &JournalConfig,
    ring: &Path,
    report: Report,
) -> Result<RecorderProcess, RunError> {
    let ring = nanotape_shm::named(ring)?;
    let mut arguments = words(["journal", "record", "--for-plant"]);
    if is_quiet() {
        arguments.push("--quiet".into());
    }
    let mut option = |name: &str, value: String| {
        arguments.extend([OsString::from(name), OsString::from(value)]);
    };
    option("--segment", journal.segment_bytes.to_string());
    option("--roll", journal.roll.to_string());
    option("--sync", sync_policy_text(journal.sync));
    option("--ahead", journal.ahead_bytes.to_string());
    option("--mode", format!("{:o}", journal.mode));
    if let Some(cpu) = journal.cpu {
        option("--cpu", cpu.to_string());
    }
    if journal.small_pages {
        arguments.push("--small-pages".into());
    }
    // After this, a path that begins with a dash is a path.
    arguments.extend(["--".into(), ring.into(), journal.dir.clone().into()]);
    Ok(RecorderProcess {
        program: program(),
        arguments,
        companions: companions(journal),
        journal: journal.dir.clone(),
        waits: journal.wait,
        report,
    })
}

/// The processes that work on the journal while it is recorded.
fn companions(journal: &JournalConfig) -> Vec<Companion> {
    let mut companions = Vec::new();
    if journal.snapshots {
        let mode = format!("{:o}", journal.mode);
        let mut arguments = words(["journal", "snapshot", "--follow", "--mode", &mode]);
        if let Some(cpu) = journal.snapshot_cpu {
            arguments.extend(words(["--cpu", &cpu.to_string()]));
        }
        companions.push(Companion { name: "snapshots", arguments, matters: true });
    }
    if journal.needs_upkeep() {
        let mut arguments = words(["journal", "upkeep", "--follow"]);
        if journal.compress == Compression::Rolled {
            arguments.extend(words(["--compress"]));
        }
        if let Some(bytes) = journal.keep {
            arguments.extend(words(["--keep", &bytes.to_string()]));
        }
        if let Some(age) = journal.older_than {
            arguments.extend(words(["--older-than", &format!("{}ns", age.as_nanos())]));
        }
        companions.push(Companion { name: "upkeep", arguments, matters: false });
    }
    for companion in &mut companions {
        if is_quiet() {
            companion.arguments.push("--quiet".into());
        }
        // After this, a path that begins with a dash is a path.
        companion.arguments.extend(["--".into(), journal.dir.clone().into()]);
    }
    companions
}

/// This program.
pub(super) fn program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| "nanotape".into())
}

pub(super) fn words<const N: usize>(words: [&str; N]) -> Vec<OsString> {
    words.into_iter().map(OsString::from).collect()
}
