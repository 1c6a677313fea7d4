//! The file `epochs`.

use std::fs;

use nanotape_clock::UtcNanos;
use nanotape_harness::Scratch;
use nanotape_journal::{EPOCHS, Folder};
use nanotape_replication::{Term, TermEntry, Terms};

#[test]
fn leaders_are_read_as_they_were_added_and_each_wrong_line_is_named() {
    let scratch = Scratch::folder("terms");
    let disk = Folder::new(scratch.path(), 0o600);
    let mut terms = Terms::read(&disk).unwrap();
    assert_eq!((terms.current(), terms.next().epoch), (Term::default(), 1));
    for epoch in 1..=3 {
        let (ts, name) = (UtcNanos::of_unix_ns(epoch), format!("side-{epoch}"));
        let term = Term { epoch, leader: epoch * 7 };
        terms.add(&disk, TermEntry { term, from_sequence: epoch * 100, ts, name }).unwrap();
        assert_eq!(Terms::read(&disk).unwrap(), terms);
    }
    let path = scratch.path().join(EPOCHS);
    let good = fs::read_to_string(&path).unwrap();
    let wrong = |text: String, words: &str| {
        fs::write(&path, text).unwrap();
        let error = Terms::read(&disk).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("epochs"), "{error}");
    };
    wrong(good.replace("epochs 1", "epochs 2"), "line 1");
    wrong(good.trim_end().to_owned(), "line 1");
    wrong(good.replace(" 200 ", " x "), "line 3");
    wrong(good.replacen("\n2 ", "\n1 ", 1), "line 3: expected a later epoch");
    wrong(good.replace("side-3", ""), "line 4");
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(Terms::read(&disk).is_err());
}
