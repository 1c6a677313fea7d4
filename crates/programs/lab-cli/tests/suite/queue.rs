//! `nanotape lab queue` as a user runs it: against a naive queue in Python, on each kind of input,
//! and its outputs.

use std::{collections::BTreeSet, fs, process::Command};

use nanotape_harness::{Bounded as _, skipped};
use serde_json::{Value, json};

use crate::support::{Folder, capture::capture_of, nanotape, nanotape_fed, real_data};

/// The record of `nanotape lab queue` with these arguments.
fn queue(arguments: &[&str]) -> Value {
    let ran = nanotape([&["lab", "queue", "--format", "json"], arguments].concat());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}");
    let [record] = <[&str; 1]>::try_from(ran.stdout.lines().collect::<Vec<_>>()).unwrap();
    serde_json::from_str(record).unwrap()
}

/// Whether Python can simulate the queue again; if not, with a notice.
fn has_python() -> bool {
    let has_python = Command::new("python3").arg("--version").bounded_output().is_ok();
    if !has_python {
        skipped(format_args!("no python3, which simulates the queue again"));
    }
    has_python
}

/// What the naive queue in Python finds; `None` with a notice without Python.
fn in_python(day: &str, services: &[u64], limit_ns: u64) -> Option<Value> {
    if !has_python() {
        return None;
    }
    Some(of_script(&[day, &joined(services), &limit_ns.to_string()]))
}

/// The output of the script with these arguments.
fn of_script(arguments: &[&str]) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/queue.py");
    let ran = Command::new("python3").arg(script).args(arguments).bounded_output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    serde_json::from_slice(&ran.stdout).unwrap()
}

