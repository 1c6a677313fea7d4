//! Recorders that cannot be started: the plant publishes nothing, and the error is their last line.
//! Real recorders are in `crates/programs/cli/tests/suite/run_journal.rs`.

use std::path::Path;

use nanotape_plant::{
    PlantConfig, PlantRun, RecorderProcess, Report, RunError, ShutdownFlag, config::JournalConfig,
};

use crate::published::support::{Folder, run};

/// A process that runs a line of the shell instead of a recorder.
fn process(folder: &Folder, program: &str, line: &str) -> RecorderProcess {
    RecorderProcess {
        program: program.into(),
        arguments: vec!["-c".into(), line.into()],
        companions: Vec::new(),
        journal: folder.path("journal"),
        waits: true,
        report: Report::default(),
    }
}

fn refused(config: &PlantConfig, process: &RecorderProcess) -> String {
    let opened = PlantRun::open_recorded(config, ShutdownFlag::new(), process);
    match opened {
        Err(error @ RunError::Recording(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_recorder_that_cannot_be_started_is_an_error_before_the_first_record() {
    let folder = Folder::new();
    let config = folder.config(&folder.day(2_000, 4));
    for (program, line, expected) in [
        ("/bin/sh", "echo 'nanotape: no journal' >&2; exit 2", "no journal"),
        ("/bin/sh", "echo one >&2; echo two >&2; exit 1", "two"),
        ("/bin/sh", "exit 3", "exited with status 3"),
        ("/bin/sh", "kill -9 $$", "killed by signal 9"),
        ("/no/such/program", "", "cannot be started: No such file or directory (os error 2)"),
    ] {
        assert_eq!(refused(&config, &process(&folder, program, line)), expected, "{line}");
        assert!(!Path::new(&folder.ring()).exists(), "a new ring is removed");
    }

    // An existing ring stays as it is, and its next plant continues in it.
    let records = run(&config).stop.records;
    refused(&config, &process(&folder, "/bin/sh", "exit 1"));
    let next = PlantRun::open(&config, ShutdownFlag::new()).unwrap();
    assert_eq!(next.first_sequence(), records + 1);
}

#[test]
fn a_stop_that_is_requested_first_ends_the_recorder() {
    let folder = Folder::new();
    let config = folder.config(&folder.day(2_000, 4));
    let stop = ShutdownFlag::new();
    stop.request();
    let process = process(&folder, "/bin/sh", "exec sleep 600");
    let opened = PlantRun::open_recorded(&config, stop, &process);
    let error = opened.map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "stopped on request before the recorder was ready");
}

#[test]
fn a_journal_in_the_configuration_needs_a_program_that_records() {
    let folder = Folder::new();
    let mut config = folder.config(&folder.day(2_000, 4));
    config.journal = Some(JournalConfig { dir: folder.path("journal"), ..Default::default() });
    let error = PlantRun::open(&config, ShutdownFlag::new()).map(|_| ()).unwrap_err();
    assert!(matches!(error, RunError::NoRecorder), "{error}");
    assert!(!Path::new(&folder.ring()).exists());
}
