//! `nanotape journal tail --name`: every excerpt is delivered at least once, however the command
//! ends. Rounds are drawn from seeds, and the excerpts that no output has are counted: none.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    process::{Command, Stdio},
};

use nanotape_harness::{Bounded as _, BoundedChild as _, Mount, Random, eventually};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Folder, nanotape, nanotape_fed, running::json};

/// Bytes of the shortest row: a number, a time and the word `line`.
const ROW_BYTES: u64 = 40;

fn append(path: &str, range: std::ops::RangeInclusive<u64>) {
    let lines: String = range.map(|number| format!("line {number}\n")).collect();
    let ran = nanotape_fed(["journal", "append", path, "--segment", "64KiB"], lines.as_bytes());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
}

/// The numbers of the whole rows of an output.
fn numbers(output: &str) -> impl Iterator<Item = u64> {
    let whole = output.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|row| row.split(' ').next().unwrap().parse().unwrap())
}

/// The stored position of the only name.
fn position(path: &str) -> u64 {
    let listed = nanotape(["journal", "tailers", path, "--format", "json"]);
    json(&listed.stdout)["next_sequence"].as_u64().unwrap().max(1)
}

fn tail(path: &str, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanotape"));
    command.args(["journal", "tail", path, "--name", "audit", "--format", "text"]).args(options);
    command
}

/// Adds what a last tail prints, and returns how many excerpts no output has.
fn lost(path: &str, mut delivered: BTreeSet<u64>, count: u64) -> usize {
    let rest = nanotape(["journal", "tail", path, "--name", "audit", "--format", "text"]);
    assert_eq!((rest.status, rest.stderr.as_str()), (0, ""));
    delivered.extend(numbers(&rest.stdout));
    assert_eq!(position(path), count + 1);
    (1..=count).filter(|number| !delivered.contains(number)).count()
}

#[test]
fn a_reader_that_takes_five_rows_and_exits_loses_nothing_for_the_name() {
    for seed in 1..=20 {
        let folder = Folder::new("named-head");
        let path = folder.path("journal");
        // A small output fits a pipe, so that no write of it fails.
        let count = 400 + Random::new(seed).below(10_000);
        append(&path, 1..=count);
        let line = "\"$0\" journal tail \"$1\" --name audit --format text | head -5";
        let arguments = ["-c", line, env!("CARGO_BIN_EXE_nanotape"), &path];
        let headed = Command::new("sh").args(arguments).bounded_output().unwrap();
        let headed = String::from_utf8(headed.stdout).unwrap();
        let delivered: BTreeSet<u64> = numbers(&headed).collect();
        assert_eq!(delivered.len(), 5);
        assert_eq!(lost(&path, delivered, count), 0, "seed {seed}: {count} excerpts");
    }
}

/// Twenty kills for each of three seeds, at a random byte of the output.
#[test]
fn killed_tails_lose_nothing_for_the_name() {
    for seed in 1..=3 {
        let mut random = Random::new(seed);
        let folder = Folder::new("named-kills");
        let path = folder.path("journal");
        let (mut count, mut delivered, mut repeated) = (0, BTreeSet::new(), 0);
        for round in 0..20 {
            let more = 1 + random.below(6_000);
            append(&path, count + 1..=count + more);
            count += more;
            let at = if round == 0 { 1 } else { position(&path) };
            let until = 1 + random.below((count + 1 - at) * ROW_BYTES);
            let output = folder.path(&format!("{round}.txt"));
            let mut killed = tail(&path, &["--follow"])
                .stdin(Stdio::null())
                .stdout(File::create(&output).unwrap())
                .spawn()
                .unwrap();
            eventually("rows are written", || fs::metadata(&output).unwrap().len() >= until);
            kill_process(Pid::from_child(&killed), Signal::KILL).unwrap();
            assert_eq!(killed.bounded_wait("a killed tail").code(), None);
            for number in numbers(&fs::read_to_string(&output).unwrap()) {
                repeated += u64::from(!delivered.insert(number));
            }
            let next = position(&path);
            assert!((1..next).all(|number| delivered.contains(&number)), "seed {seed}: {next}");
        }
        assert_eq!(lost(&path, delivered, count), 0, "seed {seed}");
        println!("seed {seed}: 20 kills, {count} excerpts, 0 lost, {repeated} repeated");
    }
}

