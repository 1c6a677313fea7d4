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

/// A schema for tests.
fn schema(name: &str) -> String {
    format!("{}/../../../schema/testing/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

/// Asserts the only line of an error.
#[track_caller]
fn refused(ran: &Ran, status: i32, expected: &str) {
    assert_eq!(ran.status, status, "{}", ran.stderr);
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}

#[test]
fn values_with_a_schema_have_a_column_for_each_field() {
    let map = Scratch::new("latest-fields");
    let (path, second) = (map.path().to_str().unwrap(), schema("quote-2"));
    let typed = ["--schema", &second];
    let fields = ["7", "bid=189.95", "state=T", "mpid=AB", "sizes_3=9", "change=-2"];
    let later = ["price=1.5", "updated=1577716200000000001", "levels_0=0x10"];
    let made = [&fields[..], &later, &typed, &["--entries", "9"]].concat();
    let _ = good(&latest("set", &map, &made));
    // All words, and a line with fields that are not given.
    let fed = b"8 1 2 3 4 5 6 0xffffffff\n9 orders=3 state=\n";
    let fed = nanotape_fed(["latest", "set", path, "--schema", &second], fed);
    assert_eq!(good(&fed), format!("{path}: 2 new keys, 0 replaced; 3 there\n"));

    let csv = latest("get", &map, &[&["7", "8", "9", "--format", "csv"], &typed[..]].concat());
    assert_eq!(
        good(&csv),
        "key,version,bid,orders,state,mpid,sizes_0,sizes_1,sizes_2,sizes_3,lot,change,updated,\
         price,levels_0,levels_1,levels_2\n\
         7,1,189.9500,0,T,AB,0,0,0,9,0,-2,1577716200000000001,1.5000,16,0,0\n\
         8,1,0.000000001,2,,\\x03,4,0,0,0,5,0,6,429496.7295,0,0,0\n\
         9,1,,3,,,0,0,0,0,0,-7,,,0,0,0\n"
    );
    let text = latest("get", &map, &[&["9"], &typed[..]].concat());
    let (header, row) = good(&text).split_once('\n').unwrap();
    let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(cells(header)[..5], ["key", "version", "bid", "orders", "state"]);
    assert_eq!(cells(row), ["9", "1", "3", "0", "0", "0", "0", "0", "-7", "0", "0", "0"]);
    let dumped = latest("dump", &map, &[&["--format", "json"], &typed[..]].concat());
    let rows: Vec<_> = good(&dumped).lines().map(json).collect();
    let of = |key: u64| rows.iter().find(|row| row["key"] == key).unwrap();
    assert_eq!(of(7)["bid"], 189.95);
    assert_eq!(of(7)["updated"], "1577716200000000001");
    assert!(of(9)["bid"].is_null() && of(9)["updated"].is_null() && of(9)["price"].is_null());
    assert_eq!((&of(9)["change"], &of(9)["mpid"]), (&(-7).into(), &"".into()));

    // Words are there without the schema.
    let words = latest("get", &map, &["8", "--format", "csv"]);
    assert_eq!(good(&words).lines().last(), Some("8,1,1,2,3,4,5,6,4294967295"));
    let stat = json(good(&latest("stat", &map, &["--format", "json"])));
    assert_eq!((&stat["value_version"], &stat["value_words"]), (&2.into(), &7.into()));
    let page = include_str!("../../../../../schema/testing/quote-2.md");
    let hash = stat["value_hash"].as_str().unwrap();
    assert!(page.contains(&format!("`0x0002_{hash}`")), "{hash}");
    let stat = latest("stat", &map, &[]);
    let line = format!("values          of schema version 2 with hash {hash}\n");
    assert!(good(&stat).contains(&line), "{}", stat.stdout);
}

#[test]
fn a_schema_or_a_field_that_does_not_fit_is_one_line() {
    let map = Scratch::new("latest-misfits");
    let (first, second) = (schema("quote-1"), schema("quote-2"));
    let set = |words: &[&str]| {
        latest("set", &map, &[words, &["--schema", &first, "--entries", "9"]].concat())
    };
    let _ = good(&set(&["7", "bid="]));
    refused(&set(&["7", "bit=1"]), 2, "Quote has no field \"bit\"; did you mean bid?");
    refused(&set(&["7", "bid=1", "bid=2"]), 2, "field bid is given twice");
    refused(&set(&["7", "lot=70000"]), 2, "lot must be a whole number from 0 to 65535");
    refused(&set(&["7", "lot="]), 2, "lot must be a number: no value of it means absent");
    refused(&set(&["7", "bid=x"]), 2, "bid must be a price such as 189.95");
    refused(&set(&["7", "mpid=ABCDE"]), 2, "mpid must be text of at most 4 ASCII characters");
    refused(&set(&["7", "bid=1", "5"]), 2, "\"5\" is not a field and its value");
    refused(&latest("set", &map, &["7", "bid=1"]), 2, "which needs the schema: --schema FILE");
    let other = latest("get", &map, &["7", "--schema", &second]);
    refused(&other, 2, "; to upgrade the map: nanotape latest upgrade ");
    let joined = latest("set", &map, &["7", "bid=1", "--schema", &second, "--entries", "9"]);
    refused(&joined, 2, "; nanotape latest upgrade NAME --schema FILE makes a map of this version");
    refused(&latest("get", &map, &["7", "--schema", "none.toml"]), 2, "cannot read none.toml");
    let wrong = Scratch::new("latest-wrong-schema");
    fs::write(wrong.path(), "[value]\n").unwrap();
    let path = wrong.path().to_str().unwrap();
    refused(&latest("get", &map, &["7", "--schema", path]), 2, ":1: value: 'name' is missing (and");
    // A map without a schema.
    map.clear();
    let _ = good(&latest("set", &map, &["7", "5", "--entries", "9"]));
    refused(&latest("get", &map, &["7", "--schema", &first]), 2, "its values are words without a");
    let stat = latest("stat", &map, &[]);
    assert!(good(&stat).contains("values          words without a schema\n"), "{}", stat.stdout);
    let stat = json(good(&latest("stat", &map, &["--format", "json"])));
    assert!(stat["value_version"].is_null() && stat["value_hash"].is_null());
}

#[test]
fn a_map_of_an_earlier_version_is_upgraded_and_grows() {
    let map = Scratch::new("latest-upgrade");
    let (first, second) = (schema("quote-1"), schema("quote-2"));
    let path = map.path().to_str().unwrap();
    let made = ["--schema", &first, "--entries", "3", "--mode", "0640"];
    let _ = good(&latest("set", &map, &[&["1", "bid=1.5", "lot=100"], &made[..]].concat()));
    let _ = good(&latest("set", &map, &["2", "orders=4", "--schema", &first]));
    let upgrade = |options: &[&str]| latest("upgrade", &map, options);
    let usage = upgrade(&[]);
    assert!(usage.status == 2 && usage.stderr.contains("give --schema FILE"), "{}", usage.stderr);
    let same = upgrade(&["--schema", &first]);
    refused(&same, 2, "already; --entries makes it larger");
    refused(&upgrade(&["--schema", &second, "--entries", "1"]), 2, "is too small: the map has 2");

    // Not while a process writes it.
    let set = ["latest", "set", path];
    let mut writer = Running::start_fed(&set);
    let stat = || json(good(&latest("stat", &map, &["--format", "json"])));
    eventually("a writer", || stat()["writers"].as_array().is_some_and(|all| !all.is_empty()));
    refused(&upgrade(&["--schema", &second]), 2, "1 writer is alive: end it first");
    writer.signal(Signal::INT);
    assert_eq!(writer.end().0, Some(0));

    let watch = ["latest", "watch", path, "1", "--interval", "5ms", "--format", "json"];
    let mut reader = Running::start_fed(&watch);
    assert!(!reader.read_json()["version"].is_null());
    let upgraded = upgrade(&["--schema", &second]);
    assert_eq!(good(&upgraded), format!("{path}: 2 keys of 3, version 1 to 2\n"));
    let (status, _, complained) = reader.end();
    assert_eq!(status, Some(2));
    assert!(complained.contains("replaced by another region while in use"), "{complained}");

    let csv = latest("get", &map, &["1", "2", "--schema", &second, "--format", "csv"]);
    let rows: Vec<_> = good(&csv).lines().skip(1).collect();
    let expected = ["1,1,1.5000,0,,,0,0,0,0,100,-7,,,0,0,0", "2,1,,4,,,0,0,0,0,0,-7,,,0,0,0"];
    assert_eq!(rows, expected);
    assert_eq!((&stat()["mode"], &stat()["capacity"]), (&"0640".into(), &3.into()));
    let _ = good(&latest("verify", &map, &[]));

    let grown = upgrade(&["--schema", &second, "--entries", "100", "--format", "json"]);
    let grown = json(good(&grown));
    assert_eq!((&grown["entries"], &grown["capacity"]), (&2.into(), &100.into()));
    assert_eq!(stat()["value_version"], 2);
    // A later version is no earlier one.
    refused(&upgrade(&["--schema", &first]), 2, "expected an earlier version of ");
    // Words without a schema grow, too.
    map.clear();
    let _ = good(&latest("set", &map, &["7", "5", "--entries", "1"]));
    refused(&upgrade(&["--schema", &first]), 2, "expected an earlier version of ");
    let grown = upgrade(&["--entries", "9"]);
    assert_eq!(good(&grown), format!("{path}: 1 key of 9\n"));
    let got = latest("get", &map, &["7", "--format", "csv"]);
    assert_eq!(good(&got), "key,version,value\n7,1,5\n");
}

/// A map of five keys; the value of key 7 has lost a bit.
fn damaged(map: &Scratch) {
    let path = map.path().to_str().unwrap();
    let lines = b"7 77\n8 88\n9 99\n10 1010\n11 1111\n";
    let set = ["latest", "set", path, "--entries", "9", "--mode", "0640"];
    let _ = good(&nanotape_fed(set, lines));
    flip(map, 77);
}

/// Changes the first word of a map with this content.
fn flip(map: &Scratch, word: u64) {
    let mut bytes = fs::read(map.path()).unwrap();
    let at = bytes.chunks_exact(8).position(|found| found == word.to_ne_bytes()).unwrap();
    bytes[8 * at] ^= 1;
    fs::write(map.path(), bytes).unwrap();
}

#[test]
fn a_repair_names_each_key_that_it_drops_and_keeps_the_others() {
    let map = Scratch::new("latest-repair");
    damaged(&map);
    let path = map.path().to_str().unwrap();
    // A repair that was killed left a part of its new map.
    let left = nanotape_shm::beside(map.path(), ".repair");
    fs::write(&left, b"").unwrap();
    let repaired = latest("repair", &map, &[]);
    assert_eq!((repaired.status, repaired.stderr.as_str()), (1, ""));
    let lines: Vec<&str> = repaired.stdout.lines().collect();
    assert!(lines[1].starts_with("wrong sum at word "), "{lines:?}");
    assert!(lines[1].contains("the key might be wrong too") && lines[1].contains(" 76"));
    assert_eq!(lines[2], format!("{path}: 1 entry was dropped; repaired"));
    assert_eq!(lines[3..5], ["kept            4", "wrong sums      1"]);
    let _ = good(&latest("verify", &map, &[]));
    let got = latest("get", &map, &["8", "9", "10", "11", "--format", "csv"]);
    assert_eq!(good(&got), "key,version,value\n8,1,88\n9,1,99\n10,1,1010\n11,1,1111\n");
    assert_eq!(nanotape_shm::inspect(map.path()).unwrap().mode, 0o640);
    assert!(!left.exists());

    let before = fs::read(map.path()).unwrap();
    let again = latest("repair", &map, &[]);
    let expected =
        format!("{path}: nothing was dropped; not damaged, left as it is\nkept            4\n");
    assert!(good(&again).starts_with(&expected), "{}", again.stdout);
    assert_eq!(fs::read(map.path()).unwrap(), before);
}

#[test]
fn a_repair_into_another_map_leaves_the_old_one() {
    let (map, into) = (Scratch::new("latest-repair-from"), Scratch::new("latest-repair-into"));
    damaged(&map);
    let before = fs::read(map.path()).unwrap();
    let new = into.path().to_str().unwrap();
    let repaired = latest("repair", &map, &["--into", new, "--format", "json"]);
    assert_eq!((repaired.status, repaired.stderr.as_str()), (1, ""));
    let rows: Vec<_> = repaired.stdout.lines().map(json).collect();
    assert_eq!((&rows[0]["key"], &rows[0]["value"]), (&7.into(), &76.into()));
    let last = &rows[1];
    assert_eq!(
        (&last["kept"], &last["dropped"], &last["counted"]),
        (&4.into(), &1.into(), &5.into())
    );
    assert_eq!(fs::read(map.path()).unwrap(), before);
    let _ = good(&nanotape(["latest", "verify", new]));
    let exists = latest("repair", &map, &["--into", new]);
    assert_eq!(exists.status, 2);
    assert!(exists.stderr.contains("exists already"), "{}", exists.stderr);
    let _ = good(&nanotape(["latest", "verify", new]));

    // The seed is damaged too: no search finds a key, and the entries are all there.
    flip(&map, 76);
    let mut bytes = before;
    bytes[nanotape_shm::HEADER_BYTES] ^= 1;
    let at = bytes.chunks_exact(8).position(|word| word == 76_u64.to_ne_bytes()).unwrap();
    bytes[8 * at] ^= 1;
    fs::write(map.path(), bytes).unwrap();
    assert_eq!(latest("verify", &map, &[]).status, 1);
    let repaired = latest("repair", &map, &["--format", "csv"]);
    assert_eq!((repaired.status, repaired.stdout.as_str()), (0, "reason,key,version,value\n"));
    assert!(repaired.stderr.contains("nothing was dropped; repaired"), "{}", repaired.stderr);
    let _ = good(&latest("verify", &map, &[]));
}

#[test]
fn a_map_with_a_writer_or_without_a_header_is_not_repaired() {
    let map = Scratch::new("latest-repair-refused");
    damaged(&map);
    let path = map.path().to_str().unwrap();
    let mut writer = Running::start_fed(&["latest", "set", path]);
    let stat = || json(good(&latest("stat", &map, &["--format", "json"])));
    eventually("a writer", || stat()["writers"].as_array().is_some_and(|all| all.len() == 1));
    let refused = || latest("repair", &map, &[]);
    let alive = refused();
    assert_eq!(alive.status, 2);
    assert!(alive.stderr.contains("not repaired: it has a writer"), "{}", alive.stderr);
    writer.signal(Signal::INT);
    assert_eq!(writer.end().0, Some(0));
    let mut bytes = fs::read(map.path()).unwrap();
    bytes[60] ^= 1;
    fs::write(map.path(), &bytes).unwrap();
    let damaged = refused();
    assert_eq!((damaged.status, damaged.stdout.as_str()), (2, ""));
    assert_eq!(damaged.stderr.lines().count(), 1, "{}", damaged.stderr);
    map.clear();
    let missing = refused();
    assert_eq!(missing.status, 2);
    assert!(missing.stderr.contains("does not exist"), "{}", missing.stderr);
}
