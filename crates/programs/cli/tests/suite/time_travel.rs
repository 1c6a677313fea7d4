//! Commands at a moment of a journal, with and without snapshots, give the answers of the day file.

use nanotape_harness::Random;

use crate::support::{Folder, Ran, nanotape};

fn good(arguments: &[&str]) -> Ran {
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    ran
}

/// A day file, and a journal of it with snapshots.
struct Past {
    _folder: Folder,
    day: String,
    journal: String,
    /// The times and symbols of some messages.
    moments: Vec<(u64, String)>,
}

impl Past {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let (day, ring) = (folder.path("2019-12-30.itch50"), folder.path("ring"));
        let journal = folder.path("journal");
        good(&["synth", "-o", &day, "--messages", "40000", "--symbols", "30"]);
        good(&["run", "--input", &day, "--ring", &ring, "--capacity", "256MiB"]);
        good(&["journal", "record", &ring, &journal, "--segment", "4MiB"]);
        let rows = good(&["inside", &day, "--format", "csv"]).stdout;
        let cell = |row: &str, column| row.split(',').nth(column).unwrap().to_owned();
        let rows: Vec<&str> = rows.lines().skip(1).collect();
        let mut random = Random::new(7);
        let moments = (0..12)
            .map(|_| rows[random.below(rows.len() as u64) as usize])
            .map(|row| (cell(row, 0).parse().unwrap(), cell(row, 1)))
            .collect();
        Self { _folder: folder, day, journal, moments }
    }

    /// Compares a command on both inputs.
    fn compare(&self, command: &[&str]) {
        let of = |input: &str| good(&[&command[..1], &[input], &command[1..]].concat()).stdout;
        assert_eq!(of(&self.journal), of(&self.day), "{command:?}");
    }
}

/// A time of day as the commands take it.
fn clock(nanos: u64) -> String {
    let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    format!("{:02}:{:02}:{:02}.{rest:09}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[test]
fn books_and_spans_of_a_journal_are_those_of_the_day_file() {
    let past = Past::new("time_travel");
    // Without snapshots, then with few, then with many.
    for share in [None, Some("5"), Some("100")] {
        if let Some(share) = share {
            let snapshots = std::path::Path::new(&past.journal).join("snapshots");
            let _ = std::fs::remove_dir_all(snapshots);
            good(&["journal", "snapshot", &past.journal, "--share", share, "--least", "128KiB"]);
        }
        for (number, (nanos, symbol)) in past.moments.iter().enumerate() {
            // At a message, and just before it.
            let (at, before) = (clock(*nanos), clock(nanos - 1));
            for at in [&at, &before] {
                past.compare(&[
                    "book",
                    "--symbols",
                    symbol,
                    "--at",
                    at,
                    "--orders",
                    "--format",
                    "csv",
                ]);
            }
            let to = clock(nanos + 60_000_000_000);
            let span = ["--from", &at, "--until", &to, "--format", "csv"];
            past.compare(&[&["inside", "--symbols", symbol], &span[..]].concat());
            if number % 4 == 0 {
                past.compare(&[&["inside"], &span[..]].concat());
                past.compare(
                    &[&["depth", "--symbols", symbol, "--levels", "3"], &span[..]].concat(),
                );
                past.compare(&[
                    "diff",
                    "--symbols",
                    symbol,
                    &at,
                    &to,
                    "--orders",
                    "--format",
                    "csv",
                ]);
            }
        }
        let (_, symbol) = &past.moments[0];
        past.compare(&["book", "--symbols", symbol, "--format", "csv"]);
    }
}

#[test]
fn a_damaged_snapshot_is_passed_over_and_answers_stay_right() {
    let past = Past::new("time_travel_damaged");
    good(&["journal", "snapshot", &past.journal, "--share", "100", "--least", "128KiB"]);
    let listed = good(&["journal", "snapshot", &past.journal, "--list", "--format", "json"]).stdout;
    for (number, object) in crate::support::running::objects(&listed).iter().enumerate() {
        let path = object["path"].as_str().unwrap();
        let mut bytes = std::fs::read(path).unwrap();
        let at = [5, 130, 260][number % 3];
        bytes[at] ^= 1;
        std::fs::write(path, bytes).unwrap();
    }
    for (nanos, symbol) in &past.moments {
        past.compare(&["book", "--symbols", symbol, "--at", &clock(*nanos), "--format", "csv"]);
    }
}
