//! Rings of two plants and lines of an exchange, while they are written.

use nanotape_harness::Signal;
use serde_json::Value;

use super::{Days, MARKET, count, list, number};
use crate::support::{
    Folder,
    live::{addresses, day},
    nanotape,
    plants::Ring,
    running::{Running, json, objects, whole},
};

/// Two plants that publish two days, an hour of which takes a minute.
struct Plants {
    days: Days,
    rings: [Ring; 2],
    plants: [Running; 2],
}

impl Plants {
    fn start(name: &str) -> Self {
        let by_minute = [&MARKET[..], &["--truth-window", "60s"]].concat();
        let days = Days::new(name, "delay=350us,jitter=20us", &by_minute);
        let rings = ["a", "b"].map(|side| Ring::new(&format!("{name}-{side}")));
        let start = |day: &str, ring: &Ring| {
            let input = ["run", "--input", day, "--ring", ring.path(), "--format", "json"];
            let pace = ["--pace", "60x", "--pace-from", "09:30"];
            Running::start(&[&input[..], &pace].concat())
        };
        let mut plants = [start(&days.first, &rings[0]), start(&days.second, &rings[1])];
        for plant in &mut plants {
            assert_eq!(plant.read_json()["event"], "start");
        }
        Self { days, rings, plants }
    }

    fn follow(&self, options: &[&str]) -> Running {
        let [first, second] = self.rings.each_ref().map(Ring::path);
        let arguments = ["delay", first, second, "--follow", "--pool", "--format", "json"];
        Running::start(&[&arguments[..], options].concat())
    }

    /// Each span has a delay of the days. Of the first span and of the last one a part was read.
    fn check(&self, spans: &[Value]) {
        let full = spans.iter().skip(1).rev().skip(1);
        for span in full.filter(|span| !span["delay_ns"].is_null()) {
            let [low, _, high] = self.days.truth[&(whole(&span["from_ns"]).unwrap() as i64)];
            let delay = number(span, "delay_ns");
            assert!((low..=high).contains(&delay), "{span}, expected {low} to {high}");
        }
    }
}

/// The options for the exchange's time, by which a minute takes a second.
const BY_EVENT: [&str; 4] = ["--clock", "event", "--window", "60s"];

#[test]
fn rings_of_two_plants_are_compared_while_they_are_written() {
    let plants = Plants::start("delay-rings");
    let mut by_event = plants.follow(&[&BY_EVENT[..], &["--for", "8"]].concat());
    // The plants began at different moments, so received times are apart by more, and with the
    // jitter of two processes.
    let wide = ["--max-lag", "4s", "--bin", "20ms", "--for", "8"];
    let mut by_receipt = plants.follow(&wide);
    let (status, text, stderr) = by_event.end();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let lines = objects(&text);
    let (record, live) = lines.split_last().unwrap();
    assert_eq!(record["clock"], "event");
    assert!(live.iter().all(|line| line["kind"] == "delay-span"), "{text}");
    assert_eq!(live.len(), list(record, "over_time").len());
    assert!(count(&record["total"], "estimates") > 1, "{record}");
    plants.check(list(record, "over_time"));
    let (status, text, stderr) = by_receipt.end();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let record = objects(&text).pop().unwrap();
    assert_eq!((&record["clock"], &record["kind"]), (&"receive".into(), &"delay".into()));
    assert!(!list(&record, "over_time").is_empty());
    assert!(number(&record["total"], "delay_ns").abs() < 4e9, "{record}");
}

#[test]
fn killed_plants_are_reported_and_end_the_command() {
    let plants = Plants::start("delay-killed");
    let mut delay = plants.follow(&BY_EVENT);
    assert_eq!(delay.read_json()["kind"], "delay-span");
    plants.plants[1].signal(Signal::KILL);
    let ring = plants.rings[1].path();
    assert_eq!(delay.read_stderr_line(), format!("nanotape: {ring}: its plant died\n"));
    // The other goes on, and so does the command.
    assert!(delay.is_running());
    plants.plants[0].signal(Signal::KILL);
    let (status, text, stderr) = delay.end();
    let other = format!("nanotape: {}: its plant died\n", plants.rings[0].path());
    assert_eq!((status, stderr), (Some(0), other), "{text}");
    let record = json(text.lines().last().unwrap());
    assert_eq!(record["kind"], "delay");
    plants.check(list(&record, "over_time"));
}

