//! Several live plants of one process: each has lines, numbers and a ring of its own.

use std::path::Path;

use nanotape_harness::Signal;
use nanotape_plant::records::Notice;
use serde_json::Value;

use crate::{
    live_days::{Lines, read_stderr_to},
    support::{
        Folder, nanotape,
        running::{Running, objects},
    },
};

/// The configuration of a plant on these lines.
fn config(folder: &Folder, name: &str, lines: &Lines, more: &str) -> String {
    let ([a, b], ring) = (&lines.lines, lines.ring.path());
    let text = format!(
        "[input]\n[input.live]\nline_a = \"{a}\"\nline_b = \"{b}\"\n{more}\n[ring]\nname = \
         \"{ring}\"\ncapacity = \"4MiB\"\n[machine]\norders = 4096\n"
    );
    folder.write(&format!("{name}.toml"), text.as_bytes())
}

fn start(configs: &[&str]) -> Running {
    let options = configs.iter().flat_map(|config| ["--config", config]);
    let arguments: Vec<&str> = ["run", "--format", "json"].into_iter().chain(options).collect();
    Running::start(&arguments)
}

/// The name of the ring before the lines of its plant.
fn label(lines: &Lines) -> String {
    let name = Path::new(lines.ring.path()).file_name().unwrap();
    format!("nanotape: {}: ", name.to_str().unwrap())
}

/// The stop of the plant of this ring.
fn stop_of<'s>(stops: &'s [Value], lines: &Lines) -> &'s Value {
    let is_of = |stop: &&Value| stop["path"].as_str().unwrap().ends_with(lines.ring.path());
    stops.iter().find(is_of).unwrap_or_else(|| panic!("{} in {stops:?}", lines.ring.path()))
}

#[test]
fn each_plant_of_a_process_has_its_session_and_its_numbers() {
    let folder = Folder::new("live-several");
    let plants = ["live-several-a", "live-several-b", "live-several-c"].map(Lines::new);
    let configs: Vec<String> = plants
        .iter()
        .enumerate()
        .map(|(place, lines)| config(&folder, &place.to_string(), lines, ""))
        .collect();
    let mut process = start(&configs.iter().map(String::as_str).collect::<Vec<_>>());
    (0..3).for_each(|_| assert_eq!(process.read_json()["event"], "start"));
    // The same name and numbers on two of them; one lacks ten messages.
    let [a, b, c] = &plants;
    for first in (1..1_001).step_by(100) {
        a.send("MONDAY", first, first + 100);
        b.send("MONDAY", first, first + if first == 501 { 90 } else { 100 });
        c.send("OTHER", first, first + 100);
    }
    a.end("MONDAY", 1_001);
    c.end("OTHER", 1_001);
    let mut stops = vec![process.read_json(), process.read_json()];
    // The others have ended, and this one goes on.
    b.send("MONDAY", 1_001, 2_001);
    b.end("MONDAY", 2_001);
    stops.push(process.read_json());
    let (status, _, stderr) = process.end();
    assert_eq!(status, Some(1), "{stderr}");
    for (lines, messages, lost) in [(a, 1_000, 0), (b, 1_990, 10), (c, 1_000, 0)] {
        let stop = stop_of(&stops, lines);
        assert_eq!((&stop["event"], &stop["messages"]), (&"stop".into(), &messages.into()));
        assert_eq!(stop["gap_messages_lost"], lost, "{stop}");
        assert_eq!(lines.ring.stop().messages, messages);
        let lines_of = stderr.lines().filter(|line| line.starts_with(&label(lines)));
        let is_reported = lines_of.filter(|line| line.contains("591 to 600 missing")).count() > 0;
        assert_eq!(is_reported, lost > 0, "{stderr}");
    }
}

#[test]
fn a_plant_that_cannot_start_ends_the_others_and_one_that_fails_later_does_not() {
    let folder = Folder::new("live-several-fails");
    let [a, b] = ["live-fails-a", "live-fails-b"].map(Lines::new);
    let good = config(&folder, "good", &a, "");
    let unknown = config(&folder, "unknown", &b, "glimpse = \"no-such-host.invalid:1\"");
    let (status, stdout, stderr) = start(&[&good, &unknown]).end();
    assert_eq!(status, Some(2), "{stderr}");
    let results = objects(&stdout);
    let failed = results.iter().find(|result| result["reason"] == "failed").expect(&stdout);
    assert_eq!(failed["path"], b.ring.path(), "{stdout}");
    let line = format!("{}GLIMPSE", label(&b));
    let is_reported = |line_of: &str| line_of.contains("no-such-host.invalid");
    assert!(
        stderr.lines().any(|of| of.starts_with(&label(&b)) && is_reported(of)),
        "{line}: {stderr}"
    );

    let mut process = start(&[&good, &config(&folder, "other", &b, "")]);
    (0..2).for_each(|_| assert_eq!(process.read_json()["event"], "start"));
    std::fs::remove_file(a.ring.path()).unwrap();
    read_stderr_to(&mut process, label(&a).trim_start_matches("nanotape: "));
    let stop = process.read_json();
    assert_eq!((&stop["path"], &stop["reason"]), (&a.ring.path().into(), &"failed".into()));
    b.send("MONDAY", 1, 1_001);
    b.end("MONDAY", 1_001);
    let stop = process.read_json();
    assert_eq!((&stop["event"], &stop["messages"]), (&"stop".into(), &1_000.into()), "{stop}");
    let (status, _, stderr) = process.end();
    assert_eq!(status, Some(1), "{stderr}");
}

