//! `nanotape run` with a ring or board that is removed, replaced or truncated during the run: real
//! processes and files.

use std::{fs, path::Path};

use nanotape_plant::records::{Notice, Record, StopReason};
use nanotape_ring::Start;
use nanotape_tap::{Event, Subscription};
use serde_json::Value;

use crate::support::{
    Folder, nanotape,
    plants::{DATE, Ring},
    running::{Running, json},
};

/// The way in which a region is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loss {
    Removed,
    Replaced,
    Cut,
}

const LOSSES: [Loss; 3] = [Loss::Removed, Loss::Replaced, Loss::Cut];

impl Loss {
    fn happen(self, path: &Path) {
        match self {
            Self::Removed => fs::remove_file(path).unwrap(),
            Self::Replaced => {
                fs::remove_file(path).unwrap();
                let ran = nanotape(["ring", "publish", path.to_str().unwrap()]);
                assert_eq!(ran.status, 0, "{}", ran.stderr);
            }
            Self::Cut => {
                let file = fs::File::options().write(true).open(path).unwrap();
                file.set_len(4096).unwrap();
            }
        }
    }

    /// A check between the removal and the next region finds no region.
    fn is_reported(self, complained: &str) -> bool {
        match self {
            Self::Removed => complained.contains("removed"),
            Self::Replaced => complained.contains("replaced") || complained.contains("removed"),
            Self::Cut => complained.contains("truncated"),
        }
    }
}

/// Checks that the plant ended with status 1 and one line with the region and the remedy.
fn check_end(plant: &mut Running, path: &Path, loss: Loss) {
    let (status, said, complained) = plant.end();
    assert_eq!(status, Some(1), "{loss:?} of {path:?}: {complained}");
    let stop = json(&said);
    assert_eq!((&stop["event"], &stop["reason"]), (&"stop".into(), &"failed".into()), "{said}");
    assert!(complained.ends_with(&format!(": {}\n", stop["error"].as_str().unwrap())), "{said}");
    let is_of_wait = |line: &&str| line.starts_with("nanotape: waiting until ");
    let lines = complained.lines().filter(|line| !is_of_wait(line)).count();
    assert_eq!(lines, 1, "{complained}");
    let is_named = complained.contains(path.to_str().unwrap()) && loss.is_reported(&complained);
    assert!(is_named && complained.contains("start the plant again"), "{complained}");
}

#[test]
fn a_plant_whose_ring_or_board_is_lost_stops_with_status_1() {
    let folder = Folder::new("run-lost");
    let day = folder.day(20_000, 20);
    for loss in LOSSES {
        for is_board in [false, true] {
            let ring = Ring::new(&format!("lost-{loss:?}-{is_board}"));
            let path = if is_board { ring.board() } else { ring.0.clone() };
            let (mut plant, _) = Running::plant(&day, &ring, &["--capacity", "1MiB"]);
            loss.happen(&path);
            check_end(&mut plant, &path, loss);
        }
    }
}

#[test]
fn a_plant_that_waits_for_input_notices_that_its_ring_is_gone() {
    let ring = Ring::new("lost-idle");
    let mut plant = Running::start_fed(&[
        "run",
        "--input",
        "-",
        "--date",
        DATE,
        "--ring",
        ring.path(),
        "--format",
        "json",
    ]);
    assert_eq!(plant.read_json()["event"], "start");
    fs::remove_file(&ring.0).unwrap();
    // Its standard input stays open until it has ended.
    while plant.is_running() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    check_end(&mut plant, &ring.0, Loss::Removed);
}

#[test]
fn readers_of_a_removed_ring_learn_why_its_plant_stopped_and_the_next_plant_begins_anew() {
    let folder = Folder::new("run-lost-reported");
    let (day, ring) = (folder.day(20_000, 20), Ring::new("lost-reported"));
    let (mut plant, start) = Running::plant(&day, &ring, &["--capacity", "1MiB"]);
    assert_eq!(start["origin"], "created");
    let mut subscriber = Subscription::to(ring.path()).from(Start::Oldest).open().unwrap();
    fs::remove_file(&ring.0).unwrap();
    check_end(&mut plant, &ring.0, Loss::Removed);
    let mut stop = None;
    let see = |event: Event<'_>| {
        if let Event::Record(delivery) = event
            && let Record::Notice(Notice::Stop(reported)) = delivery.record
        {
            stop = Some(reported.reason);
        }
    };
    let mut see = see;
    while subscriber.poll(&mut see).unwrap() > 0 {}
    assert_eq!(stop, Some(StopReason::RegionLost));

    let (_plant, start): (_, Value) = Running::plant(&day, &ring, &["--capacity", "1MiB"]);
    assert_eq!((&start["origin"], &start["first_sequence"]), (&"created".into(), &1.into()));
}

#[test]
fn what_belonged_to_a_removed_ring_can_be_removed() {
    let folder = Folder::new("run-lost-parts");
    let (day, ring) = (folder.day(20_000, 20), Ring::new("lost-parts"));
    let (mut plant, _) = Running::plant(&day, &ring, &["--capacity", "1MiB"]);
    fs::remove_file(&ring.0).unwrap();
    check_end(&mut plant, &ring.0, Loss::Removed);
    let remove = || nanotape(["ring", "remove", ring.path(), "--format", "json"]);
    let removed = remove();
    assert_eq!(removed.status, 0, "{}", removed.stderr);
    let removed = json(&removed.stdout);
    assert_eq!(removed["board"], ring.board().to_str().unwrap(), "{removed}");
    assert!(removed["file_bytes"].is_null() && !ring.board().exists(), "{removed}");
    assert_eq!(remove().status, 2, "nothing is left");
}
