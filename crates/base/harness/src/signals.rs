//! Gives the programs that tests start the default reaction to every signal, and bounds a test
//! program as a whole.
//!
//! A program inherits which signals are ignored. `nohup` ignores SIGHUP, and a shell without job
//! control ignores SIGINT and SIGQUIT in what it starts in the background. Tests send these signals
//! to the programs that they start, and those would ignore them too.
//!
//! Before `main`, each ignored signal gets a handler that does nothing. The test program ignores
//! the signal as before, and a handler does not survive `exec`: the programs that it starts react
//! as in a shell. So no place that starts a program has to know this.
//!
//! Waits of tests have bounds (`wait.rs`). For what they do not cover, such as a thread that waits
//! for one that panicked, a test program ends with status 124 after [`MINUTES`].

use std::ptr;

/// What users, shells, `nohup` and service managers may ignore. Tests wait for children, so SIGCHLD
/// must not be ignored either.
const SIGNALS: [libc::c_int; 11] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGCHLD,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGXFSZ,
];

/// Far more than all tests of a program take; `NANOTAPE_TEST_MINUTES` sets another number.
const MINUTES: u32 = 90;

/// The loader calls the functions of this section before `main`, so before any test.
#[cfg(not(miri))]
#[used]
// The section holds pointers to functions of this type, and this one needs nothing that
// starts later: it makes system calls only.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

#[cfg_attr(miri, expect(dead_code, reason = "Miri has no signals"))]
extern "C" fn before_main() {
    handle_what_is_ignored();
    let minutes = std::env::var("NANOTAPE_TEST_MINUTES").ok();
    let minutes = minutes.and_then(|text| text.parse().ok()).unwrap_or(MINUTES);
    handle(libc::SIGALRM, give_up);
    // SAFETY: takes an integer. Programs that this one starts do not inherit the alarm.
    unsafe { libc::alarm(60 * minutes) };
}

fn handle_what_is_ignored() {
    for signal in SIGNALS {
        // SAFETY: a `sigaction` of zeros is a valid one, without flags and with an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: no new action is given, and the old one is written to a valid place.
        let known = unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) } == 0;
        if known && action.sa_sigaction == libc::SIG_IGN {
            handle(signal, nothing);
        }
    }
}

fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: a `sigaction` of zeros is a valid one, without flags and with an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    // System calls go on, and a child that stops does not send SIGCHLD.
    action.sa_flags = libc::SA_RESTART | libc::SA_NOCLDSTOP;
    // SAFETY: the action is valid. Its handler makes system calls only: it may run at any moment.
    unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
}

extern "C" fn nothing(_: libc::c_int) {}

extern "C" fn give_up(_: libc::c_int) {
    let said = b"a test of this program does not end: see which one has no result above\n";
    // SAFETY: the pointer and the length are those of a constant.
    unsafe { libc::write(2, said.as_ptr().cast(), said.len()) };
    // SAFETY: ends the process; its other threads are not needed any more.
    unsafe { libc::_exit(124) };
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::ExitStatusExt as _, path::Path, process::Command};

    use rustix::process::{Signal, getpid, kill_process};

    use crate::{Bounded as _, Peer, Task, say};

    #[test]
    fn programs_of_a_test_react_to_signals_that_the_test_ignores() {
        let script = "trap '' HUP INT QUIT CHLD; exec \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).arg(std::env::current_exe().unwrap());
        let test = "signals::tests::child";
        Task::new("start programs", Path::new("")).add_to(&mut command, test);
        let mut peer = Peer::start(command);
        assert_eq!(peer.receive(), "ended by Some(1) Some(2) Some(3)");
        assert_eq!(peer.receive(), "ignored three signals");
        assert!(peer.end().success());
    }

    #[test]
    fn a_program_whose_tests_do_not_end_gives_up() {
        let task = Task::new("give up", Path::new(""));
        let output = task.command("signals::tests::child").bounded_output().unwrap();
        assert_eq!(output.status.code(), Some(124), "{output:?}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("does not end"));
    }

    /// The process of the tests above; returns at once in a run of the tests.
    #[test]
    fn child() {
        let Some(task) = Task::of_this_process() else { return };
        if task.role == "give up" {
            kill_process(getpid(), Signal::ALARM).unwrap();
        }
        let end = |name: &str| {
            let script = format!("kill -{name} $$; exit 7");
            let status = Command::new("sh").args(["-c", &script]).bounded_status().unwrap();
            status.signal()
        };
        say(format!("ended by {:?} {:?} {:?}", end("HUP"), end("INT"), end("QUIT")));
        for signal in [Signal::HUP, Signal::INT, Signal::QUIT] {
            kill_process(getpid(), signal).unwrap();
        }
        say("ignored three signals");
    }
}
