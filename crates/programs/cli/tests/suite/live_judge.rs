//! A live plant as a second implementation sees it: `scripts/live-judge` sends a few random
//! sessions with faults, in Python, and judges the records.

use std::process::Command;

use nanotape_harness::{Bounded as _, skipped};

/// They have both policies, good and bad servers, snapshots, kills, and two sessions.
const SEEDS: &str = "6..11";

#[test]
fn random_sessions_have_the_records_that_a_second_implementation_expects() {
    let version = ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"];
    let is_new = Command::new("python3").args(version).bounded_output();
    if !is_new.is_ok_and(|output| output.status.success()) {
        return skipped("no python3 from 3.10 on, which sends the sessions and judges the records");
    }
    let judge = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scripts/live-judge/judge");
    let judged = Command::new("python3")
        .args([judge, "--seeds", SEEDS, "--keep-going"])
        .env("NANOTAPE", env!("CARGO_BIN_EXE_nanotape"))
        .bounded_output()
        .unwrap();
    let printed = String::from_utf8_lossy(&judged.stdout);
    assert!(judged.status.success(), "{printed}{}", String::from_utf8_lossy(&judged.stderr));
    assert!(printed.ends_with("6 seeds, 0 failed\n"), "{printed}");
}
