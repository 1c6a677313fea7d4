//! Comparisons of real processes with a known true effect, and programs that are not workers.
//!
//! Without the usual harness: this program starts itself as the measuring worker.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use nanotape_harness::{Bounded as _, BoundedChild as _, Scratch, skipped};
use nanotape_lab::{
    Fixture, Suite,
    compare::{
        ArmError, Compared, Design, Pair, Rules, Subject, Verdict, compare, names_of,
        revision::Repository,
    },
    text::in_full,
    truth,
};

fn main() -> ExitCode {
    if let Some(code) = suite().role() {
        return code;
    }
    let tests: [(&str, fn()); 7] = [
        ("equal_work_is_the_same", equal_work_is_the_same),
        ("more_work_is_slower_and_less_is_faster", more_work_is_slower_and_less_is_faster),
        ("a_wrong_answer_ends_a_comparison", a_wrong_answer_ends_a_comparison),
        ("what_is_no_worker_is_found_out", what_is_no_worker_is_found_out),
        ("a_worker_that_is_killed_is_an_error", a_worker_that_is_killed_is_an_error),
        ("no_worker_outlives_whoever_started_it", no_worker_outlives_whoever_started_it),
        ("revisions_are_built_and_the_tree_is_left_alone", revisions_are_built),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
    ExitCode::SUCCESS
}

fn suite() -> Suite {
    truth::suite().add("wrong", || Wrong).add("deadly", || Deadly)
}

struct Wrong;

impl Fixture for Wrong {
    type Answer = u32;
    fn run(&mut self) -> u32 {
        1
    }
    fn expected(&self) -> u32 {
        2
    }
}

struct Deadly;

impl Fixture for Deadly {
    type Answer = ();
    fn run(&mut self) {
        let own = std::process::id().to_string();
        let _ = Command::new("kill").args(["-9", &own]).bounded_status();
    }
    fn expected(&self) {}
}

fn own_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

fn pair(base: &str, candidate: &str) -> Pair {
    let subject = |benchmark: &str| Subject {
        label: benchmark.to_owned(),
        revision: None,
        program: own_program(),
        arguments: Vec::new(),
        benchmark: benchmark.to_owned(),
    };
    Pair { name: candidate.to_owned(), base: subject(base), candidate: subject(candidate) }
}

/// The smallest effect is large, so that the verdict does not depend on the load of this machine;
/// `nanotape lab prove` tests the error rates.
fn compared(pairs: Vec<Pair>) -> Result<Vec<Compared>, ArmError> {
    let rules = Rules { smallest_effect: 0.015, cap: 96, ..Rules::default() };
    let mut steps = 0;
    let results = compare(pairs, &rules, &Design::default(), 1, &mut |_| steps += 1)?;
    assert_eq!(steps, results.iter().map(|one| one.base_ns.len()).sum::<usize>());
    Ok(results)
}

/// Whether the interval, which is wide on a busy machine, contains the truth, with a tolerance of
/// half a percent: without it, one interval in four hundred would miss the truth.
fn holds(one: &Compared, ln_truth: f64) -> bool {
    let interval = one.contrast.unwrap().ln_ratio.interval;
    interval.low - 0.005 <= ln_truth && ln_truth <= interval.high + 0.005
}

fn equal_work_is_the_same() {
    let [one] =
        <[Compared; 1]>::try_from(compared(vec![pair("truth/base", "truth/base")]).unwrap())
            .unwrap();
    // Never a claim of a difference, even on a busy machine; usually `same`.
    assert!(matches!(one.verdict, Verdict::Same | Verdict::NotEnoughPower), "{one:?}");
    assert!(holds(&one, 0.0), "{:?}", one.contrast);
    assert!(one.base_ns.len() >= 12 && one.looks >= 1);
    // On a busy machine there are too few samples for the higher ones.
    assert!(one.quantiles.iter().any(|ratio| ratio.name == "p50"), "{:?}", one.quantiles);
}

fn more_work_is_slower_and_less_is_faster() {
    let pairs = vec![pair("truth/base", "truth/plus-5"), pair("truth/plus-5", "truth/base")];
    let [slower, faster] = <[Compared; 2]>::try_from(compared(pairs).unwrap()).unwrap();
    assert!(holds(&slower, 1.05f64.ln()), "{:?}", slower.contrast);
    assert!(holds(&faster, -1.05f64.ln()), "{:?}", faster.contrast);
    assert!(matches!(slower.verdict, Verdict::Slower | Verdict::NotEnoughPower), "{slower:?}");
    assert!(matches!(faster.verdict, Verdict::Faster | Verdict::NotEnoughPower), "{faster:?}");
}

fn a_wrong_answer_ends_a_comparison() {
    let error = compared(vec![pair("truth/base", "wrong")]).unwrap_err();
    let error = in_full(&error);
    assert!(error.ends_with("a run answered 1, expected 2"), "{error}");
}

fn what_is_no_worker_is_found_out() {
    for (program, said) in [
        ("/bin/cat", "answered \"names\", expected"),
        ("/bin/echo", "answered \"\", expected"),
        ("/no/such/program", "cannot start /no/such/program"),
        ("/bin/true", "build it with this version of nanotape-lab"),
    ] {
        let error = in_full(&names_of(Path::new(program), &[]).unwrap_err());
        assert!(error.contains(said), "{program}: {error}");
    }
    let names = names_of(&own_program(), &[]).unwrap();
    assert_eq!(names.first().map(String::as_str), Some("truth/base"));
}

fn a_worker_that_is_killed_is_an_error() {
    let error = compared(vec![pair("truth/base", "deadly")]).unwrap_err();
    assert!(matches!(error, ArmError::Process { .. }), "{error}");
}

/// However that process ends, the kernel closes its end of the pipe.
fn no_worker_outlives_whoever_started_it() {
    let mut worker = Command::new(own_program())
        .env("NANOTAPE_LAB_ROLE", "worker")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut commands = worker.stdin.take().unwrap();
    commands.write_all(b"open - - - truth/base\ncalibrate 1000\nturn 5 10 10\n").unwrap();
    drop(commands);
    let output = worker.bounded_wait_with_output("the worker");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 4);
}

