//! `nanotape check` of captures of IEX and Cboe: the rules are those of the feed.

use serde_json::Value;

use crate::support::{Folder, nanotape, real_data, running::objects};

/// The rules of a capture, and the verdict.
fn checked(path: &str, status: i32) -> (Vec<Value>, Value) {
    let ran = nanotape(["check", path, "--format", "json"]);
    assert_eq!(ran.status, status, "{}", ran.stderr);
    let mut rows = objects(&ran.stdout);
    let verdict = rows.pop().unwrap();
    (rows, verdict)
}

#[test]
fn the_rules_are_those_of_the_feed() {
    let folder = Folder::new("check-feeds");
    for (protocol, rules, missing) in
        [("iex-deep", 12, 5), ("iex-deep-plus", 12, 14), ("iex-tops", 10, 5), ("cboe-pitch", 17, 1)]
    {
        let file = folder.path(&format!("{protocol}.pcap"));
        let market = ["--messages", "5k", "--stocks", "10"];
        let made =
            nanotape([&["synth", "--protocol", protocol, "-o", &file], &market[..]].concat());
        assert_eq!(made.status, 0, "{}", made.stderr);
        let (rows, verdict) = checked(&file, 0);
        assert_eq!((rows.len(), &verdict["verdict"]), (rules, &"OK".into()), "{protocol}");
        assert!(rows.iter().all(|row| row["violations"] == 0 && row["rule"] != missing));

        // A capture without its first packets begins late, which no rule of the specification bans.
        let bytes = std::fs::read(&file).unwrap();
        let header = 24;
        let length = |at: usize| u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap());
        let second = header + 16 + length(header) as usize;
        let late = folder.write(
            &format!("{protocol}-late.pcap"),
            &[&bytes[..header], &bytes[second..]].concat(),
        );
        let (rows, verdict) = checked(&late, 0);
        assert_eq!(verdict["violated_rules"], 0, "{protocol}");
        let violated: Vec<_> = rows.iter().filter(|row| row["violations"] != 0).collect();
        assert!(violated.iter().any(|row| row["rule"] == 17), "{protocol}: {violated:?}");
    }
}

#[test]
fn a_real_capture_of_iex_is_good() {
    let Some(file) = real_data("iex_deep10_20231002.pcap.gz") else { return };
    let ran = nanotape(["check", &file]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("OK: 48,325 messages, no violation of the specification"));
}
