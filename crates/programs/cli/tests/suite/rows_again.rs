//! The rows of a day are those that a second program computes, in another language and from the
//! specification alone: `rows.py`.

use std::{fs, process::Command};

use nanotape_harness::{Bounded as _, skipped};

use crate::support::{Folder, nanotape};

#[test]
fn rows_are_those_of_a_plain_program_in_another_language() {
    if Command::new("python3").arg("--version").bounded_output().is_err() {
        skipped(format_args!("no python3, which computes the rows again"));
        return;
    }
    let folder = Folder::new("rows-again");
    let whole = folder.day(20_000, 7);
    let half = folder.write("half.itch50", &half_of(&fs::read(&whole).unwrap()));
    for day in [&whole, &half] {
        for (table, options) in [
            ("inside", &[][..]),
            ("trades", &[]),
            ("depth", &["--symbols", "*", "--levels", "3"]),
            ("book", &["--symbols", "*"]),
        ] {
            let ran = nanotape([&[table, day, "--format", "csv"], options].concat());
            assert_eq!(ran.status, 0, "{table} {day}: {}", ran.stderr);
            let (_, found) = ran.stdout.split_once('\n').unwrap();
            let expected = computed(day, table);
            let is_empty = table == "book" && day == &whole;
            assert_eq!(expected.is_empty(), is_empty, "{table} {day}");
            let differs = found.lines().zip(expected.lines()).find(|(found, other)| found != other);
            assert_eq!(differs, None, "{table} {day}");
            assert_eq!(found.lines().count(), expected.lines().count(), "{table} {day}");
        }
    }
}

/// The first half of the messages of a day, and its end. The orders of a whole day are all gone.
fn half_of(day: &[u8]) -> Vec<u8> {
    let mut at = 0;
    while at < day.len() / 2 {
        at += 2 + usize::from(u16::from_be_bytes([day[at], day[at + 1]]));
    }
    [&day[..at], &[0, 0]].concat()
}

fn computed(day: &str, table: &str) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/rows.py");
    let ran = Command::new("python3").args([script, day, table]).bounded_output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}
