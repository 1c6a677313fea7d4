//! The sockets of a live plant when they fail: no route, an error of a line's socket, datagrams of
//! any size, a full buffer.

use std::{path::Path, process::Command};

use nanotape_harness::{Bounded as _, Signal, skipped};

use crate::{
    live_parts::{end_of_session, order, orders, packet, send},
    support::{
        Folder,
        live::{Plant, addresses, day},
        namespace::in_a_namespace,
        plants::Ring,
        running::Running,
    },
};

/// Starts a plant on two groups in the background, with further options, and waits for its start.
/// `until_log` waits until the plant has reported something.
const START: &str = r#"
program=$1 ring=$2 day=$3 folder=$4
trap 'kill -KILL $plant 2>/dev/null' EXIT
until_so() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || exit 9
        sleep 0.1
    done
}
until_log() { until_so grep -q "$1" "$folder/plant.log"; }
start() {
    "$program" run --live --line-a 239.77.2.1:5001 --line-b 239.77.2.2:5002 \
        --interface "${interface:-127.0.0.1}" --date 2019-12-30 --capacity 64MiB --live-orders 65536 --ring "$ring" --format json "$@" \
        >"$folder/plant.json" 2>"$folder/plant.log" &
    plant=$!
    until_so grep -q '"event":"start"' "$folder/plant.json"
}
exchange() {
    "$program" exchange "$day" --line-a 239.77.2.1:5001 --line-b 239.77.2.2:5002 --format json \
        "$@" >"$folder/exchange.json" || exit 8
}
"#;

/// Runs a script after [`START`] in a network namespace: its status, the last line of the plant,
/// and its standard error. `None` where no namespace can be made.
fn in_namespace(name: &str, script: &str) -> Option<(Option<i32>, serde_json::Value, String)> {
    let mut command = in_a_namespace(Path::new("sh"))?;
    let folder = Folder::new(name);
    let (day, ring) = (day(&folder), Ring::new(name));
    let script = format!("{START}{script}");
    let program = env!("CARGO_BIN_EXE_nanotape");
    command.args(["-c", &script, "sh", program, ring.path(), &day, &folder.path("")]);
    let status = command.bounded_status().unwrap().code();
    let read = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap();
    let stop = read("plant.json");
    let stop = stop.lines().last().and_then(|line| serde_json::from_str(line).ok());
    Some((status, stop.unwrap_or_default(), read("plant.log")))
}

#[test]
fn a_server_without_a_route_is_reported_and_used_when_there_is_one() {
    let script = r#"
start --rerequest 10.9.9.9:5003
exchange --rerequest 0.0.0.0:5003 --pace 8000x --faults-both drop=1% --seed 3 --linger 3s &
exchange=$!
until_log "Network is unreachable"
ip address add 10.9.9.9/32 dev lo
wait $exchange || exit 8
wait $plant
"#;
    let Some((status, stop, log)) = in_namespace("live-no-route", script) else { return };
    // The gaps of the time without a route are requested until there is one.
    assert_eq!(status, Some(0), "{stop} {log}");
    assert_eq!(stop["reason"], "end of session", "{log}");
    let reported =
        |text: &str| log.matches(&format!("re-request server 10.9.9.9:5003: {text}")).count();
    assert_eq!((reported("Network is unreachable"), reported("answers again")), (1, 1), "{log}");
    assert!(stop["rerequest_errors"].as_u64().unwrap() > 0, "{stop}");
    assert_eq!(stop["rerequest_servers_down"], 0, "{stop}");
    assert_eq!(stop["gap_messages_lost"], 0, "{stop}");
    assert!(stop["gap_messages_retransmitted"].as_u64().unwrap() > 0, "{stop}");
}

