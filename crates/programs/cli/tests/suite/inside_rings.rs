//! `nanotape inside --consolidated` of the rings of plants, while they run.

use nanotape_harness::Signal;

use crate::support::{Folder, nanotape, plants::Ring, running::Running};

/// A day in a protocol, and a plant of it that waits for one follower.
fn plant(
    folder: &Folder,
    (protocol, file): (&str, &str),
    ring: &Ring,
    options: &[&str],
) -> Running {
    let day = folder.path(file);
    let market = ["--messages", "8k", "--stocks", "6", "--seed", "3", "--date", "2024-03-11"];
    let ran = nanotape([&["synth", "-o", &day, "--protocol", protocol], &market[..]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let run = ["run", "--input", &day, "--date", "2024-03-11", "--ring", ring.path()];
    let waits = ["--wait-for", "1", "--format", "json", "--capacity", "32MiB"];
    let mut plant = Running::start(&[&run[..], &waits, options].concat());
    plant.read_stderr_line();
    plant
}

/// The cells of a row after the time.
fn cells(line: &str) -> Vec<String> {
    line.split(',').skip(1).map(str::to_owned).collect()
}

#[test]
fn the_rings_of_two_plants_have_one_best_price_and_one_that_ended_is_stale() {
    let folder = Folder::new("inside-rings");
    let rings = ["inside-rings-a", "inside-rings-b"].map(Ring::new);
    // In the middle of a day the books are full.
    let days = [("itch", "20240311.itch50"), ("iex-deep-plus", "iex.pcap")];
    let mut plants: Vec<Running> = days
        .iter()
        .zip(&rings)
        .map(|(day, ring)| plant(&folder, *day, ring, &["--until", "12:00"]))
        .collect();
    let [one, two] = [rings[0].path(), rings[1].path()];
    let stale = ["--stale-after", "2s", "--wait-silent", "50ms", "--format", "csv"];
    let mut inside =
        Running::start(&[&["inside", "--consolidated", one, two], &stale[..]].concat());
    assert_eq!(inside.read_stderr_line().trim_end(), format!("nanotape: XNAS: {one}"));
    assert_eq!(inside.read_stderr_line().trim_end(), format!("nanotape: IEXG: {two}"));
    for ring in [one, two] {
        let name = ["--name", "follower", "--records", "status", "-o", "-"];
        let tap = nanotape([&["tap", ring], &name[..]].concat());
        assert_eq!(tap.status, 0, "{}", tap.stderr);
    }
    for plant in &mut plants {
        assert_eq!(plant.end().0, Some(0));
    }
    let (status, output, stderr) = inside.end();
    assert_eq!(status, Some(0), "{stderr}");
    let rows: Vec<_> = output.lines().skip(1).map(cells).collect();
    assert!(rows.len() > 1_000, "{}", rows.len());
    // The last row of a stock is of both plants, as they have read the same day.
    let both = rows.iter().rev().find(|row| row[3] == "XNAS+IEXG").unwrap();
    let alone = nanotape(["inside", &folder.path(days[0].1), "--symbols", &both[0]]);
    let size: u64 = both[2].parse().unwrap();
    let has_half = |line: &str| {
        let row = cells(line);
        row[1] == both[1] && row[2] == (size / 2).to_string()
    };
    assert!(size.is_multiple_of(2) && alone.stdout.lines().any(has_half), "{both:?}");
}

#[test]
fn a_plant_that_ended_is_stale_while_another_one_goes_on() {
    let folder = Folder::new("inside-rings-stale");
    let rings = ["inside-rings-stale-a", "inside-rings-stale-b"].map(Ring::new);
    let [one, two] = [rings[0].path(), rings[1].path()];
    let mut ended = plant(&folder, ("itch", "20240311.itch50"), &rings[0], &["--until", "12:00"]);
    // It waits for its follower, and is alive.
    let mut waiting = plant(&folder, ("iex-deep-plus", "iex.pcap"), &rings[1], &[]);
    let stale = ["--stale-after", "300ms", "--wait-silent", "20ms", "--format", "csv"];
    let mut inside =
        Running::start(&[&["inside", "--consolidated", one, two], &stale[..]].concat());
    inside.read_stderr_line();
    inside.read_stderr_line();
    let name = ["--name", "follower", "--records", "status", "-o", "-"];
    assert_eq!(nanotape([&["tap", one], &name[..]].concat()).status, 0);
    assert_eq!(ended.end().0, Some(0));
    inside.read_line();
    let row = loop {
        let row = cells(&inside.read_line());
        if !row[7].trim_end().is_empty() {
            break row;
        }
    };
    assert!(row[7].starts_with("XNAS since 11:5"), "{row:?}");
    assert!(row[1..7].iter().all(String::is_empty), "{row:?}");
    inside.signal(Signal::INT);
    assert_eq!(inside.end().0, Some(0));
    waiting.signal(Signal::INT);
    waiting.end();
}

#[test]
fn rings_and_files_together_are_refused() {
    let folder = Folder::new("inside-rings-refused");
    let day = folder.day(4_000, 5);
    let ran = nanotape(["inside", "--consolidated", &day, "no-such-ring", "--date", "2019-12-30"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("reads rings or files, not both"), "{}", ran.stderr);
    let ran = nanotape(["inside", "--consolidated", "no-ring-a", "no-ring-b", "--from", "09:30"]);
    assert!(ran.status == 2 && ran.stderr.contains("do not apply to rings"), "{}", ran.stderr);
}
