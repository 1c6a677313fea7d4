//! Many missing messages of a live plant from SoupBinTCP servers, over real sockets: from the
//! simulated exchange, and from servers that refuse, close early or are of another session.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, UdpSocket},
    sync::mpsc::{Sender, channel},
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::{
    live_parts::{SESSION, end_of_session, listener, order, orders, packet, send, soup},
    support::{
        Folder,
        live::{Plant, addresses, day},
        nanotape,
        plants::Ring,
    },
};

/// Nothing is sent for two hours of the exchange's day.
const SILENCE: &str = "silence=@10:00+2h";

/// A plant whose lines are silent for a part of the day, with these options of the plant.
fn silent_lines(name: &str, options: &[&str]) -> (u64, Value, String) {
    let (folder, [soup]) = (Folder::new(name), addresses());
    let options = [&["--soupbintcp", &soup][..], options].concat();
    let mut plant = Plant::start(name, &options);
    let options = ["--soup", &soup, "--faults-both", SILENCE, "--linger", "5s"];
    plant.send(&day(&folder), &options);
    let (status, stop, stderr) = plant.end();
    assert_eq!((status, &stop["messages"]), (Some(0), &20_000.into()), "{stop} {stderr}");
    assert_eq!(stop["gap_messages_lost"], 0, "{stop} {stderr}");
    (plant.ring.stop().digest, stop, stderr)
}

#[test]
fn without_a_rerequest_server_all_that_is_missing_comes_from_soupbintcp() {
    let folder = Folder::new("live-bulk-kept");
    let kept = folder.path("kept");
    let (digest, stop, stderr) = silent_lines("live-bulk", &["--keep", &kept]);
    let retransmitted = stop["gap_messages_retransmitted"].as_u64().unwrap();
    let packets = stop["rerequest_packets"].as_u64().unwrap();
    assert!(retransmitted > 1_000 && packets < retransmitted / 10, "{stop} {stderr}");
    assert_eq!(stop["soupbintcp_failures"], 0, "{stop}");
    // What a server sent is kept as what the lines brought.
    let ring = Ring::new("live-bulk-again");
    let again = nanotape(["run", "--input", &kept, "--ring", ring.path(), "--capacity", "64MiB"]);
    assert_eq!(again.status, 0, "{again:?}");
    assert_eq!((ring.stop().messages, ring.stop().digest), (20_000, digest));
}

#[test]
fn requests_for_what_soupbintcp_sends_are_not_sent() {
    let folder = Folder::new("live-bulk-both");
    let config = folder.write("plant.toml", b"[input.live]\nsoupbintcp_least = 1000\n");
    let [server] = addresses();
    let options = ["--config", &config, "--rerequest", &server];
    let (_, stop, stderr) = silent_lines("live-bulk-both", &options);
    let retransmitted = stop["gap_messages_retransmitted"].as_u64().unwrap();
    let packets = stop["rerequest_packets"].as_u64().unwrap();
    // 32 messages are requested at once.
    assert!(retransmitted > 1_000 && packets < retransmitted / 64, "{stop} {stderr}");
}

#[test]
fn a_small_gap_comes_from_soupbintcp_if_no_rerequest_server_answers() {
    let messages: Vec<Vec<u8>> = (1..=3).map(|number| order(number, 100)).collect();
    let earlier = packet(1, &messages[..1]);
    // One server is silent. One sends a message that was not requested, which is no answer.
    for (name, answer) in [("live-bulk-silent", None), ("live-bulk-other", Some(earlier))] {
        let rerequest = UdpSocket::bind("127.0.0.1:0").unwrap();
        let name_of = rerequest.local_addr().unwrap().to_string();
        let thread = thread::spawn(move || {
            let Some(answer) = answer else { return Some(rerequest) };
            while let Ok((20, sender)) = rerequest.recv_from(&mut [0; 64]) {
                rerequest.send_to(&answer, sender).unwrap();
            }
            None
        });
        let ((server, address), (sender, _logins)) = (listener(), channel());
        serve(server, SESSION, messages.clone(), usize::MAX, sender);
        let options = ["--rerequest", &name_of, "--soupbintcp", &address.to_string()];
        let mut plant = Plant::start(name, &options);
        send(&plant, &packet(1, &messages[..1]));
        send(&plant, &packet(3, &messages[2..]));
        send(&plant, &end_of_session(4));
        let (status, stop, stderr) = plant.end();
        assert_eq!((status, &stop["gap_messages_lost"]), (Some(0), &0.into()), "{stop} {stderr}");
        assert_eq!(orders(&plant), [(1, 100), (2, 100), (3, 100)]);
        UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"the end", &name_of).unwrap();
        drop(thread.join().unwrap());
    }
}