fn joined(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

#[test]
fn every_service_time_is_that_of_a_naive_queue_in_python() {
    let folder = Folder::new("queue-python");
    let real = real_data("open_20191230_first1000.itch50");
    for day in [Some(folder.day(30_000, 40)), real].into_iter().flatten() {
        let record = queue(&[&day]);
        let rows = record["services"].as_array().unwrap();
        assert_eq!(rows.len(), 60);
        let services: Vec<u64> =
            rows.iter().map(|row| row["service_ns"].as_u64().unwrap()).collect();
        let Some(naive) = in_python(&day, &services, 10_000) else { return };
        assert_eq!(record["messages"], naive["messages"]);
        for row in rows {
            let naive = &naive["services"][row["service_ns"].to_string()];
            for field in ["largest_delay_ns", "largest_queue", "catch_up_ns"] {
                assert_eq!(row[field], naive[field], "{field} of {row}");
            }
            for (name, exact) in naive["quantiles"].as_object().unwrap() {
                let exact = exact.as_u64().unwrap();
                let got = row["quantiles"][name].as_u64().unwrap();
                assert!((exact..=exact + exact / 128).contains(&got), "{name} of {row}: {exact}");
            }
        }
    }
}

#[test]
fn the_answer_is_the_longest_service_time_that_is_short_enough() {
    let folder = Folder::new("queue-answer");
    let day = folder.day(30_000, 40);
    let record = queue(&[&day, "--below", "p99=2us", "--below", "p100=10ms"]);
    let [first, second] =
        [0, 1].map(|index| record["answers"][index]["longest_good_ns"].as_u64().unwrap());
    for index in [0, 1] {
        let answer = &record["answers"][index];
        let good_ns = answer["longest_good_ns"].as_u64().unwrap();
        assert_eq!(answer["shortest_bad_ns"].as_u64(), Some(good_ns + 1), "{answer}");
    }
    let text = nanotape(["lab", "queue", &day, "--below", "p99=2us"]).stdout;
    let line = format!("p99 at or below 2.0 us needs at most {first} ns a message\n");
    assert!(text.contains(&line) && text.contains("catch-up"), "{text}");
    let record = queue(&[&day, "--below", "p99.99=10ms"]);
    assert_eq!(record["answers"][0]["quantile"].to_string(), "0.9999");
    // No service time of the table is between: standard input is read once.
    let bytes = fs::read(&day).unwrap();
    let ran = nanotape_fed(["lab", "queue", "-", "--below", "p99=2us", "--format", "json"], &bytes);
    let piped: Value = serde_json::from_str(&ran.stdout).unwrap();
    let bound = |name: &str| piped["answers"][0][name].as_u64().unwrap();
    assert!(bound("longest_good_ns") <= first && first < bound("shortest_bad_ns"), "{piped}");
    assert_eq!(piped["services"], record["services"]);

    for (answer, limit_ns, most) in [(first, 2_000, 300), (second, 10_000_000, 0)] {
        let services = [answer, answer + 1];
        let Some(naive) = in_python(&day, &services, limit_ns) else { return };
        let over = services.map(|ns| naive["services"][ns.to_string()]["over"].as_u64().unwrap());
        assert!(over[0] <= most && over[1] > most, "{over:?} of at most {most}");
    }
}

#[test]
fn a_ring_holds_the_day_up_to_a_service_time_and_a_speed() {
    let folder = Folder::new("queue-ring");
    let day = folder.day(30_000, 40);
    let record = queue(&[&day, "--ring", "50", "--at", "200ns"]);
    let answer = &record["answers"][1];
    let good_ns = answer["longest_good_ns"].as_u64().unwrap();
    assert_eq!(answer["speed"].as_f64(), Some(good_ns as f64 / 200.0));
    assert_eq!(answer["shortest_bad_ns"].as_u64(), Some(good_ns + 1));
    let text = nanotape(["lab", "queue", &day, "--ring", "50", "--at", "200ns"]).stdout;
    let speed = good_ns as f64 / 200.0;
    let lines = format!(
        "no drop in a ring of 50 needs at most {good_ns} ns a message\n\
         at 200 ns a message it holds {speed:.2} times this speed\n"
    );
    assert!(text.replace(',', "").contains(&lines), "{text}");
    let Some(naive) = in_python(&day, &[good_ns, good_ns + 1], 1) else { return };
    let queue = |ns: u64| naive["services"][ns.to_string()]["largest_queue"].as_u64().unwrap();
    assert!(queue(good_ns) <= 50 && queue(good_ns + 1) > 50, "{naive}");
}

#[test]
fn the_first_burst_that_drops_is_that_of_a_faster_day_in_python() {
    let folder = Folder::new("queue-capacity");
    let day = folder.day(20_000, 40);
    let arguments = [day.as_str(), "--ring", "30", "--at", "200ns"];
    let record = queue(&arguments);
    let capacity = &record["capacity"];
    let good_ns = record["answers"][1]["longest_good_ns"].as_u64().unwrap();
    assert_eq!(capacity["holds"].as_f64(), Some(good_ns as f64 / 200.0));
    assert_eq!(capacity["drops"].as_f64(), Some((good_ns + 1) as f64 / 200.0));
    let ran = nanotape([&["lab", "queue"], &arguments[..]].concat());
    let drops = (good_ns + 1) as f64 / 200.0;
    let line = format!("at {drops:.4} times the speed of this input you drop: first at ");
    assert!(ran.stdout.contains(&line), "{}", ran.stdout);
    let csv = nanotape([&["lab", "queue", "--format", "csv"], &arguments[..]].concat()).stdout;
    let row = csv.lines().find(|row| row.starts_with("200,")).unwrap();
    let ring_speed: f64 = row.rsplit(',').next().unwrap().parse().unwrap();
    assert_eq!(ring_speed, good_ns as f64 / 200.0);
    if !has_python() {
        return;
    }
    let speeds = capacity["speeds"].as_array().unwrap();
    let services: Vec<u64> =
        speeds.iter().map(|speed| speed["service_ns"].as_u64().unwrap()).collect();
    let naive = of_script(&[&day, "capacity", "30", "200", &joined(&services)]);
    for (speed, naive) in speeds.iter().zip(naive.as_array().unwrap()) {
        for field in ["service_ns", "dropped", "bursts"] {
            assert_eq!(speed[field], naive[field], "{speed} {naive}");
        }
        if speed["service_ns"].as_u64() == Some(good_ns + 1) {
            assert_eq!(capacity["first"], naive["first"]);
            assert!(!naive["first"].is_null());
        }
        let service_ns = speed["service_ns"].as_u64().unwrap();
        assert_eq!(naive["dropped"] == 0, service_ns <= good_ns, "{naive}");
    }
}

#[test]
fn a_capture_has_receive_times_and_the_times_of_its_day() {
    let folder = Folder::new("queue-capture");
    let day = folder.day(2_000, 10);
    let capture = capture_of(&fs::read(&day).unwrap(), 0..0);
    let capture = folder.write("20191230.pcapng", &capture);
    let (of_day, by_event) = (queue(&[&day]), queue(&[&capture, "--arrivals", "event"]));
    assert_eq!(by_event["arrivals"], "event");
    assert_eq!(by_event["services"], of_day["services"]);
    let received = queue(&[&capture, "--service", "1us,2us"]);
    assert_eq!((&received["arrivals"], &received["messages"]), (&"received".into(), &2_000.into()));
    // Packets of up to seven messages, 10 us apart, except where line B came 0.9 us later.
    assert_eq!(received["services"][0]["largest_queue"], 7);
    assert_eq!(received["services"][0]["largest_delay_ns"], 7_000);
    // The first packet left at 03:00 in New York, and is lost on line A.
    assert_eq!(received["first_ns"], 3 * 3_600_000_000_000_u64 + 900);

    let ran = nanotape(["lab", "queue", &day, "--arrivals", "received"]);
    let line = format!("nanotape: {day}: has no receive times; use --arrivals event\n");
    assert_eq!((ran.status, ran.stderr), (2, line));
}

#[test]
fn records_and_spans_are_read_too() {
    let folder = Folder::new("queue-records");
    let day = folder.day(20_000, 10);
    let dbn = folder.path("day.dbn");
    assert_eq!(nanotape(["convert", &day, "--date", "2019-12-30", "-o", &dbn]).status, 0);
    let (whole, records) = (queue(&[&day]), queue(&[&dbn]));
    assert!(records["last_ns"].as_u64() > Some(57_600_000_000_000), "{records}");
    let count = |record: &Value| record["messages"].as_u64().unwrap();
    assert!((1..=count(&whole)).contains(&count(&records)), "{records}");

    // The receive times of converted records are the exchange's.
    let received = queue(&[&dbn, "--arrivals", "received"]);
    let of_clock = (&records["arrivals"], &received["arrivals"]);
    assert_eq!(of_clock, (&"event".into(), &"received".into()));
    assert_eq!(received["services"], records["services"]);

    let span = queue(&[&day, "--from", "10:00", "--until", "11:00", "--window", "30m"]);
    let windows = span["windows"].as_array().unwrap();
    let starts: Vec<u64> = windows.iter().map(|one| one["start_ns"].as_u64().unwrap()).collect();
    assert_eq!(starts, [36_000_000_000_000, 37_800_000_000_000]);
    let messages: u64 = windows.iter().map(|one| one["messages"].as_u64().unwrap()).sum();
    assert_eq!(Some(messages), span["messages"].as_u64());
    let ran = nanotape(["lab", "queue", &day, "--from", "23:59", "--until", "23:59:01"]);
    let line = format!("nanotape: {day}: no message with a time in the span\n");
    assert_eq!((ran.status, ran.stderr), (1, line));
}

#[test]
fn one_core_with_one_time_is_the_row_of_the_table() {
    let folder = Folder::new("queue-receiver");
    let day = folder.day(20_000, 10);
    let record = queue(&[&day, "--at", "700ns", "--cost", "other=700ns"]);
    let rows = record["services"].as_array().unwrap();
    let row = rows.iter().find(|row| row["service_ns"] == 700).unwrap();
    let core = &record["receiver"]["cores"][0];
    assert_eq!(core["largest_delay_ns"], row["largest_delay_ns"]);
    assert_eq!(core["largest_queue"], row["largest_queue"]);
    assert_eq!(record["receiver"]["quantiles"], row["quantiles"]);
    let text = nanotape(["lab", "queue", &day, "--at", "700ns", "--cores", "1"]).stdout;
    assert!(text.contains("receiver: 20,000 processed, 0 dropped\n"), "{text}");
}

#[test]
fn types_have_times_stocks_have_cores_and_a_full_ring_drops() {
    let folder = Folder::new("queue-types");
    let day = folder.day(20_000, 10);
    let bytes = fs::read(&day).unwrap();
    let (mut by_core, mut busy_ns, mut at) = ([0_u64; 3], [0_u64; 3], 0);
    while let Some(length) = bytes.get(at..at + 2) {
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        let Some(message) = bytes.get(at + 2..at + 2 + length).filter(|_| length > 0) else {
            break;
        };
        let core = usize::from(u16::from_be_bytes([message[1], message[2]])) % 3;
        by_core[core] += 1;
        busy_ns[core] += match message[0] {
            b'A' => 300,
            b'D' => 150,
            _ => 50,
        };
        at += 2 + length;
    }
    let cost = "A=300ns,other=50ns,D=150ns";
    let record = queue(&[&day, "--cores", "3", "--cost", cost]);
    for core in 0..3 {
        let found = &record["receiver"]["cores"][core];
        assert_eq!(found["messages"], by_core[core], "{found}");
        assert_eq!(found["busy_ns"], busy_ns[core], "{found}");
    }
    let record = queue(&[&day, "--cost", "other=5us", "--ring", "3"]);
    let (receiver, core) = (&record["receiver"], &record["receiver"]["cores"][0]);
    assert_eq!(core["largest_queue"], 3);
    let [processed, dropped] = ["messages", "dropped"].map(|name| receiver[name].as_u64().unwrap());
    assert!(dropped > 0 && processed + dropped == 20_000, "{receiver}");

    let dbn = folder.path("day.dbn");
    assert_eq!(nanotape(["convert", &day, "--date", "2019-12-30", "-o", &dbn]).status, 0);
    let ran = nanotape(["lab", "queue", &dbn, "--cost", "A=1us"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("has records without message types"), "{}", ran.stderr);
    let ran = nanotape_fed(["lab", "queue", "-", "--cores", "2"], &bytes);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("standard input is read only once"), "{}", ran.stderr);
}

#[test]
fn batches_on_cores_with_rings_are_those_of_a_naive_receiver_in_python() {
    let folder = Folder::new("queue-batches");
    let day = folder.day(20_000, 10);
    let cost = "A=300ns,D=150ns,other=60ns";
    for (cores, ring, batch, batch_ns) in
        [(1, 1 << 20, 16, 200), (3, 4, 3, 700), (2, 20, 1, 50_000), (2, 8, 100, 90_000)]
    {
        let options = [
            format!("--cores={cores}"),
            format!("--ring={ring}"),
            format!("--batch={batch}"),
            format!("--batch-cost={batch_ns}ns"),
            format!("--cost={cost}"),
        ];
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let record = queue(&[&[day.as_str()], &options[..]].concat());
        let receiver = &record["receiver"];
        assert_eq!((&receiver["batch"], &receiver["batch_ns"]), (&batch.into(), &batch_ns.into()));
        if !has_python() {
            return;
        }
        let wanted = json!({
            "costs": { "A": 300, "D": 150, "other": 60 },
            "cores": cores,
            "ring": ring,
            "batch": batch,
            "batch_ns": batch_ns,
        });
        let naive = of_script(&[&day, "receiver", &wanted.to_string()]);
        let found = receiver["cores"].as_array().unwrap();
        assert_eq!(found.len(), cores);
        for (core, naive) in found.iter().zip(naive["cores"].as_array().unwrap()) {
            for field in
                ["messages", "batches", "dropped", "largest_delay_ns", "largest_queue", "busy_ns"]
            {
                assert_eq!(core[field], naive[field], "{field} of {core}: {naive}");
            }
        }
    }
}

#[test]
fn messages_draw_from_the_quantiles_of_a_file_as_in_python() {
    let folder = Folder::new("queue-cost-file");
    let day = folder.day(20_000, 10);
    let rows = b"type,quantile,ns\nA,0.5,200\nA,1,2000\nA,0.9,480\nother,1,90\n";
    let file = folder.write("costs.csv", rows);
    let record = queue(&[&day, "--cores", "2", "--cost", &format!("{file},D=150ns")]);
    let cases = [
        ("type,ns\n", "line 1: expected the header type,quantile,ns"),
        ("type,quantile,ns\nA,0.5\n", "line 2: expected type,quantile,ns, such as A,0.99,480"),
        ("type,quantile,ns\nA,0.5,90\n", "type A"),
    ];
    for (text, message) in cases {
        let bad = folder.write("bad.csv", text.as_bytes());
        let ran = nanotape(["lab", "queue", &day, "--cost", &bad]);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(message) && ran.stderr.contains(&bad), "{}", ran.stderr);
    }
    if !has_python() {
        return;
    }
    let costs = json!({ "A": [[0.5, 200], [0.9, 480], [1, 2_000]], "D": 150, "other": 90 });
    let wanted = json!({ "costs": costs, "cores": 2, "ring": 1 << 20, "batch": 1, "batch_ns": 0 });
    let naive = of_script(&[&day, "receiver", &wanted.to_string()]);
    for (core, naive) in record["receiver"]["cores"]
        .as_array()
        .unwrap()
        .iter()
        .zip(naive["cores"].as_array().unwrap())
    {
        for field in ["messages", "largest_delay_ns", "largest_queue", "busy_ns"] {
            assert_eq!(core[field], naive[field], "{field} of {core}: {naive}");
        }
    }
}

