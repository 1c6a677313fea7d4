//! A live session that was kept is run again exactly.

use nanotape_harness::Signal;

use crate::support::{
    Folder,
    live::{Plant, SNAPSHOTS, day},
    nanotape,
    plants::Ring,
};

/// What the machine and the servers did is not in the packets.
const OF_RUN: [&str; 6] = [
    "path",
    "run_ns",
    "messages_per_second",
    "lines",
    "rerequest_errors",
    "rerequest_servers_down",
];

/// Runs a kept session again; returns the status, its stop record, and the digest.
fn run_again(folder: &str, name: &str) -> (i32, serde_json::Value, u64) {
    let ring = Ring::new(name);
    let arguments = ["run", "--input", folder, "--ring", ring.path(), "--format", "json"];
    let again = nanotape(arguments.iter().chain(&["--capacity", "64MiB"]));
    let stop = again.stdout.lines().last().unwrap_or_else(|| panic!("{again:?}"));
    let mut stop: serde_json::Value = serde_json::from_str(stop).unwrap();
    OF_RUN.iter().for_each(|key| drop(stop.as_object_mut().unwrap().remove(*key)));
    (again.status, stop, ring.stop().digest)
}

#[test]
fn a_kept_session_with_every_kind_of_recovery_has_the_same_digest_again() {
    let folder = Folder::new("live-kept");
    let (path, kept) = (day(&folder), folder.path("days/kept"));
    let options = ["--join", "start", SNAPSHOTS, "--keep", &kept];
    let mut plant = Plant::start("live-kept", &options);
    let faults = ["--faults-a", "drop=2%,dup=1%,reorder=1%x4,truncate=0.1%"];
    let others = ["--faults-b", "drop=2%", "--faults-both", "drop=0.2%", "--seed", "5"];
    let servers = ["--rerequest-faults", "drop=50%", "--linger", "5s", "--pace", "10000x"];
    plant.send(&path, &[faults.as_slice(), &others, &servers].concat());
    let (status, mut stop, stderr) = plant.end();
    OF_RUN.iter().for_each(|key| drop(stop.as_object_mut().unwrap().remove(*key)));
    assert!(stop["gap_messages_retransmitted"].as_u64().unwrap() > 0, "{stop} {stderr}");
    let digest = plant.ring.stop().digest;
    let (status_again, stop_again, digest_again) = run_again(&kept, "live-kept-again");
    assert_eq!(digest_again, digest);
    assert_eq!((Some(status_again), stop_again), (status, stop));

    let mut second = Plant::try_start("live-kept-twice", &["--keep", &kept]);
    let (status, _, stderr) = second.running.end();
    assert_eq!(status, Some(2), "{stderr}");
    assert!(stderr.contains("the session in it has ended"), "{stderr}");
}

#[test]
fn a_killed_plant_leaves_the_packets_that_it_had() {
    let folder = Folder::new("live-killed");
    let (path, kept) = (day(&folder), folder.path("kept"));
    let plant = Plant::start("live-killed", &["--join", "start", "--keep", &kept]);
    plant.send(&path, &["--faults-a", "drop=2%", "--linger", "0s", "--until", "10:00"]);
    plant.running.signal(Signal::KILL);
    let (_, stop, _) = run_again(&kept, "live-killed-again");
    let messages = stop["messages"].as_u64().unwrap();
    assert!(messages > 100, "{stop}");
}

#[test]
fn a_folder_of_something_else_is_refused() {
    let folder = Folder::new("live-other");
    let ring = Ring::new("live-other");
    for (input, expected) in
        [(folder.path(""), "a folder without a kept session"), (folder.path("absent"), "absent")]
    {
        let refused = nanotape(["run", "--input", &input, "--ring", ring.path()]);
        assert_eq!(refused.status, 2, "{refused:?}");
        assert!(refused.stderr.contains(expected), "{refused:?}");
    }
}