#[test]
fn a_request_to_stop_ends_a_live_command_with_its_record() {
    let plants = Plants::start("delay-stopped");
    let mut delay = plants.follow(&BY_EVENT);
    assert_eq!(delay.read_json()["kind"], "delay-span");
    delay.signal(Signal::INT);
    let (status, text, stderr) = delay.end();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    assert_eq!(json(text.lines().last().unwrap())["kind"], "delay");
}

#[test]
fn two_lines_of_an_exchange_are_compared_message_by_message() {
    let folder = Folder::new("delay-lines");
    let day = day(&folder);
    let [a, b] = addresses();
    let lines = ["--line-a", &a, "--line-b", &b];
    let silence = ["--silence", "30", "--format", "json"];
    let mut delay = Running::start(&[&["delay"], &lines[..], &silence].concat());
    let faults = ["--faults-a", "drop=2%,dup=1%", "--faults-b", "drop=2%,reorder=1%x4"];
    // The whole day within some seconds: no socket is full.
    let exchange = ["--pace", "10000x", "--wait", "2s", "--linger", "1s", "--format", "json"];
    let sent = nanotape(
        [&["exchange", &day], &lines[..], &faults, &exchange[..], &["--seed", "5"]].concat(),
    );
    assert_eq!(sent.status, 0, "{sent:?}");
    let sent = json(sent.stdout.lines().last().unwrap());
    let (status, text, stderr) = delay.end();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let lines = objects(&text);
    let (record, live) = lines.split_last().unwrap();
    assert!(!live.is_empty() && live.iter().all(|line| line["kind"] == "delay-span"));
    assert_eq!(
        (&record["method"], &record["clock"]),
        (&"match-sequence".into(), &"receive".into())
    );
    let messages = &record["messages"];
    let pairs = count(messages, "pairs");
    let won = ["earlier_on_first", "earlier_on_second", "at_once"];
    assert_eq!(won.map(|name| count(messages, name)).iter().sum::<u64>(), pairs);
    let of_line = |name: &str, line: usize| list(messages, name)[line].as_u64().unwrap();
    let session = list(&record["session"], "lines");
    for (line, name) in ["a", "b"].into_iter().enumerate() {
        let sent = |what: &str| count(&sent, &format!("{name}_{what}"));
        let alone = of_line("only_on", line);
        let (came, dropped_by_kernel) =
            (count(&session[line], "messages"), count(&session[line], "kernel_drops"));
        assert_eq!(came, pairs + alone + of_line("repeated", line), "{messages}");
        assert_eq!(list(record, "changes")[line], came);
        // A packet that was dropped had a message or some.
        let missing = 20_000 - pairs - alone;
        let (least, most) = (sent("dropped"), 3 * (sent("dropped") + dropped_by_kernel));
        assert!((least..=most.max(1)).contains(&missing), "{missing}, {least} to {most}");
        assert!(least > 200, "{least}");
        assert_eq!(sent("duplicated") == 0, of_line("repeated", line) == 0, "{messages}");
        assert_eq!(of_line("too_late", line), 0);
    }
    let quantiles = ["p0.1", "p1", "p50", "p99", "p99.9"];
    let quantiles = quantiles.map(|name| number(&record["quantiles_ns"], name));
    assert!(quantiles.is_sorted(), "{quantiles:?}");
    let spans = list(record, "over_time").iter().filter(|span| !span["delay_ns"].is_null());
    assert!(spans.count() > 0, "{record}");
}

#[test]
fn lines_without_messages_end_after_their_silence() {
    let [a, b] = addresses();
    let arguments = ["delay", "--line-a", &a, "--line-b", &b, "--silence", "0.2"];
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("nanotape: no window has an estimate"), "{}", ran.stderr);
}
