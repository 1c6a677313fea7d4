//! Re-request servers and snapshot servers of a live plant that are wrong, false, silent or absent,
//! over real sockets.

use std::{
    net::{TcpListener, UdpSocket},
    time::Duration,
};

use nanotape_harness::unused_address;

use crate::{
    live_parts::{SESSION, end_of_session, glimpse, listener, order, orders, packet, send},
    support::{
        Folder,
        live::{Plant, addresses, day},
    },
};

/// An order that no line has.
const FALSE: u64 = 999_999_999;

/// A plant that lacks message 2 of 3, with these options.
fn lossy_plant(name: &str, options: &[&str]) -> Plant {
    let plant = Plant::start(name, options);
    send(&plant, &packet(1, &[order(1, 100)]));
    send(&plant, &packet(3, &[order(3, 300)]));
    plant
}

/// The path of a configuration with this number of attempts to get a snapshot.
fn attempts(folder: &Folder, attempts: u32) -> String {
    let text = format!("[input.live]\nglimpse_attempts = {attempts}\n");
    folder.write("plant.toml", text.as_bytes())
}

#[test]
fn a_snapshot_of_another_session_is_refused_with_both_names() {
    let folder = Folder::new("live-other-snapshot");
    let config = attempts(&folder, 2);
    for (session, first, next, expected) in [
        ("TUESDAY", 1, 4, "the server has session TUESDAY, the lines have session MONDAY"),
        (SESSION, 9, 4, "the server begins with message 9 of the snapshot, expected 1"),
        (SESSION, 1, 50_000_000, "it ends before message 50000000, the lines are at message 4"),
        (SESSION, 1, 0, "message 2 of the snapshot"),
    ] {
        let (server, address) = listener();
        glimpse(server, session, first, &[order(FALSE, 77_777)], next);
        let options = ["--config", &config, "--glimpse", &address.to_string()];
        let mut plant = lossy_plant("live-other-snapshot", &options);
        send(&plant, &end_of_session(4));
        let (status, stop, stderr) = plant.end();
        assert_eq!(orders(&plant), [(1, 100), (3, 300)], "{session} {first} {next}: {stderr}");
        assert!(stderr.contains(expected), "{stderr}");
        assert_eq!((status, &stop["gap_messages_in_snapshot"]), (Some(1), &0.into()), "{stderr}");
        assert_eq!(
            (&stop["gap_messages_lost"], &stop["snapshot_failures"]),
            (&1.into(), &2.into())
        );
    }
}

#[test]
fn a_snapshot_of_the_session_is_taken_wherever_its_name_has_spaces() {
    let (server, address) = listener();
    glimpse(server, &format!("{SESSION:>10}"), 1, &[order(1, 100), order(2, 200)], 3);
    let mut plant = lossy_plant("live-own-snapshot", &["--glimpse", &address.to_string()]);
    send(&plant, &end_of_session(4));
    let (_, stop, stderr) = plant.end();
    assert_eq!(stop["gap_messages_in_snapshot"], 1, "{stop} {stderr}");
    assert!(orders(&plant).ends_with(&[(3, 300)]) && orders(&plant).contains(&(2, 200)));
}

#[test]
fn a_snapshot_without_what_is_missing_is_refused_and_the_next_attempt_pauses() {
    let (server, address) = listener();
    // Message 2 is missing, and is not in it.
    glimpse(server, SESSION, 1, &[order(1, 100)], 2);
    let mut plant = lossy_plant("live-old-snapshot", &["--glimpse", &address.to_string()]);
    send(&plant, &end_of_session(4));
    let (status, stop, stderr) = plant.end();
    assert_eq!((status, &stop["gap_messages_lost"]), (Some(1), &1.into()), "{stop} {stderr}");
    assert_eq!(stop["snapshot_failures"], 3, "{stop} {stderr}");
    let refused = "snapshot: it ends before message 2, and has nothing of what is missing from \
                   message 2 on";
    assert_eq!(stderr.matches(refused).count(), 3, "{stderr}");
    // The second attempt waits 250 ms, and the third one 500 ms.
    assert!(stop["gap_longest_ns"].as_u64().unwrap() >= 750_000_000, "{stop}");
}

#[test]
fn an_answer_of_another_sender_is_not_taken() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let false_server = UdpSocket::bind("127.0.0.9:0").unwrap();
    server.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    let address = server.local_addr().unwrap().to_string();
    let mut plant = lossy_plant("live-false-answer", &["--rerequest", &address]);
    let mut request = [0; 64];
    let (length, from) = server.recv_from(&mut request).unwrap();
    assert_eq!(length, 20);
    false_server.send_to(&packet(2, &[order(FALSE, 77_777)]), from).unwrap();
    server.send_to(&packet(2, &[order(2, 200)]), from).unwrap();
    send(&plant, &end_of_session(4));
    let (status, stop, stderr) = plant.end();
    assert_eq!(orders(&plant), [(1, 100), (2, 200), (3, 300)], "{stderr}");
    assert_eq!((status, &stop["gap_messages_retransmitted"]), (Some(0), &1.into()), "{stderr}");
}

