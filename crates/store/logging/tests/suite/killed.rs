//! The log of a killed program has every call that returned.

use std::{
    io::{BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use nanotape_harness::{Scratch, line_of};
use nanotape_logging::{Formatter, Logger};
use tracing::info;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::lines::log_lines;

/// Where the child logs; unset in a run of the tests.
const JOURNAL: &str = "NANOTAPE_TEST_JOURNAL";

/// How many children are killed; the environment can raise it.
fn kills() -> u64 {
    std::env::var("NANOTAPE_TEST_KILLS").map_or(5, |text| text.parse().unwrap())
}

#[test]
fn the_log_of_a_killed_program_ends_with_its_last_event() {
    if let Some(path) = std::env::var_os(JOURNAL) {
        log_until_killed(path.as_ref());
    }
    for kill in 0..kills() {
        let place = Scratch::new("killed");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--nocapture", "the_log_of_a_killed_program_ends_with_its_last_event"])
            .env(JOURNAL, place.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut reported = None;
        let mut output = BufReader::new(child.stdout.as_mut().unwrap());
        while reported < Some(1_000 * (kill + 1)) {
            let line = line_of(&mut output, "the number of an event").unwrap();
            assert!(!line.is_empty(), "it ended by itself");
            let Some(number) = line.strip_prefix("logged ") else { continue };
            reported = Some(number.trim_end().parse::<u64>().unwrap());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let lines = log_lines(&place, &mut Formatter::new()).split_off(1);
        for (count, line) in lines.iter().enumerate() {
            assert_eq!(*line, format!("INFO t: step count={count}"));
        }
        let reported = reported.expect("it logged");
        assert!(lines.len() as u64 > reported, "{} lines, and {reported} was logged", lines.len());
        // The next program continues the journal.
        Logger::open(place.path()).unwrap().text(
            nanotape_logging::Level::Info,
            "t",
            format_args!("again"),
        );
        assert_eq!(log_lines(&place, &mut Formatter::new()).len(), lines.len() + 3);
    }
}

/// In a child: prints each number after logging it.
fn log_until_killed(path: &Path) -> ! {
    let logger = Logger::open(path).unwrap();
    let subscriber = tracing_subscriber::registry().with(logger.layer());
    tracing::subscriber::with_default(subscriber, || {
        for count in 0_u64.. {
            info!(target: "t", count, "step");
            if count % 100 == 0 && writeln!(std::io::stdout(), "logged {count}").is_err() {
                // The parent, which should have killed this process, has ended.
                std::process::exit(1);
            }
        }
    });
    unreachable!("it is killed")
}
