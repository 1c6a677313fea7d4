//! `-o FILE` in a folder that others write to: nothing is written through a link, a file or a FIFO
//! of another user, nothing that exists is replaced without `--force`, and no file gets wider
//! permissions.

use std::{
    fs::{self, Permissions},
    io::Write as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, lchown, symlink},
    path::Path,
};

use nanotape_harness::{BoundedChild as _, eventually};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::{
    Folder, nanotape,
    running::Running,
    users::{OTHER, can_give_files, shell},
};

const ROWS: &str = "ts_ns,symbol,";

fn mode(path: &str) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &str, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn is_link(path: &str) -> bool {
    fs::symlink_metadata(path).unwrap().is_symlink()
}

fn has_rows(path: &str) -> bool {
    fs::read_to_string(path).unwrap().starts_with(ROWS)
}

fn names(folder: &str) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A command that has begun to write rows.csv and waits for the rest of its input.
fn unfinished(folder: &Folder, input: &[u8]) -> Running {
    let mut waiting = Running::start_fed(&["inside", "-", "-o", &folder.path("rows.csv")]);
    waiting.input.as_mut().unwrap().write_all(input).unwrap();
    eventually("an unfinished file", || {
        assert!(waiting.is_running(), "it ended before it wrote");
        !names(&folder.path("")).is_empty()
    });
    waiting
}

