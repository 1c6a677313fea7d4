//! `nanotape journal record` with real processes: rings that are replaced, that are created later,
//! and that have wrapped.

use std::{
    fs,
    process::{Command, Stdio},
};

use nanotape_harness::{BoundedChild as _, eventually, skipped};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{
    Folder, Ran, nanotape, nanotape_fed,
    running::{Running, json, objects},
};

/// A ring and a journal of one test.
struct Recording {
    _folder: Folder,
    ring: String,
    journal: String,
}

impl Recording {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let (ring, journal) = (folder.path("ring"), folder.path("days/journal"));
        Self { _folder: folder, ring, journal }
    }

    /// A running writer of the ring, with `messages` messages published.
    fn writer(&self, text: &str, messages: u64) -> Running {
        let mut writer = Running::start_fed(&["ring", "publish", &self.ring, "--format", "json"]);
        writer.read_json();
        for number in 1..=messages {
            writer.say(&format!("{text} {number}"));
        }
        writer
    }

    /// Publishes `messages` messages and closes the ring.
    fn publish(&self, text: &str, messages: u64, options: &[&str]) {
        let lines: String = (1..=messages).map(|number| format!("{text} {number}\n")).collect();
        let ran =
            nanotape_fed([&["ring", "publish", &self.ring], options].concat(), lines.as_bytes());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }

    fn arguments<'a>(&'a self, options: &[&'a str]) -> Vec<&'a str> {
        let command = ["journal", "record", &self.ring, &self.journal, "--format", "json"];
        [&command, options].concat()
    }

    /// A recorder that keeps running.
    fn recorder(&self, options: &[&str]) -> Running {
        Running::start(&self.arguments(options))
    }

    /// A recorder that runs to its end.
    fn record(&self, options: &[&str]) -> Ran {
        nanotape(self.arguments(options))
    }

    /// The sequence numbers and texts in the journal.
    fn excerpts(&self) -> Vec<(u64, String)> {
        let ran = nanotape(["journal", "dump", &self.journal, "--format", "json"]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        let text = |row: &Value| {
            let digits = row["payload"].as_str().unwrap().as_bytes().chunks(2);
            let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
            String::from_utf8(digits.map(byte).collect()).unwrap()
        };
        let rows = objects(&ran.stdout);
        let messages = rows.iter().filter(|row| row["sequence"].is_u64());
        messages.map(|row| (row["sequence"].as_u64().unwrap(), text(row))).collect()
    }

    fn wait_for_excerpts(&self, count: usize) {
        for _ in 0..3_000 {
            let ran = nanotape(["journal", "tail", &self.journal, "-n", "100", "--format", "json"]);
            if ran.stdout.lines().count() == count {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("the journal did not come to {count} excerpts");
    }
}

fn texts(text: &str, numbers: std::ops::RangeInclusive<u64>) -> Vec<(u64, String)> {
    numbers.map(|number| (number, format!("{text} {number}"))).collect()
}

#[test]
fn a_ring_that_is_removed_or_replaced_ends_its_recording_and_is_not_mixed_with_the_next() {
    for is_replaced in [false, true] {
        let recording = Recording::new(&format!("record-replaced-{is_replaced}"));
        let mut first = recording.writer("first", 3);
        let mut recorder = recording.recorder(&["--through-restarts"]);
        recording.wait_for_excerpts(3);
        first.signal(Signal::KILL);
        first.process.bounded_wait("the first");
        fs::remove_file(&recording.ring).unwrap();
        let _second = is_replaced.then(|| recording.writer("second", 9));
        let (status, said, complained) = recorder.end();
        assert_eq!(status, Some(1), "{complained}");
        let counted = json(&said);
        assert_eq!((&counted["recorded"], &counted["lost"]), (&3.into(), &0.into()));
        // A check between the removal and the next ring finds no ring.
        assert!(complained.contains("was re") && complained.contains(&recording.ring));
        assert!(complained.contains("the last recorded message is 3"), "{complained}");
        assert_eq!(recording.excerpts(), texts("first", 1..=3));
    }
}

#[test]
fn a_journal_is_not_continued_from_another_ring_of_the_same_name() {
    let recording = Recording::new("record-another");
    recording.publish("first", 5, &[]);
    assert_eq!(recording.record(&[]).status, 0);
    fs::remove_file(&recording.ring).unwrap();
    // A new ring at the same path, with more messages than the journal.
    recording.publish("second", 9, &[]);
    let refused = recording.record(&[]);
    assert_eq!((refused.status, refused.stdout.as_str()), (2, ""), "{}", refused.stderr);
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    for expected in
        [&*recording.ring, &*recording.journal, "not the ring that", "record it into a new journal"]
    {
        assert!(refused.stderr.contains(expected), "{expected}: {}", refused.stderr);
    }
    assert_eq!(recording.excerpts(), texts("first", 1..=5));
}

#[test]
fn a_journal_goes_on_with_a_ring_that_another_writer_has_taken_over() {
    let recording = Recording::new("record-taken-over");
    recording.publish("message", 5, &[]);
    assert_eq!(recording.record(&[]).status, 0);
    recording.publish("later", 2, &[]);
    let ran = recording.record(&[]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut expected = texts("message", 1..=5);
    expected.extend([(6, "later 1".to_owned()), (7, "later 2".to_owned())]);
    assert_eq!(recording.excerpts(), expected);
    // `verify` accepts the recorder's mark as a file of the journal.
    let verified = nanotape(["journal", "verify", &recording.journal, "--format", "json"]);
    assert_eq!((verified.status, verified.stdout.contains("recorded-from")), (0, false));
}

#[test]
fn a_journal_that_does_not_say_its_ring_goes_on_only_if_its_last_excerpt_is_in_the_ring() {
    let recording = Recording::new("record-unsaid");
    let mark = format!("{}/recorded-from", recording.journal);
    recording.publish("first", 5, &[]);
    assert_eq!(recording.record(&[]).status, 0);
    // A journal of an earlier version has no mark.
    fs::remove_file(&mark).unwrap();
    recording.publish("first", 1, &[]);
    assert_eq!(recording.record(&[]).status, 0);
    assert_eq!(recording.excerpts().len(), 6);
    assert!(fs::read_to_string(&mark).unwrap().contains(&recording.ring));

    fs::remove_file(&mark).unwrap();
    fs::remove_file(&recording.ring).unwrap();
    recording.publish("second", 9, &[]);
    let refused = recording.record(&[]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("message 6 of the ring differs from excerpt 6"),
        "{}",
        refused.stderr
    );

    // The last excerpt is no longer in the ring.
    fs::remove_file(&recording.ring).unwrap();
    recording.publish("second", 2_000, &["--capacity", "4KiB"]);
    let refused = recording.record(&[]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("no longer holds message 6"), "{}", refused.stderr);
    assert_eq!(recording.excerpts().len(), 6);

    // An unreadable mark is refused.
    fs::write(&mark, b"nanotape recording 1\ncreated_ns soon\n").unwrap();
    let refused = recording.record(&[]);
    assert_eq!(refused.status, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains(&mark), "{}", refused.stderr);
}

#[test]
fn a_recorder_waits_for_its_ring() {
    let recording = Recording::new("record-wait");
    let ran = recording.record(&[]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("--wait"), "{}", ran.stderr);
    let ran = recording.record(&["--wait", "0.01"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("no writer created it within 0.01 s"), "{}", ran.stderr);

    let mut recorder = recording.recorder(&["--wait", "60"]);
    let mut writer = recording.writer("message", 4);
    recording.wait_for_excerpts(4);
    assert_eq!(writer.end().0, Some(0));
    let (status, said, complained) = recorder.end();
    assert_eq!((status, &json(&said)["recorded"]), (Some(0), &4.into()), "{complained}");

    // The recorder also waits for the next writer of an existing ring.
    let mut recorder = recording.recorder(&["--wait", "60"]);
    recording.publish("later", 3, &[]);
    let (status, said, complained) = recorder.end();
    assert_eq!((status, &json(&said)["recorded"]), (Some(0), &3.into()), "{complained}");

    // An interrupt ends the wait cleanly.
    fs::remove_file(&recording.ring).unwrap();
    let mut recorder = recording.recorder(&["--wait", "60"]);
    // The recorder has opened the journal, so it handles interrupts.
    let stat = ["journal", "stat", &recording.journal, "--format", "json"];
    while !nanotape(stat).stdout.contains("\"appender_state\":\"alive\"") {
        assert!(recorder.is_running(), "{}", recorder.end().2);
    }
    recorder.signal(Signal::INT);
    let (status, _, complained) = recorder.end();
    assert_eq!(status, Some(0), "{complained}");
    assert_eq!(recording.excerpts().len(), 7);
}

#[test]
fn what_a_ring_had_overwritten_before_it_was_recorded_is_lost_and_can_be_a_failure() {
    let recording = Recording::new("record-wrapped");
    recording.publish("message", 2_000, &["--capacity", "4KiB"]);
    let ran = recording.record(&["--fail-on-loss"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let counted = json(&ran.stdout);
    let (recorded, lost) =
        (counted["recorded"].as_u64().unwrap(), counted["lost"].as_u64().unwrap());
    assert!(recorded > 50 && lost > 1_000 && recorded + lost == 2_000, "{counted}");
    assert!(ran.stderr.contains(&format!("lost {lost} messages, 1 to {lost}")), "{}", ran.stderr);
    let excerpts = recording.excerpts();
    assert_eq!(excerpts, texts("message", lost + 1..=2_000));

    // Nothing else was lost; a loss is a failure only with --fail-on-loss.
    assert_eq!(recording.record(&["--fail-on-loss"]).status, 0);
    recording.publish("again", 2_000, &["--capacity", "4KiB"]);
    let ran = recording.record(&[]);
    assert_eq!((ran.status, json(&ran.stdout)["lost"].as_u64() > Some(0)), (0, true));
}

#[test]
fn a_recorder_runs_on_a_processor_of_choice() {
    let recording = Recording::new("record-cpu");
    recording.publish("message", 3, &[]);
    let ran = recording.record(&["--cpu", "1023"]);
    assert_eq!((ran.status, &json(&ran.stdout)["recorded"]), (0, &3.into()));
    let line = "nanotape: pinning was refused: processor 1023 is not among those allowed";
    assert!(ran.stderr.starts_with(line), "{}", ran.stderr);

    let mut writer = recording.writer("later", 0);
    let mut recorder = recording.recorder(&["--cpu", "0"]);
    let status = format!("/proc/{}/status", recorder.process.id());
    eventually("the recorder is on processor 0", || {
        fs::read_to_string(&status).unwrap().contains("Cpus_allowed_list:\t0\n")
    });
    writer.end();
    assert_eq!(recorder.end().0, Some(0));
}

/// Symptom: `--cpu N` was refused for a processor outside the affinity that the command started
/// with, although the kernel grants it. So no isolated processor could be chosen.
#[test]
fn a_recorder_moves_to_a_processor_that_it_was_not_started_on() {
    let all = nanotape_host::usable_cpus();
    let (Some(first), Some(last)) = (all.first(), all.last()) else { panic!("a processor") };
    if first == last {
        return skipped("there is one processor here");
    }
    let recording = Recording::new("record-other-cpu");
    let mut writer = recording.writer("message", 3);
    let last = last.to_string();
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &first.to_string(), env!("CARGO_BIN_EXE_nanotape")]);
    command.args(recording.arguments(&["--cpu", &last])).stdin(Stdio::null());
    let mut recorder = Running::of(command);
    let status = format!("/proc/{}/status", recorder.process.id());
    eventually("the recorder is on the other processor", || {
        assert!(recorder.is_running(), "it ended before");
        fs::read_to_string(&status).unwrap().contains(&format!("Cpus_allowed_list:\t{last}\n"))
    });
    writer.end();
    let (status, _, complained) = recorder.end();
    assert_eq!((status, complained.contains("refused")), (Some(0), false), "{complained}");
}
