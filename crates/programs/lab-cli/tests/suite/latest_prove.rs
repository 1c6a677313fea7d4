//! `nanotape latest prove`: killed and frozen writers, exact sums, and no files left.

use std::path::Path;

use crate::support::{nanotape, running::json};

#[test]
fn every_change_is_accounted_for_although_writers_are_killed_and_frozen() {
    let ran = nanotape([
        "latest",
        "prove",
        "--seconds",
        "2",
        "--writers",
        "3",
        "--readers",
        "1",
        "--keys",
        "20",
        "--kill-writer-every",
        "0.1",
        "--freeze-writer-every",
        "0.3",
        "--format",
        "json",
    ]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    let proved = json(&ran.stdout);
    assert_eq!(proved["good"], true, "{proved}");
    let count = |name| proved[name].as_u64().unwrap();
    assert!(count("kills") > 3 && count("freezes") > 0 && count("added") > 100, "{proved}");
    let processes = proved["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 4);
    let added: u64 = processes.iter().map(|row| row["added"].as_u64().unwrap()).sum();
    assert_eq!(added, count("added"));
    assert!(processes[3]["reads"].as_u64() > Some(100), "{proved}");
    for entry in Path::new("/dev/shm").read_dir().into_iter().flatten() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            !name.starts_with("nanotape-prove-") || Path::new("/proc").join(&name[15..]).exists()
        );
    }
}
