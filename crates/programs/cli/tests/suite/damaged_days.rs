//! Output for a damaged day: all valid messages, one line per damage, status 1.

use std::{fs, process::Command};

use nanotape_harness::{Bounded as _, skipped};

use crate::support::{Folder, nanotape, nanotape_fed};

/// Offset of the record with this number, as printed by the program.
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
    // The result is written although the status reports damage.
    let rows = folder.path("rows.csv");
    assert_eq!(nanotape(["inside", &cut, "-o", &rows]).status, 1);
    assert_eq!(fs::read_to_string(rows).unwrap(), ran.stdout);
    let ran = nanotape_fed(["check", "-"], &bytes[..offset + 5]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.starts_with("nanotape: standard input: cut off in the record at offset"));
    // The truncated record does not have the length of its type.
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
        "nanotape: {flipped}: offset {offset}: record length 292, type 'A' needs 36: decoded as \
         36 bytes, since the next record follows there\n"
    );
    assert_eq!(ran.stderr, expected);

    let mut bytes = good.clone();
    bytes[offset + 2] = b'I';
    let flipped = folder.write("type.itch50", &bytes);
    let ran = nanotape(["inspect", &flipped, "--format", "csv"]);
    assert_eq!(ran.status, 1);
    let without: Vec<_> = whole.lines().filter(|row| *row != add).collect();
    assert!(ran.stdout.lines().eq(without));
    assert!(ran.stderr.contains(&format!(
        "offset {offset}: record length 36, type 'I' needs 50: \
                                          "
    )));
    // Later messages refer to the missing order: they are counted, and reading continues.
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
        "nanotape: {scribbled}: offset {start}: skipped {} unreadable bytes\n",
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
    // Padding, as from a block device: a day that ends before it is complete.
    let padded = folder.write("padded.itch50", &[&bytes[..], &[0; 4_096]].concat());
    let ran = nanotape(["check", &padded]);
    let expected = format!(
        "nanotape: {padded}: end of session at offset {}: the bytes after it are not records\n",
        bytes.len()
    );
    assert_eq!((ran.status, ran.stderr), (0, expected));
    let followed = folder.write("followed.itch50", &[&bytes[..], &[0, 0], &bytes[..]].concat());
    let ran = nanotape(["inspect", &followed]);
    assert_eq!(ran.status, 1);
    assert_eq!(ran.stdout.lines().count(), 10_000);
    let expected =
        format!("nanotape: {followed}: offset {}: skipped 2 unreadable bytes\n", bytes.len());
    assert_eq!(ran.stderr, expected);
}

/// The day that later tests damage, and the output of `inspect` for it.
fn day_of_20_000(folder: &Folder) -> (Vec<u8>, String) {
    let day = folder.path("day.itch50");
    nanotape(["synth", "-o", &day, "--messages", "20000", "--symbols", "20"]);
    (fs::read(&day).unwrap(), nanotape(["inspect", &day, "--format", "csv"]).stdout)
}

/// The rows, without numbers, of all messages whose record begins at none of these offsets.
fn rows_without(listed: &str, offsets: &[usize]) -> Vec<String> {
    let row = |row: &str| row.split_once(',').map(|(_, rest)| rest.to_owned());
    let is_kept =
        |row: &String| !offsets.iter().any(|offset| row.starts_with(&format!("{offset},")));
    listed.lines().filter_map(row).filter(is_kept).collect()
}

