//! `nanotape lab doctor` as a user runs it: the report, trials, and trials that are killed.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

use nanotape_harness::{
    Bounded as _, BoundedChild as _, Signal, copy_for_all_users, eventually, skipped,
};
use rustix::process::{Pid, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::support::{Folder, lab_program, nanotape, program};

/// A setting that no other test changes, and that any value suits for a moment.
const KNOB: &str = "/proc/sys/vm/dirty_writeback_centisecs";
const CHECK: &str = "writeback";

/// A check that only reads, for tests beside those that write.
const READ_ONLY: [&str; 3] = ["--only", "hypervisor,isolated,fair-server,clocksource", "--no-test"];

#[test]
fn each_check_is_a_record_with_the_documented_fields() {
    let ran = nanotape([&["lab", "doctor", "--no-test", "--format", "json"][..]].concat());
    assert!([0, 1].contains(&ran.status), "{}", ran.stderr);
    let format = include_str!("../../../../../docs/formats/lab-machine.md");
    let (_, section) = format.split_once("## `kind: doctor`").unwrap();
    let mut count = 0;
    for line in ran.stdout.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        for field in ["title", "verdict", "read", "good", "why", "fix", "undo", "when", "can_try"] {
            assert!(record.get(field).is_some(), "{record}");
            assert!(section.contains(&format!("`{field}`")), "{field} is not documented");
        }
        let verdict = record["verdict"].as_str().unwrap();
        assert!(["ok", "info", "warn", "fail", "unknown"].contains(&verdict), "{record}");
        assert!(
            ["now", "kernel command line", "firmware or host"]
                .contains(&record["when"].as_str().unwrap())
        );
        count += 1;
    }
    assert!(count >= 55, "{count}");
    let listed = nanotape(["lab", "doctor", "--list"]);
    // The test is not in the list of settings.
    assert_eq!(listed.stdout.lines().count(), count);
}

#[test]
fn the_report_is_grouped_and_its_status_is_that_of_failures() {
    let arguments = [&["lab", "doctor"], &READ_ONLY[..]].concat();
    let ran = nanotape(&arguments);
    let has_failed = ran.stdout.lines().any(|line| line.starts_with("  fail "));
    assert_eq!(ran.status, i32::from(has_failed), "{}", ran.stdout);
    let place = |title: &str| ran.stdout.find(title).unwrap_or_else(|| panic!("{}", ran.stdout));
    let (now, line) =
        (place("\nNow, without a restart\n"), place("\nOn the kernel command line\n"));
    assert!(now < line && line < place("\nIn the firmware, or on the host\n"));
    assert!(ran.stdout.contains("\n4 checks: "), "{}", ran.stdout);
    let test = nanotape([
        "lab",
        "doctor",
        "--only",
        "interruptions",
        "--seconds",
        "0.05",
        "--target",
        "1000000",
    ]);
    assert_eq!(test.status, 0, "{}", test.stdout);
    assert!(test.stdout.contains("ok       interruptions"), "{}", test.stdout);
}

