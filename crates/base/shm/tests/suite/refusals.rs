//! Every refusal, word for word.

use std::fs;

use nanotape_harness::Scratch;
use nanotape_shm::{
    OwnedRegion, Refusal, RegionOptions, RegionSpec, SharedRegion, inspect, named, remove,
};

use crate::{KIND, create, fill, is_filled, sentence, spec};

/// A region that a writer created and closed, with eight bytes at an offset changed.
fn with_word(place: &Scratch, offset: usize, value: [u8; 8]) {
    place.clear();
    create(place.path()).unwrap().0.close();
    let mut bytes = fs::read(place.path()).unwrap();
    bytes[offset..offset + 8].copy_from_slice(&value);
    place.clear();
    fs::write(place.path(), bytes).unwrap();
}

#[test]
fn a_reader_gets_the_reason_in_one_sentence() {
    let place = Scratch::new("reader");
    let open = || sentence(&place, &SharedRegion::open(place.path(), KIND).unwrap_err());
    assert_eq!(
        open(),
        "does not exist; its writer creates it at its start (check that the writer runs, and uses \
         this name)"
    );
    fs::create_dir(place.path()).unwrap();
    assert_eq!(open(), "is a directory, expected a regular file");
    let headers: [(usize, [u8; 8], &str); 10] = [
        (0, *b"#!/bin/s", "is not a region: it starts with \"#!/bin/s\", expected \"nanotape\""),
        (
            8,
            0x0102_0304_0506_0708u64.swap_bytes().to_ne_bytes(),
            "was written on a machine with another byte order; it cannot be read here",
        ),
        (
            8,
            7u64.to_ne_bytes(),
            "its header is damaged: byte_order_mark is 7, which contradicts other fields",
        ),
        (
            16,
            9u64.to_ne_bytes(),
            "region format version 9, but this program supports version 1: use the same version \
             for its writer and its readers",
        ),
        (
            24,
            *b"RING\"\n\xff\0",
            "is a region of kind \"RING\\\"\\n\\xff\\x00\", expected \"TEST    \"",
        ),
        (
            40,
            1u64.to_ne_bytes(),
            "its header is damaged: region_bytes is 1, which contradicts other fields",
        ),
        (
            48,
            u64::MAX.to_ne_bytes(),
            "its header is damaged: region_bytes is 12096, which contradicts other fields",
        ),
        (
            48,
            (1u64 << 61).to_ne_bytes(),
            "its header is damaged: region_bytes is 12096, which contradicts other fields",
        ),
        (
            112,
            9u64.to_ne_bytes(),
            "its header is damaged: state is 9, which contradicts other \
                                   fields",
        ),
        (112, [0; 8], "is incomplete, because its creator ended; the next writer completes it"),
    ];
    for (offset, value, expected) in headers {
        with_word(&place, offset, value);
        assert_eq!(open(), expected);
    }
    with_word(&place, 32, 3u64.to_ne_bytes());
    SharedRegion::open(place.path(), KIND).unwrap();
    for length in [10, 100, 4096, 12_095] {
        fs::OpenOptions::new().write(true).open(place.path()).unwrap().set_len(length).unwrap();
        let region_bytes = if length < 4096 { 4096 } else { 12_096 };
        assert_eq!(
            open(),
            format!(
                "the file has {length} bytes, but its region needs {region_bytes}: the file was \
                 truncated; remove it, and its next writer creates it again"
            )
        );
        with_word(&place, 32, 3u64.to_ne_bytes());
    }
    fs::write(place.path(), "abc").unwrap();
    assert_eq!(open(), "is not a region: it starts with \"abc\", expected \"nanotape\"");
}

#[test]
fn a_reader_of_one_layout_gets_its_words_or_one_sentence() {
    let place = Scratch::new("layout");
    create(place.path()).unwrap().0.close();
    let open = |kind, layout, words| SharedRegion::open_as(place.path(), kind, layout, words);
    let RegionSpec { kind, layout, words, .. } = spec();
    assert!(is_filled(open(kind, layout, words).unwrap().words()));
    for (found, expected) in [
        (
            open(*b"RING    ", layout, words),
            "is a region of kind \"TEST    \", expected \"RING    \"",
        ),
        (
            open(kind, 4, words),
            "offset 32: layout 3, but this program supports layout 4: use the same version for its \
             writer and its readers",
        ),
        (
            open(kind, layout, 999),
            "offset 48: payload_words is 1000, expected 999: its header is damaged; remove it, and \
             its next writer creates it again",
        ),
    ] {
        assert_eq!(sentence(&place, &found.unwrap_err()), expected);
    }
}