/// A small separate repository: two revisions and a working tree with an untracked file, which must
/// be unchanged afterwards.
fn revisions_are_built() {
    let scratch = Scratch::folder("repository");
    let folder = scratch.path();
    std::fs::create_dir_all(folder.join("benches")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let git = |words: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        let output =
            Command::new("git").args(identity).args(words).current_dir(folder).bounded_output();
        let output = output.unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    write(
        "Cargo.toml",
        "[package]\nname = \"small\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n\
         [[bench]]\nname = \"hot\"\nharness = false\n[workspace]\n",
    );
    write("lib.rs", "");
    write(".gitignore", "target\n");
    write("benches/hot.rs", "fn main() { println!(\"one\"); }\n");
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "-m", "one"]);
    write("benches/hot.rs", "mod two;\nfn main() { two::say(); }\n");
    std::fs::create_dir_all(folder.join("benches/two")).unwrap();
    write("benches/two/mod.rs", "pub fn say() { println!(\"two\"); }\n");
    let before = git(&["status", "--porcelain"]);

    let repository = Repository::open(&folder.join("benches"), None, "hot").unwrap();
    let head = repository.resolve("HEAD").unwrap();
    let tree = repository.resolve("worktree").unwrap();
    assert_ne!(head, tree);
    assert_eq!(repository.resolve("worktree"), Some(tree.clone()), "the same files, the same name");
    assert_eq!(repository.resolve("no-such-branch"), None);
    assert_eq!(repository.resolve("--help"), None);
    if let Err(error) = Command::new("cargo").arg("--version").bounded_output() {
        return skipped(format_args!("cargo cannot be run: {error}"));
    }
    let said = |revision: &str| {
        let built = repository.build(revision, &mut |_| ()).unwrap();
        assert_eq!(built.revision, revision);
        String::from_utf8(Command::new(built.program).bounded_output().unwrap().stdout).unwrap()
    };
    assert_eq!(said(&head), "one\n");
    assert_eq!(said(&tree), "two\n");
    assert_eq!(said(&head), "one\n", "and back");
    // The remains of a process that was killed during a switch.
    std::fs::write(folder.join(".git/worktrees/source/index.lock"), "").unwrap();
    assert_eq!(said(&tree), "two\n", "after a lock without a holder");
    assert_eq!(git(&["status", "--porcelain"]), before);

    let none = Repository::open(folder, None, "cold").unwrap();
    let error = none.build(&head, &mut |_| ()).unwrap_err().to_string();
    assert!(error.starts_with("cannot build cold of "), "{error}");
}
