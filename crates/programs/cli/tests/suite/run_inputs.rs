//! `nanotape run` with several tables `[[input]]`: a plant for each, in one process.

use std::fs;

use nanotape_harness::Signal;
use serde_json::Value;

use crate::support::{
    Folder, nanotape,
    plants::Ring,
    running::{Running, objects},
};

/// A configuration of two days with shared sections.
fn config(folder: &Folder, rings: &[Ring; 2], days: [&str; 2], more: [&str; 2]) -> String {
    let mut text = "[ring]\ncapacity = \"16MiB\"\n[journal]\nsegment = \"16MiB\"\n".to_owned();
    for (((name, ring), day), more) in ["one", "two"].iter().zip(rings).zip(days).zip(more) {
        let ring = ring.path();
        text += &format!(
            "[[input]]\nname = \"{name}\"\nring = \"{ring}\"\nfile = \"{day}\"\ndate = \
             \"2019-12-30\"\n{more}\n"
        );
    }
    folder.write("inputs.toml", text.as_bytes())
}

#[test]
fn each_input_has_its_ring_its_records_and_its_object() {
    let folder = Folder::new("run-inputs");
    let rings = ["run-inputs-a", "run-inputs-b"].map(Ring::new);
    let (day, journal) = (folder.day(6_000, 20), folder.path("journal"));
    let more = [format!("journal = \"{journal}\""), "records = [\"bbo\"]".to_owned()];
    let file = config(&folder, &rings, [&day, &day], [&more[0], &more[1]]);
    let ran = nanotape(["run", "--config", &file, "--format", "json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    let all = objects(&ran.stdout);
    assert_eq!(all.len(), 4, "{}", ran.stdout);
    let of = |event: &str, name: &str| -> Value {
        let is_of = |found: &&Value| found["event"] == event && found["name"] == name;
        all.iter().find(is_of).unwrap_or_else(|| panic!("{name} in {all:?}")).clone()
    };
    for (name, ring) in ["one", "two"].iter().zip(&rings) {
        assert!(of("start", name)["path"].as_str().unwrap().ends_with(ring.path()));
        assert_eq!(of("stop", name)["messages"], 6_000);
    }
    let (one, two) = (of("stop", "one"), of("stop", "two"));
    assert!(one["mbo_records"].as_u64() > Some(0) && two["mbo_records"] == 0, "{two}");
    assert!(one["recorded"].as_u64() > Some(0) && two["recorded"].is_null(), "{one}");
    let verified = nanotape(["journal", "verify", &journal]);
    assert_eq!(verified.status, 0, "{}", verified.stderr);
    // Lines of text begin with the names.
    let ran = nanotape(["run", "--config", &file, "--format", "text"]);
    assert!(
        ran.stdout.lines().any(|line| line.starts_with("one: end of input after")),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.lines().any(|line| line.starts_with("two: ")), "{}", ran.stdout);
}

#[test]
fn a_request_to_stop_ends_all_inputs() {
    let folder = Folder::new("run-inputs-stop");
    let rings = ["run-inputs-stop-a", "run-inputs-stop-b"].map(Ring::new);
    let day = folder.day(6_000, 20);
    let file = config(&folder, &rings, [&day, &day], ["pace = \"1x\""; 2]);
    let mut process = Running::start(&["run", "--config", &file, "--format", "json"]);
    (0..2).for_each(|_| assert_eq!(process.read_json()["event"], "start"));
    process.signal(Signal::INT);
    (0..2).for_each(|_| assert_eq!(process.read_json()["event"], "stop"));
    let (status, _, stderr) = process.end();
    assert_eq!(status, Some(0), "{stderr}");
}

#[test]
fn the_status_is_the_worst_and_errors_name_the_input() {
    let folder = Folder::new("run-inputs-worst");
    let rings = ["run-inputs-worst-a", "run-inputs-worst-b"].map(Ring::new);
    let day = folder.day(6_000, 20);
    let bytes = fs::read(&day).unwrap();
    let cut = folder.write("cut.itch50", &bytes[..bytes.len() - 7]);
    let file = config(&folder, &rings, [&day, &cut], ["", ""]);
    let ran = nanotape(["run", "--config", &file, "--format", "json"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.lines().all(|line| line.starts_with("nanotape: two: ")), "{}", ran.stderr);
    let absent = folder.path("absent.itch50");
    let file = config(&folder, &rings, [&day, &absent], ["pace = \"1x\"", ""]);
    let ran = nanotape(["run", "--config", &file, "--format", "json"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("nanotape: two: ") && ran.stderr.contains("absent"),
        "{}",
        ran.stderr
    );
    // What only one can have, and options of one plant.
    let text = fs::read_to_string(config(&folder, &rings, [&day, &day], ["", ""])).unwrap();
    let text = text.replace(rings[1].path(), rings[0].path());
    let same = folder.write("same.toml", text.as_bytes());
    let ran = nanotape(["run", "--config", &same]);
    let expected = format!("{same}: input two: its ring is that of {same}: input one");
    assert!(ran.status == 2 && ran.stderr.contains(&expected), "{}", ran.stderr);
    let file = config(&folder, &rings, [&day, &day], ["", ""]);
    let ran = nanotape(["run", "--config", &file, "--cpu", "0"]);
    assert!(ran.status == 2 && ran.stderr.contains("do not apply to several"), "{}", ran.stderr);
}