#[test]
fn links_pile_up_as_in_python() {
    let folder = Folder::new("queue-links");
    let day = folder.day(20_000, 10);
    let options = ["--cores=3", "--batch=4", "--batch-cost=700ns", "--cost=other=300ns"];
    let links = ["--link=disk=3MB/s,2us", "--link=net=1Gbit/s,ring=3", "--link=fast=30Gbit/s"];
    let record = queue(&[&[day.as_str()], &options[..], &links[..]].concat());
    let receiver = &record["receiver"];
    assert_eq!(receiver["bottleneck"], "disk");
    for (link, message) in [
        ("disk", "expected a name, and a rate, a time or both"),
        ("disk=", "expected a name, and a rate, a time or both"),
        ("disk=200XB/s", "expected a name, and a rate, a time or both"),
        ("disk=0B/s", "expected a name, and a rate, a time or both"),
        ("receiver=1us", "a link has a name of 1 to 30 letters"),
    ] {
        let ran = nanotape(["lab", "queue", &day, "--link", link]);
        assert_eq!(ran.status, 2, "{link}");
        assert!(ran.stderr.contains(message), "{link}: {}", ran.stderr);
    }
    let ran =
        nanotape(["lab", "queue", &day, "--link=disk=1us", "--link=net=1us", "--link=disk=2us"]);
    let line = "nanotape: --link disk is given twice; give each link a name of its own\n";
    assert_eq!((ran.status, ran.stderr.as_str()), (2, line));
    if !has_python() {
        return;
    }
    let wanted = json!({
        "costs": { "other": 300 }, "cores": 3, "ring": 1 << 20, "batch": 4, "batch_ns": 700,
        "links": [[24_000_000, 2_000, 1 << 22], [1_000_000_000, 0, 3], [30_000_000_000_u64, 0, 99_999]],
    });
    let naive = of_script(&[&day, "receiver", &wanted.to_string()]);
    for (link, naive) in
        receiver["links"].as_array().unwrap().iter().zip(naive["links"].as_array().unwrap())
    {
        for (field, value) in naive.as_object().unwrap() {
            assert_eq!(&link[field], value, "{field} of {link}");
        }
    }
}

