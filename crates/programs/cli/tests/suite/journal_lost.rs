//! A journal that is removed, replaced or renamed while it is recorded: the recorder reports
//! it, its totals are what the journal has, and no new folder gets the old name.

use std::{fs, path::Path};

use nanotape_harness::eventually;
use nanotape_journal::{Start, Tail, Tailer};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use crate::support::{
    Folder,
    live::Plant,
    nanotape,
    plants::{DATE, Ring},
    running::{Running, json, objects},
};

/// What happens to a journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loss {
    Removed,
    Renamed,
    /// Another folder, which is empty, gets the name.
    Replaced,
    /// Only the files of the segments are removed.
    Emptied,
    /// Only the file of the active segment is removed.
    LastSegment,
}

const LOSSES: [Loss; 5] =
    [Loss::Removed, Loss::Renamed, Loss::Replaced, Loss::Emptied, Loss::LastSegment];

impl Loss {
    fn happen(self, journal: &str) {
        let moved = moved(journal);
        match self {
            Self::Removed => remove_all(journal),
            Self::Renamed => fs::rename(journal, moved).unwrap(),
            Self::Replaced => {
                fs::rename(journal, moved).unwrap();
                fs::create_dir(journal).unwrap();
            }
            Self::Emptied => {
                segments(journal).iter().for_each(|path| fs::remove_file(path).unwrap())
            }
            Self::LastSegment => {
                let active = segments(journal).into_iter().rfind(|path| is_active(path)).unwrap();
                fs::remove_file(active).unwrap();
            }
        }
    }

    /// The folder in which the rest of the journal is.
    fn left(self, journal: &str) -> String {
        match self {
            Self::Renamed | Self::Replaced => moved(journal),
            _ => journal.to_owned(),
        }
    }
}

fn moved(journal: &str) -> String {
    format!("{journal}-moved")
}

/// Removes a folder in which another process makes files meanwhile.
fn remove_all(folder: &str) {
    eventually("the folder is removed", || {
        fs::remove_dir_all(folder).is_ok() || !Path::new(folder).exists()
    });
}

fn segments(journal: &str) -> Vec<String> {
    let entries = fs::read_dir(journal).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path().to_str().unwrap().to_owned());
    let mut paths: Vec<_> = paths.filter(|path| path.ends_with(".segment")).collect();
    paths.sort();
    paths
}

/// Whether a segment has an excerpt: a prepared one has none.
fn is_active(segment: &str) -> bool {
    let activation = nanotape_journal::FIELDS.iter().find(|field| field.2 == "activation").unwrap();
    fs::read(segment).unwrap()[activation.0..][..8] != [0; 8]
}

/// Excerpts that can be read in a folder; 0 without a journal.
fn readable(journal: &str) -> u64 {
    let Ok(mut tailer) = Tailer::open(journal.as_ref(), Start::Oldest) else { return 0 };
    let mut count = 0;
    while let Tail::Excerpt(_) = tailer.next().unwrap() {
        count += 1;
    }
    count
}

#[test]
fn a_recorder_whose_journal_is_lost_ends_with_status_1_and_true_totals() {
    for (loss, segment) in LOSSES.into_iter().flat_map(|loss| [(loss, "64MiB"), (loss, "64KiB")]) {
        let folder = Folder::new("journal-lost");
        let (ring, journal) = (folder.path("ring"), folder.path("journal"));
        let mut writer = Running::start_fed(&["ring", "publish", &ring, "--format", "json"]);
        writer.read_json();
        let mut recorder = Running::start(&[
            "journal",
            "record",
            &ring,
            &journal,
            "--segment",
            segment,
            "--format",
            "json",
        ]);
        let count = 5_000;
        (1..=count).for_each(|number| writer.say(&format!("message {number}")));
        eventually("all of it is recorded", || readable(&journal) == count);
        loss.happen(&journal);
        let (status, said, complained) = recorder.end();
        assert_eq!(status, Some(1), "{loss:?} {segment}: {complained}");
        let path = if loss == Loss::Replaced { moved(&journal) } else { journal.clone() };
        let is_named = complained.contains(&journal) || complained.contains(&path);
        let is_reported =
            complained.contains("removed, replaced or truncated") || complained.contains("renamed");
        assert!(is_named && is_reported, "{loss:?} {segment}: {complained}");
        let summary = json(&said);
        let left = readable(&loss.left(&journal));
        assert_eq!(summary["recorded"], left, "{loss:?} {segment}: {summary}");
        assert_eq!(summary["lost"], count - left, "{loss:?} {segment}: {summary}");
        if matches!(loss, Loss::Renamed | Loss::Replaced) {
            assert_eq!(left, count, "{loss:?}: it is there under the other name");
        }
        writer.end();
    }
}