#[test]
fn a_writer_gets_the_reason_in_one_sentence() {
    let place = Scratch::new("writer");
    let options = RegionOptions::default();
    let refused = |spec| {
        sentence(&place, &OwnedRegion::create(place.path(), spec, &options, fill).unwrap_err())
    };
    for words in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8] {
        assert_eq!(
            refused(RegionSpec { words, ..spec() }),
            format!("a region of {words} words is larger than this machine can address")
        );
    }
    let (owned, _) = create(place.path()).unwrap();
    let owner = owned.share().owner();
    assert_eq!(
        refused(spec()),
        format!(
            "its owner is alive: process {}, started {} (in containers the process number can \
             differ); a region has one writer at a time",
            std::process::id(),
            owner.started
        )
    );
    owned.close();
    assert_eq!(
        refused(RegionSpec { kind: *b"RING    ", ..spec() }),
        "is a region of kind \"TEST    \", expected \"RING    \""
    );
    assert_eq!(
        refused(RegionSpec { layout: 4, ..spec() }),
        "offset 32: layout 3, but this program supports layout 4: use the same version for its \
         writer and its readers"
    );
    assert_eq!(
        refused(RegionSpec { parameters: [1, 2, 3, 4], words: 5, ..spec() }),
        "exists with 1000 words and parameters [10, 20, 30, 40], expected 5 and [1, 2, 3, 4]; \
         use it as it is, or remove or replace it"
    );
    with_word(&place, 0, *b"somefile");
    let others = "is not a region: it starts with \"somefile\", expected \"nanotape\"";
    assert_eq!(refused(spec()), others);
    let bytes = fs::read(place.path()).unwrap();
    let replace = OwnedRegion::replace(place.path(), spec(), &options, fill).unwrap_err();
    assert_eq!(sentence(&place, &replace), others);
    assert_eq!(sentence(&place, &remove(place.path()).unwrap_err()), others);
    assert_eq!(sentence(&place, &inspect(place.path()).unwrap_err()), others);
    assert!(fs::read(place.path()).unwrap() == bytes, "another file is not changed");
    place.clear();
    fs::create_dir(place.path()).unwrap();
    assert_eq!(refused(spec()), "is a directory, expected a regular file");
    let inside = place.path().join("no/region");
    let error = OwnedRegion::create(&inside, spec(), &options, fill).unwrap_err().to_string();
    let expected = "cannot create it: No such file or directory (os error 2)";
    assert_eq!(error, format!("{}: {expected}", inside.display()));
}

#[test]
fn a_pipe_or_a_device_is_no_region_and_does_not_block() {
    let place = Scratch::new("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let made =
        rustix::fs::mknodat(rustix::fs::CWD, place.path(), rustix::fs::FileType::Fifo, mode, 0);
    made.unwrap();
    let error = SharedRegion::open(place.path(), KIND).unwrap_err();
    assert_eq!(sentence(&place, &error), "is a pipe, expected a regular file");
    let error = create(place.path()).unwrap_err();
    assert_eq!(sentence(&place, &error), "is a pipe, expected a regular file");
    let error = SharedRegion::open("/dev/null".as_ref(), KIND).unwrap_err().to_string();
    assert_eq!(error, "/dev/null: is a device, expected a regular file");
}

#[test]
fn a_damaged_or_cut_region_can_be_removed_and_replaced() {
    let place = Scratch::new("damaged");
    for (offset, value) in [(16, 9u64), (40, 1), (112, 9), (8, 7)] {
        with_word(&place, offset, value.to_ne_bytes());
        assert!(inspect(place.path()).unwrap().refusal.is_some());
        let options = RegionOptions::default();
        OwnedRegion::replace(place.path(), spec(), &options, fill).unwrap().0.close();
        SharedRegion::open(place.path(), KIND).unwrap();
        with_word(&place, offset, value.to_ne_bytes());
        remove(place.path()).unwrap();
        assert!(!place.path().exists());
    }
    with_word(&place, 32, 3u64.to_ne_bytes());
    fs::OpenOptions::new().write(true).open(place.path()).unwrap().set_len(5_000).unwrap();
    let info = inspect(place.path()).unwrap();
    let cut = Refusal::TooSmall { file_bytes: 5_000, region_bytes: 12_096 };
    assert_eq!(info.refusal, Some(cut));
    assert_eq!(info.header.unwrap().spec, spec());
    assert_eq!(*create(place.path()).unwrap_err().refusal(), cut);
    remove(place.path()).unwrap();
}

#[test]
fn a_name_is_a_file_in_shared_memory_and_a_path_is_itself() {
    let path = |name| named(name).unwrap().display().to_string();
    assert_eq!(path("tape"), "/dev/shm/nanotape-tape");
    assert_eq!(path("..."), "/dev/shm/nanotape-...");
    assert_eq!(path("./tape"), "./tape");
    assert_eq!(path("/run/x y"), "/run/x y");
    for bad in ["", "two words", "line\n", "\u{e9}", &"x".repeat(201)] {
        let expected = "invalid region name: use 1 to 200 characters from ! to ~, or a path \
                        with a slash";
        assert_eq!(named(bad).unwrap_err().to_string(), format!("{bad}: {expected}"));
    }
}
