//! A journal of two runs whose file `runs` is missing, short or damaged: every command answers as
//! before, or names what the file lacks with status 1.

use std::{fs, path::Path};

use nanotape_journal::RUNS;

use crate::support::{Folder, Ran, nanotape};

/// A journal of two runs, without snapshots.
struct TwoRuns {
    folder: Folder,
    journal: String,
    /// The file `runs`, line by line.
    lines: Vec<String>,
    /// The line of the second run.
    second: usize,
}

impl TwoRuns {
    fn new(name: &str, records: &str) -> Self {
        let folder = Folder::new(name);
        let (ring, journal) = (folder.path("ring"), folder.path("journal"));
        for (seed, messages) in [("1", "3000"), ("2", "2000")] {
            let day = folder.path(&format!("{seed}.itch50"));
            let size = ["--messages", messages, "--symbols", "20", "--seed", seed];
            good(&[&["synth", "-o", &day][..], &size].concat());
            let input = ["run", "--input", &day, "--date", "2019-12-30", "--ring", &ring];
            let options = ["--journal", &journal, "--journal-segment", "256KiB"];
            good(&[&input[..], &options, &["--records", records]].concat());
        }
        let text = fs::read_to_string(Path::new(&journal).join(RUNS)).unwrap();
        let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        let second = lines.iter().rposition(|line| line.starts_with("run ")).unwrap();
        assert!(second > 10 && lines.len() > second + 10, "{text}");
        Self { folder, journal, lines, second }
    }

    fn write_runs(&self, lines: &[String]) {
        fs::write(Path::new(&self.journal).join(RUNS), lines.concat()).unwrap();
    }

    fn run(&self, words: &[&str]) -> Ran {
        let command = [&words[..1], &[&self.journal], &words[1..]].concat();
        nanotape(&command)
    }
}

fn good(arguments: &[&str]) -> Ran {
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {} {}", ran.stdout, ran.stderr);
    ran
}

/// Symptom: `convert` gave the rows of both runs as those of the last one, with status 0.
#[test]
fn a_run_that_is_not_listed_is_read_or_named() {
    let two = TwoRuns::new("unlisted", "all");
    let symbol_at = |line: usize| two.lines[line].split(' ').nth(2).unwrap().to_owned();
    let (first, second) = (symbol_at(4), symbol_at(two.second + 3));
    let questions: [&[&str]; 5] = [
        &["convert", "--format", "csv"],
        &["tap", "--format", "csv"],
        &["inside", "--symbols", &second, "--format", "csv"],
        &["inside", "--symbols", &first, "--format", "csv", "--run", "1"],
        &[
            "book",
            "--symbols",
            &first,
            "--orders",
            "--run",
            "1",
            "--at",
            "12:00",
            "--format",
            "csv",
        ],
    ];
    let truths: Vec<String> = questions
        .iter()
        .map(|question| {
            let ran = two.run(question);
            assert_eq!(ran.status, 0, "{question:?}: {}", ran.stderr);
            assert!(ran.stdout.lines().count() > 1, "{question:?}: {}", ran.stdout);
            ran.stdout
        })
        .collect();
    let whole = two.lines.clone();
    let mut without_line = whole.clone();
    without_line.remove(two.second);
    let short = whole[..two.second].to_vec();
    for has_snapshots in [false, true] {
        if has_snapshots {
            two.write_runs(&whole);
            let snapshot = ["journal", "snapshot", &two.journal];
            good(&[&snapshot[..], &["--least", "32KiB", "--share", "100"]].concat());
            // The last one is of the second run.
        }
        for (name, lines) in
            [("removed", None), ("short", Some(&short)), ("line", Some(&without_line))]
        {
            match lines {
                Some(lines) => two.write_runs(lines),
                None => fs::remove_file(Path::new(&two.journal).join(RUNS)).unwrap(),
            }
            for (question, truth) in questions.iter().zip(&truths) {
                let ran = two.run(question);
                let case = format!("{name}, snapshots: {has_snapshots}: {question:?}");
                if ran.status == 1 {
                    let reported = "lacks the run that begins with record";
                    assert!(ran.stderr.contains(reported), "{case}: {}", ran.stderr);
                    assert!(!has_snapshots && name != "removed", "{case}: {}", ran.stderr);
                } else {
                    assert_eq!(ran.status, 0, "{case}: {}", ran.stderr);
                    assert!(ran.stdout == *truth, "{case}");
                }
            }
        }
        let repaired = nanotape(["journal", "repair", &two.journal]);
        assert_eq!(repaired.status, 0, "{}{}", repaired.stdout, repaired.stderr);
        for (question, truth) in questions.iter().zip(&truths) {
            let ran = two.run(question);
            assert_eq!(
                (ran.status, ran.stdout == *truth),
                (0, true),
                "{question:?}: {}",
                ran.stderr
            );
        }
    }
    assert!(two.folder.path("journal") == two.journal);
}

/// Symptom: a repair kept no name after a damaged one, and a dry run said that the journal would be
/// good.
#[test]
fn a_damaged_name_costs_no_other_one() {
    for (name, records) in [("name-defined", "all"), ("name-only", "mbo,bbo")] {
        let two = TwoRuns::new(name, records);
        let place = two.second - 8;
        let mut damaged = two.lines.clone();
        damaged[place] = damaged[place].replacen("stock", "stobk", 1);
        two.write_runs(&damaged);
        let repair = ["journal", "repair", &two.journal];
        let would = nanotape([&repair[..], &["--dry-run"]].concat());
        let repaired = nanotape(repair);
        assert_eq!(would.status, repaired.status, "{}{}", would.stdout, repaired.stdout);
        let text = fs::read_to_string(Path::new(&two.journal).join(RUNS)).unwrap();
        let lost: Vec<&String> =
            two.lines.iter().filter(|line| !text.contains(line.as_str())).collect();
        if records == "all" {
            assert_eq!((repaired.status, lost.len()), (0, 0), "{}: {lost:?}", repaired.stdout);
        } else {
            // The name is nowhere else.
            assert_eq!((repaired.status, lost.len()), (1, 1), "{}: {lost:?}", repaired.stdout);
            for ran in [&would, &repaired] {
                assert!(ran.stdout.contains("remains: stock"), "{}", ran.stdout);
            }
        }
    }
}