#[test]
fn three_zero_bytes_in_mid_file_cost_one_message() {
    let folder = Folder::new("zeroed");
    let (mut bytes, listed) = day_of_20_000(&folder);
    bytes[35_170..35_173].fill(0);
    let zeroed = folder.write("zeroed.itch50", &bytes);
    let ran = nanotape(["inspect", &zeroed, "--format", "csv"]);
    assert_eq!(rows_without(&ran.stdout, &[]), rows_without(&listed, &[35_170]));
    assert_eq!(ran.stdout.lines().count(), 20_000, "19,999 messages and the names of the columns");
    assert_eq!(ran.status, 1);
    let expected = format!("nanotape: {zeroed}: offset 35170: ");
    assert!(ran.stderr.starts_with(&expected) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
}

#[test]
fn a_head_of_an_unknown_type_costs_one_message() {
    let folder = Folder::new("unknown-head");
    let (mut bytes, listed) = day_of_20_000(&folder);
    bytes[16_226..16_229].copy_from_slice(&[0xea, 0x6a, 0xc4]);
    let unknown = folder.write("unknown.itch50", &bytes);
    let ran = nanotape(["inspect", &unknown, "--format", "csv"]);
    assert_eq!(rows_without(&ran.stdout, &[]), rows_without(&listed, &[16_226]));
    assert_eq!(ran.status, 1);
    let expected = format!("nanotape: {unknown}: offset 16226: ");
    assert!(ran.stderr.starts_with(&expected) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
}

#[test]
fn a_bit_of_a_length_that_leads_to_a_later_record_costs_nothing() {
    let folder = Folder::new("misleading");
    let (good, listed) = day_of_20_000(&folder);
    let offset = |row: &str| row.split(',').nth(1)?.parse::<usize>().ok();
    let starts: Vec<_> = listed.lines().filter_map(offset).collect();
    let misleading = starts.windows(2).flat_map(|pair| {
        let stated = pair[1] - pair[0] - 2;
        (0..16).map(move |bit| (pair[0], bit, pair[0] + 2 + (stated ^ (1 << bit))))
    });
    let is_later = |(start, _, end): &(usize, i32, usize)| {
        *end > *start + 52 && starts.binary_search(end).is_ok()
    };
    let mut chosen: Vec<_> = misleading.filter(is_later).collect();
    assert!(chosen.len() > 100, "{} bits lead to later records", chosen.len());
    chosen.sort_unstable_by_key(|(start, _, end)| end - start);
    // The records with the longest and the shortest wrong length.
    for (start, bit, _) in [chosen[0], chosen[chosen.len() - 1]] {
        let mut bytes = good.clone();
        bytes[start + 1 - bit as usize / 8] ^= 1 << (bit % 8);
        let flipped = folder.write("flipped.itch50", &bytes);
        let ran = nanotape(["inspect", &flipped, "--format", "csv"]);
        assert_eq!((ran.status, ran.stdout == listed), (1, true), "bit {bit} at {start}");
        assert!(ran.stderr.contains(&format!("offset {start}: record length ")), "{}", ran.stderr);
    }
}

#[test]
fn a_damaged_compressed_day_gives_what_its_own_program_gets() {
    for program in ["gzip", "zstd"] {
        if Command::new(program).arg("--version").bounded_output().is_err() {
            skipped(format_args!("there is no program {program}"));
            continue;
        }
        let folder = Folder::new(&format!("damaged-{program}"));
        let (good, _) = day_of_20_000(&folder);
        let unpack = |file: &str| {
            let input = fs::File::open(file).unwrap();
            Command::new(program).arg("-dc").bounded_output_fed(input.into()).unwrap().stdout
        };
        let packed =
            Command::new(program).args(["-c", &folder.path("day.itch50")]).bounded_output();
        let packed = packed.unwrap().stdout;
        for part in [1, 3, 5, 7] {
            let mut bytes = packed.clone();
            let at = bytes.len() * part / 8;
            bytes[at..at + 8].fill(0xff);
            let damaged = folder.write("damaged", &bytes);
            let reference = unpack(&damaged);
            let same = good.iter().zip(&reference).take_while(|(one, other)| one == other).count();
            let ran = nanotape(["inspect", &damaged, "--format", "csv"]);
            let offset = |row: &str| row.split(',').nth(1)?.parse::<usize>().ok();
            let starts = ran.stdout.lines().filter_map(offset);
            let delivered = starts.filter(|start| start + 52 <= same).count();
            let whole = nanotape_fed(["inspect", "-", "--format", "csv"], &good[..same]).stdout;
            let expected = whole.lines().filter_map(offset).filter(|start| start + 52 <= same);
            assert_eq!(delivered, expected.count(), "{program}, damaged at {at}");
            // Whole blocks before the damage are valid, even if `program` prints fewer bytes.
            let printed = ran.stdout.lines().count();
            assert!(printed > 1_000 * (part - 1), "{program} {at}: {printed} messages");
            assert_eq!(ran.status, 1);
            let fault = ran.stderr.lines().last().unwrap();
            assert!(fault.contains("damaged at or before compressed offset"), "{fault}");
        }
    }
}

#[test]
fn a_checksum_is_checked_behind_an_end_of_session() {
    let folder = Folder::new("checksum");
    let (good, _) = day_of_20_000(&folder);
    let ended = folder.write("ended.itch50", &[&good[..], &[0; 3_000_000]].concat());
    for (program, from_end) in [("gzip", 6), ("zstd", 2)] {
        let Ok(packed) = Command::new(program).args(["-c", &ended]).bounded_output() else {
            skipped(format_args!("there is no program {program}"));
            continue;
        };
        let mut bytes = packed.stdout;
        let place = bytes.len() - from_end;
        bytes[place] ^= 0xff;
        let wrong = folder.write("wrong-checksum", &bytes);
        let ran = nanotape(["inspect", &wrong]);
        assert_eq!((ran.status, ran.stdout.lines().count()), (1, 20_000), "{program}");
        let fault = ran.stderr.lines().last().unwrap();
        assert!(fault.contains("at or before compressed offset"), "{fault}");
    }
}

#[test]
fn check_says_where_a_message_stands_after_the_last_event() {
    let folder = Folder::new("after-the-end");
    let (good, listed) = day_of_20_000(&folder);
    // Appends three copies of a trading action message after the end of the day.
    let rows: Vec<_> = listed.lines().skip(1).collect();
    let offset = |row: &str| row.split(',').nth(1).unwrap().parse::<usize>().unwrap();
    let halt = rows.iter().rposition(|row| row.split(',').nth(2) == Some("H")).unwrap();
    let (from, to) = (offset(rows[halt]), offset(rows[halt + 1]));
    let extra = good[from..to].repeat(3);
    let late = folder.write("late.itch50", &[&good[..], &extra].concat());
    let ran = nanotape(["check", &late, "--format", "csv"]);
    let expected = format!("\n1,spec,1,{},20001,", good.len());
    assert!(ran.stdout.contains(&expected), "{}", ran.stdout);
    assert_eq!(ran.status, 1);
}

#[test]
fn check_finds_a_locate_with_two_symbols() {
    let folder = Folder::new("two-symbols");
    let (good, listed) = day_of_20_000(&folder);
    let of = |tag: &str, count: usize| {
        let mut rows = listed.lines().filter(|row| row.split(',').nth(2) == Some(tag));
        rows.nth(count).unwrap().split(',').nth(1).unwrap().parse::<usize>().unwrap()
    };
    let finding = |bytes: &[u8]| {
        let file = folder.write("changed.itch50", bytes);
        let ran = nanotape(["check", &file, "--format", "csv"]);
        let rows: Vec<_> = ran.stdout.lines().map(str::to_owned).collect();
        (ran.status, rows.into_iter().find(|row| row.starts_with("13,")).unwrap_or_default())
    };
    let clean = "13,spec,0,,,a stock locate stands for one symbol all day".to_owned();
    assert_eq!(finding(&good), (0, clean));
    // Changes the symbol of an add.
    let mut bytes = good.clone();
    let add = of("A", 700);
    bytes[add + 2 + 24] ^= 1;
    let (status, row) = finding(&bytes);
    assert!(status == 1 && row.starts_with(&format!("13,spec,1,{add},")), "{row}");
    // A directory message that gives the previous locate to another stock.
    let mut bytes = good.clone();
    let (first, second) = (of("R", 3), of("R", 4));
    bytes.copy_within(first + 3..first + 5, second + 3);
    let (status, row) = finding(&bytes);
    assert!(status == 1 && row.contains(&format!(",{second},")), "{row}");
}

#[test]
fn check_ends_with_a_verdict_that_says_why() {
    let folder = Folder::new("verdict");
    let (good, listed) = day_of_20_000(&folder);
    let of = |tag: &str, count: usize| {
        let mut rows = listed.lines().filter(|row| row.split(',').nth(2) == Some(tag));
        rows.nth(count).unwrap().split(',').nth(1).unwrap().parse::<usize>().unwrap()
    };
    let last = |bytes: &[u8], format: &str| {
        let file = folder.write("changed.itch50", bytes);
        let ran = nanotape(["check", &file, "--format", format]);
        (ran.status, ran.stdout.lines().last().unwrap().to_owned())
    };
    // Two rules: the symbol of an add, and an add with the reference of another one.
    let (first, second) = (of("A", 700), of("A", 701));
    let mut bytes = good.clone();
    bytes[first + 2 + 24] ^= 1;
    bytes.copy_within(first + 13..first + 21, second + 13);
    let (status, verdict) = last(&bytes, "text");
    assert_eq!(status, 1);
    assert!(verdict.starts_with("BAD: ") && verdict.contains(" violations of "), "{verdict}");
    assert!(verdict.contains(" rules") && verdict.contains("; 20,000 messages"), "{verdict}");
    // The object has no `violations`, which selects the rules that are violated.
    let (_, object) = last(&bytes, "json");
    let object: serde_json::Value = serde_json::from_str(&object).unwrap();
    assert_eq!((&object["verdict"], &object["messages"]), (&"BAD".into(), &20_000.into()));
    assert!(object["violated_rules"].as_u64().unwrap() >= 2, "{object}");
    assert!(object.get("violations").is_none());
    let (_, row) = last(&bytes, "csv");
    assert!(row.starts_with("13,spec,"), "{row}");

    let mut bytes = good.clone();
    bytes[first..first + 500].fill(0xff);
    let (status, verdict) = last(&bytes, "text");
    assert!(status == 1 && verdict.contains("1 damaged range"), "{verdict}");
    let (status, verdict) = last(&good[..good.len() - 3], "text");
    assert!(status == 1 && verdict.contains("the input is cut off"), "{verdict}");
    let (status, object) = last(&good, "json");
    let object: serde_json::Value = serde_json::from_str(&object).unwrap();
    assert_eq!((status, &object["verdict"]), (0, &"OK".into()));
}

#[test]
fn files_that_are_no_days_are_refused_without_a_panic() {
    let folder = Folder::new("garbage");
    let text =
        folder.write("text", "This is a poem and not a trading day.\n".repeat(2_000).as_bytes());
    // What follows the text is read.
    let day = fs::read(folder.day(1_000, 5)).unwrap();
    let before = folder.write("before", &[&fs::read(&text).unwrap()[..], &day].concat());
    let empty = folder.write("empty", b"");
    for command in ["check", "inspect"] {
        let ran = nanotape([command, &text]);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{command}");
        assert!(ran.stderr.contains(": text; expected a BinaryFILE day"), "{}", ran.stderr);
        let ran = nanotape([command, &before]);
        assert_eq!(ran.status, 1, "{command}");
        assert!(ran.stderr.contains("offset 0: skipped 76000 unreadable bytes"), "{}", ran.stderr);
        let ran = nanotape([command, &empty]);
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{command}");
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}
