//! A live session through the program: a simulated exchange with faults, and a plant that receives
//! it over real sockets. Its records are those of the day file.

use nanotape_harness::{Bounded as _, Signal};
use serde_json::Value;

use crate::support::{
    Folder,
    live::{Plant, day},
    namespace::in_a_namespace,
    nanotape,
    plants::Ring,
};

/// Order records without the columns of this run: the sequence number and the receive time.
fn orders_of(input: &str, options: &[&str]) -> Vec<Vec<String>> {
    let arguments = ["tap", input, "--records", "mbo", "--format", "csv"];
    let tapped = nanotape(arguments.iter().chain(options));
    assert_eq!(tapped.status, 0, "{}", tapped.stderr);
    let (header, rows) = tapped.stdout.split_once('\n').unwrap();
    let columns: Vec<&str> = header.split(',').collect();
    let rows = rows.lines().filter(|row| row.contains(",mbo,"));
    rows.map(|row| {
        let fields = row.split(',').zip(&columns);
        let kept = fields.filter(|(_, column)| !["sequence", "ts_recv"].contains(column));
        kept.map(|(field, _)| field.to_owned()).collect()
    })
    .collect()
}

#[test]
fn a_plant_of_two_faulty_lines_publishes_what_a_plant_of_the_day_publishes() {
    let folder = Folder::new("live");
    let day = day(&folder);
    let mut plant = Plant::start("live-faults", &["--join", "start"]);
    let faults = "drop=2%,dup=1%,reorder=1%x4,truncate=0.1%,session=0.1%,corrupt=0.1%";
    let sent = plant
        .send(&day, &["--faults-a", faults, "--faults-b", faults, "--linger", "5s", "--seed", "7"]);
    assert_eq!(sent["messages"], 20_000);
    assert!(sent["a_dropped"].as_u64().unwrap() > 50, "{sent}");
    let (status, stop, stderr) = plant.end();
    assert_eq!(stop["reason"], "end of session", "{stop} {stderr}");
    assert_eq!((stop["messages"].as_u64(), stop["anomalies"].as_u64()), (Some(20_000), Some(0)));
    // Truncated packets are reported, and their messages come from elsewhere.
    assert_eq!(status, Some(if stop["damaged"] == 0 { 0 } else { 1 }), "{stderr}");
    assert!(!stderr.contains("on no line"), "{stderr}");
    assert!(stderr.contains("packets"), "{stderr}");
    let (found, expected) =
        (orders_of(plant.ring.path(), &["--from", "oldest"]), orders_of(&day, &[]));
    assert!(expected.len() > 10_000);
    assert!(found == expected, "{} rows, expected {}", found.len(), expected.len());
}

/// A plant on two groups, of which one is joined with its sender, and the exchange when the plant
/// has started.
const BOTH: &str = r#"
program=$1 ring=$2 day=$3 folder=$4
"$program" run --live --line-a 239.77.2.1:5001 --line-b 232.77.2.2:5001 --interface lo \
    --source-b 127.0.0.1 --rerequest 127.0.0.1:5003 --join start --date 2019-12-30 --capacity 64MiB \
    --ring "$ring" --format json >"$folder/plant.json" 2>"$folder/plant.log" &
plant=$!
tries=0
until grep -q '"event":"start"' "$folder/plant.json"; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || exit 9
    sleep 0.1
done
"$program" exchange "$day" --line-a 239.77.2.1:5001 --line-b 232.77.2.2:5001 --pace max \
    --rerequest 127.0.0.1:5003 --faults-a drop=2% --faults-b drop=2% --linger 3s \
    --format json >"$folder/exchange.json" || exit 8
wait $plant
"#;

#[test]
fn multicast_lines_are_received_in_a_namespace_of_their_own() {
    let Some(mut command) = in_a_namespace("sh".as_ref()) else { return };
    let folder = Folder::new("live-multicast");
    let (day, ring) = (day(&folder), Ring::new("live-multicast"));
    let program = env!("CARGO_BIN_EXE_nanotape");
    let place = folder.path("");
    let both = command.args(["-c", BOTH, "sh", program, ring.path(), &day, &place]);
    let status = both.bounded_status().unwrap();
    let log = std::fs::read_to_string(folder.path("plant.log")).unwrap();
    assert!(status.success(), "{status}: {log}");
    assert!(
        log.contains("line A: 239.77.2.1:5001") && log.contains("line B: 232.77.2.2:5001"),
        "{log}"
    );
    assert!(orders_of(ring.path(), &["--from", "oldest"]) == orders_of(&day, &[]), "{log}");
}

#[test]
fn what_no_line_and_no_server_has_is_reported() {
    let folder = Folder::new("live-loss");
    let day = day(&folder);
    let mut plant = Plant::start("live-loss", &[]);
    plant.send(&day, &["--faults-both", "drop=1%", "--seed", "3"]);
    let (status, stop, stderr) = plant.end();
    assert_eq!(status, Some(1), "{stop} {stderr}");
    assert!(stop["damaged"].as_u64().unwrap() > 0, "{stop}");
    assert!(stderr.contains("on no line"), "{stderr}");
}

#[test]
fn a_plant_without_packets_ends_on_request() {
    let mut plant = Plant::start("live-idle", &[]);
    plant.running.signal(Signal::INT);
    let (status, stop, stderr) = plant.end();
    assert_eq!((status, &stop["messages"]), (Some(0), &Value::from(0)), "{stderr}");
    assert_eq!(stop["reason"], "asked to", "{stop}");
}

#[test]
fn a_live_session_needs_a_line_and_takes_no_file_and_no_pace() {
    for (options, expected) in [
        ("--live", "no line given: use --line-a"),
        ("--live --line-a 127.0.0.1:1 --pace 1x", "--pace does not apply"),
        ("--live --input day.itch50", "cannot be used with"),
        ("--line-a 127.0.0.1:1", "--live"),
        ("--live --line-a 192.0.2.1:9", "192.0.2.1:9: cannot bind"),
        ("--live --line-a 239.1.1.1:9 --line-b 239.1.1.1:9", "two lines are the same"),
        ("--live --line-a 127.0.0.1:9 --source-a 10.0.0.1", "a source applies to a multicast"),
        ("--live --line-a [ff15::1]:9 --source-a 10.0.0.1", "a group and its source are addresses"),
        ("--live --line-a [ff02::1]:9", "write it as [ff02::1%eth0]:5001, or give the interface"),
        ("--live --line-a [ff02::1%none]:9", "interface none: there is no such"),
        ("--live --line-a 127.0.0.1:9 --rerequest 239.1.1.1:1", "a server is one host"),
        ("--live --line-a 127.0.0.1:9 --glimpse host", "an IP address or a host name"),
        ("--live --line-a 239.1.1.1:9 --interface none", "interface none: there is no such"),
    ] {
        let refused =
            nanotape(["run", "--ring", "live-refused"].into_iter().chain(options.split(' ')));
        assert_eq!(refused.status, 2, "{options:?}: {refused:?}");
        assert!(refused.stderr.contains(expected), "{options:?}: {}", refused.stderr);
    }
}