#[test]
fn the_next_server_is_used_after_one_that_is_closed_and_one_that_is_silent() {
    let folder = Folder::new("live-standby");
    let day = day(&folder);
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap().to_string();
    let [closed] = addresses();
    let port = unused_address().port();
    let [server, by_name] = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}"));
    // A busy machine may need longer than the usual 20 ms for an answer.
    let config = folder.write("plant.toml", b"[input.live]\nrerequest_timeout = \"200ms\"\n");
    let servers = ["--rerequest", &closed, "--rerequest", &silent, "--rerequest", &by_name];
    let options = [&["--config", &config][..], &servers].concat();
    let mut plant = Plant::start("live-standby", &options);
    let options = ["--faults-both", "drop=1%", "--seed", "3", "--linger", "5s"];
    plant.send_with_rerequest(&day, &server, &options);
    let (status, stop, stderr) = plant.end();
    assert_eq!((status, &stop["messages"]), (Some(0), &20_000.into()), "{stop} {stderr}");
    assert!(stop["gap_messages_retransmitted"].as_u64().unwrap() > 0, "{stop}");
    let refused = format!("re-request server {closed}: Connection refused");
    assert_eq!(stderr.matches(&refused).count(), 1, "{stderr}");
}

#[test]
fn the_next_snapshot_server_is_tried_in_the_same_attempt() {
    let folder = Folder::new("live-standby-snapshot");
    let config = attempts(&folder, 1);
    let (server, address) = listener();
    glimpse(server, SESSION, 1, &[order(1, 100), order(2, 200)], 3);
    let [closed] = addresses();
    let servers = ["--glimpse", &closed, "--glimpse", &address.to_string()];
    let options = [&["--config", &config][..], &servers].concat();
    let mut plant = lossy_plant("live-standby-snapshot", &options);
    send(&plant, &end_of_session(4));
    let (_, stop, stderr) = plant.end();
    assert_eq!(stop["gap_messages_in_snapshot"], 1, "{stop} {stderr}");
    assert!(stderr.contains(&format!("snapshot: {closed}: Connection refused")), "{stderr}");
}

#[test]
fn a_server_that_cannot_be_found_at_the_start_ends_the_plant_and_leaves_no_folder() {
    let folder = Folder::new("live-unknown-server");
    // No name server is needed to refuse this name.
    let (kept, name) = (folder.path("kept"), format!("{}.invalid:1", "a".repeat(64)));
    for option in ["--rerequest", "--glimpse"] {
        let options = [option, &name, "--keep", &kept];
        let (status, _, stderr) = Plant::try_start("live-unknown-server", &options).running.end();
        assert_eq!(status, Some(2), "{stderr}");
        assert!(stderr.contains(&format!("server {name}: ")), "{stderr}");
        assert!(!std::path::Path::new(&kept).exists(), "a later start would find a journal");
    }
}

#[test]
fn attempts_to_get_a_snapshot_are_not_used_up_at_once() {
    let folder = Folder::new("live-no-snapshot");
    let config = attempts(&folder, 3);
    let [closed] = addresses();
    let options = ["--config", &config, "--glimpse", &closed];
    let mut plant = lossy_plant("live-no-snapshot", &options);
    send(&plant, &end_of_session(4));
    let (_, stop, stderr) = plant.end();
    assert_eq!((&stop["snapshot_failures"], &stop["gap_messages_lost"]), (&3.into(), &1.into()));
    assert_eq!(stderr.matches("Connection refused").count(), 3, "{stderr}");
    // The pauses before the second and the third attempt.
    assert!(stop["gap_longest_ns"].as_u64().unwrap() >= 750_000_000, "{stop}");
}

#[test]
fn a_snapshot_server_that_refuses_connections_gets_time_to_come_back() {
    let folder = Folder::new("live-late-snapshot");
    let config = attempts(&folder, 9);
    let (server, address) = listener();
    drop(server);
    let options = ["--config", &config, "--glimpse", &address.to_string()];
    let mut plant = lossy_plant("live-late-snapshot", &options);
    let mut line = String::new();
    while !line.contains("Connection refused") {
        line = plant.running.read_stderr_line();
        assert!(!line.is_empty(), "the plant ended");
    }
    let server = TcpListener::bind(address).unwrap();
    glimpse(server, SESSION, 1, &[order(1, 100), order(2, 200)], 3);
    send(&plant, &end_of_session(4));
    let (_, stop, stderr) = plant.end();
    assert_eq!(stop["gap_messages_in_snapshot"], 1, "{stop} {stderr}");
}
