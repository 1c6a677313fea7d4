//! Plants as processes of their own, and the rings that they publish on.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use nanotape_board::{
    board_path, follower_names, follower_path, recorder_path, trace_names, trace_path,
};
use nanotape_harness::memory_folder;
use nanotape_plant::records::{Notice, PlantStop, Record};
use nanotape_ring::{RingMonitor, Start};
use nanotape_tap::{Event, Subscription};
use nanotape_trace::spans::spans_path;
use serde_json::Value;

use crate::running::Running;

/// The date of synthetic days in tests.
pub const DATE: &str = "2019-12-30";

/// A ring of one test, in memory if /dev/shm exists; removed with its board at the end.
#[derive(Debug)]
pub struct Ring(pub PathBuf);

impl Ring {
    /// No other test has a ring of this name, also if it gives the same one.
    pub fn new(name: &str) -> Self {
        static RINGS: AtomicU32 = AtomicU32::new(0);
        let (process, ring) = (std::process::id(), RINGS.fetch_add(1, Ordering::Relaxed));
        Self(memory_folder().join(format!("nanotape-plant-{process}-{ring}-{name}")))
    }

    /// The path of the ring.
    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// The path of the board.
    pub fn board(&self) -> PathBuf {
        board_path(&self.0)
    }

    /// The path of the progress of a recorder.
    pub fn recorder(&self) -> PathBuf {
        recorder_path(&self.0)
    }

    /// The number of the next message.
    pub fn next_sequence(&self) -> u64 {
        RingMonitor::open(&self.0).unwrap().sample().unwrap().next_sequence
    }

    /// Visits every record on the ring in order; none may be lost.
    pub fn read(&self, mut visit: impl FnMut(Record<'_>)) {
        let mut subscriber = Subscription::to(self.path()).from(Start::Oldest).open().unwrap();
        let mut next = subscriber.next_sequence();
        let poll = |event: Event<'_>| {
            let Event::Record(delivery) = event else { panic!("nothing is lost: {event:?}") };
            assert_eq!(delivery.sequence, next);
            next += 1;
            visit(delivery.record);
        };
        let mut poll = poll;
        while subscriber.poll(&mut poll).unwrap() > 0 {}
        assert_eq!(subscriber.next_sequence(), self.next_sequence());
    }

    /// The notices of the plants, in order.
    pub fn notices(&self) -> Vec<Notice> {
        let mut notices = Vec::new();
        self.read(|record| {
            if let Record::Notice(notice) = record {
                notices.push(notice);
            }
        });
        notices
    }

    /// The last record: the stop of the plant.
    pub fn stop(&self) -> PlantStop {
        match self.notices().last() {
            Some(&Notice::Stop(stop)) => stop,
            other => panic!("the last record is a stop, not {other:?}"),
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.board());
        let _ = fs::remove_file(self.recorder());
        for name in follower_names(&self.0) {
            let _ = fs::remove_file(follower_path(&self.0, &name).unwrap());
        }
        for name in trace_names(&self.0) {
            let thread = trace_path(&self.0, &name);
            let _ = fs::remove_file(spans_path(&thread));
            let _ = fs::remove_file(thread);
        }
        let _ = fs::remove_file(&self.0);
    }
}

impl Running {
    /// A started plant at the recorded pace, at which it runs for hours.
    pub fn plant(day: &str, ring: &Ring, options: &[&str]) -> (Self, Value) {
        let mut arguments = vec!["run", "--input", day, "--date", DATE, "--ring", ring.path()];
        arguments.extend(["--pace", "1x", "--format", "json"]);
        arguments.extend(options);
        let mut running = Self::start(&arguments);
        let begun = running.read_json();
        (running, begun)
    }
}
