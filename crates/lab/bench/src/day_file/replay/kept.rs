//! The journal that all rows of reading share: recorded once, with snapshots, and removed at the
//! end.
//!
//! Its ring stays too, so that a subscriber can go from the journal to the ring.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::bail;
use nanotape_console::progress::Progress;
use nanotape_history::{Snapshots, Snapshotter, SnapshotterOptions};
use nanotape_journal::{SNAPSHOTS, stat};
use nanotape_shm::free_bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    super::{
        plant_variants::{Shape, USUAL},
        publish,
    },
    Pass, Replay,
    moments::Moments,
    recorder::RecorderJob,
    rows::{RECORDER, Work},
};
use crate::{
    engine::{Folder, Reading, Run, Worker, Written, is_memory, real, row},
    error::Error,
};

/// Bytes of a journal with its snapshots for one message of a day: about one and a half records of
/// up to 104 bytes each, and a reserve.
const BYTES_PER_MESSAGE: u64 = 225;

/// The smallest ring of a plant that waits for its recorder.
const LEAST_RING_BYTES: usize = 64 << 10;

/// The paths and the sizes of the journal.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) ring: PathBuf,
    pub(super) journal: PathBuf,
    /// The file with the moments and their answers.
    pub(super) moments: PathBuf,
    /// Records of the journal.
    pub(super) records: u64,
    /// Bytes of its excerpts.
    pub(super) bytes: u64,
    pub(super) snapshots: u64,
    pub(super) snapshot_bytes: u64,
}

impl Kept {
    /// Bytes of the snapshots in percent of the bytes of the journal.
    pub(super) fn snapshot_percent(&self) -> f64 {
        100.0 * self.snapshot_bytes as f64 / self.bytes.max(1) as f64
    }

    /// Updates the sizes.
    fn measure(&mut self) -> Result<(), Error> {
        let snapshots = Snapshots::list(&self.journal)?;
        (self.snapshots, self.snapshot_bytes) = (snapshots.len() as u64, snapshots.bytes());
        let stat = stat(&self.journal)?;
        self.bytes = stat.data_bytes();
        self.records = stat.next_sequence().unwrap_or(1) - 1;
        Ok(())
    }
}

/// Chooses the folder of the journals, and checks that it has room for them.
pub(super) fn choose_folder(run: &mut Run<Replay>) -> anyhow::Result<()> {
    let options = &run.options;
    let is_kept = run.rows.iter().any(|row| row.work.reads_journal());
    let is_recorded = run.rows.iter().any(|row| row.work == Work::Recorder);
    let journals = u64::from(is_kept) + u64::from(is_recorded);
    if journals == 0 {
        return Ok(());
    }
    // Adds a segment that is prepared and one that is not full.
    let one = options.day.messages * BYTES_PER_MESSAGE + 2 * options.segment_bytes;
    let needed = journals * one;
    let free = |folder: &Path| -> anyhow::Result<u64> {
        Ok(free_bytes(&File::open(folder).map_err(Error::system("open the folder"))?))
    };
    let memory = Path::new("/dev/shm");
    let folder = match &options.folder {
        Some(folder) => real(folder)?,
        None if memory.is_dir() && free(memory)? >= needed => memory.to_owned(),
        None => real(&std::env::temp_dir())?,
    };
    let free = free(&folder)?;
    if free < needed {
        bail!(
            "{}: {free} bytes free, {journals} journals of this day take up to {needed}; select \
             another folder with --folder",
            folder.display()
        );
    }
    if !is_memory(&folder) {
        run.notes.push(format!(
            "the journals are in {}, which is not in memory: times include the disk unless the \
             kernel has the files in its cache",
            folder.display()
        ));
    }
    run.options.folder = Some(folder);
    Ok(())
}

