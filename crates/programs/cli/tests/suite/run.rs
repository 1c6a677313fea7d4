//! `nanotape run` as a user runs it: real processes, real rings, output, exit statuses.

use std::fs;

use nanotape_harness::Bounded as _;
use nanotape_plant::{
    config::EXAMPLE,
    records::{GapKind, Notice, Predecessor, Record, RecordKind, RecordKinds, StopReason},
};
use nanotape_types::NanosSinceMidnight;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{
    Folder, Ran, nanotape, nanotape_fed,
    plants::{DATE, Ring},
    running::{Running, objects},
};

/// Runs a plant at full speed to its end.
fn run(day: &str, ring: &Ring, options: &[&str]) -> Ran {
    run_fed(day, ring, options, b"")
}

fn run_fed(day: &str, ring: &Ring, options: &[&str], input: &[u8]) -> Ran {
    let mut arguments = vec!["run", "--input", day, "--date", DATE, "--ring", ring.path()];
    arguments.extend(["--capacity", "32MiB"]);
    arguments.extend(options);
    nanotape_fed(arguments, input)
}

/// Runs a plant without messages on standard error; returns its JSON at the start and at the end.
fn ran(day: &str, ring: &Ring, options: &[&str]) -> [Value; 2] {
    let ran = run(day, ring, &[options, &["--format", "json"]].concat());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    objects(&ran.stdout).try_into().unwrap()
}

/// Records on the ring, by kind, and notices.
fn count(ring: &Ring) -> ([u64; RecordKind::ALL.len()], u64) {
    let (mut kinds, mut notices) = ([0; RecordKind::ALL.len()], 0);
    ring.read(|record| {
        let kind = match record {
            Record::Mbo(_) => RecordKind::Mbo,
            Record::Bbo(_) => RecordKind::Bbo,
            Record::Trade(_) => RecordKind::Trades,
            Record::Status(_) => RecordKind::Status,
            Record::Definition(_) => RecordKind::Definitions,
            Record::Imbalance(_) => RecordKind::Imbalances,
            _ => {
                notices += 1;
                return;
            }
        };
        kinds[kind as usize] += 1;
    });
    (kinds, notices)
}

#[test]
fn a_day_is_on_the_ring_as_the_last_line_says() {
    let folder = Folder::new("run-day");
    let (day, ring) = (folder.day(40_000, 30), Ring::new("day"));
    let [start, stop] = ran(&day, &ring, &["--records", "all"]);
    assert_eq!((&start["event"], &start["origin"]), (&"start".into(), &"created".into()));
    assert_eq!((&start["path"], &start["first_sequence"]), (&ring.path().into(), &1.into()));
    assert_eq!((&start["trade_date"], &start["pace"]), (&DATE.into(), &"max".into()));
    assert_eq!(start["kinds"], RecordKinds::ALL.to_string());
    assert_eq!((&stop["event"], &stop["reason"]), (&"stop".into(), &"end of input".into()));
    assert_eq!((&stop["messages"], &stop["damaged"]), (&40_000.into(), &0.into()));
    let (kinds, notices) = count(&ring);
    for kind in RecordKind::ALL {
        assert_eq!(stop[format!("{kind}_records")], kinds[kind as usize], "{kind}");
    }
    assert!(
        kinds[RecordKind::Mbo as usize] > 40_000 && kinds[RecordKind::Definitions as usize] == 30
    );
    assert_eq!((notices, &stop["records"]), (2, &(kinds.iter().sum::<u64>() + 2).into()));
    assert_eq!(ring.stop().reason, StopReason::EndOfInput);

    // The same as text, and as a table with one row.
    let text = run(&day, &ring, &["--replace"]).stdout;
    let [begun, ended] = text.lines().collect::<Vec<_>>().try_into().unwrap();
    let expected = "first message 1; trade date 2019-12-30, pace max, records mbo,bbo,";
    assert!(begun.starts_with(ring.path()) && begun.contains(expected), "{begun}");
    assert!(ended.starts_with("end of input after "), "{ended}");
    assert!(ended.contains(": 40000 messages ("), "{ended}");
    assert!(ended.contains("30 definitions)") && !ended.contains("imbalances"), "{ended}");
    let table = run(&day, &ring, &["--replace", "--format", "csv"]).stdout;
    let [names, row] = table.lines().collect::<Vec<_>>().try_into().unwrap();
    assert!(names.starts_with("path,origin,") && row.contains(",end of input,40000,"), "{table}");
}

