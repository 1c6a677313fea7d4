//! Checks that code allocates nothing and makes no system calls.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    os::unix::process::ExitStatusExt as _,
    process::{Command, Output},
};

use crate::{Bounded as _, Task, skipped};

/// The system's allocator with a counter per thread. A test program that counts installs it:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: nanotape_harness::CountingAllocator = nanotape_harness::CountingAllocator;
///
/// nanotape_harness::check_the_counter();
/// ```
#[derive(Debug)]
pub struct CountingAllocator;

thread_local! {
    /// Per thread, because the thread that runs the tests also allocates.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Allocations of this thread so far.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

// SAFETY: every call is passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
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

/// Fails if the counter does not count.
pub fn check_the_counter() {
    let before = allocations();
    drop(vec![0; 4096]);
    assert_eq!(allocations(), before + 1, "the check can fail");
}

/// Runs this test of this program two more times: as a process with the role `good`, and as one
/// with the role `bad`, which makes a system call on purpose. The first must survive, the second
/// must not. The test calls [`without_system_calls`] if [`Task::of_this_process`] returns a task.
pub fn check_without_system_calls(test: &str, prepare: impl Fn(&mut Command)) {
    let end_of = |role: &str| -> Output {
        let mut command = Task { role: role.to_owned(), ..Task::default() }.command(test);
        prepare(&mut command);
        command.bounded_output().expect("the process can be started")
    };
    let good = end_of("good");
    let said = String::from_utf8_lossy(&good.stdout);
    if said.contains("no filter") {
        skipped("the kernel takes no filter of system calls here");
        return;
    }
    assert!(good.status.success(), "{:?} {said}", good.status);
    assert!(said.contains("lived"), "{said}");
    let bad = end_of("bad");
    assert_eq!(bad.status.signal(), Some(libc::SIGSYS), "the check can fail");
    assert!(!String::from_utf8_lossy(&bad.stdout).contains("lived"));
}

/// In the process: runs `work` while any system call of this thread kills the process. `work`
/// returns the error to report.
pub fn without_system_calls(task: &Task, work: impl FnOnce() -> Result<(), &'static str>) -> ! {
    if !forbid_system_calls() {
        write(b"no filter\n");
        exit();
    }
    let done = work();
    if task.role == "bad" {
        std::thread::yield_now();
    }
    match done {
        Ok(()) => write(b"lived\n"),
        Err(wrong) => write(wrong.as_bytes()),
    }
    exit();
}

/// Calls only `write`: the standard library's output allocates and locks.
fn write(words: &[u8]) {
    // SAFETY: the pointer and the length are those of a slice.
    unsafe { libc::write(1, words.as_ptr().cast(), words.len()) };
}

fn exit() -> ! {
    // SAFETY: ends the process, as `exit_group`; nothing of it is needed any more.
    unsafe { libc::_exit(0) }
}

/// Makes any later system call of this thread except `write` and `exit_group` end the process with
/// SIGSYS. The kernel's strict mode would only end the thread, and the test would wait for it.
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
