//! `nanotape latest` as a user runs it: real processes, real maps, output, exit statuses.

use std::fs;

use nanotape_harness::{Scratch, eventually};
use rustix::process::Signal;

use crate::support::{
    Ran, nanotape, nanotape_fed,
    running::{Running, json},
};

/// Runs a command about a map.
fn latest(command: &str, map: &Scratch, rest: &[&str]) -> Ran {
    let path = map.path().to_str().unwrap();
    nanotape([&["latest", command, path], rest].concat())
}

fn good(ran: &Ran) -> &str {
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    &ran.stdout
}

#[test]
fn a_map_is_filled_read_changed_and_removed() {
    let map = Scratch::new("latest-command");
    let path = map.path().to_str().unwrap();
    let made = latest("set", &map, &["7", "100", "--entries", "4"]);
    assert_eq!(good(&made), format!("{path}: 1 new keys, 0 replaced; 1 there\n"));
    let fed = nanotape_fed(["latest", "set", path], b"1 10\n\n7 0x20\n2 30\n");
    assert_eq!(good(&fed), format!("{path}: 2 new keys, 1 replaced; 3 there\n"));
    let got = latest("get", &map, &["7", "2", "--format", "csv"]);
    assert_eq!(good(&got), "key,version,value\n7,2,32\n2,1,30\n");
    let mut dumped: Vec<_> =
        good(&latest("dump", &map, &["--format", "json"])).lines().map(json).collect();
    dumped.sort_by_key(|row| row["key"].as_u64());
    let keys: Vec<_> = dumped.iter().map(|row| row["key"].as_u64().unwrap()).collect();
    assert_eq!(keys, [1, 2, 7]);
    let stat = json(good(&latest("stat", &map, &["--format", "json"])));
    assert_eq!((&stat["entries"], &stat["capacity"]), (&3.into(), &4.into()));
    assert_eq!(
        good(&latest("remove", &map, &["1", "9"])),
        format!("{path}: 1 key removed, 1 not there\n")
    );
    let verified = json(good(&latest("verify", &map, &["--format", "json"])));
    assert_eq!((&verified["good"], &verified["entries"]), (&true.into(), &2.into()));
    assert!(good(&latest("remove", &map, &[])).starts_with("removed "));
    assert!(!map.path().exists());
}

