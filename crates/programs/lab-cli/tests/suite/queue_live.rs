//! `nanotape lab queue --live` beside a plant.

use nanotape_harness::{Patience, eventually};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{
    Folder, nanotape,
    plants::Ring,
    running::{Running, json},
};

#[test]
fn a_running_plant_has_a_table_that_grows_until_it_ends() {
    let folder = Folder::new("queue-live");
    let ring = Ring::new("queue-live");
    let day = folder.day(100_000, 20);
    let (mut plant, _) = Running::plant(&day, &ring, &["--pace-from", "09:30"]);
    // Until 09:30 it publishes at full speed.
    let is_paced = || {
        let seen = nanotape(["stat", ring.path(), "--interval", "0", "--format", "json"]);
        seen.status == 0 && json(&seen.stdout)["time_of_day"].as_str() >= Some("09:30")
    };
    eventually("the plant publishes at the recorded pace", is_paced);
    let live = ["lab", "queue", "--live", ring.path(), "--every", "20ms", "--format", "json"];
    let mut following = Running::start(&live);
    let messages = |record: &Value| record["messages"].as_u64().unwrap();
    let mut last = following.read_json();
    assert_eq!((&last["kind"], &last["arrivals"]), (&"queue".into(), &"event".into()));
    // Of those that came since it joined.
    for _ in 0..2 {
        let before = messages(&last);
        let patience = Patience::new("a table with more messages");
        while messages(&last) == before {
            patience.check();
            last = following.read_json();
        }
        assert!(messages(&last) > before, "{last}");
        assert!(messages(&last) <= last["live"]["records"].as_u64().unwrap(), "{last}");
        assert_eq!(last["live"]["lost"], 0);
    }
    // The pace begins at 09:30 in New York.
    assert!(last["first_ns"].as_u64() >= Some(34_200_000_000_000), "{last}");
    assert_eq!(last["services"].as_array().unwrap().len(), 60);

    let mut other = Running::start(&["lab", "queue", "--live", ring.path(), "--every", "1h"]);
    other.signal(Signal::INT);
    let (status, text, _) = other.end();
    assert!(status == Some(0) || status.is_none(), "{status:?} {text}");

    plant.signal(Signal::KILL);
    plant.end();
    let (status, _, errors) = following.end();
    assert_eq!((status, errors.as_str()), (Some(0), ""));
}

#[test]
fn a_ring_or_an_input_and_no_page() {
    let folder = Folder::new("queue-live-refused");
    let day = folder.day(2_000, 10);
    for (arguments, message) in [
        (&["--live", "no-such-ring"][..], "no-such-ring"),
        (&["--live", "x", "--format", "html"], "it has no page and no CSV"),
        (&["--live", "x", "--validate"], "cannot be used with"),
        (&[&*day, "--live", "x"], "--live reads a ring: give no INPUT"),
        (&[&*day, "--every", "1s"], "--live"),
        (&[], "<INPUT>"),
    ] {
        let ran = nanotape([&["lab", "queue"], arguments].concat());
        assert_eq!(ran.status, 2, "{arguments:?}");
        assert!(ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
    }
}