#[test]
fn the_worst_bursts_are_day_files_with_the_largest_delays() {
    let folder = Folder::new("queue-bursts");
    let day = folder.day(20_000, 10);
    let bursts = folder.path("bursts");
    let whole = queue(&[&day, "--at", "900ns", "--ring", "40", "--bursts", &bursts]);
    let delay = |record: &Value| {
        let rows = record["services"].as_array().unwrap();
        let row = rows.iter().find(|row| row["service_ns"] == 900).unwrap();
        row["largest_delay_ns"].as_u64().unwrap()
    };
    let of_burst =
        |number: u32| queue(&[&format!("{bursts}/burst-{number:03}.itch50"), "--service", "900ns"]);
    let delays: Vec<u64> = (1..=100).map(|number| delay(&of_burst(number))).collect();
    assert_eq!(delays[0], delay(&whole));
    for number in [1, 7, 100] {
        // The burst alone, a nanosecond below and at the speed of the record.
        let burst = &whole["bursts"][number - 1];
        assert_eq!(burst["largest_delay_ns"].as_u64(), Some(delays[number - 1]));
        let file = format!("{bursts}/burst-{number:03}.itch50");
        let Some(speed) = burst["ring_speed"].as_f64() else {
            assert!(burst["messages"].as_u64() <= Some(40), "{burst}");
            continue;
        };
        let bad_ns = (speed * 900.0).round() as u64;
        let alone = queue(&[&file, "--service", &format!("{}ns,{bad_ns}ns", bad_ns - 1)]);
        let queue = |row: usize| alone["services"][row]["largest_queue"].as_u64().unwrap();
        assert!(queue(0) <= 40 && queue(1) > 40, "{burst} {alone}");
    }
    let others = folder.path("others");
    let text = nanotape(["lab", "queue", &day, "--at=900ns", "--ring=40", "--bursts", &others]);
    assert!(
        text.stdout.contains("\nburst-010 ") && text.stdout.contains("40 drop at"),
        "{}",
        text.stdout
    );
    assert!(delays.is_sorted_by(|one, two| one >= two), "{delays:?}");
    assert_eq!(fs::read_dir(&bursts).unwrap().count(), 100);

    let again = nanotape(["lab", "queue", &day, "--at", "900ns", "--bursts", &bursts]);
    assert_eq!(again.status, 2);
    assert!(again.stderr.contains("use --force to write into it"), "{}", again.stderr);
    let dbn = folder.path("day.dbn");
    assert_eq!(nanotape(["convert", &day, "--date", "2019-12-30", "-o", &dbn]).status, 0);
    let none = folder.path("none");
    let ran = nanotape(["lab", "queue", &dbn, "--bursts", &none]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("--bursts needs a day file or a capture"), "{}", ran.stderr);
    assert!(!std::path::Path::new(&none).exists());
}