#[test]
fn what_comes_from_standard_input_is_the_same() {
    let folder = Folder::new("run-stdin");
    let day = folder.day(20_000, 20);
    let (of_file, of_input) = (Ring::new("file"), Ring::new("input"));
    ran(&day, &of_file, &[]);
    let ran = run_fed("-", &of_input, &[], &fs::read(&day).unwrap());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(count(&of_input), count(&of_file));
    assert_eq!(of_input.stop().messages, 20_000);
}

#[test]
fn a_signal_ends_a_plant_in_good_order() {
    let folder = Folder::new("run-signal");
    let day = folder.day(20_000, 20);
    for signal in [Signal::TERM, Signal::INT] {
        let ring = Ring::new("signal");
        let (mut plant, start) = Running::plant(&day, &ring, &[]);
        assert_eq!(start["pace"], "1x");
        plant.signal(signal);
        let (status, said, complained) = plant.end();
        // A signal may come before the plant waits for the second message of the day.
        let expected = "nanotape: waiting until 03:05:00 (exchange time), in ";
        assert_eq!(status, Some(0), "{complained}");
        assert!(complained.lines().all(|line| line.starts_with(expected)), "{complained}");
        let stop = &objects(&said)[0];
        assert_eq!(stop["reason"], "asked to");
        let on_ring = ring.stop();
        assert_eq!(on_ring.reason, StopReason::Requested);
        assert_eq!(stop["messages"], on_ring.messages);
        assert!(on_ring.messages < 20_000);
        let seen = nanotape(["ring", "stat", ring.path(), "--interval", "0", "--format", "json"]);
        assert!(seen.stdout.contains("\"writer_state\":\"closed\""), "{}", seen.stdout);
    }
}

#[test]
fn a_plant_that_was_killed_is_followed_by_one_that_says_so() {
    let folder = Folder::new("run-killed");
    let (day, ring) = (folder.day(20_000, 20), Ring::new("killed"));
    let (mut plant, _) =
        Running::plant(&day, &ring, &["--pace-from", "10:00", "--capacity", "32MiB"]);
    let pid = plant.process.id();
    plant.signal(Signal::KILL);
    assert_eq!(plant.end().0, None, "a signal ended it");
    let next = ring.next_sequence();
    let [start, _] = ran(&day, &ring, &[]);
    assert_eq!((&start["origin"], &start["first_sequence"]), (&"taken over".into(), &next.into()));
    assert_eq!(start["previous_writer_state"], "dead");
    assert_eq!(start["previous_writer_pid"], pid);
    let notices = ring.notices();
    let predecessors = notices.iter().filter_map(|notice| match notice {
        Notice::Start(start) => Some(start.predecessor),
        _ => None,
    });
    assert_eq!(predecessors.collect::<Vec<_>>(), [Predecessor::None, Predecessor::Died]);
    assert_eq!(ring.stop().messages, 20_000);
    // The next plant follows one that ended normally.
    let [start, _] = ran(&day, &ring, &[]);
    assert_eq!(start["previous_writer_state"], "closed");
}

#[test]
fn a_ring_whose_plant_lives_is_not_taken() {
    let folder = Folder::new("run-alive");
    let (day, ring) = (folder.day(2_000, 5), Ring::new("alive"));
    let (plant, _) = Running::plant(&day, &ring, &[]);
    for options in [&[][..], &["--replace"]] {
        let refused = run(&day, &ring, options);
        assert_eq!((refused.status, refused.stderr.lines().count()), (2, 1), "{}", refused.stderr);
        let expected = format!("its owner is alive: process {}", plant.process.id());
        assert!(refused.stderr.contains(&expected), "{}", refused.stderr);
    }
}

