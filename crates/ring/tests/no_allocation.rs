//! Publishing and reading allocate nothing and make no system call, a million times of every sort.
//!
//! Counted, not assumed: every allocation of this process goes through a counter. And a child shuts
//! itself in, with a filter of the kernel that ends it at any system call but `write` and
//! `exit_group`, and lives.

#![cfg(not(nanotape_loom))]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    os::unix::process::ExitStatusExt as _,
    process::Command,
};

use nanotape_ring::{
    Batched as _, Claimed as _, Publish, PublishError, Read, Rejoin, Start, Subscribe, slots,
    stream,
};

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

/// Bytes of a ring: laps are near.
const BYTES: usize = 16 << 10;

const LONGEST: usize = 200;

/// Messages that are published.
const MESSAGES: u64 = 1_000_000;

/// Which child this is; nothing in a run of the tests.
const ROLE: &str = "NANOTAPE_TEST_ROLE";

/// What readers had to do.
#[derive(Default)]
struct Seen {
    messages: u64,
    lost: u64,
    empty: u64,
}

impl Seen {
    fn count<T>(&mut self, read: Read<T>, messages: impl FnOnce(T) -> u64) {
        match read {
            Read::Message(read) => self.messages += messages(read),
            Read::Empty => self.empty += 1,
            Read::Lapped(lapped) => self.lost += lapped.count(),
        }
    }
}

/// A writer in this process, and readers that do everything in turn and are lapped now and then.
struct Everything<W: Publish> {
    writer: W,
    readers: Vec<W::Reader>,
    buffer: Vec<u8>,
}

impl<W: Publish> Everything<W> {
    fn new(writer: W) -> Self {
        let rejoins = [Rejoin::Oldest, Rejoin::Halfway, Rejoin::Newest];
        let readers = rejoins.map(|rejoin| {
            let mut reader = writer.reader(Start::Oldest).unwrap();
            reader.set_rejoin(rejoin);
            reader
        });
        Self { writer, readers: readers.into(), buffer: vec![0; BYTES] }
    }

    fn publish(&mut self) {
        let sequence = self.writer.next_sequence();
        let payload = &[sequence as u8; LONGEST][..(sequence * 7) as usize % LONGEST];
        match sequence % 5 {
            0 => {
                let mut batch = self.writer.batch();
                for _ in 0..4 {
                    batch.push(3, payload).unwrap();
                }
                batch.publish();
            }
            1 => {
                let mut claim = self.writer.claim(4, payload.len()).unwrap();
                claim.write(0, payload);
                claim.publish();
            }
            2 => {
                self.writer.claim(4, LONGEST).unwrap().abandon();
                let too_long = self.writer.publish(1, &self.buffer);
                assert!(matches!(too_long, Err(PublishError::TooLong { .. })));
                self.writer.heartbeat(sequence);
                self.writer.publish(2, payload).unwrap();
            }
            _ => drop(self.writer.publish(2, payload).unwrap()),
        }
    }

    fn read(&mut self, turn: u64, seen: &mut Seen) {
        for (reader, which) in self.readers.iter_mut().zip(0..) {
            // Now and then it is away for longer than the ring holds.
            if turn % 2_000 < 300 * (which + 1) {
                continue;
            }
            let read = reader.try_read(&mut self.buffer).unwrap();
            seen.count(read, |_| 1);
            let read = reader.try_visit(|message| message.word(0)).unwrap();
            seen.count(read, |_| 1);
            let read = reader.read_batch(&mut self.buffer, |received, bytes| {
                assert_eq!(received.length as usize, bytes.len());
            });
            seen.count(read.unwrap(), |count| count);
        }
    }

    /// Publishes so many messages, and reads them or loses them.
    fn run(&mut self, messages: u64) -> Seen {
        let mut seen = Seen::default();
        let end = self.writer.next_sequence() + messages;
        for turn in 0.. {
            if self.writer.next_sequence() >= end {
                break;
            }
            self.publish();
            self.read(turn, &mut seen);
        }
        seen
    }
}

fn stream_ring() -> Everything<stream::Writer> {
    Everything::new(stream::Writer::on_heap(BYTES).unwrap())
}

fn slot_ring() -> Everything<slots::Writer> {
    Everything::new(slots::Writer::on_heap(64, LONGEST).unwrap())
}

fn allocations(name: &str, mut everything: Everything<impl Publish>) {
    let before = ALLOCATIONS.get();
    let seen = everything.run(MESSAGES);
    let allocations = ALLOCATIONS.get() - before;
    let Seen { messages, lost, empty } = seen;
    println!(
        "{name}: {allocations} allocations, {messages} read, {lost} lost, {empty} times nothing"
    );
    assert_eq!(allocations, 0);
    assert!(messages > MESSAGES && lost > 1_000 && empty > 1_000, "all of it happened");
}

#[test]
fn a_million_messages_allocate_nothing_and_call_no_kernel() {
    match std::env::var(ROLE).as_deref() {
        Ok("good") => shut_in(|| ()),
        Ok(_) => shut_in(std::thread::yield_now),
        Err(_) => {}
    }
    allocations("stream", stream_ring());
    allocations("slots", slot_ring());
    // The counter counts.
    let before = ALLOCATIONS.get();
    drop(vec![0; BYTES]);
    assert_eq!(ALLOCATIONS.get(), before + 1, "the check can fail");

    let end_of = |role: &str| {
        let program = std::env::current_exe().unwrap();
        let mut child = Command::new(program);
        child.arg("--nocapture").env(ROLE, role).output().unwrap()
    };
    let good = end_of("good");
    let said = String::from_utf8_lossy(&good.stdout);
    if said.contains("no filter") {
        println!("SKIPPED: the kernel takes no filter of system calls here");
        return;
    }
    assert!(good.status.success(), "{:?}", good.status);
    assert!(said.contains("lived"), "{said}");
    let bad = end_of("bad");
    assert_eq!(bad.status.signal(), Some(libc::SIGSYS), "the check can fail");
    assert!(!String::from_utf8_lossy(&bad.stdout).contains("lived"));
}

/// In a child: everything once more where every system call is the end.
fn shut_in(also: impl FnOnce()) -> ! {
    let (mut stream, mut slots) = (stream_ring(), slot_ring());
    if !forbid_system_calls() {
        say(b"no filter\n");
        exit();
    }
    let lost = stream.run(MESSAGES).lost.min(slots.run(MESSAGES).lost);
    also();
    say(if lost > 0 { b"lived\n" } else { b"was never lapped\n" });
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