#[test]
fn records_have_the_documented_fields_and_no_others() {
    let format = include_str!("../../../../../docs/formats/lab-queue.md");
    let documented = |title: &str| -> BTreeSet<String> {
        let section = format.split_once(title).unwrap().1.split("\n## ").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let names = rows.flat_map(|row| {
            let cell = row.trim_start_matches('|').split('|').next().unwrap();
            cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
        });
        names.collect()
    };
    let fields = |object: &Value| -> BTreeSet<String> {
        object.as_object().unwrap().keys().cloned().collect()
    };
    let folder = Folder::new("queue-fields");
    let day = folder.day(3_000, 10);
    let record = queue(&[&day, "--at", "500ns"]);
    assert_eq!(fields(&record), documented("## `kind: queue`"));
    assert_eq!(fields(&record["answers"][0]), documented("## An answer"));
    assert_eq!(fields(&record["services"][0]), documented("## A service time"));
    assert_eq!(fields(&record["windows"][0]), documented("## A window"));
    assert!(["receiver", "capacity", "validation"].iter().all(|name| record[name].is_null()));
    let record = queue(&[&day, "--at", "500ns", "--cores", "2", "--ring", "9", "--link=d=1us"]);
    assert_eq!(fields(&record["receiver"]["links"][0]), documented("## A link"));
    assert_eq!(fields(&record["capacity"]), documented("## A capacity"));
    assert_eq!(fields(&record["capacity"]["speeds"][0]), documented("## A speed"));
    assert_eq!(fields(&record["receiver"]), documented("## A receiver"));
    assert_eq!(fields(&record["receiver"]["cores"][1]), documented("## A core"));
    let bursts = folder.path("bursts");
    let record = queue(&[&day, "--at", "500ns", "--bursts", &bursts]);
    assert_eq!(fields(&record["bursts"][0]), documented("## A burst"));
    let replayed = queue(&[&day, "--validate=busiest", "--rounds", "1"]);
    let (validation, part) = (&replayed["validation"], &replayed["validation"]["parts"][0]);
    assert_eq!(fields(validation), documented("## A validation"));
    assert_eq!(fields(part), documented("## A part"));
    assert_eq!(fields(&part["all"]), documented("## A comparison"));
    assert_eq!(fields(&part["all"]["measured"]), documented("## Delays of messages"));
    assert_eq!(
        (&record["windows_at_ns"], record["services"].as_array().unwrap().len()),
        (&500.into(), 60)
    );
}

