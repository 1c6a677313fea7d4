//! What a user sees of a damaged day: everything that was good, one line on the rest, status 1.

mod support;

use std::fs;

use support::{Folder, nanotape, nanotape_fed};

/// Offset of the record with this number, from the program itself.
fn offset_of(day: &str, number: usize) -> usize {
    let listed = nanotape(["inspect", day, "--format", "csv"]).stdout;
    let row = listed.lines().nth(number).unwrap();
    row.split(',').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_cut_day_gives_everything_before_the_cut() {
    let folder = Folder::new("cut");
    let day = folder.day(20_000, 20);
    let bytes = fs::read(&day).unwrap();
    let offset = offset_of(&day, 15_001);
    let cut = folder.write("cut.itch50", &bytes[..offset + 5]);
    let needed = 2 + usize::from(u16::from_be_bytes([bytes[offset], bytes[offset + 1]]));
    let expected = format!(
        "nanotape: {cut}: cut off in the record at offset {offset}: {} of its {needed} bytes are \
         missing\n",
        needed - 5
    );
    let ran = nanotape(["inspect", &cut]);
    assert_eq!((ran.status, &ran.stderr), (1, &expected));
    assert_eq!(ran.stdout.lines().count(), 15_000);
    let whole = nanotape(["inside", &day]).stdout;
    let ran = nanotape(["inside", &cut]);
    assert_eq!((ran.status, &ran.stderr), (1, &expected));
    assert!(whole.starts_with(&ran.stdout) && ran.stdout.lines().count() > 100);
    // The result is there although the status says that the day was not whole.
    let rows = folder.path("rows.csv");
    assert_eq!(nanotape(["inside", &cut, "-o", &rows]).status, 1);
    assert_eq!(fs::read_to_string(rows).unwrap(), ran.stdout);
    let ran = nanotape_fed(["check", "-"], &bytes[..offset + 5]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.starts_with("nanotape: standard input: cut off in the record at offset"));
    // The record that was cut has not the length of its type.
    let row = ran.stdout.lines().nth(2).unwrap();
    let words: Vec<_> = row.split_whitespace().take(4).collect();
    assert_eq!(words, ["2", "spec", "1", &offset.to_string()], "{row}");
}

#[test]
fn a_cut_compressed_day_says_where_in_both() {
    let folder = Folder::new("cut-compressed");
    let path = folder.path("day.gz");
    nanotape(["synth", "-o", &path, "--messages", "50000", "--symbols", "50"]);
    let bytes = fs::read(&path).unwrap();
    let cut = folder.write("cut.gz", &bytes[..bytes.len() / 2]);
    let ran = nanotape(["inspect", &cut]);
    assert_eq!(ran.status, 1);
    let line = format!("the gzip stream is cut off at compressed offset {}", bytes.len() / 2);
    assert!(ran.stderr.contains(&line), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stdout.lines().count() > 10_000);
}

#[test]
fn a_flipped_length_costs_nothing_and_a_flipped_type_one_message() {
    let folder = Folder::new("flipped");
    let day = folder.day(20_000, 20);
    let good = fs::read(&day).unwrap();
    let whole = nanotape(["inspect", &day, "--format", "csv"]).stdout;
    let mut adds = whole.lines().filter(|row| row.split(',').nth(2) == Some("A"));
    let add = adds.nth(500).unwrap();
    let offset: usize = add.split(',').nth(1).unwrap().parse().unwrap();

    let mut bytes = good.clone();
    bytes[offset] ^= 0x01;
    let flipped = folder.write("length.itch50", &bytes);
    let ran = nanotape(["inspect", &flipped, "--format", "csv"]);
    assert_eq!(ran.status, 1);
    assert_eq!(ran.stdout, whole);
    let expected = format!(
        "nanotape: {flipped}: offset {offset}: the record says 292 bytes, type 'A' has 36 and the \
         next record stands there: taken as 36\n"
    );
    assert_eq!(ran.stderr, expected);

    let mut bytes = good.clone();
    bytes[offset + 2] = b'I';
    let flipped = folder.write("type.itch50", &bytes);
    let ran = nanotape(["inspect", &flipped, "--format", "csv"]);
    assert_eq!(ran.status, 1);
    let without: Vec<_> = whole.lines().filter(|row| *row != add).collect();
    assert!(ran.stdout.lines().eq(without));
    assert!(ran.stderr.contains(&format!("offset {offset}: type 'I' has 50 bytes but the record")));
    // The order is missed by those that refer to it: counted, and the day goes on.
    let checked = nanotape(["check", &flipped, "--format", "csv"]);
    assert_eq!(checked.status, 1);
    assert!(checked.stdout.contains(&format!("\n2,spec,1,{offset},,")), "{}", checked.stdout);

    let mut bytes = good;
    bytes[offset + 2] = b'z';
    let unknown = folder.write("unknown.itch50", &bytes);
    let ran = nanotape(["inspect", &unknown, "--type", "z"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "new types are carried");
    assert!(ran.stdout.contains(" z Unknown "), "{}", ran.stdout);
}

#[test]
fn a_scribbled_day_goes_on_behind_the_damage() {
    let folder = Folder::new("scribbled");
    let day = folder.day(20_000, 20);
    let mut bytes = fs::read(&day).unwrap();
    let (start, end) = (offset_of(&day, 5_000), offset_of(&day, 5_100));
    bytes[start + 1..end].fill(0xaa);
    let scribbled = folder.write("scribbled.itch50", &bytes);
    let ran = nanotape(["inspect", &scribbled]);
    assert_eq!(ran.status, 1);
    assert_eq!(ran.stdout.lines().count(), 20_000 - 100);
    let expected = format!(
        "nanotape: {scribbled}: offset {start}: {} bytes do not read as records: skipped\n",
        end - start
    );
    assert_eq!(ran.stderr, expected);
}

#[test]
fn a_record_of_length_zero_ends_the_session() {
    let folder = Folder::new("terminated");
    let day = folder.day(5_000, 20);
    let bytes = fs::read(&day).unwrap();
    let terminated = folder.write("terminated.itch50", &[&bytes[..], &[0, 0]].concat());
    let ran = nanotape(["check", &terminated]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let followed = folder.write("followed.itch50", &[&bytes[..], &[0, 0], &bytes[..]].concat());
    let ran = nanotape(["inspect", &followed]);
    assert_eq!(ran.status, 0);
    assert_eq!(ran.stdout.lines().count(), 5_000);
    let expected = format!(
        "nanotape: {followed}: end of session at offset {}, and more bytes behind it, not read\n",
        bytes.len()
    );
    assert_eq!(ran.stderr, expected);
}

#[test]
fn files_that_are_no_days_are_refused_without_a_panic() {
    let folder = Folder::new("garbage");
    let text =
        folder.write("text", "This is a poem and not a trading day.\n".repeat(2_000).as_bytes());
    let ran = nanotape(["check", &text]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("offset 0: 76000 bytes do not read as records"), "{}", ran.stderr);
    let empty = folder.write("empty", b"");
    assert_eq!(nanotape(["inspect", &empty]).status, 0);
    assert_eq!(nanotape(["check", &empty]).status, 1, "an empty day lacks its events");
}
