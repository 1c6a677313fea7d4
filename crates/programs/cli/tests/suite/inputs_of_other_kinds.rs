//! Files that are neither a day nor a capture: one line with what to do, and nothing is written.

use std::{fs, path::Path};

use crate::support::{Folder, Ran, nanotape, nanotape_fed, plants::Ring, trial};

/// Every command that takes an INPUT, with the options that it needs besides.
fn commands<'a>(input: &'a str, ring: &'a Ring) -> Vec<Vec<&'a str>> {
    let to = ["--pace", "max", "--line-a", "127.0.0.1:9", "--linger", "0s"];
    let date = ["--date", "2019-12-30"];
    vec![
        vec!["inspect", input],
        vec!["check", input],
        vec!["inside", input],
        vec!["stats", input],
        vec!["trades", input],
        vec!["book", input, "--symbol", "AAPL"],
        vec!["depth", input, "--symbol", "AAPL"],
        vec!["diff", input, "--symbol", "AAPL", "10:00", "10:05"],
        [&["exchange", input], &to[..]].concat(),
        [&["replay", input], &to[..4]].concat(),
        [&["tap", input], &date[..]].concat(),
        [&["run", "--ring", ring.path(), "--input", input], &date[..]].concat(),
    ]
}

fn line(ran: &Ran) -> &str {
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    ran.stderr.trim_end()
}

#[test]
fn every_command_refuses_a_file_of_another_kind_with_what_to_do() {
    let (folder, ring) = (Folder::new("other-kinds"), Ring::new("other-kinds"));
    let packed = folder.write("day.itch50.xz", b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46\x02\0\x21\x01");
    let text = folder.write("rows.csv", b"ts_ns,symbol,bid_price\n34200000000000,AAPL,1.0\n");
    let noise = folder.write("noise", &[0xaa; 3 << 20]);
    let empty = folder.write("empty", b"");
    let expected = "expected a BinaryFILE day or a capture (pcap, pcapng)";
    for command in commands(&packed, &ring) {
        let ran = nanotape(&command);
        let input = if command[0] == "run" { "--input -" } else { "-" };
        let pipe = format!("xz -dc {packed} | nanotape {} {input}", command[0]);
        let reported = format!("nanotape: {packed}: xz-compressed; decompress it first: {pipe}");
        assert_eq!(
            (ran.status, line(&ran), ran.stdout.as_str()),
            (2, &*reported, ""),
            "{command:?}"
        );
    }
    for (file, status, what) in [
        (&text, 2, format!("text (CSV); {expected}")),
        (&noise, 2, "not a BinaryFILE day: no record in its first 1048576 bytes".to_owned()),
        (&empty, 1, format!("is empty, {expected}")),
    ] {
        for command in commands(file, &ring) {
            let ran = nanotape(&command);
            let reported = format!("nanotape: {file}: {what}");
            assert_eq!((ran.status, line(&ran)), (status, &*reported), "{command:?}");
            assert_eq!(ran.stdout, "", "{command:?}");
        }
    }
    assert!(!ring.0.exists(), "no plant began");

    // An output file is not begun.
    let rows = folder.path("inside.csv");
    assert_eq!(nanotape(["inside", &text, "-o", &rows]).status, 2);
    assert!(!Path::new(&rows).exists());
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 4, "the inputs");
}

/// Every command gives the same reason, whatever it reads of the file before.
#[test]
fn every_command_names_what_a_compressed_file_needs() {
    let (folder, ring) = (Folder::new("other-windows"), Ring::new("other-windows"));
    // A frame whose window is above 2 GiB.
    let bytes = [0x28, 0xb5, 0x2f, 0xfd, 0, (31 - 10) << 3 | 1, 1, 0, 0];
    let path = folder.write("20191230.itch50.zst", &bytes);
    let needs = format!("nanotape: {path}: the zstd stream needs a window of more than 2 GiB");
    for command in commands(&path, &ring) {
        let ran = nanotape(&command);
        assert!(ran.stderr.contains(&needs) && ran.status != 0, "{command:?}: {ran:?}");
    }
    let Some(path) = trial("t04_long28_20191230.itch50.zst") else { return };
    for command in ["inspect", "stats", "inside", "trades"] {
        let ran = nanotape([command, &path]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{command}: {}", ran.stdout);
    }
}

#[test]
fn standard_input_of_another_kind_is_refused_also_by_a_plant_that_runs() {
    let ring = Ring::new("other-kinds-piped");
    let expected = "expected a BinaryFILE day or a capture (pcap, pcapng)";
    for (bytes, status, what) in [
        (b"{\"ts_ns\":1}\n".as_slice(), 2, format!("text (JSON); {expected}")),
        (b"", 1, format!("is empty, {expected}")),
    ] {
        for command in commands("-", &ring) {
            let ran = nanotape_fed(&command, bytes);
            let reported = format!("nanotape: standard input: {what}");
            assert_eq!((ran.status, line(&ran)), (status, &*reported), "{command:?}");
        }
    }
    // The plant had begun, and its readers see its end.
    let seen = nanotape(["stat", ring.path(), "--interval", "0", "--format", "json"]).stdout;
    assert!(seen.contains("\"state\":\"stopped\",\"stop_reason\":\"input failed\""), "{seen}");
}

#[test]
fn what_only_a_day_or_a_capture_has_is_not_read_from_records() {
    let (folder, ring) = (Folder::new("other-records"), Ring::new("other-records"));
    let day = folder.day(2_000, 5);
    let (records, journal) = (folder.path("day.dbn"), folder.path("journal"));
    let made = nanotape(["tap", &day, "--date", "2019-12-30", "-o", &records]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    fs::create_dir(&journal).unwrap();
    let needed = "this command needs the messages of a day file or a capture";
    for (input, is) in [(&records, "is a DBN file"), (&journal, "is a folder")] {
        let only_days = ["inspect", "check", "exchange", "replay"];
        let commands = commands(input, &ring);
        for command in commands.iter().filter(|command| only_days.contains(&command[0])) {
            let ran = nanotape(command);
            let reported = format!("nanotape: {input}: {is}; {needed}");
            assert_eq!((ran.status, line(&ran)), (2, &*reported), "{command:?}");
        }
        let survey = nanotape(["capture", input]);
        assert_eq!(
            (survey.status, line(&survey)),
            (2, &*format!("nanotape: {input}: {is}; {needed}"))
        );
    }
}
