//! Waits for other programs and threads. Every wait has a bound, so that what hangs fails its test
//! and is named, and the other tests go on.

use std::{
    fmt::Debug,
    io::{self, BufRead, BufReader, Read},
    os::fd::{AsFd, AsRawFd as _, BorrowedFd},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

/// Far longer than any program of a test takes, on a busy machine and without optimisation.
const BOUND: Duration = Duration::from_secs(600);

/// [`Command::output`] and [`Command::status`] with a bound. A command that does not end is killed,
/// and the test fails.
pub trait Bounded {
    /// Runs the command to its end and collects its output. Its standard input is empty.
    fn bounded_output(&mut self) -> io::Result<Output> {
        self.bounded_output_fed(Stdio::null())
    }

    /// [`Bounded::bounded_output`] with a standard input.
    fn bounded_output_fed(&mut self, input: Stdio) -> io::Result<Output>;

    /// Runs the command to its end. Its standard input is empty.
    fn bounded_status(&mut self) -> io::Result<ExitStatus>;
}

impl Bounded for Command {
    fn bounded_output_fed(&mut self, input: Stdio) -> io::Result<Output> {
        let process = self.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        Ok(process.bounded_wait_with_output(&*self))
    }

    fn bounded_status(&mut self) -> io::Result<ExitStatus> {
        let mut process = self.stdin(Stdio::null()).spawn()?;
        Ok(process.bounded_wait(&*self))
    }
}

/// [`Child::wait`] and [`Child::wait_with_output`] with a bound. A process that does not end is
/// killed, and the test fails with `what`.
pub trait BoundedChild {
    /// Waits for its end. Its standard input stays open.
    fn bounded_wait(&mut self, what: impl Debug) -> ExitStatus;

    /// Waits for its end and collects its output.
    fn bounded_wait_with_output(self, what: impl Debug) -> Output;
}

impl BoundedChild for Child {
    fn bounded_wait(&mut self, what: impl Debug) -> ExitStatus {
        end_by(self, &what, &Deadline::after(BOUND))
    }

    fn bounded_wait_with_output(mut self, what: impl Debug) -> Output {
        let deadline = Deadline::after(BOUND);
        drop(self.stdin.take());
        let (mut stdout, mut stderr) = (self.stdout.take(), self.stderr.take());
        let mut output = [Vec::new(), Vec::new()];
        while stdout.is_some() || stderr.is_some() {
            let files = [stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)];
            let Some([first, second]) = readable(files, &deadline) else { fail(&mut self, &what) };
            if first && read_some(stdout.as_mut(), &mut output[0]) == 0 {
                stdout = None;
            }
            if second && read_some(stderr.as_mut(), &mut output[1]) == 0 {
                stderr = None;
            }
        }
        let status = end_by(&mut self, &what, &deadline);
        let [stdout, stderr] = output;
        Output { status, stdout, stderr }
    }
}

fn end_by(process: &mut Child, what: &dyn Debug, deadline: &Deadline) -> ExitStatus {
    let mut pause = Duration::from_micros(50);
    loop {
        match process.try_wait().expect("it is a child of this process") {
            Some(status) => return status,
            None if deadline.left().is_zero() => fail(process, what),
            None => thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(2));
    }
}

fn fail(process: &mut Child, what: &dyn Debug) -> ! {
    let _ = process.kill();
    let _ = process.wait();
    panic!("this did not end, and was killed: {what:?}");
}

/// The next line of a process, with its end; empty at the end of its output.
pub fn line_of<R: Read + AsFd>(output: &mut BufReader<R>, what: &str) -> io::Result<String> {
    line_by(output, what, &Deadline::after(BOUND))
}

fn line_by<R: Read + AsFd>(
    output: &mut BufReader<R>,
    what: &str,
    deadline: &Deadline,
) -> io::Result<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        if output.buffer().is_empty() {
            let ready = readable([Some(output.get_ref().as_fd())], deadline);
            assert!(ready.is_some(), "no line came: {what}");
        }
        let bytes = output.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        let length = bytes.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |at| at + 1);
        line.extend_from_slice(&bytes[..length]);
        output.consume(length);
    }
    String::from_utf8(line).map_err(io::Error::other)
}

/// Everything that a process writes until it closes its output.
pub fn rest_of<R: Read + AsFd>(output: &mut BufReader<R>, what: &str) -> io::Result<String> {
    let deadline = Deadline::after(BOUND);
    let mut text = String::new();
    loop {
        let line = line_by(output, what, &deadline)?;
        if line.is_empty() {
            return Ok(text);
        }
        text += &line;
    }
}

fn read_some(file: Option<&mut impl Read>, to: &mut Vec<u8>) -> usize {
    let mut buffer = [0; 65_536];
    let length = file.map_or(0, |file| file.read(&mut buffer).expect("its output can be read"));
    to.extend_from_slice(&buffer[..length]);
    length
}

