//! Any bytes as a snapshot, and as the file of runs: no panic, and what is accepted is the same
//! after it was written again.
//!
//! The first byte chooses: even numbers a snapshot, whose checksums are made right by bit 1; odd
//! numbers the file of runs.
#![no_main]

use std::{fs, path::PathBuf};

use libfuzzer_sys::fuzz_target;
use nanotape_history::{RunLog, Runs, SnapshotFile, snapshot::LAYOUT};
use nanotape_journal::{RUNS, checksum_bytes};

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else { return };
    match choice % 2 {
        0 => snapshot(rest, choice & 2 != 0),
        _ => runs(rest),
    }
});

/// A folder of this process.
fn folder() -> PathBuf {
    let path = PathBuf::from(format!("/dev/shm/nanotape-fuzz-{}", std::process::id()));
    fs::create_dir_all(&path).expect("a folder");
    path
}

fn snapshot(rest: &[u8], is_summed: bool) {
    const HEADER: usize = 256;
    const ENTRY: usize = 48;
    let mut bytes = b"nanosnap".to_vec();
    bytes.extend(LAYOUT.to_le_bytes());
    bytes.extend(rest);
    if is_summed && bytes.len() >= HEADER {
        let word = |bytes: &[u8], at: usize| {
            u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
        };
        let stocks = word(&bytes, 96) % 8;
        bytes[96..104].copy_from_slice(&stocks.to_le_bytes());
        let end = (HEADER + stocks as usize * ENTRY).min(bytes.len());
        let orders = (bytes.len() - end) as u64 / 16;
        bytes[104..112].copy_from_slice(&orders.to_le_bytes());
        let directory = u64::from(checksum_bytes(0, &bytes[HEADER..end]));
        bytes[120..128].copy_from_slice(&directory.to_le_bytes());
        let head = u64::from(u32::from_be_bytes(*b"SNAP")) << 32;
        let check = u64::from(checksum_bytes(0, &bytes[..248])) | head;
        bytes[248..256].copy_from_slice(&check.to_le_bytes());
    }
    let path = folder().join("snapshot");
    fs::write(&path, &bytes).expect("a file");
    let Ok(file) = SnapshotFile::open(&path) else { return };
    let orders: u64 = file.stocks().iter().map(|entry| entry.count()).sum();
    assert_eq!(orders, file.orders());
    let _ = file.state();
}

fn runs(bytes: &[u8]) {
    let folder = folder();
    let path = folder.join(RUNS);
    fs::write(&path, bytes).expect("a file");
    let good = Runs::read_good(&folder).expect("it can be read");
    // The next recorder keeps what is good, and continues.
    RunLog::open(&folder, 0o600).expect("it can be written");
    assert_eq!(Runs::read(&folder).expect("it is good now"), good);
    let _ = fs::remove_dir_all(folder.join("cut"));
}