#[test]
fn messages_of_a_lost_journal_count_as_lost_if_the_rest_of_it_cannot_be_read() {
    let folder = Folder::new("journal-unread");
    let (ring, journal) = (folder.path("ring"), folder.path("journal"));
    let mut writer = Running::start_fed(&["ring", "publish", &ring, "--format", "json"]);
    writer.read_json();
    let mut recorder = Running::start(&["journal", "record", &ring, &journal, "--format", "json"]);
    (1..=10).for_each(|number| writer.say(&format!("message {number}")));
    eventually("all of it is recorded", || readable(&journal) == 10);
    let active = segments(&journal).into_iter().rfind(|path| is_active(path)).unwrap();
    fs::remove_file(&active).unwrap();
    mknodat(CWD, &active, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let (status, said, complained) = recorder.end();
    assert_eq!(status, Some(1), "{complained}");
    let reported = "all messages count as lost, since the rest of the journal cannot be read: ";
    assert!(complained.contains(reported) && complained.contains(&active), "{complained}");
    let summary = json(&said);
    assert_eq!((&summary["recorded"], &summary["lost"]), (&0.into(), &10.into()), "{summary}");
    writer.end();
}

/// A plant that is recorded, with snapshots.
fn plant(day: &str, ring: &Ring, journal: &str, options: &[&str]) -> Running {
    let run = ["run", "--input", day, "--date", DATE, "--ring", ring.path(), "--journal", journal];
    let paced = ["--pace", "1x", "--pace-from", "12:00", "--snapshots", "--format", "json"];
    let mut plant = Running::start(&[&run[..], &paced, options].concat());
    plant.read_json();
    plant
}

fn stat(ring: &Ring) -> Value {
    json(&nanotape(["stat", ring.path(), "--interval", "0", "--format", "json"]).stdout)
}

#[test]
fn a_plant_whose_journal_is_lost_says_so_and_so_does_stat() {
    for loss in [Loss::Removed, Loss::Renamed] {
        let folder = Folder::new("plant-journal-lost");
        let (day, journal) = (folder.day(60_000, 20), folder.path("journal"));
        let ring = Ring::new(&format!("journal-lost-{loss:?}"));
        let mut running = plant(&day, &ring, &journal, &[]);
        eventually("it is recorded", || {
            let seen = stat(&ring);
            seen["recorder_state"] == "recording"
                && seen["recorder_recorded"].as_u64() > Some(1_000)
        });
        loss.happen(&journal);
        let (status, said, complained) = running.end();
        assert_eq!(status, Some(1), "{loss:?}: {said}{complained}");
        assert!(complained.contains(&journal), "{loss:?}: {complained}");
        assert!(!Path::new(&journal).exists(), "{loss:?}: nothing is made there again");
        let seen = stat(&ring);
        let left = readable(&loss.left(&journal));
        assert_eq!(seen["recorder_state"], "journal gone", "{loss:?}: {seen}");
        assert_eq!(seen["recorder_recorded"], left, "{loss:?}: {seen}");
        let text = nanotape(["stat", ring.path(), "--interval", "0", "--format", "text"]).stdout;
        assert!(!text.contains("every message is recorded"), "{loss:?}: {text}");
        assert!(text.contains("the journal was removed, replaced or renamed"), "{loss:?}: {text}");
        assert!(objects(&said).iter().all(|row| row["lost"] != 0), "{loss:?}: {said}");
    }
}

#[test]
fn a_live_plant_whose_journal_is_lost_ends_for_that_reason() {
    let folder = Folder::new("live-journal-lost");
    let journal = folder.path("journal");
    let mut plant = Plant::start("live-journal-lost", &["--journal", &journal]);
    // Before that nothing is lost: the next recorder would record the ring from its beginning.
    eventually("the start is recorded", || {
        let stat = nanotape(["stat", plant.ring.path(), "--format", "json"]);
        json(&stat.stdout)["recorder_recorded"] == 1
    });
    Loss::Removed.happen(&journal);
    let (status, stop, complained) = plant.end();
    assert_eq!(status, Some(1), "{complained}");
    assert_eq!(stop["reason"], "recorder failed", "{complained}");
}

#[test]
fn stat_does_not_say_that_every_message_is_recorded_beside_a_loss() {
    let folder = Folder::new("stat-beside-loss");
    let (day, journal) = (folder.day(20_000, 20), folder.path("journal"));
    let ring = Ring::new("stat-beside-loss");
    let run =
        ["run", "--input", &day, "--date", DATE, "--ring", ring.path(), "--capacity", "64KiB"];
    assert_eq!(nanotape(run).status, 0);
    let recorded = nanotape(["journal", "record", ring.path(), &journal]);
    assert_eq!(recorded.status, 0, "{}", recorded.stderr);
    let text = nanotape(["stat", ring.path(), "--interval", "0", "--format", "text"]).stdout;
    assert!(text.contains(" lost in 1 gaps"), "{text}");
    assert!(text.contains("earlier messages are lost"), "{text}");
    assert!(!text.contains("every message is recorded"), "{text}");
}