/// Records the journal, if a row needs it, and draws the moments.
pub(super) fn make(
    run: &mut Run<Replay>,
    progress: &Progress,
    is_ended: &dyn Fn() -> bool,
) -> Result<(), Error> {
    if !run.rows.iter().any(|row| row.work.reads_journal()) {
        return Ok(());
    }
    // Before the folders exist: nothing is left if the process is killed meanwhile.
    let moments = match run.rows.iter().any(|row| row.work.is_of_moments()) {
        true => {
            progress.set_of(0, run.readings(), "books from the file");
            Some(Moments::draw(&run.options.day, run.options.moments as usize)?)
        }
        false => None,
    };
    if is_ended() {
        return Err(Error::Interrupted);
    }
    let made = || Error::system("make a folder");
    let parent = run.options.folder();
    // The ring and the moments are in memory.
    let meeting = Folder::new("replay").map_err(made())?;
    let journal = Folder::new_in(parent, "replay").map_err(made())?;
    let mut kept = Kept {
        ring: meeting.path().join("ring"),
        journal: journal.path().join("journal"),
        moments: meeting.path().join("moments"),
        ..Kept::default()
    };
    run.options.folders = [meeting, journal].map(Arc::new).into();
    if let Some(moments) = moments {
        moments.store(&kept.moments)?;
    }
    progress.set_of(0, run.readings(), "recording");
    run.options.kept = Some(kept.clone());
    let row = row::find(RECORDER).ok_or_else(|| Error::found(RECORDER, "no such row"))?;
    run.read(row, Pass::Record, 0)?;
    kept.measure()?;
    run.options.kept = Some(kept);
    Ok(())
}

/// Records the shared journal, and writes its snapshots.
pub(super) fn record(worker: &mut Worker<Replay>) -> Result<Reading, Error> {
    let kept = worker.job.options.kept()?.clone();
    let mut capacity_bytes = USUAL.capacity_bytes;
    // The ring must not have the whole day, or there would be nothing to heal.
    while capacity_bytes as u64 > worker.job.options.day.bytes / 4
        && capacity_bytes > LEAST_RING_BYTES
    {
        capacity_bytes /= 2;
    }
    let shape = Shape { capacity_bytes, ..USUAL };
    let report = recorded(worker, shape, kept.ring, kept.journal.clone())?;
    write_snapshots(&kept.journal)?;
    Ok(report)
}

/// Runs a plant that waits for its recorder.
pub(super) fn recorded(
    worker: &mut Worker<Replay>,
    shape: Shape,
    ring: PathBuf,
    journal: PathBuf,
) -> Result<Reading, Error> {
    let options = worker.job.options.clone();
    let job = RecorderJob {
        ring: ring.clone(),
        journal,
        segment_bytes: options.segment_bytes,
        cpu: options.recorder_cpu,
        others: worker.other_cpus().to_vec(),
    };
    let recorded = Some((ring, job.process()?));
    publish::publish(worker, shape, super::super::Pass::Measure, recorded)
}

fn write_snapshots(journal: &Path) -> Result<(), Error> {
    let mut snapshotter = Snapshotter::open(journal, &SnapshotterOptions::default())?;
    Ok(snapshotter.run(|_| (), |_| ())?)
}

/// Writes the snapshots of the shared journal again.
pub(super) fn snapshot(worker: &mut Worker<Replay>) -> Result<Reading, Error> {
    let before = worker.job.options.kept()?.clone();
    let removed = fs::remove_dir_all(before.journal.join(SNAPSHOTS));
    removed.map_err(Error::system("remove the snapshots"))?;
    worker.begin(&[])?;
    let began = worker.clock.stamp_start();
    write_snapshots(&before.journal)?;
    let nanos = worker.clock.nanos_between(began, worker.clock.stamp());
    let mut kept = before.clone();
    kept.measure()?;
    let sizes = |kept: &Kept| (kept.records, kept.snapshots, kept.snapshot_bytes);
    if sizes(&kept) != sizes(&before) {
        let found = format!(
            "{} snapshots of {} bytes; the first time {} of {}",
            kept.snapshots, kept.snapshot_bytes, before.snapshots, before.snapshot_bytes
        );
        return Err(Error::found("the snapshots", found));
    }
    let detail = json!({ "snapshot_percent": kept.snapshot_percent() });
    Ok(Reading { detail, ..Written { messages: kept.records, nanos }.into() })
}
