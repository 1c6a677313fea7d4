//! A plant of a live session, and the exchange that sends it, as processes.

use nanotape_harness::unused_address;
use serde_json::Value;

use crate::{Folder, nanotape, plants::Ring, running::Running};

/// Addresses that nothing else uses.
pub fn addresses<const N: usize>() -> [String; N] {
    core::array::from_fn(|_| unused_address().to_string())
}

/// The path of a day to send.
pub fn day(folder: &Folder) -> String {
    let path = folder.path("20191230.itch50");
    let made = nanotape(["synth", "-o", &path, "--messages", "20000", "--symbols", "30"]);
    assert_eq!(made.status, 0, "{made:?}");
    path
}

/// An option of a plant in a test: snapshots from the exchange.
pub const SNAPSHOTS: &str = "SNAPSHOTS";

/// A plant that receives a session on two lines.
#[derive(Debug)]
pub struct Plant {
    /// The process of the plant.
    pub running: Running,
    /// Its ring.
    pub ring: Ring,
    /// The addresses of its lines.
    pub lines: [String; 2],
    server: String,
    glimpse: String,
}

impl Plant {
    /// Starts a plant on free addresses.
    pub fn start(name: &str, options: &[&str]) -> Self {
        let mut plant = Self::try_start(name, options);
        assert_eq!(plant.running.read_json()["event"], "start");
        plant
    }

    /// The same for options with which the plant may not start.
    pub fn try_start(name: &str, options: &[&str]) -> Self {
        let (ring, [a, b, server, glimpse]) = (Ring::new(name), addresses());
        let mut arguments = vec!["run", "--live", "--line-a", &a, "--line-b", &b];
        arguments.extend(["--ring", ring.path(), "--format", "json", "--capacity", "64MiB"]);
        // The tables of a whole market take half a gigabyte, which the plant touches at its start.
        arguments.extend(["--live-orders", "65536"]);
        if !options.contains(&"--follow") {
            arguments.extend(["--date", "2019-12-30"]);
        }
        arguments.extend(options);
        if options.contains(&"start") {
            arguments.extend(["--rerequest", &server]);
        }
        if options.contains(&SNAPSHOTS) {
            arguments.retain(|option| *option != SNAPSHOTS);
            arguments.extend(["--glimpse", &glimpse]);
        }
        let running = Running::start(&arguments);
        Self { running, ring, lines: [a, b], server, glimpse }
    }

    /// Sends the day to the plant; returns what the exchange reports at its end.
    pub fn send(&self, day: &str, options: &[&str]) -> Value {
        self.send_with_rerequest(day, &self.server, options)
    }

    /// The same, with the re-request server at this address.
    pub fn send_with_rerequest(&self, day: &str, server: &str, options: &[&str]) -> Value {
        let [a, b] = &self.lines;
        let mut arguments = vec!["exchange", day, "--line-a", a, "--line-b", b];
        arguments.extend(["--rerequest", server, "--glimpse", &self.glimpse]);
        arguments.extend(["--format", "json"]);
        if !options.contains(&"--pace") {
            arguments.extend(["--pace", "max"]);
        }
        arguments.extend(options);
        let sent = nanotape(arguments);
        assert_eq!(sent.status, 0, "{sent:?}");
        serde_json::from_str(sent.stdout.lines().last().unwrap()).unwrap()
    }

    /// Waits for the plant: its exit status, its last line and standard error.
    pub fn end(&mut self) -> (Option<i32>, Value, String) {
        let (status, stdout, stderr) = self.running.end();
        (status, serde_json::from_str(stdout.lines().last().unwrap()).unwrap(), stderr)
    }
}
