//! Commands that run until a writer closes or dies, a file disappears, or a signal arrives.

use std::fs;

use nanotape_harness::{BoundedChild as _, eventually};

use rustix::process::Signal;

use super::{publishing, start, stat};
use crate::support::{Folder, plants::Ring};

#[test]
fn publish_ends_in_good_order_when_it_is_interrupted() {
    let ring = Ring::new("interrupted");
    let mut writer = publishing(&ring, &[]);
    writer.signal(Signal::INT);
    let ended = writer.process.bounded_wait("the writer");
    assert_eq!(ended.code(), Some(0));
    assert_eq!(stat(&ring)["writer_state"], "closed");
}

#[test]
fn dump_follows_until_the_writer_closes_or_dies() {
    let ring = Ring::new("follow");
    for (signal, expected) in
        [(None, "writer closed the ring"), (Some(Signal::KILL), "writer exited without closing")]
    {
        let mut writer = publishing(&ring, &["--replace"]);
        let follow = ["dump", ring.path(), "--follow", "--format", "json"];
        let mut reader = start(&follow);
        for number in 1..=3 {
            writer.say("x");
            assert_eq!(reader.read_json()["sequence"], number);
        }
        match signal {
            None => assert_eq!(writer.end().0, Some(0)),
            Some(signal) => writer.signal(signal),
        }
        let (status, rest, complained) = reader.end();
        assert_eq!((status, rest.as_str()), (Some(0), ""));
        assert!(complained.contains(expected), "{complained}");
        drop(writer);
    }
}

#[test]
fn dump_follows_through_restarts_and_misses_nothing() {
    let ring = Ring::new("restarts");
    let mut writer = publishing(&ring, &[]);
    let follow = ["dump", ring.path(), "--follow", "--through-restarts", "--format", "json"];
    let mut reader = start(&follow);
    for number in 1..=3 {
        writer.say("x");
        assert_eq!(reader.read_json()["sequence"], number);
        writer.signal(Signal::KILL);
        drop(writer);
        writer = publishing(&ring, &[]);
    }
    writer.say("x");
    assert_eq!(reader.read_json()["sequence"], 4);
    assert_eq!(writer.end().0, Some(0));
    reader.signal(Signal::INT);
    assert_eq!(reader.end().0, Some(0));
}

#[test]
fn dump_that_is_interrupted_keeps_what_it_wrote() {
    let ring = Ring::new("kept");
    let folder = Folder::new("kept");
    let mut writer = publishing(&ring, &[]);
    writer.say("one");
    let csv = folder.path("out.csv");
    // The first command shows that the message exists; the second writes it and is interrupted.
    let mut seeing = start(&["dump", ring.path(), "--follow", "--count", "1"]);
    assert_eq!(seeing.end().0, Some(0));
    let mut reader = start(&["dump", ring.path(), "--follow", "-o", &csv]);
    let partial = || {
        let files = fs::read_dir(folder.path("")).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum::<u64>() > 60
    };
    eventually("rows in the unfinished file", || {
        assert!(reader.process.try_wait().unwrap().is_none(), "it ended before it wrote");
        partial()
    });
    reader.signal(Signal::INT);
    assert_eq!(reader.end().0, Some(0));
    let written = fs::read_to_string(&csv).unwrap();
    assert!(written.ends_with("\n1,1,3,6f6e65,,\n"), "{written}");
}

#[test]
fn a_file_that_is_cut_or_removed_under_a_reader_is_one_line_and_status_1() {
    let ring = Ring::new("cut");
    for (cut, expected) in [(true, "the file was truncated"), (false, "removed while in use")] {
        let mut writer = publishing(&ring, &["--replace"]);
        let mut reader = start(&["dump", ring.path(), "--follow", "--format", "json"]);
        writer.say("x");
        assert_eq!(reader.read_json()["sequence"], 1);
        writer.signal(Signal::STOP);
        if cut {
            fs::File::options().write(true).open(&ring.0).unwrap().set_len(4096).unwrap();
        } else {
            fs::remove_file(&ring.0).unwrap();
        }
        let (status, _, complained) = reader.end();
        assert_eq!((status, complained.lines().count()), (Some(1), 1), "{complained}");
        assert!(complained.contains(expected) || complained.contains("truncated"), "{complained}");
        drop(writer);
        let _ = fs::remove_file(&ring.0);
    }
}