#[test]
fn a_signal_ends_all_plants_of_a_process() {
    let folder = Folder::new("live-several-signal");
    let [a, b] = ["live-signal-a", "live-signal-b"].map(Lines::new);
    let configs = [config(&folder, "a", &a, "follow = true"), config(&folder, "b", &b, "")];
    let mut process = start(&[&configs[0], &configs[1]]);
    (0..2).for_each(|_| assert_eq!(process.read_json()["event"], "start"));
    process.signal(Signal::TERM);
    let (status, _, stderr) = process.end();
    assert_eq!(status, Some(0), "{stderr}");
    for lines in [a, b] {
        let notices = lines.ring.notices();
        assert!(matches!(notices.last(), Some(Notice::Stop(_))), "{notices:?}");
    }
}

#[test]
fn a_plant_of_a_session_that_is_kept_to_its_end_leaves_the_others_to_go_on() {
    let folder = Folder::new("live-several-kept");
    let [a, b] = ["live-kept-a", "live-kept-b"].map(Lines::new);
    let kept = |name: &str| format!("keep = \"{}\"", folder.path(name));
    let configs =
        [config(&folder, "a", &a, &kept("kept-a")), config(&folder, "b", &b, &kept("kept-b"))];
    let mut process = start(&[&configs[0], &configs[1]]);
    (0..2).for_each(|_| assert_eq!(process.read_json()["event"], "start"));
    a.send("MONDAY", 1, 501);
    a.end("MONDAY", 501);
    b.send("MONDAY", 1, 501);
    assert_eq!(process.read_json()["messages"], 500);
    b.wait_for(501);
    process.signal(Signal::KILL);
    process.end();

    let mut process = start(&[&configs[0], &configs[1]]);
    read_stderr_to(&mut process, "the session in it has ended");
    assert_eq!(process.read_json()["event"], "start");
    b.send("MONDAY", 501, 1_001);
    b.end("MONDAY", 1_001);
    let stop = process.read_json();
    assert_eq!((&stop["messages"], &stop["session_missing"]), (&1_000.into(), &0.into()), "{stop}");
    let (status, _, stderr) = process.end();
    assert_eq!(status, Some(0), "{stderr}");
}

#[test]
fn plants_of_a_process_share_nothing_that_each_needs() {
    let folder = Folder::new("live-several-refused");
    let [a, b] = ["live-refused-a", "live-refused-b"].map(Lines::new);
    let kept = "keep = \"kept\"";
    let first = config(&folder, "first", &a, kept);
    let same_ring = config(&folder, "ring", &a, "");
    let same_folder = config(&folder, "folder", &b, kept);
    let other = config(&folder, "other", &b, "");
    // The same in other words: through a link, or a folder that does not exist.
    let link = folder.path("link");
    std::os::unix::fs::symlink(folder.path(""), &link).unwrap();
    let here = folder.path("here/kept");
    let direct = config(&folder, "direct", &a, &format!("keep = \"{here}\""));
    let linked = config(&folder, "linked", &b, &format!("keep = \"{link}/here/kept\""));
    let through = config(&folder, "through", &b, &format!("keep = \"{link}/none/../here/kept\""));
    let journal = format!("[journal]\ndir = \"{link}/here/kept\"");
    let recorded = config(&folder, "recorded", &b, &journal);
    for (arguments, what) in [
        (vec![&*direct, &linked], "linked.toml: the folder of its packets is that of "),
        (vec![&direct, &through], "through.toml: the folder of its packets is that of "),
        (vec![&direct, &recorded], "recorded.toml: its journal is that of "),
        (vec![&*first, &same_ring], "ring.toml: its ring is that of "),
        (vec![&first, &same_folder], "folder.toml: the folder of its packets is that of "),
        (vec![&first, "absent.toml"], "cannot read absent.toml"),
    ] {
        let options = arguments.into_iter().flat_map(|config| ["--config", config]);
        let ran = nanotape(["run"].into_iter().chain(options));
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{ran:?}");
        assert!(ran.stderr.contains(what), "{what}: {ran:?}");
    }
    let ran = nanotape(["run", "--config", &first, "--config", &other, "--cpu", "0"]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("options of a plant do not apply to several"), "{ran:?}");
}