#[test]
fn an_error_of_the_socket_of_a_line_does_not_end_the_plant() {
    // Without a socket that it can end, `ss` reports none.
    let script = r#"
start
ss --kill --udp --all --numeric "sport = :5001" | grep -q 5001 || { kill -INT $plant; exit 77; }
until_log "connection abort"
exchange --pace max --linger 3s
wait $plant
"#;
    let Some((status, stop, log)) = in_namespace("live-aborted", script) else { return };
    if status == Some(77) {
        return skipped("ss cannot end a socket of this kernel: an error of a line is not tested");
    }
    assert_eq!(status, Some(0), "{stop} {log}");
    assert_eq!(stop["messages"], 20_000, "{stop} {log}");
    assert_eq!(log.matches("line A: 239.77.2.1:5001: cannot receive from").count(), 1, "{log}");
    assert_eq!(log.matches("line A: can be received again").count(), 1, "{log}");
    let lines = [&stop["lines"][0], &stop["lines"][1]];
    assert_eq!(lines.map(|line| line["socket_errors"].as_u64()), [Some(1), Some(0)], "{stop}");
    assert_eq!(lines[0]["socket_failing"], false, "{stop}");
    assert!(lines[0]["packets"].as_u64().unwrap() > 0, "{stop}");
}

#[test]
fn a_group_is_joined_again_on_an_interface_that_was_removed_and_made_again() {
    let script = r#"
make_interface() {
    ip link add nt0 type bridge && ip address add 10.7.7.1/24 dev nt0 && ip link set nt0 up
}
make_interface 2>/dev/null || exit 77
interface=nt0
start
ip link delete nt0
until_log "line B: interface nt0: there is no such interface"
make_interface
until_log "line A: the group is joined again"
until_log "line B: the group is joined again"
exchange --interface 10.7.7.1 --pace max --linger 3s
wait $plant
"#;
    let Some((status, stop, log)) = in_namespace("live-interface", script) else { return };
    if status == Some(77) {
        return skipped("no interface can be made: one that is removed is not tested");
    }
    assert_eq!(status, Some(0), "{stop} {log}");
    assert_eq!(stop["messages"], 20_000, "{stop} {log}");
    for line in ["A", "B"] {
        let reported = |text: &str| log.matches(&format!("line {line}: {text}")).count();
        assert_eq!(
            (reported("interface nt0: "), reported("the group is joined again")),
            (1, 1),
            "{log}"
        );
    }
}

#[test]
fn a_datagram_of_any_size_is_received_whole() {
    let mut plant = Plant::start("live-large", &[]);
    let messages: Vec<Vec<u8>> = (1..=1_700).map(|number| order(number, 100)).collect();
    let large = packet(1, &messages);
    assert!(large.len() > 64_000, "{}", large.len());
    send(&plant, &large);
    send(&plant, &packet(1_701, &[order(1_701, 100)]));
    send(&plant, &end_of_session(1_702));
    let (status, stop, stderr) = plant.end();
    assert_eq!((status, &stop["messages"]), (Some(0), &1_701.into()), "{stop} {stderr}");
    assert_eq!(orders(&plant).len(), 1_701);
    assert!(!stderr.contains("dropped: "), "{stderr}");
}

#[test]
fn drops_of_the_kernel_are_reported_while_they_happen() {
    let folder = Folder::new("live-drops");
    let config = folder.write("plant.toml", b"[input.live]\nbuffer = \"4KiB\"\n");
    let mut plant = Plant::start("live-drops", &["--config", &config]);
    plant.running.signal(Signal::STOP);
    (1..=500).for_each(|number| send(&plant, &packet(number, &[order(number, 100)])));
    plant.running.signal(Signal::CONT);
    let mut line = String::new();
    while !line.contains("line A: the kernel dropped ") {
        line = plant.running.read_stderr_line();
        assert!(!line.is_empty(), "the plant ended");
    }
    plant.running.signal(Signal::INT);
    let (_, stop, stderr) = plant.end();
    let counted = stop["lines"][0]["kernel_drops"].as_u64().unwrap();
    assert!((1..500).contains(&counted), "{stop} {stderr}");
}

