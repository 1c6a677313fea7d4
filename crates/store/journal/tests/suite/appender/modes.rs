//! Files have the mode of the options, whatever the umask.

use std::{fs, os::unix::fs::PermissionsExt as _};

use nanotape_harness::Scratch;
use nanotape_journal::{Appender, AppenderOptions, CompressOptions, compress};
use rustix::{fs::Mode, process::umask};

#[test]
fn every_file_has_the_requested_mode_whatever_the_mask() {
    let place = Scratch::new("mask");
    let options = AppenderOptions {
        segment_bytes: 1 << 16,
        mode: 0o664,
        has_pretoucher: false,
        ..AppenderOptions::default()
    };
    // Other tests of this program create files meanwhile: these belong to this user in any case.
    let before = umask(Mode::from_raw_mode(0o077));
    let mut appender = Appender::open(place.path(), &options).unwrap();
    for number in 0..3 {
        appender.append(1, number, b"some").unwrap();
        appender.roll().unwrap();
    }
    compress(place.path(), &CompressOptions { keep_plain: 1, level: 1 }, |_, _| ()).unwrap();
    umask(before);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(format!("{:o}", mode(place.path())), "775", "the folder");
    for entry in fs::read_dir(place.path()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(format!("{:o}", mode(&path)), "664", "{}", path.display());
    }
    drop(appender);
}
