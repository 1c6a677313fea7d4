//! Processing of messages about orders, up to their published records, neither allocates nor calls
//! the kernel once the tables have their final size.
//!
//! A process with a system call filter, which ends it at any call but `write` and `exit_group`,
//! survives.

use std::{fs, ops::ControlFlow, path::Path};

use nanotape_board::{BoardReader, PLANT_THREAD, trace_path};
use nanotape_book::DefaultBooks;
use nanotape_clock::{Clock, Source};
use nanotape_engine::BookEngine;
use nanotape_feed::{Position, handle_message, market_event};
use nanotape_harness::{
    Scratch, Task, allocations, check_the_counter, check_without_system_calls, skipped,
    without_system_calls,
};
use nanotape_market::EventHandler as _;
use nanotape_plant::{
    PlantConfig, PlantRun, Publisher, ShutdownFlag,
    records::{RecordKind, RecordKinds},
};
use nanotape_ring::{Start, stream};
use nanotape_synth::{Market, MarketConfig};
use nanotape_trace::spans::{Rate, SpanReader};
use nanotape_wire::{framing::binary_file::Records, itch50::Message};

pub(crate) const MESSAGES: u64 = 300_000;

/// Live orders to reserve memory for: more than the day has.
const ORDERS: usize = 1 << 16;

/// Bytes of a ring: small enough to wrap many times.
const RING_BYTES: usize = 1 << 20;

/// Where a child finds the day and creates its ring; its parent removes the folder.
const FOLDER: &str = "NANOTAPE_TEST_FOLDER";

pub(crate) const DAY: &str = "20191230.itch50";

/// A plant that takes single messages.
pub(crate) trait Publishes {
    fn apply(&mut self, at: Position, message: Message<'_>) -> ControlFlow<()>;

    fn board(&self) -> BoardReader;
}

/// A ring on the heap.
struct OnHeap(BookEngine<DefaultBooks>, Publisher<stream::Writer>);

impl OnHeap {
    fn new() -> Self {
        let publisher = Publisher::on_heap(RING_BYTES, RecordKinds::ALL, 0).unwrap();
        Self(BookEngine::new(DefaultBooks::with_capacity(ORDERS)), publisher)
    }
}

impl Publishes for OnHeap {
    fn apply(&mut self, at: Position, message: Message<'_>) -> ControlFlow<()> {
        handle_message(at, &message, self.0.live(&mut self.1))
    }

    fn board(&self) -> BoardReader {
        self.1.board()
    }
}

/// A ring in a file, as in `nanotape run`.
impl Publishes for PlantRun {
    fn apply(&mut self, at: Position, message: Message<'_>) -> ControlFlow<()> {
        handle_message(at, &message, self.live())
    }

    fn board(&self) -> BoardReader {
        self.board()
    }
}

pub(crate) fn in_file(folder: &Path, ring: &str) -> PlantRun {
    let mut config = PlantConfig::default();
    config.input.file = folder.join(DAY);
    config.ring.name = folder.join(ring);
    config.ring.capacity_bytes = Some(RING_BYTES);
    config.machine.orders = Some(ORDERS);
    config.publish.records = RecordKinds::ALL;
    PlantRun::open(&config, ShutdownFlag::new()).unwrap()
}

/// The same for packets of a live session, with a span for each stage of each message.
struct Traced(PlantRun);

/// Messages of a packet.
const TOGETHER: u64 = 4;

impl Traced {
    fn new(folder: &Path, ring: &str) -> Self {
        let plant = in_file(folder, ring);
        let switches = plant.trace_switches().unwrap();
        // Those of the kernel's counts come last, and query the kernel.
        switches.set(&[Rate::ALL; 8]);
        Self(plant)
    }
}

impl Publishes for Traced {
    fn apply(&mut self, at: Position, message: Message<'_>) -> ControlFlow<()> {
        let mut live = self.0.live();
        if at.number.is_multiple_of(TOGETHER) {
            let ts_recv_ns = 1_000_000 * at.number;
            live.arrived(ts_recv_ns);
            // One packet in ten was kept.
            live.received(ts_recv_ns - u64::from(at.number.is_multiple_of(10 * TOGETHER)));
        }
        handle_message(at, &message, live)
    }

