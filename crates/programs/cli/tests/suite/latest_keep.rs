//! The newest states of a plant's stocks as processes keep them: with a plant and beside one, with
//! keepers that are killed, and in a live session that loses packets. The judge is a naive count.

use std::{fs, thread, time::Duration};

use nanotape_harness::{Scratch, eventually};
use nanotape_testkit::naive::NaiveDay;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{
    Folder,
    live::{self, SNAPSHOTS},
    nanotape,
    plants::{DATE, Ring},
    running::{Running, json, objects},
};

/// The process that keeps the states of this map.
fn keeper(map: &Scratch) -> Option<Pid> {
    let map = map.path().to_str().unwrap();
    let of = |entry: fs::DirEntry| {
        let number: i32 = entry.file_name().to_str()?.parse().ok()?;
        let words = fs::read_to_string(entry.path().join("cmdline")).ok()?;
        (words.contains("\0keep\0") && words.contains(map)).then(|| Pid::from_raw(number))?
    };
    fs::read_dir("/proc").unwrap().filter_map(Result::ok).find_map(of)
}

/// The states by symbol, and that of the market.
fn states(map: &Scratch) -> (Vec<Value>, Value) {
    let dumped = nanotape(["latest", "dump", map.path().to_str().unwrap(), "--format", "json"]);
    assert_eq!(dumped.status, 0, "{}", dumped.stderr);
    let mut all = objects(&dumped.stdout);
    let market = all.iter().position(|state| state["symbol"] == "*").unwrap();
    let market = all.swap_remove(market);
    (all, market)
}

/// A price of JSON in units of 0.0001.
fn units(price: &Value) -> Option<u64> {
    price.as_f64().map(|price| (price * 1e4).round() as u64)
}

/// Asserts that the insides and the trades are those of the day.
fn assert_end(map: &Scratch, day: &str) {
    let naive = NaiveDay::of(&fs::read(day).unwrap());
    let (all, market) = states(map);
    assert_eq!(all.len(), naive.stocks.len());
    for state in &all {
        let locate = state["instrument_id"].as_u64().unwrap() as u16;
        let stock = &naive.stocks[&locate];
        assert_eq!(state["symbol"], stock.symbol.as_str());
        assert_eq!(state["doubts"], "", "{state}");
        assert_inside(&naive, locate, state);
        assert_eq!(state["trades"], stock.trades.len(), "{state}");
        assert_eq!(state["volume"], stock.volume(), "{state}");
        assert_eq!(units(&state["last_price"]), stock.trades.last().map(|trade| trade.price));
        let number = |name: &str| -> u128 {
            let value = &state[name];
            value
                .as_str()
                .map_or_else(|| value.as_u64().unwrap().into(), |text| text.parse().unwrap())
        };
        let notional = number("notional_high") << 64 | number("notional_low");
        assert_eq!(notional, stock.notional() * 100_000, "{state}");
    }
    let volume: u64 = naive.stocks.values().map(|stock| stock.volume()).sum();
    assert_eq!((&market["volume"], &market["is_over"]), (&volume.into(), &1.into()));
}

fn assert_inside(naive: &NaiveDay, locate: u16, state: &Value) {
    for (side, is_bid) in [("bid", true), ("ask", false)] {
        let (price, shares) = naive.best(locate, is_bid).unzip();
        assert_eq!(units(&state[format!("{side}_price")]), price, "{state}");
        assert_eq!(state[format!("{side}_size")], shares.unwrap_or(0), "{state}");
    }
}