/// Symptom: a link with the name of the unfinished file, in a folder that others write to, chose
/// the file that was overwritten. Cause: the name had the number of the process only, and the file
/// was opened and truncated. Fix: a random name, and a new file.
#[test]
fn the_unfinished_file_is_never_one_that_exists() {
    let folder = Folder::new("outputs-planted");
    let day = folder.day(2_000, 5);
    let victim = folder.write("victim", b"secret");
    let rows = folder.path("rows.csv");
    let script = "for form in .rows.csv.$$.partial rows.csv.$$ .rows.csv.partial; do
        ln -s \"$2\" \"$3/$form\"; done; exec \"$0\" inside \"$1\" -o \"$3/rows.csv\"";
    let ran = shell(script, &[&day, &victim, &folder.path("")]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert!(fs::read(&victim).unwrap() == b"secret", "{victim} was overwritten");
    assert!(has_rows(&rows) && !is_link(&rows));
}

#[test]
fn names_of_unfinished_files_differ_each_time() {
    let inputs = Folder::new("outputs-random-day");
    let day = fs::read(inputs.day(20_000, 20)).unwrap();
    let folder = Folder::new("outputs-random");
    let mut seen = Vec::new();
    for _ in 0..2 {
        let mut waiting = unfinished(&folder, &day[..300_000]);
        let [name] = &names(&folder.path(""))[..] else { panic!("one file") };
        seen.push(name.clone());
        assert!(name.starts_with(".rows.csv."), "{name}");
        assert!(!name.contains(&waiting.process.id().to_string()), "{name}");
        waiting.signal(rustix::process::Signal::KILL);
        waiting.process.bounded_wait("the writer");
        fs::remove_file(folder.path(name)).unwrap();
    }
    assert_ne!(seen[0], seen[1]);
}

/// Symptom: a file that another process made while a command ran was replaced without `--force`.
#[test]
fn a_file_that_appears_while_a_command_runs_is_not_replaced() {
    let inputs = Folder::new("outputs-late-day");
    let day = fs::read(inputs.day(20_000, 20)).unwrap();
    let folder = Folder::new("outputs-late");
    let rows = folder.path("rows.csv");
    for made in [b"of another process".as_slice(), b""] {
        let mut waiting = unfinished(&folder, &day[..300_000]);
        fs::write(&rows, made).unwrap();
        waiting.input.as_mut().unwrap().write_all(&day[300_000..]).unwrap();
        let (status, _, complained) = waiting.end();
        assert_eq!(status, Some(2), "{complained}");
        assert_eq!(fs::read(&rows).unwrap(), made);
        // The output is not lost: the error names the file.
        let kept = names(&folder.path("")).into_iter().find(|name| name.ends_with(".partial"));
        let kept = folder.path(&kept.unwrap());
        let expected = format!(
            "nanotape: cannot write {rows}: another process made a file of this name; the complete \
             output is in {kept}\n"
        );
        assert_eq!(complained, expected);
        assert!(has_rows(&kept));
        fs::remove_file(&kept).unwrap();
        fs::remove_file(&rows).unwrap();
    }
}

/// Symptom: a link was replaced by a file: with `--force` if it led to a file, otherwise without.
#[test]
fn output_goes_through_a_link_of_the_user() {
    let folder = Folder::new("outputs-links");
    let day = folder.day(2_000, 5);
    let [direct, chain, target] =
        ["rows.csv", "chain.csv", "below/rows.csv"].map(|f| folder.path(f));
    fs::create_dir(folder.path("below")).unwrap();
    symlink("below/rows.csv", &direct).unwrap();
    symlink(&direct, &chain).unwrap();
    // The links lead to a name without a file.
    let ran = nanotape(["inside", &day, "-o", &chain]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert!(is_link(&direct) && is_link(&chain) && !is_link(&target) && has_rows(&target));
    // They lead to a file.
    fs::write(&target, "old").unwrap();
    let refused = nanotape(["inside", &day, "-o", &chain]);
    assert_eq!(refused.status, 2);
    let expected = format!("nanotape: {target} exists; use --force to overwrite it\n");
    assert_eq!(refused.stderr, expected);
    assert_eq!(fs::read(&target).unwrap(), b"old");
    set_mode(&target, 0o600);
    let ran = nanotape(["inside", &day, "-o", &chain, "--force"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert!(is_link(&direct) && is_link(&chain) && has_rows(&target));
    assert_eq!(mode(&target), 0o600);
    assert_eq!(names(&folder.path("below")), ["rows.csv"]);
    // A link to itself leads nowhere.
    let round = folder.path("round.csv");
    symlink(&round, &round).unwrap();
    let refused = nanotape(["inside", &day, "-o", &round, "--force"]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("Too many levels of symbolic links"), "{}", refused.stderr);
    assert!(is_link(&round));
}

#[test]
fn an_overwritten_file_keeps_its_permissions() {
    let folder = Folder::new("outputs-modes");
    let day = folder.day(2_000, 5);
    let rows = folder.path("rows.csv");
    let overwrite = |umask: &str| {
        let script = format!("umask {umask}; exec \"$0\" inside \"$1\" -o \"$2\" --force");
        let ran = shell(&script, &[&day, &rows]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        assert!(has_rows(&rows));
        mode(&rows)
    };
    assert_eq!(overwrite("027"), 0o640);
    for (before, umask) in
        [(0o600, "022"), (0o600, "000"), (0o640, "077"), (0o666, "022"), (0o755, "022")]
    {
        fs::write(&rows, "old").unwrap();
        set_mode(&rows, before);
        assert_eq!(overwrite(umask), before, "{umask}");
    }
    if !can_give_files() {
        return;
    }
    // The group has the same permissions only if it is the same group.
    set_mode(&rows, 0o640);
    chown(&rows, None, Some(OTHER)).unwrap();
    assert_eq!(overwrite("022"), 0o640);
    assert_eq!(fs::metadata(&rows).unwrap().gid(), OTHER);
    // A file of another user cannot open the output to that user.
    for (before, umask, after) in
        [(0o666, "022", 0o644), (0o777, "077", 0o600), (0o600, "022", 0o600)]
    {
        chown(&rows, Some(OTHER), Some(OTHER)).unwrap();
        set_mode(&rows, before);
        assert_eq!(overwrite(umask), after, "{before:o} {umask}");
        assert_eq!(fs::metadata(&rows).unwrap().uid(), 0);
    }
}

#[test]
fn a_link_or_a_fifo_of_another_user_is_refused() {
    let folder = Folder::new("outputs-foreign");
    let day = folder.day(2_000, 5);
    let victim = folder.write("victim", b"secret");
    if !can_give_files() {
        return;
    }
    let (rows, own) = (folder.path("rows.csv"), folder.path("own.csv"));
    let refuse = |path: &str, expected: &str| {
        for force in [&["--force"][..], &[]] {
            let ran = nanotape([&["inside", &day, "-o", path], force].concat());
            assert_eq!((ran.status, ran.stderr.as_str()), (2, expected), "{force:?}");
        }
        assert!(names(&folder.path("")).iter().all(|name| !name.ends_with(".partial")));
    };
    for target in [victim.clone(), folder.path("new.csv")] {
        let existed = Path::new(&target).exists();
        symlink(&target, &rows).unwrap();
        lchown(&rows, Some(OTHER), Some(OTHER)).unwrap();
        let expected = format!(
            "nanotape: {rows} is a link of user {OTHER} to {target}; give the path that it leads to\n"
        );
        refuse(&rows, &expected);
        // Also behind a link of the user.
        symlink(&rows, &own).unwrap();
        refuse(&own, &expected);
        assert_eq!(Path::new(&target).exists(), existed);
        assert!(fs::read(&victim).unwrap() == b"secret", "{victim} was overwritten");
        fs::remove_file(&rows).unwrap();
        fs::remove_file(&own).unwrap();
    }
    mknodat(CWD, &rows, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    chown(&rows, Some(OTHER), Some(OTHER)).unwrap();
    refuse(&rows, &format!("nanotape: {rows} is a FIFO of user {OTHER}; give another path\n"));
}

/// Symptom: with standard output in a file, `-o /dev/stdout --force` replaced the link in /dev.
#[test]
fn an_open_file_is_appended_to() {
    let folder = Folder::new("outputs-open");
    let day = folder.day(2_000, 5);
    let rows = folder.path("rows.csv");
    for output in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let script = format!(
            "{{ echo first; \"$0\" inside \"$1\" --format csv -o {output}; echo last >>\"$2\"; }} >\"$2\""
        );
        let ran = shell(&script, &[&day, &rows]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{output}");
        let text = fs::read_to_string(&rows).unwrap();
        assert!(
            text.starts_with(&format!("first\n{ROWS}")) && text.ends_with("\nlast\n"),
            "{text}"
        );
        assert!(is_link("/dev/stdout"));
    }
}

#[test]
fn rows_on_standard_output_are_all_there_if_a_symbol_is_not_found() {
    let folder = Folder::new("outputs-all-rows");
    let day = folder.day(20_000, 3);
    let all = nanotape(["stats", &day, "--format", "csv"]).stdout;
    let symbol = all.lines().nth(2).and_then(|row| row.split(',').next()).unwrap();
    let depth = |symbols: &str| nanotape(["depth", &day, "--symbols", symbols, "--with", "orders"]);
    let one = depth(symbol);
    // Several buffers of the output.
    assert!((one.status, one.stdout.len()) > (0, 150_000), "{}", one.stdout.len());
    let with_another = depth(&format!("{symbol},NOSUCH"));
    assert_eq!(with_another.status, 1);
    assert!(with_another.stderr.contains("symbols not found: NOSUCH"), "{}", with_another.stderr);
    assert_eq!(with_another.stdout.lines().count(), one.stdout.lines().count());
}
