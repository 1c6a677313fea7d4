//! Every study with tiny settings. Studies with processes run in the tests of the command line.

use std::collections::BTreeSet;

use super::*;

const OPTIONS: StudyOptions = StudyOptions {
    time: Duration::from_millis(60),
    cpus: Vec::new(),
    real_time_priority: None,
    most_bytes: None,
};

/// Settings for tests, with the allowed processors.
pub(super) fn setup(progress: &Progress) -> Setup<'_> {
    let cpus = choose(&[], &allowed_cpus()).unwrap();
    Setup { clock: Clock::calibrate(), cpus, options: const { &OPTIONS }, progress }
}

/// The fields that docs/formats/lab-machine.md requires in a record of kind `study`.
fn documented() -> BTreeSet<String> {
    let text = include_str!("../../../../../docs/formats/lab-machine.md");
    let section = text.split_once("## `kind: study`").unwrap().1.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.split('`').nth(1).unwrap().to_owned()).collect()
}

/// Checks a result against the documented record.
fn check(study: Study, findings: &Findings) {
    let name = study.name();
    let fields = findings.fields(study.question());
    let found: BTreeSet<String> = fields.as_object().unwrap().keys().cloned().collect();
    assert_eq!(found, documented(), "{name}");
    assert!(!findings.answers.is_empty() && !findings.rows.is_empty(), "{name}");
    for row in &findings.rows {
        assert_eq!(row.len(), findings.columns.len(), "{name}");
        for (cell, (column, unit)) in row.iter().zip(&findings.columns) {
            let fits = match unit {
                findings::Unit::Words => cell.is_string() || cell.is_null(),
                _ => cell.is_null() || cell.as_f64().is_some_and(f64::is_finite),
            };
            assert!(fits, "{name}: {cell} in {column}");
        }
    }
    for plot in fields["plots"].as_array().unwrap() {
        for series in plot["series"].as_array().unwrap() {
            let points = series["points"].as_array().unwrap();
            for place in ["low", "high"] {
                let ends = &series[place];
                assert!(ends.is_null() || ends.as_array().unwrap().len() == points.len());
            }
            for point in points {
                assert_eq!(point[0].is_string(), plot["x"]["scale"] == "words", "{name}: {plot}");
                let y = point[1].as_f64().unwrap();
                assert!(plot["y"]["scale"] != "log" || y > 0.0, "{name}: {plot}");
            }
        }
    }
}

#[test]
fn a_study_of_pauses_has_every_field() {
    let progress = Progress::with_steps("turns", 0);
    let setup = setup(&progress);
    let findings = pause::study(&setup).unwrap();
    check(Study::Pause, &findings);
    assert_eq!(findings.rows.len(), 6);
    let one = Setup { cpus: vec![setup.cpus[0]], ..setup };
    let findings = pause::study(&one).unwrap();
    check(Study::Pause, &findings);
    let missing = findings.not_measured.join("\n");
    assert!(missing.contains("round trips: this process may use one processor"), "{missing}");
    assert!(missing.contains("shares a core"), "{missing}");
}

#[test]
fn a_study_of_scheduling_has_every_field_and_names_what_is_missing() {
    let progress = Progress::with_steps("turns", 0);
    let setup = setup(&progress);
    let findings = scheduling::study(&setup).unwrap();
    check(Study::Scheduling, &findings);
    let missing = findings.not_measured.join("\n");
    assert!(missing.contains("too short") || missing.contains("CAP_SYS_NICE"), "{missing}");
    // The system refuses this priority to everyone.
    let options = StudyOptions { real_time_priority: Some(99), ..OPTIONS };
    let refused = Setup { options: &options, ..setup };
    let findings = scheduling::study(&refused).unwrap();
    check(Study::Scheduling, &findings);
    assert_eq!(findings.rows.len(), 2);
    assert!(findings.not_measured[0].starts_with("the class fifo: "), "{findings:?}");
}

#[test]
fn a_study_of_clocks_has_every_field() {
    let progress = Progress::with_steps("turns", 0);
    let setup = setup(&progress);
    let findings = clock::study(&setup).unwrap();
    check(Study::Clock, &findings);
    let without_counter = Setup { clock: Clock::monotonic(), ..setup };
    let findings = clock::study(&without_counter).unwrap();
    check(Study::Clock, &findings);
    assert!(findings.not_measured[0].starts_with("counter: "), "{findings:?}");
}

#[test]
fn a_study_of_idle_times_has_every_field() {
    let progress = Progress::with_steps("turns", 0);
    let setup = setup(&progress);
    let findings = cold::study(&setup, &[100, 10_000]).unwrap();
    check(Study::Cold, &findings);
    assert_eq!(findings.rows.len(), 4);
    assert!(findings.not_measured[0].contains("p99 needs 100 messages"), "{findings:?}");
}

#[test]
fn names_and_questions_differ() {
    let names: BTreeSet<&str> = Study::ALL.iter().map(|study| study.name()).collect();
    let questions: BTreeSet<&str> = Study::ALL.iter().map(|study| study.question()).collect();
    assert_eq!((names.len(), questions.len()), (5, 5));
}

#[test]
fn requested_processors_must_be_allowed() {
    assert_eq!(choose(&[], &[0, 1, 5]).unwrap(), [5, 1, 0]);
    assert_eq!(choose(&[1, 0], &[0, 1]).unwrap(), [1, 0]);
    let error = choose(&[1, 7], &[0, 1]).unwrap_err().to_string();
    assert_eq!(error, "processor 7 is not among those allowed (0, 1)");
}