#[test]
fn names_and_processors_that_do_not_exist_are_refused() {
    let cases: [(&[&str], &str); 4] = [
        (&["--only", "nothing"], "no check is named nothing"),
        (&["--cpus", "9999"], "--cpus 9999: only "),
        (&["--cpus", "x"], "expected processors, like 2-3,7"),
        (&["try", "hypervisor"], "hypervisor "),
    ];
    for (arguments, message) in cases {
        let ran = nanotape([&["lab", "doctor"], arguments].concat());
        assert_eq!(ran.status, 2, "{arguments:?}");
        assert!(ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
    }
    let folder = Folder::new("doctor-nothing");
    let ran = nanotape(["lab", "doctor", "restore", "--state", &folder.path("state")]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("nothing was left to restore"), "{}", ran.stderr);
}

/// As for the other commands. Symptom: a restoration ended with a panic.
#[test]
fn a_reader_that_has_left_is_no_error() {
    let folder = Folder::new("doctor-pipe");
    let state = folder.write("state", br#"{"changes":[]}"#);
    let day = folder.day(5_000, 2);
    for arguments in [
        &["lab", "doctor", "--no-test"][..],
        &["lab", "doctor", "restore", "--state", &state],
        &["delay", &day, &day, "--date", "2019-12-30"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(program());
        command.args(arguments).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
        let output = command.spawn().unwrap().bounded_wait_with_output(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn an_ordinary_user_gets_the_report_and_cannot_try() {
    let program = copy_for_all_users(lab_program().as_ref());
    let as_user = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        command.arg("--inh-caps=-all").arg("--bounding-set=-all").arg(program.path());
        command.arg("doctor").args(arguments).bounded_output()
    };
    let output = match as_user(&["--no-test", "--format", "json"]) {
        Ok(output) if output.status.code() != Some(127) => output,
        outcome => return skipped(format!("cannot become another user: {outcome:?}")),
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("setpriv") {
        return skipped(format!("cannot become another user: {errors}"));
    }
    assert!([Some(0), Some(1)].contains(&output.status.code()), "{errors}");
    assert!(String::from_utf8_lossy(&output.stdout).lines().count() >= 55);
    let state = Folder::new("doctor-user");
    let output = as_user(&["try", "swappiness", "--state", &state.path("state")]).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("cannot make ") && errors.lines().count() == 1, "{errors}");
}

/// Trials of one setting, so that they cannot meet.
#[test]
fn a_trial_restores_at_its_end_after_a_signal_and_when_it_is_killed() {
    let Ok(before) = fs::read_to_string(KNOB) else { return skipped(format!("no {KNOB}")) };
    if fs::OpenOptions::new().write(true).open(KNOB).is_err() {
        return skipped(format!("{KNOB} cannot be written: trials need root"));
    }
    if before.trim().parse::<u64>().is_ok_and(|hundredths| hundredths == 0 || hundredths >= 1_500) {
        return skipped(format!("{KNOB} is good already"));
    }
    let folder = Folder::new("doctor-try");
    let state = folder.path("state");
    let value = || fs::read_to_string(KNOB).unwrap();
    let is_restored = || value() == before && !Path::new(&state).exists();

    let ran = nanotape([
        "lab",
        "doctor",
        "try",
        CHECK,
        "--rounds",
        "6",
        "--seconds",
        "0.02",
        "--state",
        &state,
    ]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("lost time a second") && ran.stdout.contains("%]"),
        "{}",
        ran.stdout
    );
    assert!(is_restored());

    let ran = nanotape([
        "lab",
        "doctor",
        "try",
        CHECK,
        "--rounds",
        "1",
        "--seconds",
        "0.02",
        "--format",
        "json",
        "--state",
        &state,
    ]);
    let record: Value = serde_json::from_str(&ran.stdout).unwrap();
    let format = include_str!("../../../../../docs/formats/lab-machine.md");
    let (_, section) = format.split_once("## `kind: doctor try`").unwrap();
    let effects = record["effects"].as_object().unwrap();
    for field in record.as_object().unwrap().keys().chain(effects.keys()) {
        assert!(section.contains(&format!("`{field}`")), "{field} is not documented");
    }
    assert_eq!((&record["rounds"], &record["refused"]), (&json!(1), &json!([])));
    assert!(is_restored());

    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let mut trial = start(&state);
        eventually("the fix is applied", || value() != before);
        kill_process(Pid::from_child(&trial), signal).unwrap();
        trial.bounded_wait("the trial");
        eventually("the value of before is restored", is_restored);
    }

    // With its guardian: the state file stays, and the next run uses it.
    let mut trial = start(&state);
    eventually("the fix is applied", || value() != before);
    let guardian = guardian_of(trial.id()).expect("the trial has a guardian");
    kill_process(guardian, Signal::KILL).unwrap();
    eventually("the guardian is gone", || {
        test_kill_process(guardian).is_err() || is_zombie(guardian)
    });
    eventually("the next fix is applied", || value() != before);
    trial.kill().unwrap();
    trial.bounded_wait("the trial");
    assert!(Path::new(&state).exists());
    let ran = nanotape([&["lab", "doctor", "--state", &state], &READ_ONLY[..]].concat());
    assert!(ran.stderr.contains(&format!("a trial of {CHECK} was killed")), "{}", ran.stderr);
    let ran = nanotape(["lab", "doctor", "restore", "--state", &state]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "restored\n"), "{}", ran.stderr);
    assert!(is_restored());
}

/// A trial that goes on for long.
fn start(state: &str) -> Child {
    Command::new(lab_program())
        .args(["doctor", "try", CHECK, "--rounds", "1000", "--seconds", "0.1", "--state", state])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn guardian_of(parent: u32) -> Option<Pid> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok();
    let from_list = children.and_then(|text| text.split_whitespace().next()?.parse::<i32>().ok());
    let from_stat = || {
        fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let rest = stat.rsplit_once(") ")?.1;
            let is_child = rest.split_whitespace().nth(1)? == parent.to_string();
            is_child.then_some(pid)
        })
    };
    Pid::from_raw(from_list.or_else(from_stat)?)
}

fn is_zombie(pid: Pid) -> bool {
    let stat =
        fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}