#[test]
fn a_day_that_is_left_early_says_why() {
    let folder = Folder::new("run-until");
    let (day, ring) = (folder.day(20_000, 20), Ring::new("until"));
    let [_, stop] = ran(&day, &ring, &["--until", "10:00"]);
    assert_eq!(stop["reason"], "time reached");
    let on_ring = ring.stop();
    assert_eq!(on_ring.reason, StopReason::Until);
    let midnight = ring.notices().iter().find_map(|notice| match notice {
        Notice::Start(start) => Some(start.midnight_ns),
        _ => None,
    });
    let last = NanosSinceMidnight::new(on_ring.ts_event - midnight.unwrap()).unwrap();
    assert!(last < NanosSinceMidnight::from_hms(10, 0, 0), "{last}");
    assert!(last > NanosSinceMidnight::from_hms(9, 30, 0), "{last}");
    // Exactly the messages before that time were read.
    let listed = nanotape(["inspect", &day, "--format", "json"]).stdout;
    let early = objects(&listed).iter().filter(|row| is_before_ten(row)).count();
    assert_eq!(on_ring.messages, early as u64);
}

fn is_before_ten(row: &Value) -> bool {
    row["timestamp"].as_u64().unwrap() < NanosSinceMidnight::from_hms(10, 0, 0).get()
}

#[test]
fn only_the_chosen_symbols_are_published() {
    let folder = Folder::new("run-symbols");
    let (day, ring) = (folder.day(20_000, 20), Ring::new("symbols"));
    let (mut symbols, mut locates) = (Vec::new(), Vec::new());
    ran(&day, &ring, &[]);
    ring.read(|record| {
        if let Record::Definition(definition) = record {
            symbols.push(definition.raw_symbol().unwrap().to_owned());
            locates.push(definition.hd.instrument_id);
        }
    });
    let wanted = format!("{},{}", symbols[3], symbols[7]);
    ran(&day, &ring, &["--symbols", &wanted, "--records", "mbo", "--replace"]);
    let mut seen = Vec::new();
    ring.read(|record| {
        if let Record::Mbo(mbo) = record {
            seen.push(mbo.hd.instrument_id);
        }
    });
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [locates[3], locates[7]]);

    let missing = run(&day, &ring, &["--symbols", &format!("{wanted},NOSUCH,NORTHIS")]);
    assert_eq!(missing.status, 1);
    let expected = format!("nanotape: {day}: symbols not found: NOSUCH, NORTHIS\n");
    assert_eq!(missing.stderr, expected);
    assert!(missing.stdout.contains("end of input after "), "{}", missing.stdout);
    // A number and `status` alone would read as an exit status.
    assert!(missing.stdout.contains(" status record"), "{}", missing.stdout);
}