/// Serves messages from 1 on, up to `most` on each connection, and reports the numbers that are
/// requested.
fn serve(
    listener: TcpListener,
    session: &'static str,
    messages: Vec<Vec<u8>>,
    most: usize,
    logins: Sender<u64>,
) {
    serve_slowly(listener, session, messages, most, Duration::ZERO, logins);
}

/// The same, with a pause after each message.
fn serve_slowly(
    listener: TcpListener,
    session: &'static str,
    messages: Vec<Vec<u8>>,
    most: usize,
    pause: Duration,
    logins: Sender<u64>,
) {
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut login) = (stream.unwrap(), [0; 49]);
            if stream.read_exact(&mut login).is_err() {
                continue;
            }
            let first = std::str::from_utf8(&login[29..49]).unwrap().trim();
            let first: usize = first.parse().unwrap();
            let _ = logins.send(first as u64);
            let mut answer = soup(b'A', format!("{session:>10}{first:>20}").as_bytes());
            for message in messages[first - 1..].iter().take(most) {
                answer.extend(soup(b'S', message));
                if !pause.is_zero() {
                    if stream.write_all(&std::mem::take(&mut answer)).is_err() {
                        break;
                    }
                    thread::sleep(pause);
                }
            }
            let _ = stream.write_all(&answer);
        }
    });
}

#[test]
fn a_fetch_begins_with_the_first_missing_message_and_has_messages_of_any_length() {
    let mut messages: Vec<Vec<u8>> = (1..=202).map(|number| order(number, 100)).collect();
    messages[49] = vec![b'?'; 65_000];
    let ((server, address), (sender, logins)) = (listener(), channel());
    let mut plant = Plant::start("live-bulk-first", &["--soupbintcp", &address.to_string()]);
    for numbers in [1..=1, 101..=102, 201..=202] {
        for number in numbers {
            send(&plant, &packet(number, &messages[number as usize - 1..][..1]));
        }
    }
    // Both gaps are declared before the first answer.
    let mut line = String::new();
    while !line.contains("messages 103 to 200 missing") {
        line = plant.running.read_stderr_line();
        assert!(!line.is_empty(), "the plant ended");
    }
    serve(server, SESSION, messages, usize::MAX, sender);
    send(&plant, &end_of_session(203));
    let (status, stop, stderr) = plant.end();
    assert_eq!((status, &stop["messages"]), (Some(0), &202.into()), "{stop} {stderr}");
    assert_eq!(stop["gap_messages_retransmitted"], 197, "{stop} {stderr}");
    assert_eq!(stop["soupbintcp_failures"], 0, "{stop} {stderr}");
    let logins: Vec<u64> = logins.try_iter().collect();
    assert!([&[2, 103][..], &[2]].contains(&&logins[..]), "{logins:?}");
}