#[test]
fn a_full_output_disk_loses_nothing_for_the_name_and_pruning_keeps_what_no_output_has() {
    let Some(mounted) = Mount::new("tmpfs", "size=512k") else { return };
    for seed in 1..=10 {
        let folder = Folder::new("named-full");
        let path = folder.path("journal");
        let count = 15_000 + Random::new(seed).below(10_000);
        append(&path, 1..=count);
        let full = mounted.path().join("rows.txt");
        let has_option = seed % 2 == 0;
        let mut command = tail(&path, &[]);
        if has_option {
            command.arg("-o").arg(&full);
        }
        let stdout = match has_option {
            true => Stdio::null(),
            false => File::create(&full).unwrap().into(),
        };
        command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped());
        let ran = command.spawn().unwrap().bounded_wait_with_output("a tail on a full disk");
        let complained = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{complained}");
        assert!(complained.contains("No space left"), "{complained}");
        let written = fs::read_to_string(&full).unwrap_or_default();
        let delivered: BTreeSet<u64> = numbers(&written).collect();
        let next = position(&path);
        assert!((1..next).all(|number| delivered.contains(&number)), "seed {seed}: {next}");
        assert_eq!(next == 1, has_option, "a part of a file that has no name counts for nothing");
        let pruned = nanotape(["journal", "prune", &path, "--keep", "1"]);
        assert_eq!(pruned.status, 0, "{}", pruned.stderr);
        assert_eq!(lost(&path, delivered, count), 0, "seed {seed}");
        let _ = fs::remove_file(&full);
    }
}

#[test]
fn a_name_continues_after_a_file_that_was_completed() {
    let folder = Folder::new("named-file");
    let (path, output) = (folder.path("journal"), folder.path("rows.txt"));
    append(&path, 1..=3_000);
    let ran = tail(&path, &["--count", "2000", "-o", &output]).bounded_output().unwrap();
    assert!(ran.status.success());
    let delivered: BTreeSet<u64> = numbers(&fs::read_to_string(&output).unwrap()).collect();
    assert_eq!((delivered.len(), position(&path)), (2_000, 2_001));
    assert_eq!(lost(&path, delivered, 3_000), 0);
}

#[test]
fn a_position_is_set_forwards_and_back_under_a_new_name_and_an_old_one() {
    let folder = Folder::new("named-set");
    let path = folder.path("journal");
    append(&path, 1..=2_000);
    let set =
        |name: &str, to: &str| nanotape(["journal", "tailers", &path, "--set", name, "--to", to]);
    for (to, next) in [("700", 700), ("1", 1), ("newest", 2_001), ("oldest", 1), ("1999", 1_999)] {
        let ran = set("audit", to);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{to}");
        assert_eq!(position(&path), next, "{to}");
    }
    let rest = nanotape(["journal", "tail", &path, "--name", "audit", "--format", "text"]);
    assert_eq!(numbers(&rest.stdout).collect::<Vec<_>>(), [1_999, 2_000]);
    let refused = set("audit", "2002");
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("excerpt 2002 does not exist yet"), "{}", refused.stderr);
    assert_eq!(position(&path), 2_001, "a refusal changes nothing");
    // A refused position leaves no new name either.
    assert_eq!(set("other", "2002").status, 2);
    let listed = nanotape(["journal", "tailers", &path, "--format", "json"]).stdout;
    assert_eq!(listed.lines().count(), 1, "{listed}");
    assert_eq!(nanotape(["journal", "tailers", &path, "--set", "audit"]).status, 2);
}
