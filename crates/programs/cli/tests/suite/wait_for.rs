//! `nanotape run --wait-for` with real processes: named taps and recorders that are slow, frozen or
//! killed lose nothing, or the plant reports their losses.

use nanotape_board::follower_path;
use nanotape_harness::eventually;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{
    Folder, Ran,
    live::{Plant, day},
    nanotape,
    plants::{DATE, Ring},
    running::{Running, json, objects},
};

/// A day, and a ring that a plant at full speed fills many times.
struct Held {
    folder: Folder,
    day: String,
    ring: Ring,
}

impl Held {
    fn new(name: &str, messages: u64) -> Self {
        let folder = Folder::new(name);
        let day = folder.day(messages, 20);
        Self { folder, day, ring: Ring::new(name) }
    }

    fn arguments<'a>(&'a self, options: &[&'a str]) -> Vec<&'a str> {
        let run = ["run", "--input", &self.day, "--date", DATE, "--ring", self.ring.path()];
        let mut arguments = [&run, options].concat();
        for usual in [["--capacity", "64KiB"], ["--format", "json"]] {
            if !options.contains(&usual[0]) {
                arguments.extend(usual);
            }
        }
        arguments
    }

    fn plant(&self, options: &[&str]) -> Running {
        Running::start(&self.arguments(options))
    }

    /// A named tap that waits for its plant, and writes into a file.
    fn tap(&self, name: &str, options: &[&str]) -> Running {
        let output = self.folder.path(&format!("{name}.dbn.zst"));
        let tap = ["tap", self.ring.path(), "--name", name, "--wait", "60", "--check-digest"];
        Running::start(&[&tap, ["-o", &output].as_slice(), options].concat())
    }

    fn record(&self, name: &str, options: &[&str]) -> Running {
        let journal = self.folder.path(name);
        let record = ["journal", "record", self.ring.path(), &journal, "--wait", "60"];
        Running::start(&[&record, ["--name", name].as_slice(), options].concat())
    }

    fn stat(&self) -> Value {
        json(&nanotape(["stat", self.ring.path(), "--interval", "0", "--format", "json"]).stdout)
    }

    fn text(&self) -> String {
        nanotape(["stat", self.ring.path(), "--interval", "0"]).stdout
    }

    /// Waits until the plant waits for this, as `stat` says.
    fn until_waiting(&self, what: &str) {
        eventually(&format!("a plant that waits for {what}"), || {
            let seen = nanotape(["stat", self.ring.path(), "--interval", "0", "--format", "json"]);
            seen.status == 0 && json(&seen.stdout)["waiting_for"] == what
        });
    }

    fn until_joined(&self, name: &str) {
        eventually("a follower has joined", || {
            let seen = nanotape(["stat", self.ring.path(), "--interval", "0", "--format", "json"]);
            let followers = (seen.status == 0).then(|| json(&seen.stdout)["followers"].clone());
            let followers = followers.as_ref().and_then(Value::as_array);
            followers.is_some_and(|all| all.iter().any(|follower| follower["name"] == name))
        });
    }

    /// Checks that a journal has every record of the run, and gives the answers of the day.
    fn check_journal(&self, name: &str) {
        let journal = self.folder.path(name);
        let ran = nanotape(["journal", "verify", &journal, "--format", "json"]);
        assert_eq!(ran.status, 0, "{}", ran.stdout);
        let insides = |input: &str| nanotape(["inside", input, "--format", "csv"]).stdout;
        let (journal, day) = (insides(&journal), insides(&self.day));
        assert!(journal.lines().count() > 10_000 && journal == day, "the answers differ");
    }
}

/// The last line of a plant.
fn stop(said: &str) -> Value {
    objects(said).pop().unwrap()
}

/// Checks a plant that ended well, and that these followers have read everything.
fn check_whole(plant: &mut Running, names: &[&str]) -> Value {
    let (status, said, complained) = plant.end();
    assert_eq!(status, Some(0), "{complained}");
    let stop = stop(&said);
    let followers = stop["followers"].as_array().unwrap();
    assert_eq!(followers.len(), names.len(), "{stop}");
    for (follower, name) in followers.iter().zip(names) {
        assert_eq!((&follower["name"], &follower["state"]), (&(*name).into(), &"finished".into()));
        assert_eq!((&follower["read"], &follower["missing"]), (&stop["records"], &0.into()));
        assert_eq!(follower["complete"], true);
    }
    stop
}

/// Checks a tap that ended well with the digest of the plant.
fn check_tap(tap: &mut Running) {
    let (status, _, complained) = tap.end();
    assert_eq!(status, Some(0), "{complained}");
    assert!(complained.contains(" 0 lost in 0 gaps"), "{complained}");
    assert!(complained.contains("the digest of the records is that of the plant"), "{complained}");
}

/// With `-q`, what a plant waits for is not printed; the failure of a follower is.
#[test]
fn a_quiet_plant_reports_problems_only() {
    let held = Held::new("wait-for-quiet", 100_000);
    for is_killed in [false, true] {
        let mut plant = held.plant(&["--wait-for", "1", "--replace", "--quiet"]);
        held.until_waiting("followers");
        let name = if is_killed { "killed" } else { "to-disk" };
        let mut tap = held.tap(name, &[]);
        if is_killed {
            held.until_joined(name);
            tap.signal(Signal::STOP);
            held.until_waiting("follower");
            tap.signal(Signal::KILL);
        }
        let (status, _, complained) = plant.end();
        tap.end();
        let lines: Vec<&str> = complained.lines().collect();
        if is_killed {
            assert_eq!((status, lines.len()), (Some(1), 2), "{complained}");
            assert!(lines[0].contains(" was killed or crashed before message "), "{complained}");
        } else {
            assert_eq!((status, complained.as_str()), (Some(0), ""));
        }
    }
}

#[test]
fn a_tap_that_writes_to_a_disk_is_complete_whoever_starts_first() {
    let held = Held::new("wait-for-disk", 100_000);
    for is_tap_first in [true, false] {
        let fresh = ["--wait-for", "1", "--replace"];
        let (mut plant, mut tap) = if is_tap_first {
            let tap = held.tap("to-disk", &["--force"]);
            (held.plant(&fresh), tap)
        } else {
            let plant = held.plant(&fresh);
            held.until_waiting("followers");
            let seen = held.stat();
            assert_eq!((&seen["wait_for"], &seen["messages"]), (&1.into(), &0.into()));
            assert!(held.text().contains("0 of 1 joined: none"), "{}", held.text());
            (plant, held.tap("to-disk", &["--force"]))
        };
        let stop = check_whole(&mut plant, &["to-disk"]);
        assert!(stop["follower_wait_ns"].as_u64().unwrap() > 0, "{stop}");
        check_tap(&mut tap);
        let path = held.folder.path("to-disk.dbn.zst");
        let insides = |input: &str| {
            let ran = nanotape(["inside", input, "--format", "csv"]);
            assert_eq!(ran.status, 0, "{}", ran.stderr);
            ran.stdout
        };
        assert!(insides(&path) == insides(&held.day), "the answers differ");
    }
}

#[test]
fn a_frozen_follower_holds_the_plant_and_the_others_and_nothing_is_lost() {
    let held = Held::new("wait-for-frozen", 100_000);
    let mut plant = held.plant(&["--wait-for", "2"]);
    let mut slow = held.tap("slow", &[]);
    held.until_waiting("followers");
    held.until_joined("slow");
    slow.signal(Signal::STOP);
    let mut recorder = held.record("quick", &[]);
    held.until_waiting("follower");
    let text = held.text();
    assert!(text.contains("now           waiting for follower slow, half a ring behind"), "{text}");
    let line = nanotape(["stat", held.ring.path(), "--watch", "--count", "1", "--interval", "0"]);
    assert!(line.stdout.ends_with("; waiting for follower slow, half a ring behind\n"), "{line:?}");
    let seen = held.stat();
    assert_eq!((&seen["state"], &seen["wait_for"]), (&"running".into(), &2.into()));
    let names: Vec<_> = seen["followers"].as_array().unwrap().iter().map(|f| &f["name"]).collect();
    assert_eq!(names, ["quick", "slow"]);
    assert!(seen["followers"][1]["lag_messages"].as_u64().unwrap() > 100, "{seen}");

    // A second process of the name is refused while the first one lives.
    let refused = nanotape(["tap", held.ring.path(), "--name", "slow"]);
    assert_eq!(refused.status, 2);
    let expected = format!("process {}", slow.process.id());
    assert!(refused.stderr.contains(&expected), "{refused:?}");
    assert!(refused.stderr.contains("follows this ring as slow: choose another name"));

    assert!(plant.is_running());
    slow.signal(Signal::CONT);
    check_whole(&mut plant, &["quick", "slow"]);
    check_tap(&mut slow);
    assert_eq!(recorder.end().0, Some(0));
    held.check_journal("quick");
}

#[test]
fn a_plant_waits_for_its_own_recorder_and_for_followers() {
    let held = Held::new("wait-for-both", 100_000);
    let own = held.folder.path("own");
    let mut plant = held.plant(&["--wait-for", "2", "--journal", &own]);
    let (mut tap, mut recorder) = (held.tap("tap", &[]), held.record("outside", &[]));
    let stop = check_whole(&mut plant, &["outside", "tap"]);
    assert_eq!((&stop["recorded"], &stop["lost"]), (&stop["records"], &0.into()));
    check_tap(&mut tap);
    let (status, _, complained) = recorder.end();
    assert_eq!(status, Some(0), "{complained}");
    held.check_journal("own");
    held.check_journal("outside");
}

#[test]
fn a_killed_follower_is_reported_and_the_plant_goes_on_without_it() {
    let held = Held::new("wait-for-killed", 100_000);
    let mut plant = held.plant(&["--wait-for", "2"]);
    let bad = held.tap("bad", &[]);
    held.until_joined("bad");
    bad.signal(Signal::STOP);
    let mut good = held.tap("good", &[]);
    held.until_waiting("follower");
    let published = held.ring.next_sequence() - 1;
    bad.signal(Signal::KILL);
    let (status, said, complained) = plant.end();
    check_tap(&mut good);
    assert_eq!(status, Some(1), "{complained}");
    // The plant prints that it waits only if it has begun to look before both have joined.
    let lines: Vec<_> = complained.lines().collect();
    let [.., joined, killed, last] = lines[..] else { panic!("{complained}") };
    assert_eq!(joined, "nanotape: followers: bad, good");
    let pid = bad.process.id();
    let expected =
        format!("nanotape: follower bad (process {pid}) was killed or crashed before message ");
    let (before, rest) = killed.strip_prefix(&expected).unwrap().split_once(';').unwrap();
    assert_eq!(rest, " the plant goes on without it");
    assert!(before.parse::<u64>().unwrap() <= published);
    let stop = stop(&said);
    let [first, second] = stop["followers"].as_array().unwrap().as_slice() else {
        panic!("{stop}")
    };
    assert_eq!((&second["name"], &second["complete"]), (&"good".into(), &true.into()));
    assert_eq!((&first["name"], &first["state"]), (&"bad".into(), &"killed".into()));
    let missing = first["missing"].as_u64().unwrap();
    assert!(missing >= stop["records"].as_u64().unwrap() - published, "{stop}");
    let expected = "nanotape: follower bad was killed or crashed: messages not read: ";
    assert_eq!(last, format!("{expected}{missing}"));
    let text = held.text();
    assert!(text.contains("bad: dead: exited without an end (crashed or killed)"), "{text}");
    assert_eq!(held.stat()["followers"][0]["state"], "dead");
}

#[test]
fn a_recorder_that_is_killed_and_started_again_in_time_loses_nothing() {
    let held = Held::new("wait-for-again", 100_000);
    let mut plant = held.plant(&["--wait-for", "2"]);
    let mut holder = held.tap("holder", &[]);
    held.until_joined("holder");
    holder.signal(Signal::STOP);
    let mut first = held.record("journal", &[]);
    held.until_waiting("follower");
    first.signal(Signal::KILL);
    first.end();
    // Nothing is overwritten while the other one is frozen.
    let mut second = held.record("journal", &[]);
    eventually("the second one follows", || {
        let seen = held.stat();
        let journal = &seen["followers"][1];
        journal["name"] == "journal" && journal["pid"] == second.process.id()
    });
    // The plant searches for new followers ten times a second.
    let mut lines = String::new();
    eventually("the plant has found it", || {
        lines.push_str(&plant.read_stderr_line());
        lines.contains("follower journal joined again at message ")
    });
    holder.signal(Signal::CONT);
    let stop = check_whole(&mut plant, &["holder", "journal"]);
    assert!(lines.contains(") was killed or crashed before message "), "{lines}");
    assert!(stop["records"].as_u64().unwrap() > 100_000);
    check_tap(&mut holder);
    assert_eq!(second.end().0, Some(0));
    held.check_journal("journal");
}

#[test]
fn a_request_to_stop_ends_a_plant_that_waits() {
    let held = Held::new("wait-for-request", 100_000);
    // Before the first record.
    let mut plant = held.plant(&["--wait-for", "2"]);
    let mut tap = held.tap("a", &[]);
    eventually("one of two has joined", || held.text().contains("1 of 2 joined: a"));
    plant.signal(Signal::INT);
    let (status, said, complained) = plant.end();
    assert_eq!((status, said.as_str()), (Some(0), ""), "{complained}");
    assert!(complained.contains("waiting for 2 named followers, as in nanotape tap "));
    let expected = "stopped on request before all named followers had joined: 1 of 2";
    assert!(complained.contains(expected), "{complained}");
    // Its tap has read a run without messages.
    check_tap(&mut tap);

    // With a frozen follower, in mid-run and at the end.
    let mut plant = held.plant(&["--wait-for", "1", "--replace"]);
    let mut tap = held.tap("a", &["--force"]);
    plant.read_json();
    tap.signal(Signal::STOP);
    held.until_waiting("follower");
    plant.signal(Signal::INT);
    let (status, said, complained) = plant.end();
    assert_eq!(status, Some(0), "{complained}");
    let stop = stop(&said);
    assert_eq!(
        (&stop["reason"], &stop["followers"][0]["state"]),
        (&"asked to".into(), &"following".into())
    );
    // It can still read all that was published.
    tap.signal(Signal::CONT);
    check_tap(&mut tap);
}

#[test]
fn a_follower_that_ends_early_is_reported() {
    let held = Held::new("wait-for-early", 100_000);
    let mut plant = held.plant(&["--wait-for", "1"]);
    let tap = ["tap", held.ring.path(), "--name", "ten", "--wait", "60", "--count", "10"];
    assert_eq!(nanotape(tap).stdout.lines().count(), 11);
    let (status, said, complained) = plant.end();
    assert_eq!(status, Some(1), "{complained}");
    // Only if the tap has not joined when the plant checks.
    let lines = complained.lines().filter(|line| !line.starts_with("nanotape: waiting for "));
    let [joined, ended, last] = lines.collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(joined, "nanotape: followers: ten");
    assert!(ended.starts_with("nanotape: follower ten (process "), "{ended}");
    assert!(ended.contains(") ended before message "), "{ended}");
    assert!(ended.ends_with("; the plant goes on without it"), "{ended}");
    let stop = stop(&said);
    let follower = &stop["followers"][0];
    assert_eq!((&follower["state"], &follower["complete"]), (&"ended".into(), &false.into()));
    let missing = follower["missing"].as_u64().unwrap();
    assert_eq!(missing + follower["read"].as_u64().unwrap(), stop["records"]);
    assert_eq!(last, format!("nanotape: follower ten ended early: messages not read: {missing}"));
    assert!(held.text().contains("follower        ten: ended; process "), "{}", held.text());

    // The same as text and as CSV.
    for format in ["text", "csv"] {
        let mut plant = held.plant(&["--wait-for", "1", "--format", format]);
        nanotape(tap);
        let (status, said, _) = plant.end();
        assert_eq!(status, Some(1));
        let rows: Vec<_> = said.lines().collect();
        match format {
            "text" => {
                let [.., follower, waited] = rows.as_slice() else { panic!("{said}") };
                assert!(follower.starts_with("follower ten ended early: "), "{said}");
                assert!(follower.ends_with(" not read") && waited.starts_with("waited "), "{said}");
            }
            _ => assert!(rows[1].contains(",\"[{\"\"complete\"\":false,"), "{said}"),
        }
    }
}

#[test]
fn a_named_tap_reads_earlier_runs_of_the_ring_and_ends_with_that_of_the_plant() {
    let held = Held::new("wait-for-earlier", 2_000);
    let whole = ["--capacity", "16MiB"];
    let first = stop(&nanotape(held.arguments(&whole)).stdout)["records"].as_u64().unwrap();
    let name = ["tap", held.ring.path(), "--name", "a"];
    let ended = nanotape(name);
    assert_eq!(ended.status, 2);
    let expected = "the plant of this ring has ended, and a named follower joins a running plant";
    assert!(ended.stderr.contains(expected), "{ended:?}");
    for (from, before) in [(&["--from", "oldest"][..], first), (&[], 2 * first)] {
        let mut plant = held.plant(&["--wait-for", "1", "--capacity", "16MiB"]);
        let options = [&name, &["--wait", "60", "--format", "json"][..], from].concat();
        let ran = nanotape(options);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let rows = objects(&ran.stdout);
        let sequences = (rows[0]["sequence"].as_u64(), rows.last().unwrap()["sequence"].as_u64());
        let from = if from.is_empty() { before + 1 } else { 1 };
        assert_eq!(sequences, (Some(from), Some(before + first)));
        check_stopped(&mut plant);
    }
}

fn check_stopped(plant: &mut Running) {
    let (status, said, complained) = plant.end();
    assert_eq!(
        (status, &stop(&said)["followers"][0]["missing"]),
        (Some(0), &0.into()),
        "{complained}"
    );
}

#[test]
fn what_cannot_be_waited_for_is_refused() {
    let held = Held::new("wait-for-refused", 2_000);
    let refused = |arguments: &[&str], expected: &str| {
        let Ran { status, stdout, stderr } = nanotape(arguments);
        assert_eq!((status, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    };
    let live = ["run", "--live", "--line-a", "127.0.0.1:9", "--ring", held.ring.path()];
    refused(&[&live[..], &["--wait-for", "1"]].concat(), "a live session waits for no one");
    let run = |options: &[&'static str]| held.arguments(options).to_vec();
    refused(&run(&["--wait-for", "65"]), "cannot wait for 65 named followers: use at most 64");
    refused(
        &run(&["--wait-for", "1", "--capacity", "4KiB"]),
        "a ring of 4096 bytes is too small to wait for named followers: use at least 65536",
    );
    assert!(!held.ring.0.exists());
    let config = "[input]\nfile = \"x\"\n[ring]\nname = \"x\"\nwait_for = -1\n";
    let config = held.folder.write("plant.toml", config.as_bytes());
    refused(&["run", "--config", &config], "line 5: invalid value: integer `-1`");

    let (day, ring) = (held.day.as_str(), held.ring.path());
    let date = ["--date", DATE];
    refused(
        &[&["tap", day, "--name", "a"], &date[..]].concat(),
        "is a day file or a capture, to which --name",
    );
    refused(&["tap", ring, "--name", "a/b"], "\"a/b\": invalid follower name");
    refused(&["tap", ring, "--name", "a", "--wait", "0"], "no plant started");
    let journal = held.folder.path("journal");
    refused(&["journal", "record", ring, &journal, "--name", "-"], "invalid follower name");
    let whole = ["tap", ring, "--name", "a", "--heal", &journal, "--whole"];
    let ran = nanotape(whole);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("cannot be used with"), "{}", ran.stderr);
}

#[test]
fn a_plant_without_wait_for_waits_for_no_one_and_the_tap_says_so() {
    let held = Held::new("wait-for-none", 20_000);
    let mut plant = Running::start(&held.arguments(&["--pace", "1x"]));
    plant.read_json();
    let mut tap = Running::start(&["tap", held.ring.path(), "--name", "a", "--format", "json"]);
    assert_eq!(tap.read_json()["record"], "start");
    plant.signal(Signal::INT);
    let (_, _, complained) = tap.end();
    let expected = "this plant runs without --wait-for, so it does not wait for --name";
    assert!(complained.contains(expected), "{complained}");
    let (status, said, _) = plant.end();
    assert_eq!((status, &stop(&said)["followers"]), (Some(0), &Value::Null));

    // The region is listed and removed with the ring.
    let path = follower_path(&held.ring.0, "a").unwrap();
    assert!(path.exists());
    let removed = nanotape(["ring", "remove", held.ring.path(), "--format", "json"]);
    assert_eq!(json(&removed.stdout)["followers"], serde_json::json!([path]));
    assert!(!path.exists() && !held.ring.0.exists());
}

#[test]
fn a_kept_session_waits_for_followers() {
    let folder = Folder::new("wait-for-kept");
    let (path, kept) = (day(&folder), folder.path("kept"));
    let mut live = Plant::start("wait-for-kept", &["--join", "start", "--keep", &kept]);
    live.send(&path, &["--linger", "1s", "--pace", "10000x"]);
    live.end();
    let ring = Ring::new("wait-for-kept-again");
    let run = ["run", "--input", &kept, "--ring", ring.path(), "--wait-for", "1"];
    let mut plant =
        Running::start(&[&run, &["--capacity", "64KiB", "--format", "json"][..]].concat());
    let tap = ["tap", ring.path(), "--name", "a", "--wait", "60", "--check-digest"];
    let mut tap = Running::start(&[&tap, &["-o", &folder.path("a.csv")][..]].concat());
    check_whole(&mut plant, &["a"]);
    check_tap(&mut tap);
}

#[test]
fn a_paced_plant_says_until_when_it_waits() {
    let held = Held::new("waiting-until", 20_000);
    // The day has a message at 03:00:00 and the next one at 03:05:00.
    let mut plant = held.plant(&["--pace", "1x"]);
    held.until_waiting("message");
    let seen = held.stat();
    let until = seen["waiting_until"].as_str().unwrap();
    assert!(until.starts_with("03:05:00."), "{until}");
    let words = "waiting until 03:05:00 (exchange time), in ";
    assert!(held.text().contains(&format!("now           {words}")), "{}", held.text());
    let line = nanotape(["stat", held.ring.path(), "--watch", "--count", "1", "--interval", "0"]);
    assert!(line.stdout.contains(&format!("; {words}")), "{}", line.stdout);

    let tap = |format: &str| {
        Running::start(&["tap", held.ring.path(), "--from", "oldest", "--format", format])
    };
    let (mut text, mut rows) = (tap("text"), tap("json"));
    assert!(text.read_line().contains("  start  "));
    assert_eq!(rows.read_json()["record"], "start");
    let reported = text.read_stderr_line();
    assert!(reported.contains(&format!("the plant is {words}")), "{reported}");
    plant.signal(Signal::INT);
    let (status, _, complained) = plant.end();
    assert_eq!((status, complained.matches(words).count()), (Some(0), 1), "{complained}");
    let (_, said, complained) = text.end();
    assert!(!said.contains("waiting") && complained.lines().count() == 1, "{said} {complained}");
    let (_, said, complained) = rows.end();
    assert!(!said.contains("waiting") && complained.lines().count() == 1, "{said} {complained}");
    assert_eq!(held.stat()["waiting_for"], Value::Null, "a plant that has ended");
}

#[test]
fn a_plant_whose_followers_do_not_join_says_what_is_missing_and_gives_up() {
    let held = Held::new("wait-for-limit", 1_000);
    let mut plant = held.plant(&["--wait-for", "1", "--wait-for-limit", "400ms"]);
    let (status, said, complained) = plant.end();
    assert_eq!(status, Some(2), "{said}{complained}");
    let missing = "still waiting for 1 of 1 named followers; joined: none; start a missing one";
    assert!(complained.matches(missing).count() >= 2, "{complained}");
    let end = complained.lines().last().unwrap();
    let refusal = "0 of 1 named followers joined within 0.4 s; start each one first";
    assert!(end.contains(refusal) && end.contains("--wait-for-limit"), "{complained}");
}

#[test]
fn a_named_tap_that_joins_late_has_the_begin_of_the_run_from_the_journal() {
    let held = Held::new("wait-for-healed", 60_000);
    let journal = held.folder.path("journal");
    let mut first = held.tap("first", &[]);
    let mut plant = held.plant(&["--wait-for", "1", "--journal", &journal]);
    held.until_joined("first");
    // The ring holds some hundred records.
    eventually("the ring has wrapped", || held.ring.next_sequence() > 10_000);
    first.signal(Signal::STOP);
    held.until_waiting("follower");
    let mut late = held.tap("late", &["--heal", &journal, "--strict"]);
    held.until_joined("late");
    first.signal(Signal::CONT);
    check_tap(&mut first);
    let (status, _, complained) = late.end();
    assert_eq!(status, Some(0), "{complained}");
    assert!(complained.contains(" 0 lost in 0 gaps"), "{complained}");
    assert!(complained.contains(" messages came from the journal"), "{complained}");
    assert!(complained.contains("the digest of the records is that of the plant"), "{complained}");
    let (status, said, complained) = plant.end();
    assert_eq!(status, Some(0), "{complained}");
    let stop = stop(&said);
    let finished = stop["followers"].as_array().unwrap().iter();
    assert!(
        finished.clone().count() == 2 && finished.clone().all(|one| one["state"] == "finished")
    );
}