#[test]
fn plants_of_two_feeds_share_a_map() {
    let (folder, map) = (Folder::new("keep-feeds"), Scratch::new("keep-feeds-map"));
    let path = map.path().to_str().unwrap();
    // DBN's numbers of the publishers.
    let feeds = [("iex-deep", "38"), ("cboe-pitch", "5")];
    let mut stats = Vec::new();
    for (protocol, _) in feeds {
        let (file, ring) = (folder.capture(protocol, 4_000, 6), Ring::new(protocol));
        let ran = nanotape(["run", "--input", &file, "--ring", ring.path(), "--latest", path]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        stats.push(objects(&nanotape(["stats", &file, "--format", "json"]).stdout));
    }
    for ((_, publisher), stocks) in feeds.iter().zip(&stats) {
        for stock in stocks {
            let key = format!("{publisher},{}", stock["symbol"].as_str().unwrap());
            let got = nanotape(["latest", "get", path, &key, "--format", "json"]);
            let state = json(&got.stdout);
            assert_eq!(state["trades"], stock["trades"], "{state} {stock}");
            assert_eq!(state["is_over"], u64::from(stock["symbol"] == "*"), "{state}");
        }
    }
    let unstated = nanotape(["latest", "get", path, "*"]);
    assert_ne!(unstated.status, 0, "{}", unstated.stdout);
}

#[test]
fn a_plant_keeps_the_newest_state_of_every_stock() {
    let (folder, ring) = (Folder::new("keep"), Ring::new("keep"));
    let (map, day) = (Scratch::new("keep-map"), folder.day(60_000, 20));
    let (path, journal) = (map.path().to_str().unwrap(), folder.path("journal"));
    let run = ["run", "--input", &day, "--date", DATE, "--ring", ring.path()];
    let options = ["--journal", &journal, "--latest", path, "--latest-cpu", "0"];
    let ran = nanotape([&run[..], &options, &["--latest-mode", "0640"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(keeper(&map).is_none());
    assert_end(&map, &day);
    let (_, market) = states(&map);
    assert_eq!(market["sequence"], ring.next_sequence() - 1);

    // The command line writes keys as symbols.
    let (all, _) = states(&map);
    let symbol = all[0]["symbol"].as_str().unwrap();
    let got = nanotape(["latest", "get", path, symbol, "*", "--format", "csv"]);
    assert_eq!((got.status, got.stdout.lines().count()), (0, 3), "{}", got.stderr);
    assert!(got.stdout.starts_with("publisher,symbol,version,sequence,"), "{}", got.stdout);
    assert!(got.stdout.lines().nth(1).unwrap().starts_with(&format!("2,{symbol},")));
    let missing = nanotape(["latest", "get", path, "NONE"]);
    assert_eq!(missing.status, 1, "{}", missing.stderr);
    let stat = nanotape(["latest", "stat", path, "--format", "json"]);
    assert_eq!(json(&stat.stdout)["mode"], "0640");

    // The next plant on the ring begins again, on the same map.
    let few = folder.path("few.itch50");
    let made = nanotape(["synth", "-o", &few, "--messages", "9000", "--stocks", "7"]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    let run = ["run", "--input", &few, "--date", DATE, "--ring", ring.path()];
    let ran = nanotape([&run[..], &options].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_end(&map, &few);
}

#[test]
fn a_keeper_that_is_killed_again_and_again_counts_each_trade_once() {
    let (folder, ring) = (Folder::new("keep-killed"), Ring::new("keep-killed"));
    let (map, day) = (Scratch::new("keep-killed-map"), folder.day(400_000, 50));
    let (path, journal) = (map.path().to_str().unwrap(), folder.path("journal"));
    let run = ["run", "--input", &day, "--date", DATE, "--ring", ring.path()];
    let options = ["--capacity", "1MiB", "--journal", &journal, "--latest", path];
    let mut plant = Running::start(&[&run[..], &options, &["--format", "json"]].concat());
    let mut kills = 0;
    while plant.is_running() {
        if let Some(keeper) = keeper(&map) {
            kills += u32::from(kill_process(keeper, Signal::KILL).is_ok());
        }
        thread::sleep(Duration::from_millis(30));
        // After the end of the plant, its fifth failure in a row would be the last one.
        if kills == 4 {
            break;
        }
    }
    let (status, _, complained) = plant.end();
    assert_eq!(status, Some(0), "{complained}");
    assert!(kills > 1, "{kills} kills; {complained}");
    assert!(
        complained.contains("newest states: killed by signal 9; started again"),
        "{complained}"
    );
    assert_end(&map, &day);
}

#[test]
fn states_are_kept_beside_a_plant_and_what_is_lost_is_reported() {
    let (folder, ring) = (Folder::new("keep-beside"), Ring::new("keep-beside"));
    let (map, day) = (Scratch::new("keep-beside-map"), folder.day(50_000, 20));
    let path = map.path().to_str().unwrap();
    let keep =
        |options: &[&str]| nanotape([&["latest", "keep", ring.path(), path], options].concat());
    let absent = keep(&[]);
    assert_eq!(absent.status, 2);
    assert!(absent.stderr.contains("no plant runs on this ring"), "{}", absent.stderr);
    let journal = folder.path("journal");
    let run = ["run", "--input", &day, "--date", DATE, "--ring", ring.path()];
    let ran = nanotape([&run[..], &["--capacity", "64KiB", "--journal", &journal]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);

    // Most of the run is not in the ring any more.
    let kept = keep(&["--fail-on-loss", "--format", "json"]);
    assert_eq!(kept.status, 1, "{}", kept.stderr);
    let lost = json(&kept.stdout)["lost"].as_u64().unwrap();
    assert!(lost > 10_000 && kept.stderr.contains("(--fail-on-loss)"), "{}", kept.stderr);
    let (all, market) = states(&map);
    assert_eq!(market["doubts"], "records_lost");
    assert!(all.iter().all(|state| state["doubts"].as_str().unwrap().contains("records_lost")));

    // Another map has everything from the journal.
    map.clear();
    let healed = keep(&["--heal", &journal, "--fail-on-loss"]);
    assert_eq!(healed.status, 0, "{}", healed.stderr);
    assert_end(&map, &day);
    let again = keep(&["--heal", &journal, "--format", "json"]);
    assert_eq!(json(&again.stdout)["next_sequence"], ring.next_sequence());
    assert_end(&map, &day);
}

#[test]
fn a_map_has_room_for_as_many_stocks_as_it_was_made_for() {
    let (folder, ring) = (Folder::new("keep-room"), Ring::new("keep-room"));
    let (map, day) = (Scratch::new("keep-room-map"), folder.day(20_000, 8));
    let path = map.path().to_str().unwrap();
    let stocks = NaiveDay::of(&fs::read(&day).unwrap()).stocks.len();
    let run = |entries: usize| {
        let entries = entries.to_string();
        let run = ["run", "--input", &day, "--date", DATE, "--ring", ring.path()];
        nanotape([&run[..], &["--latest", path, "--latest-entries", &entries]].concat())
    };
    let ran = run(stocks);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_end(&map, &day);

    map.clear();
    let ran = run(stocks - 4);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let advice = format!("once it is larger (nanotape latest upgrade {path} --entries N)");
    assert!(ran.stderr.contains(&advice), "{}", ran.stderr);
    let larger = nanotape(["latest", "upgrade", path, "--entries", "100"]);
    assert_eq!(larger.status, 0, "{}", larger.stderr);
    let kept = nanotape(["latest", "keep", ring.path(), path]);
    assert_eq!(kept.status, 0, "{}", kept.stderr);
    assert_end(&map, &day);
}

#[test]
fn a_keeper_waits_for_the_journal_and_ends_when_its_map_or_its_ring_is_gone() {
    let (folder, ring) = (Folder::new("keep-gone"), Ring::new("keep-gone"));
    let (map, day) = (Scratch::new("keep-gone-map"), folder.day(60_000, 8));
    let (path, journal) = (map.path().to_str().unwrap(), folder.path("journal"));
    let keep = ["latest", "keep", ring.path(), path, "--heal", &journal, "--wait", "60"];
    let mut keeper = Running::start(&keep);
    let run = ["run", "--input", &day, "--date", DATE, "--ring", ring.path(), "--pace", "2000x"];
    let plant = Running::start(&[&run[..], &["--journal", &journal]].concat());
    eventually("the states", || map.path().exists());
    fs::remove_file(map.path()).unwrap();
    let (status, _, complained) = keeper.end();
    assert_eq!(status, Some(1), "{complained}");
    assert!(complained.contains("removed while in use"), "{complained}");
    drop(plant);

    let invalid = nanotape(["latest", "keep", ring.path(), path, "--name", "a name"]);
    assert_eq!(invalid.status, 2, "{}", invalid.stderr);
    assert!(invalid.stderr.contains("invalid follower name") && !map.path().exists());
    let other = nanotape(["latest", "keep", path, "elsewhere"]);
    assert_eq!(other.status, 2);
    let made = nanotape(["latest", "set", path, "1", "2", "--entries", "9"]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    let other = nanotape(["latest", "keep", path, path]);
    assert!(other.stderr.contains("is no ring of a plant"), "{}", other.stderr);
}

#[test]
fn options_and_maps_that_do_not_fit_are_refused_before_the_plant_starts() {
    let (folder, ring) = (Folder::new("keep-refused"), Ring::new("keep-refused"));
    let (map, day) = (Scratch::new("keep-refused-map"), folder.day(1_000, 3));
    let path = map.path().to_str().unwrap();
    let run = ["run", "--input", &day, "--date", DATE, "--ring", ring.path()];
    let refused = |options: &[&str], expected: &str| {
        let ran = nanotape([&run[..], options].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        assert!(!ring.0.exists());
    };
    refused(&["--latest-cpu", "0"], "--latest-cpu has no effect without --latest NAME");
    refused(&["--latest", ring.path()], "the map and the ring need different names");
    let made = nanotape(["latest", "set", path, "1", "2", "--entries", "9"]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    refused(&["--latest", path], "words without a schema");
}

/// A live session with these faults, whose keeper is killed; returns the day.
fn live_session(map: &Scratch, name: &str, options: &[&str], faults: &[&str]) -> (Folder, String) {
    let folder = Folder::new(name);
    let day = live::day(&folder);
    let options = [&["--latest", map.path().to_str().unwrap()], options].concat();
    let mut plant = live::Plant::start(name, &options);
    eventually("a keeper", || keeper(map).is_some());
    thread::scope(|scope| {
        let sending = scope.spawn(|| plant.send(&day, faults));
        // After the end of the plant, its fifth failure in a row would be the last one.
        let mut kills = 0;
        while !sending.is_finished() && kills < 3 {
            thread::sleep(Duration::from_millis(100));
            kills += u32::from(
                keeper(map).is_some_and(|keeper| kill_process(keeper, Signal::KILL).is_ok()),
            );
        }
    });
    let _ = plant.end();
    assert!(keeper(map).is_none());
    (folder, day)
}

#[test]
fn a_live_session_whose_gaps_are_filled_has_the_states_of_the_day() {
    let map = Scratch::new("keep-live");
    let faults = "drop=2%,dup=1%,reorder=1%x4";
    let faults = ["--faults-a", faults, "--faults-b", faults, "--linger", "5s", "--seed", "7"];
    let (_folder, day) = live_session(&map, "keep-live", &["--join", "start"], &faults);
    assert_end(&map, &day);
}

#[test]
fn a_live_session_with_losses_has_insides_of_snapshots_and_a_doubt_for_missing_trades() {
    let map = Scratch::new("keep-snapshots");
    let faults = ["--faults-both", "drop=0.2%", "--seed", "5", "--linger", "6s"];
    let faults = [&faults[..], &["--pace", "10000x", "--rerequest-faults", "dead"]].concat();
    let (_folder, day) = live_session(&map, "keep-snapshots", &[SNAPSHOTS], &faults);
    let naive = NaiveDay::of(&fs::read(day).unwrap());
    let (all, market) = states(&map);
    assert_eq!(market["doubts"], "input_lost");
    assert_eq!(all.len(), naive.stocks.len());
    let mut missing = 0;
    for state in all {
        let locate = state["instrument_id"].as_u64().unwrap() as u16;
        assert_eq!(state["doubts"], "input_lost", "{state}");
        assert_inside(&naive, locate, &state);
        let expected = naive.stocks[&locate].volume();
        missing += expected - state["volume"].as_u64().unwrap();
    }
    assert!(missing > 0);
}