#[test]
fn keys_of_symbols_and_of_several_words_are_written_as_they_are_read() {
    let map = Scratch::new("latest-symbols");
    let options = ["--entries", "9", "--value-words", "2", "--keys", "text"];
    let _ = good(&latest("set", &map, &[&["AAPL", "1", "2"], &options[..]].concat()));
    let got = latest("get", &map, &["AAPL", "--keys", "text", "--format", "csv"]);
    assert_eq!(good(&got), "key,version,value_0,value_1\nAAPL,1,1,2\n");
    let long = latest("get", &map, &["LONGSYMBOL", "--keys", "text"]);
    assert_eq!((long.status, long.stdout.as_str()), (2, ""));
    assert!(long.stderr.contains("has 10 bytes, and keys of this map have 8"), "{}", long.stderr);
    map.clear();
    let strings = ["--entries", "9", "--key-words", "3", "--keys", "bytes"];
    let _ = good(&latest("set", &map, &[&["LONGSYMBOL", "6"], &strings[..]].concat()));
    let got = latest("dump", &map, &["--keys", "bytes", "--format", "csv"]);
    assert_eq!(good(&got), "key,version,value\nLONGSYMBOL,1,6\n");
    map.clear();
    let _ = good(&latest("set", &map, &["7,0x8", "5", "--entries", "9", "--key-words", "2"]));
    assert_eq!(
        good(&latest("dump", &map, &["--format", "csv"])),
        "key_0,key_1,version,value\n7,8,1,5\n"
    );
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    let map = Scratch::new("latest-errors");
    let path = map.path().to_str().unwrap();
    let says = |ran: Ran, status: i32, expected: &str| {
        assert_eq!(ran.status, status, "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    };
    says(latest("get", &map, &["1"]), 2, "does not exist");
    says(latest("remove", &map, &[]), 2, "does not exist");
    says(latest("set", &map, &["1", "2"]), 2, "does not exist");
    let _ = good(&latest("set", &map, &["1", "2", "--entries", "2"]));
    says(latest("get", &map, &["1", "5"]), 1, "key 5 is not there");
    says(latest("get", &map, &["x"]), 2, "\"x\" is not a word");
    says(latest("get", &map, &["1,2"]), 2, "has 2 words, and keys of this map have 1");
    says(latest("set", &map, &["1"]), 2, "a value of 0 words, and values of this map have 1");
    says(latest("set", &map, &["1", "2", "--entries", "3"]), 2, "parameters");
    let full = nanotape_fed(["latest", "set", path], b"1 1\n2 2\n3 3\n");
    says(full, 1, "standard input, line 3: ");
    says(nanotape(["ring", "stat", path]), 2, "region of kind LATEST");
    says(
        nanotape(["latest", "get", "no-such-map", "1"]),
        2,
        "nanotape latest list prints the maps",
    );
}

#[test]
fn a_damaged_value_is_found_and_named() {
    let map = Scratch::new("latest-damaged");
    let _ = good(&latest("set", &map, &["77", "88", "--entries", "2"]));
    let mut bytes = fs::read(map.path()).unwrap();
    let at = bytes.chunks_exact(8).position(|word| word == 88_u64.to_ne_bytes()).unwrap();
    bytes[8 * at] ^= 1;
    fs::write(map.path(), bytes).unwrap();
    let verified = latest("verify", &map, &[]);
    assert_eq!((verified.status, verified.stderr.as_str()), (1, ""));
    assert!(verified.stdout.contains("DAMAGED"), "{}", verified.stdout);
    assert!(verified.stdout.contains("wrong sums      1"), "{}", verified.stdout);
    // The whole value is replaced.
    let _ = good(&latest("set", &map, &["77", "88"]));
    let _ = good(&latest("verify", &map, &[]));
}

#[test]
fn a_watch_prints_each_change_and_ends_when_the_map_is_removed() {
    let map = Scratch::new("latest-watch");
    let path = map.path().to_str().unwrap();
    let _ = good(&latest("set", &map, &["1", "5", "--entries", "2"]));
    let watch = ["latest", "watch", path, "1", "2", "--interval", "5ms", "--format", "json"];
    let mut running = Running::start_fed(&watch);
    assert_eq!(running.read_json()["value"], 5);
    assert!(running.read_json()["value"].is_null());
    let _ = good(&latest("set", &map, &["2", "6"]));
    assert_eq!(running.read_json()["value"], 6);
    let _ = good(&latest("remove", &map, &["1"]));
    assert!(running.read_json()["version"].is_null());
    let _ = good(&latest("remove", &map, &[]));
    let (status, _, complained) = running.end();
    assert_eq!(status, Some(2));
    assert!(complained.contains("removed"), "{complained}");
}

#[test]
fn a_map_with_a_writer_is_listed_and_not_removed() {
    let name = format!("latest-test-{}", std::process::id());
    let set = ["latest", "set", &name, "--entries", "10"];
    let mut writer = Running::start_fed(&set);
    let listed = || {
        let listed = nanotape(["latest", "list", "--format", "json"]);
        good(&listed).lines().map(json).find(|row| row["name"] == name.as_str())
    };
    eventually("the map with its writer", || listed().is_some_and(|row| row["writers"] == 1));
    let refused = nanotape(["latest", "remove", &name]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("it has a writer"), "{}", refused.stderr);
    writer.signal(Signal::INT);
    assert_eq!(writer.end().0, Some(0));
    assert_eq!(listed().unwrap()["writers"], 0);
    let _ = good(&nanotape(["latest", "remove", &name]));
    assert!(listed().is_none());
}
