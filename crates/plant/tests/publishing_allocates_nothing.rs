//! From bytes to published records nothing allocates and nothing calls the kernel, for any message
//! about an order, once the tables have grown to the day's size.
//!
//! Counted, not assumed: every allocation of this process goes through a counter. And a child shuts
//! itself in, with a filter of the kernel that ends it at any system call but `write` and
//! `exit_group`, and lives.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    fs,
    ops::ControlFlow,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use nanotape_book::DefaultBooks;
use nanotape_clock::{Clock, Source};
use nanotape_feed::{Position, book_event};
use nanotape_plant::{
    BoardReader, Plant, PlantConfig, PlantRun, Publisher, Stop,
    records::{RecordKind, RecordKinds},
};
use nanotape_ring::stream;
use nanotape_testkit::market::{Market, MarketConfig};
use nanotape_wire::{framing::binary_file::Records, itch50::Message};

struct Counting;

thread_local! {
    /// Of this thread: the one that runs the tests allocates whenever it likes.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

// SAFETY: every call is passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MESSAGES: u64 = 300_000;

/// Room for live orders at the start: more than the day has.
const ORDERS: usize = 1 << 16;

/// Bytes of a ring: it goes round many times.
const RING_BYTES: usize = 1 << 20;

/// Which child this is; nothing in a run of the tests.
const ROLE: &str = "NANOTAPE_TEST_ROLE";

/// Where a child finds the day and makes its ring: the one that started it clears away.
const FOLDER: &str = "NANOTAPE_TEST_FOLDER";

const DAY: &str = "20191230.itch50";

/// What takes messages one by one.
trait Publishes {
    fn apply(&mut self, position: Position, message: &Message<'_>) -> ControlFlow<()>;

    fn board(&self) -> BoardReader;
}

/// A ring on the heap.
struct OnHeap(Plant<DefaultBooks>, Publisher<stream::Writer>);

impl OnHeap {
    fn new() -> Self {
        let publisher = Publisher::on_heap(RING_BYTES, RecordKinds::ALL, 0).unwrap();
        Self(Plant::new(DefaultBooks::with_capacity(ORDERS)), publisher)
    }
}

impl Publishes for OnHeap {
    fn apply(&mut self, position: Position, message: &Message<'_>) -> ControlFlow<()> {
        self.0.apply_observed(position, message, &mut self.1)
    }

    fn board(&self) -> BoardReader {
        self.1.board()
    }
}

/// A ring in a file, as `nanotape run` has it.
impl Publishes for PlantRun {
    fn apply(&mut self, position: Position, message: &Message<'_>) -> ControlFlow<()> {
        self.apply(position, message)
    }

    fn board(&self) -> BoardReader {
        self.board()
    }
}

fn in_file(folder: &Path, ring: &str) -> PlantRun {
    let mut config = PlantConfig::default();
    config.input.file = folder.join(DAY);
    config.ring.name = folder.join(ring).display().to_string();
    config.ring.capacity_bytes = Some(RING_BYTES);
    config.machine.orders = Some(ORDERS);
    config.publish.records = RecordKinds::ALL;
    PlantRun::open(&config, Stop::new()).unwrap()
}

/// Everything of the day once, so that tables have grown and stocks are known.
fn warm(plant: &mut impl Publishes, day: &[u8]) {
    for (record, number) in Records::new(day, 0).zip(1..) {
        let message = Message::decode(record.bytes).unwrap();
        let position = Position { number, offset: record.offset };
        assert!(plant.apply(position, &message).is_continue());
    }
}

/// The messages about orders once more; gives how many those are.
fn again(plant: &mut impl Publishes, day: &[u8]) -> u64 {
    let mut count = 0;
    for (record, number) in Records::new(day, 0).zip(1..) {
        let Ok(message) = Message::decode(record.bytes) else { break };
        let position = Position { number, offset: record.offset };
        if matches!(book_event(&message), Ok(Some(_)))
            && plant.apply(position, &message).is_continue()
        {
            count += 1;
        }
    }
    count
}

fn check_allocations(name: &str, mut plant: impl Publishes, day: &[u8]) {
    warm(&mut plant, day);
    let published = plant.board().look().records;
    let before = ALLOCATIONS.get();
    let messages = again(&mut plant, day);
    let allocations = ALLOCATIONS.get() - before;
    println!("{name}: {allocations} allocations in {messages} messages about orders");
    assert_eq!(allocations, 0);
    assert!(messages > MESSAGES / 2);
    let stat = plant.board().look();
    assert_eq!(stat.anomalies.iter().sum::<u64>(), 0, "the day fits its books");
    for kind in [RecordKind::Mbo, RecordKind::Bbo, RecordKind::Trades] {
        let more = stat.records[kind as usize] - published[kind as usize];
        assert!(more > 1_000, "{more} {kind}");
    }
    // Stages were timed meanwhile.
    assert!(stat.stages.iter().all(|stage| stage.samples() > 100), "{:?}", stat.stages);
}

#[test]
fn messages_about_orders_allocate_nothing_and_call_no_kernel() {
    if let (Ok(role), Ok(folder)) = (std::env::var(ROLE), std::env::var(FOLDER)) {
        shut_in(Path::new(&folder), &role);
    }
    let folder = Folder::new();
    let config = MarketConfig { messages: MESSAGES, symbols: 500, ..MarketConfig::default() };
    let mut day = Vec::new();
    Market::new(config).unwrap().write_to(&mut day).unwrap();
    fs::write(folder.0.join(DAY), &day).unwrap();

    check_allocations("a ring on the heap", OnHeap::new(), &day);
    check_allocations("a ring in a file", in_file(&folder.0, "ring"), &day);
    // The counter counts.
    let before = ALLOCATIONS.get();
    drop(vec![0; RING_BYTES]);
    assert_eq!(ALLOCATIONS.get(), before + 1, "the check can fail");

    if Clock::calibrate().source() != Source::TimeStampCounter {
        println!("SKIPPED: the clock here is the kernel's, which may be asked with system calls");
        return;
    }
    let good = child(&folder.0, "good");
    let said = String::from_utf8_lossy(&good.stdout);
    if said.contains("no filter") {
        println!("SKIPPED: the kernel takes no filter of system calls here");
        return;
    }
    assert!(good.status.success(), "{:?}: {said}", good.status);
    assert!(said.contains("lived"), "{said}");
    let bad = child(&folder.0, "bad");
    assert_eq!(bad.status.signal(), Some(libc::SIGSYS), "the check can fail");
    assert!(!String::from_utf8_lossy(&bad.stdout).contains("lived"));
}

fn child(folder: &Path, role: &str) -> std::process::Output {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.arg("--nocapture").env(ROLE, role).env(FOLDER, folder).output().unwrap()
}

/// In a child: everything once more where every system call is the end.
fn shut_in(folder: &Path, role: &str) -> ! {
    let day = fs::read(folder.join(DAY)).unwrap();
    let (mut heap, mut file) = (OnHeap::new(), in_file(folder, role));
    warm(&mut heap, &day);
    warm(&mut file, &day);
    if !forbid_system_calls() {
        say(b"no filter\n");
        exit();
    }
    let messages = again(&mut heap, &day).min(again(&mut file, &day));
    if role == "bad" {
        std::thread::yield_now();
    }
    say(if messages > MESSAGES / 2 { b"lived\n" } else { b"did too little\n" });
    exit();
}

/// `write` and nothing else: the standard library's output allocates and locks.
fn say(words: &[u8]) {
    // SAFETY: the pointer and the length are those of a slice.
    unsafe { libc::write(1, words.as_ptr().cast(), words.len()) };
}

fn exit() -> ! {
    // SAFETY: ends the process, as `exit_group`; nothing of it is needed any more.
    unsafe { libc::_exit(0) }
}

/// From now on any system call of this thread but `write` and `exit_group` ends the process, with
/// SIGSYS. The kernel's strict mode would end the thread only, and the test would wait for it.
fn forbid_system_calls() -> bool {
    let instruction = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let load_number = instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0);
    let equal = |number: libc::c_long, skip| {
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, skip, 0, number as u32)
    };
    let answer = |action| instruction(libc::BPF_RET | libc::BPF_K, 0, 0, action);
    let mut program = [
        load_number,
        equal(libc::SYS_write, 2),
        equal(libc::SYS_exit_group, 1),
        answer(libc::SECCOMP_RET_KILL_PROCESS),
        answer(libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: takes integers only.
    let outcome = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the pointer is to a program of the length that it states, valid for the call.
    let filtered =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    (outcome, filtered) == (0, 0)
}

/// A folder that disappears with its test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("nanotape-plant-allocates-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