    fn board(&self) -> BoardReader {
        self.0.board()
    }
}

/// Publishes the whole day once, so that tables have grown and stocks are known.
fn warm(plant: &mut impl Publishes, day: &[u8]) {
    for (record, number) in Records::new(day, 0).zip(1..) {
        let message = Message::decode(record.bytes).unwrap();
        let position = Position { number, offset: record.offset };
        assert!(plant.apply(position, message).is_continue());
    }
}

/// Repeats the messages about orders; returns their number.
fn again(plant: &mut impl Publishes, day: &[u8]) -> u64 {
    let mut count = 0;
    for (record, number) in Records::new(day, 0).zip(1..) {
        let Ok(message) = Message::decode(record.bytes) else { break };
        let position = Position { number, offset: record.offset };
        let is_of_an_order = market_event(&message).book_event().is_some();
        if is_of_an_order && plant.apply(position, message).is_continue() {
            count += 1;
        }
    }
    count
}

fn check_allocations(name: &str, mut plant: impl Publishes, day: &[u8]) {
    warm(&mut plant, day);
    let published = plant.board().sample().records;
    let before = allocations();
    let messages = again(&mut plant, day);
    let counted = allocations() - before;
    println!("{name}: {counted} allocations in {messages} messages about orders");
    assert_eq!(counted, 0);
    assert!(messages > MESSAGES / 2);
    let stat = plant.board().sample();
    assert_eq!(stat.anomalies.iter().sum::<u64>(), 0, "the day fits its books");
    for kind in [RecordKind::Mbo, RecordKind::Bbo, RecordKind::Trades] {
        let more = stat.records[kind as usize] - published[kind as usize];
        assert!(more > 1_000, "{more} {kind}");
    }
    // Stages were timed during the run.
    assert!(stat.stages.iter().all(|(_, times)| times.count() > 100), "{:?}", stat.stages);
}

#[test]
fn messages_about_orders_allocate_nothing_and_call_no_kernel() {
    if let Some(task) = Task::of_this_process() {
        let folder = std::env::var(FOLDER).unwrap();
        let folder = Path::new(&folder);
        let day = fs::read(folder.join(DAY)).unwrap();
        let (mut heap, mut file) = (OnHeap::new(), in_file(folder, &task.role));
        let mut traced = Traced::new(folder, &format!("{}-traced", task.role));
        warm(&mut heap, &day);
        warm(&mut file, &day);
        warm(&mut traced, &day);
        without_system_calls(&task, || {
            let messages = again(&mut heap, &day).min(again(&mut file, &day));
            let messages = messages.min(again(&mut traced, &day));
            if messages > MESSAGES / 2 { Ok(()) } else { Err("did too little\n") }
        });
    }
    let place = Scratch::new("allocates");
    fs::create_dir_all(place.path()).unwrap();
    let config = MarketConfig { messages: MESSAGES, symbols: 500, ..MarketConfig::default() };
    let mut day = Vec::new();
    Market::new(config).unwrap().write_to(&mut day).unwrap();
    fs::write(place.path().join(DAY), &day).unwrap();

    check_allocations("a ring on the heap", OnHeap::new(), &day);
    check_allocations("a ring in a file", in_file(place.path(), "ring"), &day);
    let plant = Traced::new(place.path(), "traced");
    let thread = trace_path(plant.0.ring(), PLANT_THREAD);
    check_allocations("a traced plant", plant, &day);
    let spans = SpanReader::open(&thread, Start::Newest).unwrap().next_sequence();
    // Each message has at least six: those of a file, and those of its packet.
    assert!(spans > 6 * MESSAGES, "{spans} spans");
    check_the_counter();
    if Clock::calibrate().source() != Source::TimeStampCounter {
        skipped("the clock here is the kernel's, which may be read with system calls");
        return;
    }
    check_without_system_calls(
        "publishing::messages_about_orders_allocate_nothing_and_call_no_kernel",
        |child| {
            child.env(FOLDER, place.path());
        },
    );
}