#[test]
fn a_damaged_day_is_reported_on_the_ring_and_by_the_status() {
    let folder = Folder::new("run-damaged");
    let (day, ring) = (folder.day(20_000, 20), Ring::new("damaged"));
    let good = fs::read(&day).unwrap();
    let listed = nanotape(["inspect", &day, "--format", "json"]).stdout;
    let rows = objects(&listed);
    let offset = |number: usize| rows[number - 1]["offset"].as_u64().unwrap() as usize;

    let mut bytes = good.clone();
    bytes[offset(15_000)] ^= 0x01;
    bytes[offset(16_000) + 2] = 0xFF;
    let broken = folder.write("broken.itch50", &bytes);
    let ran = run(&broken, &ring, &["--format", "json"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.starts_with(&format!("nanotape: {broken}: offset ")), "{}", ran.stderr);
    let stop = &objects(&ran.stdout)[1];
    let gaps = gaps(&ring);
    assert_eq!(stop["damaged"], gaps.len());
    assert!(gaps.contains(&(GapKind::Length, offset(15_000) as u64)), "{gaps:?}");
    assert_eq!(gaps.len(), ran.stderr.lines().filter(|line| line.contains("offset")).count());

    let cut = folder.write("cut.itch50", &good[..offset(15_001) + 5]);
    let ran = run(&cut, &ring, &["--replace"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("cut off in the record at offset"), "{}", ran.stderr);
    assert!(ran.stdout.contains("input cut off after "), "{}", ran.stdout);
    assert!(ran.stdout.contains(": 15000 messages"), "{}", ran.stdout);
    assert_eq!(self::gaps(&ring), [(GapKind::Cut, offset(15_001) as u64)]);
    assert_eq!(ring.stop().reason, StopReason::Cut);

    let packed = folder.path("day.gz");
    nanotape(["synth", "-o", &packed, "--messages", "50000", "--symbols", "20"]);
    let bytes = fs::read(&packed).unwrap();
    let cut = folder.write("cut.gz", &bytes[..bytes.len() / 2]);
    let ran = run(&cut, &ring, &["--replace"]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (1, 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("the gzip stream is cut off"), "{}", ran.stderr);
    assert_eq!(ring.stop().reason, StopReason::Fault);
}

fn gaps(ring: &Ring) -> Vec<(GapKind, u64)> {
    let notices = ring.notices();
    let gaps = notices.iter().filter_map(|notice| match notice {
        Notice::Gap(gap) => Some((gap.kind, gap.offset)),
        _ => None,
    });
    gaps.collect()
}

#[test]
fn options_have_the_last_word_over_the_configuration() {
    let folder = Folder::new("run-config");
    let (day, ring) = (folder.day(5_000, 10), Ring::new("config"));
    let text = format!(
        "[input]\nfile = {day:?}\ndate = {DATE:?}\npace = \"1x\"\nuntil = \"09:45\"\n\
         [ring]\nname = {:?}\ncapacity_bytes = \"16MiB\"\nmode = \"0640\"\n\
         [publish]\nrecords = [\"mbo\", \"trades\"]\n",
        ring.path()
    );
    let path = folder.write("plant.toml", text.as_bytes());
    let arguments = ["run", "--config", &path, "--pace", "max", "--format", "json"];
    let ran = nanotape(arguments);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let [start, stop] = objects(&ran.stdout).try_into().unwrap();
    assert_eq!((&start["pace"], &start["kinds"]), (&"max".into(), &"mbo,trades".into()));
    assert_eq!(stop["reason"], "time reached");
    let options = ["--records", "bbo", "--until", "23:00", "--date", "2020-01-02"];
    let [start, stop] =
        objects(&nanotape(arguments.iter().chain(&options)).stdout).try_into().unwrap();
    assert_eq!((&start["kinds"], &start["trade_date"]), (&"bbo".into(), &"2020-01-02".into()));
    assert_eq!((&stop["reason"], &stop["messages"]), (&"end of input".into(), &5_000.into()));
    let seen = nanotape(["ring", "stat", ring.path(), "--interval", "0", "--format", "json"]);
    assert!(seen.stdout.contains("\"mode\":\"0640\""), "{}", seen.stdout);
    assert!(seen.stdout.contains("\"capacity_bytes\":16777216,"), "{}", seen.stdout);

    let example = nanotape(["run", "--example-config"]);
    assert_eq!((example.status, example.stdout.as_str()), (0, EXAMPLE));
    let path = folder.write("example.toml", example.stdout.as_bytes());
    let ran = run(&day, &ring, &["--config", &path, "--replace"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
}

#[test]
fn wrong_usage_is_one_line_and_status_2() {
    let folder = Folder::new("run-usage");
    let (day, ring) = (folder.day(100, 2), Ring::new("usage"));
    let ring = ring.path();
    let wrong = folder.write("wrong.toml", b"# A plant.\n[input]\nfil = \"x\"\n");
    let text = format!("{wrong}, line 3: unknown field `fil`");
    let absent = folder.path("absent.toml");
    let unread =
        format!("nanotape: cannot read {absent}: No such file or directory (os error 2)\n");
    let full = ["run", "--input", &day, "--ring", ring, "--date", DATE];
    let with = |options: &[&'static str]| [&full[..], options].concat();
    for (arguments, expected) in [
        (
            vec!["run"],
            "no input given: use --input FILE (- for standard input), --live, --feed \
             or --config FILE",
        ),
        (vec!["run", "--input", &day], "no ring given: use --ring NAME"),
        (
            vec!["run", "--input", &day, "--ring", ring],
            "no trade date in the file name, and no message has one",
        ),
        (vec!["run", "--input", "no/such", "--ring", ring], "cannot open no/such"),
        (vec!["run", "--config", &wrong], text.as_str()),
        (vec!["run", "--config", &absent], unread.as_str()),
        (vec!["run", "--input", &day, "--date", DATE, "--ring", "a b"], "a b"),
        (with(&["--capacity", "100MB"]), "1099511627776, such as 64MiB or 128MiB"),
        (with(&["--pace-from", "09:30"]), "--pace-from has no effect at full speed"),
    ] {
        let ran = nanotape(&arguments);
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
        assert!(ran.stderr.starts_with("nanotape: "), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
    for options in [
        &["--date", "30.12.2019"][..],
        &["--pace", "fast"],
        &["--records", "quotes"],
        &["--until", "noon"],
        &["--mode", "0444"],
        &["--example-config"],
    ] {
        let ran = nanotape(with(options));
        assert_eq!(ran.status, 2, "{options:?}: {}", ran.stderr);
    }
    let port = "expected an address and a port, as in 239.1.1.1:5001 or [ff15::1]:5001";
    let no_port = format!("{port}, not 239.1.1.1 without a port");
    let ip = "expected an IP address, as in 10.0.0.5 or 2001:db8::5, not \"eth0\"";
    for (option, value, expected) in [
        ("--line-a", "239.1.1.1", &no_port[..]),
        ("--line-b", "239.1.1.1", &no_port),
        ("--line-a", "239.1.1.1:0", port),
        ("--line-a", "ff15::1:5001", port),
        (
            "--rerequest",
            "239.1.1.1",
            "a host name, and a port, as in 10.0.0.9:17777, not 239.1.1.1",
        ),
        ("--glimpse", "10.0.0.9:0", "expected an IP address or a host name, and a port"),
        ("--interface", "10.0.0", "as in 10.0.0.5 or eth0"),
        ("--source-a", "eth0", ip),
    ] {
        let ran = nanotape(["run", "--live", "--ring", ring, option, value]);
        let found = ran.stderr.lines().next().unwrap();
        assert!(ran.status == 2 && found.contains(expected), "{option} {value}: {found}");
    }
    let help = nanotape(["run", "--help"]).stdout;
    for expected in
        ["Examples:\n  nanotape run ", "nanotape tap equities", "nanotape stat equities"]
    {
        assert!(help.contains(expected), "{help}");
    }
}

#[test]
fn a_wish_that_cannot_be_granted_is_said_once() {
    let folder = Folder::new("run-wish");
    let (day, ring) = (folder.day(2_000, 5), Ring::new("wish"));
    let ran = run(&day, &ring, &["--cpu", "1023"]);
    assert_eq!(ran.status, 0);
    let line = "nanotape: pinning was refused: processor 1023 is not among those allowed";
    assert!(ran.stderr.starts_with(line) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
}

/// More live orders than memory: an error with the bytes, and no panic.
#[test]
fn orders_that_do_not_fit_into_memory_are_refused_with_their_bytes() {
    let folder = Folder::new("run-orders");
    let day = folder.path("2019-12-30.itch50");
    assert_eq!(nanotape(["synth", "-o", &day, "--messages", "2k", "--stocks", "5"]).status, 0);
    let (program, ring) = (env!("CARGO_BIN_EXE_nanotape"), folder.path("ring"));
    for orders in ["1000000000", "1000000000000000"] {
        let command = format!(
            "ulimit -v 16000000; exec '{program}' run --input '{day}' --ring '{ring}' \
             --live-orders {orders}"
        );
        let ran = std::process::Command::new("sh").args(["-c", &command]).bounded_output().unwrap();
        let reported = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{reported}");
        let expected = format!("the tables for {orders} live orders need ");
        assert!(reported.contains(&expected) && reported.contains(" bytes"), "{reported}");
        assert_eq!(reported.lines().count(), 1, "{reported}");
        assert!(!std::path::Path::new(&ring).exists());
    }
}