#[test]
fn the_next_server_goes_on_where_the_last_one_stopped() {
    const LAST: u64 = 10_000;
    let messages: Vec<Vec<u8>> = (1..=LAST).map(|number| order(number, 100)).collect();
    let (servers, logins): (Vec<_>, Vec<_>) =
        [("TUESDAY", usize::MAX), (SESSION, 3_000), (SESSION, usize::MAX)]
            .map(|(session, most)| {
                let ((server, address), (sender, logins)) = (listener(), channel());
                serve(server, session, messages.clone(), most, sender);
                (address.to_string(), logins)
            })
            .into_iter()
            .unzip();
    let [closed] = addresses();
    let mut options = vec!["--soupbintcp", &closed];
    servers.iter().for_each(|server| options.extend(["--soupbintcp", server]));
    let mut plant = Plant::start("live-bulk-standby", &options);
    send(&plant, &packet(1, &messages[..1]));
    send(&plant, &packet(LAST, &messages[LAST as usize - 1..]));
    send(&plant, &packet(LAST + 1, &[order(LAST + 1, 300)]));
    send(&plant, &end_of_session(LAST + 2));
    let (status, stop, stderr) = plant.end();
    assert_eq!(status, Some(0), "{stop} {stderr}");
    let expected: Vec<(u64, u32)> = (1..=LAST).map(|number| (number, 100)).collect();
    assert_eq!(orders(&plant), [&expected[..], &[(LAST + 1, 300)]].concat());
    let requested = logins.iter().map(|logins| logins.try_iter().collect::<Vec<_>>());
    assert_eq!(requested.collect::<Vec<_>>(), [vec![2], vec![2], vec![3_002]], "{stderr}");
    assert_eq!(stop["soupbintcp_failures"], 3, "{stop} {stderr}");
    let [other, cut, _] = &servers[..] else { unreachable!() };
    for expected in [
        format!("SoupBinTCP server {closed}: Connection refused"),
        format!("{other}: the server has session TUESDAY, the lines have session MONDAY"),
        format!("{cut}: connection lost before the end of the session, before message 3002"),
    ] {
        assert_eq!(stderr.matches(&expected).count(), 1, "{expected}: {stderr}");
    }
}

#[test]
fn a_server_that_sends_a_few_messages_at_a_time_gives_way_to_the_next_one() {
    const LAST: u64 = 2_000;
    let folder = Folder::new("live-bulk-slow");
    let config = folder.write("plant.toml", b"[input.live]\nsoupbintcp_timeout = \"200ms\"\n");
    let messages: Vec<Vec<u8>> = (1..=LAST).map(|number| order(number, 100)).collect();
    let ((slow, slow_address), (sender, _slow_logins)) = (listener(), channel());
    let pause = Duration::from_millis(20);
    serve_slowly(slow, SESSION, messages.clone(), usize::MAX, pause, sender);
    let ((server, address), (sender, logins)) = (listener(), channel());
    serve(server, SESSION, messages.clone(), usize::MAX, sender);
    let (slow, address) = (slow_address.to_string(), address.to_string());
    let options = ["--config", &config, "--soupbintcp", &slow, "--soupbintcp", &address];
    let mut plant = Plant::start("live-bulk-slow", &options);
    send(&plant, &packet(1, &messages[..1]));
    send(&plant, &packet(LAST, &messages[LAST as usize - 1..]));
    send(&plant, &end_of_session(LAST + 1));
    let (status, stop, stderr) = plant.end();
    assert_eq!((status, &stop["messages"]), (Some(0), &LAST.into()), "{stop} {stderr}");
    assert_eq!(stop["soupbintcp_failures"], 1, "{stop} {stderr}");
    let failed = format!("SoupBinTCP server {slow}: fewer than 64 messages within 200 ms");
    assert_eq!(stderr.matches(&failed).count(), 1, "{stderr}");
    // What it sent is used.
    let requested: Vec<u64> = logins.try_iter().collect();
    assert!(matches!(requested[..], [3..100]), "{requested:?}");
}

#[test]
fn a_server_without_messages_does_not_keep_those_of_a_snapshot_or_a_loss_away() {
    let folder = Folder::new("live-bulk-silent");
    let config = folder.write("plant.toml", b"[input.live]\nsoupbintcp_timeout = \"50ms\"\n");
    let ((server, address), (sender, logins)) = (listener(), channel());
    serve(server, SESSION, vec![order(1, 100); 3], 0, sender);
    let options = ["--config", &config, "--soupbintcp", &address.to_string()];
    let mut plant = Plant::start("live-bulk-silent", &options);
    send(&plant, &packet(1, &[order(1, 100)]));
    send(&plant, &packet(3, &[order(3, 300)]));
    send(&plant, &end_of_session(4));
    let (status, stop, stderr) = plant.end();
    assert_eq!((status, &stop["gap_messages_lost"]), (Some(1), &1.into()), "{stop} {stderr}");
    assert_eq!(orders(&plant), [(1, 100), (3, 300)]);
    // It is tried again after pauses.
    assert!((2..20).contains(&logins.try_iter().count()), "{stderr}");
}