/// Starts a plant of one line as a process without the capability to exceed settings of the
/// network: the address of its line, and the process. `None`, with a loud message, where no process
/// can be made without it.
fn without_net_admin(ring: &Ring, options: &[&str]) -> Option<(String, Running)> {
    let limited = ["--inh-caps=-net_admin", "--bounding-set=-net_admin"];
    let tried = Command::new("setpriv").args(limited).arg("true").bounded_output();
    if !tried.as_ref().is_ok_and(|output| output.status.success()) {
        skipped(format!("a process without CAP_NET_ADMIN is not tested: {tried:?}"));
        return None;
    }
    let [line] = addresses();
    let mut command = Command::new("setpriv");
    command.args(limited).arg(env!("CARGO_BIN_EXE_nanotape")).args(["run", "--live"]);
    command.args(["--line-a", &line, "--ring", ring.path(), "--format", "json"]).args(options);
    Some((line, Running::of(command)))
}

#[test]
fn what_the_kernel_refuses_of_busy_polling_is_reported_with_the_reason() {
    let ring = Ring::new("live-busy-poll");
    let options = ["--busy-poll", "1s", "--spin"];
    let Some((line, mut running)) = without_net_admin(&ring, &options) else { return };
    if running.read_line().is_empty() {
        let (status, _, errors) = running.end();
        assert_eq!(status, Some(2), "{errors}");
        let expected = format!(
            "nanotape: {line}: cannot busy poll: Operation not permitted (os error 1): a time above \
             net.core.busy_read needs the capability CAP_NET_ADMIN\n"
        );
        assert_eq!(errors, expected);
    } else {
        // Later kernels let every process poll for longer, and refuse the preference only.
        running.signal(Signal::INT);
        let (_, _, errors) = running.end();
        let expected = format!(
            "nanotape: {line}: busy polling without preference over the interrupts of the card: \
             Operation not permitted (os error 1)\n"
        );
        assert!(errors.contains(&expected), "{errors}");
    }
}

#[test]
fn a_receive_buffer_that_is_smaller_than_requested_is_reported_with_both_sizes() {
    let folder = Folder::new("live-small-buffer");
    let config = folder.write("plant.toml", b"[input.live]\nbuffer = \"1GiB\"\n");
    let ring = Ring::new("live-small-buffer");
    let options = ["--config", &config];
    let Some((line, mut running)) = without_net_admin(&ring, &options) else { return };
    assert_eq!(running.read_json()["event"], "start");
    running.signal(Signal::INT);
    let (_, _, errors) = running.end();
    let limit = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap();
    let expected = format!(
        "{line}: receive buffer of {} bytes, 1073741824 requested: packets of bursts may be lost; \
         raise net.core.rmem_max\n",
        limit.trim()
    );
    assert!(errors.contains(&expected), "{errors}");
}

#[test]
fn a_plant_that_sleeps_warns_that_busy_polling_has_no_effect() {
    let folder = Folder::new("live-busy-poll");
    let day = day(&folder);
    let said = "busy polling has no effect while the plant sleeps";
    // No more than the kernel polls for without a request, so that every process may.
    let setting = |name: &str| std::fs::read_to_string(format!("/proc/sys/net/core/{name}"));
    let is_idle = setting("busy_poll").is_ok_and(|text| text.trim() == "0");
    for (options, expected) in [(&["--spin"][..], false), (&[], is_idle)] {
        let options = [&["--busy-poll", "50us"][..], options].concat();
        let mut plant = Plant::try_start("live-busy-poll", &options);
        let start = plant.running.read_line();
        if start.is_empty() {
            let (_, _, errors) = plant.running.end();
            assert!(errors.contains("cannot busy poll"), "{errors}");
            return skipped(format!("busy polling is refused here, and not tested: {errors}"));
        }
        plant.send(&day, &[]);
        let (status, stop, errors) = plant.end();
        assert_eq!((status, &stop["messages"]), (Some(0), &20_000.into()), "{errors}");
        assert_eq!(errors.contains(said), expected, "{errors}");
    }
}
