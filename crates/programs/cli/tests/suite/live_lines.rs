//! The lines of a live plant: up to four of them, and the delay of each.

use std::net::{Ipv4Addr, UdpSocket};

use nanotape_clock::Clock;
use nanotape_harness::Signal;
use nanotape_plant::records::TradeDate;

use crate::{
    live_parts::{end_of_session, order, orders, packet, send},
    support::live::{Plant, addresses},
};

/// Sends a packet to a line.
fn send_to(line: &str, packet: &[u8]) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    assert_eq!(socket.send_to(packet, line).unwrap(), packet.len());
}

#[test]
fn four_lines_together_have_what_each_of_them_lacks() {
    let [c, d] = addresses();
    let mut plant = Plant::start("live-four-lines", &["--line-c", &c, "--line-d", &d]);
    let lines = [plant.lines[0].clone(), plant.lines[1].clone(), c, d];
    for number in 1..=400 {
        let line = &lines[(number as usize * 7 / 3) % 4];
        send_to(line, &packet(number, &[order(number, 100)]));
    }
    lines.iter().for_each(|line| send_to(line, &end_of_session(401)));
    let (status, stop, stderr) = plant.end();
    assert_eq!((status, &stop["messages"]), (Some(0), &400.into()), "{stop} {stderr}");
    assert!(orders(&plant).iter().copied().eq((1..=400).map(|number| (number, 100))));
    let of_lines = stop["lines"].as_array().unwrap();
    assert_eq!(of_lines.len(), 4, "{stop}");
    for (line, address) in of_lines.iter().zip(&lines) {
        assert_eq!((&line["address"], &line["messages"]), (&address[..].into(), &100.into()));
    }
    assert!(stderr.contains("line D: "), "{stderr}");
}

#[test]
fn the_delay_of_a_line_is_from_the_time_of_the_exchange_to_the_receive_time() {
    const MS: u64 = 1_000_000;
    // Of today, as a plant that follows sessions has it.
    let mut plant = Plant::start("live-delay", &["--follow"]);
    let clock = Clock::calibrate();
    let unix_ns = || clock.utc_ns();
    let midnight_ns = TradeDate::of_time(unix_ns()).unwrap().midnight_ns();
    let late_by = |number: u64, delay_ns: i64| {
        let mut message = order(number, 100);
        let time_ns = unix_ns() - midnight_ns;
        let time_ns = time_ns.checked_add_signed(-delay_ns).unwrap();
        message[5..11].copy_from_slice(&time_ns.to_be_bytes()[2..]);
        message
    };
    // 300 ms, and clocks that differ: by 5 s each way.
    for number in 1..=20 {
        let messages = [late_by(2 * number - 1, 300 * MS as i64), order(2 * number, 1)];
        send(&plant, &packet(2 * number - 1, &messages));
    }
    send(&plant, &packet(41, &[late_by(41, -5_000 * MS as i64)]));
    send(&plant, &packet(42, &[late_by(42, 5_000 * MS as i64)]));
    plant.running.signal(Signal::INT);
    let (_, stop, stderr) = plant.end();
    let line = &stop["lines"][0];
    assert_eq!((&line["delays"], &line["unknown_delays"]), (&20.into(), &2.into()), "{stderr}");
    let p50_ns = line["delay_ns_p50"].as_u64().unwrap();
    assert!((300 * MS..3_000 * MS).contains(&p50_ns), "{stop}");
    assert_eq!(stop["lines"][1]["delays"], 0);
}