/// Which of these files have bytes or are at their end; `None` at the deadline.
fn readable<const N: usize>(
    files: [Option<BorrowedFd<'_>>; N],
    deadline: &Deadline,
) -> Option<[bool; N]> {
    // The kernel skips negative numbers.
    let mut polled = files.map(|file| libc::pollfd {
        fd: file.map_or(-1, |file| file.as_raw_fd()),
        events: libc::POLLIN,
        revents: 0,
    });
    while !deadline.left().is_zero() {
        let timeout = deadline.left().as_millis() as libc::c_int + 1;
        // SAFETY: the pointer and the number are those of an array that lives through the call.
        if unsafe { libc::poll(polled.as_mut_ptr(), N as libc::nfds_t, timeout) } > 0 {
            return Some(polled.map(|file| file.revents != 0));
        }
    }
    None
}

/// A time of the monotonic clock. This crate cannot use the clock of the workspace.
struct Deadline(Duration);

impl Deadline {
    fn after(time: Duration) -> Self {
        Self(now() + time)
    }

    fn left(&self) -> Duration {
        self.0.saturating_sub(now())
    }
}

fn now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Bounds a loop that polls another thread or process: it panics after ten minutes without
/// [`Patience::renew`].
#[derive(Debug)]
pub struct Patience {
    what: &'static str,
    deadline: Duration,
    yields: u32,
}

impl Patience {
    /// For a loop that waits for this.
    pub fn new(what: &'static str) -> Self {
        Self { what, deadline: now() + BOUND, yields: 0 }
    }

    /// Between two polls that wait for nothing themselves.
    pub fn pause(&mut self) {
        if self.yields < 1_000 {
            self.yields += 1;
            return thread::yield_now();
        }
        self.check();
        thread::sleep(Duration::from_millis(1));
    }

    /// Between two polls that wait themselves.
    pub fn check(&self) {
        assert!(now() < self.deadline, "this did not happen: {}", self.what);
    }

    /// After progress: the bound begins again.
    pub fn renew(&mut self) {
        *self = Self::new(self.what);
    }
}

/// Sets a flag when it is dropped, so that a test that fails ends the threads that wait for it.
#[derive(Debug)]
pub struct SetAtEnd<'a>(pub &'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Polls until the condition holds, for up to five minutes, since the machine may be busy.
pub fn eventually(what: &str, is_so: impl FnMut() -> bool) {
    until(what, is_so, &Deadline::after(BOUND / 2));
}

fn until(what: &str, mut is_so: impl FnMut() -> bool, deadline: &Deadline) {
    while !is_so() {
        assert!(!deadline.left().is_zero(), "five minutes passed without this: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    fn message(work: impl FnOnce()) -> String {
        let panic = catch_unwind(AssertUnwindSafe(work)).expect_err("it must fail");
        *panic.downcast::<String>().expect("the message is a formatted text")
    }

    fn sleeper() -> Child {
        Command::new("sleep").arg("86400").stdout(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn output_and_status_are_those_of_the_standard_library() {
        let script = "echo out; echo err >&2; read line || echo no input; exit 3";
        let output = Command::new("sh").args(["-c", script]).bounded_output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert_eq!((&*output.stdout, &*output.stderr), (&b"out\nno input\n"[..], &b"err\n"[..]));
        let many = "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2";
        let output = Command::new("sh").args(["-c", many]).bounded_output().unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (300_000, 300_000));
        assert!(!Command::new("false").bounded_status().unwrap().success());
        assert!(Command::new("/no/such/program").bounded_output().is_err());
    }

    #[test]
    fn lines_and_the_rest_of_an_output_come_in_order() {
        let mut command = Command::new("printf");
        command.arg("one\n\ntwo\nthree").stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut output = BufReader::with_capacity(2, process.stdout.take().unwrap());
        assert_eq!(line_of(&mut output, "one").unwrap(), "one\n");
        assert_eq!(line_of(&mut output, "an empty line").unwrap(), "\n");
        assert_eq!(rest_of(&mut output, "the rest").unwrap(), "two\nthree");
        assert_eq!(line_of(&mut output, "the end").unwrap(), "");
        assert!(process.bounded_wait("printf").success());
    }

    #[test]
    fn what_does_not_end_or_speak_fails_with_what_was_waited_for() {
        let soon = || Deadline::after(Duration::from_millis(20));
        let mut silent = sleeper();
        let mut output = BufReader::new(silent.stdout.take().unwrap());
        let said = message(|| drop(line_by(&mut output, "the first row", &soon())));
        assert_eq!(said, "no line came: the first row");
        let said = message(|| _ = end_by(&mut silent, &"a sleeper", &soon()));
        assert_eq!(said, "this did not end, and was killed: \"a sleeper\"");
        assert!(silent.try_wait().unwrap().is_some(), "it was killed");
    }

    #[test]
    fn a_condition_that_never_holds_fails_however_long_each_poll_takes() {
        let poll = || {
            thread::sleep(Duration::from_millis(20));
            false
        };
        let said = message(|| until("a row", poll, &Deadline::after(Duration::from_millis(30))));
        assert_eq!(said, "five minutes passed without this: a row");
        let mut polls = 0;
        eventually("the third poll", || {
            polls += 1;
            polls == 3
        });
    }

    #[test]
    fn a_loop_without_progress_fails() {
        let mut patience = Patience::new("a message");
        (0..2_000).for_each(|_| patience.yields += 1);
        patience.pause();
        patience.deadline = Duration::ZERO;
        assert_eq!(message(|| patience.pause()), "this did not happen: a message");
        patience.renew();
        patience.pause();
    }
}