#[test]
fn a_table_is_written_as_rows_and_as_a_page_and_never_over_a_file() {
    let folder = Folder::new("queue-outputs");
    let day = folder.day(3_000, 10);
    let (csv, page) = (folder.path("queue.csv"), folder.path("queue.html"));
    for output in [&csv, &page] {
        let ran = nanotape(["lab", "queue", &day, "-o", output]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        let again = nanotape(["lab", "queue", &day, "-o", output]);
        assert_eq!(again.status, 2);
        assert!(again.stderr.contains("use --force to overwrite it"), "{}", again.stderr);
    }
    let rows = fs::read_to_string(csv).unwrap();
    let mut lines = rows.lines();
    assert_eq!(
        lines.next(),
        Some(
            "service_ns,p50_ns,p99_ns,p99.9_ns,p99.99_ns,p99.999_ns,largest_delay_ns,\
             largest_queue,growth,worst_window_ns,catch_up_ns,utilisation,overloaded_windows,\
             ring_speed"
        )
    );
    assert_eq!(lines.clone().count(), 60);
    assert!(lines.next().unwrap().starts_with("100,"), "{rows}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<title>Queues</title>") && page.contains("\"kind\":\"queue\""));
}

#[test]
fn a_damaged_day_is_simulated_and_refused_by_strict() {
    let folder = Folder::new("queue-damaged");
    let day = folder.day(3_000, 10);
    let mut bytes = fs::read(&day).unwrap();
    bytes.truncate(bytes.len() - 5);
    let cut = folder.write("cut.itch50", &bytes);
    let ran = nanotape(["lab", "queue", &cut, "--service", "1us"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stdout.contains("2,999 messages"), "{}", ran.stdout);
    let refused = nanotape(["lab", "queue", &cut, "--strict"]);
    assert_eq!((refused.status, refused.stdout.as_str()), (1, ""));
    assert!(refused.stderr.contains("refused by --strict"), "{}", refused.stderr);
}

#[test]
fn wrong_usage_is_refused_in_one_line() {
    let folder = Folder::new("queue-usage");
    let day = folder.day(100, 5);
    let many = ["250ns"; 3].join(",") + &(1..=60).map(|ns| format!(",{ns}ns")).collect::<String>();
    let cases: [(&[&str], &str); 13] = [
        (&["--batch-cost", "1us"], "--batch <N>"),
        (&["--batch", "2M"], "a batch of 2000000 messages: use 1 to 1048576"),
        (&["--cost", "AB=1us"], "expected a message type and its time"),
        (&["--cores", "257"], "257 is not in 1..=256"),
        (&["--cores", "2", "--format", "csv"], "CSV has no receiver"),
        (&["--cores", "2", "--ring", "2M"], "a ring of 2000000 messages: use 1 to 1048576"),
        (&["--service", "0ns"], "expected a time from 1ns to 10ms, such as 412ns"),
        (&["--at", "11ms"], "expected a time from 1ns to 10ms, such as 412ns"),
        (&["--below", "p0=1us"], "expected a quantile and a limit, such as p99.99=10us"),
        (&["--below", "99=1us"], "expected a quantile and a limit, such as p99.99=10us"),
        (&["--window", "0s"], "expected a time with its unit, such as 10s"),
        (&["--service", &many], "61 service times: use 1 to 60"),
        (
            &[
                "--below", "p1=1us", "--below", "p2=1us", "--below", "p3=1us", "--below", "p4=1us",
                "--below", "p5=1us",
            ],
            "--below is given 5 times; use at most 4",
        ),
    ];
    for (arguments, message) in cases {
        let ran = nanotape([&["lab", "queue", &day], arguments].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
    }
    let missing = folder.path("no.itch50");
    let ran = nanotape(["lab", "queue", &missing]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains(&missing) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
}
